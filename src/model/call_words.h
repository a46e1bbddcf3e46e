// SPDX-License-Identifier: Apache-2.0
//
// By which call of an allocator memory came, in words, the same in text, JSON and page.
#pragma once
#include "store/codes.h"

static inline const char *tide_call_word(enum tide_call call)
{
  static const char *const words[TIDE_CALLS_N] = {
      [TIDE_CALL_UNTOLD] = "not told", [TIDE_CALL_MALLOC] = "malloc",
      [TIDE_CALL_CALLOC] = "calloc",   [TIDE_CALL_REALLOC] = "realloc",
      [TIDE_CALL_ALIGNED] = "aligned", [TIDE_CALL_NEW] = "operator new",
      [TIDE_CALL_MMAP] = "mmap",       [TIDE_CALL_MREMAP] = "mremap",
      [TIDE_CALL_BRK] = "brk",         [TIDE_CALL_TOLD] = "told by the program",
  };
  return words[call < TIDE_CALLS_N ? call : TIDE_CALL_UNTOLD];
}
