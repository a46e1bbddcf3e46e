// SPDX-License-Identifier: Apache-2.0
//
// Unpacking MiniDebugInfo. The section comes from outside: what it may unpack to, and the memory
// that the unpacking itself may take, are bounded: far above what distributions ship, far below
// what would hurt.
#include "symbol/elf.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <lzma.h>
#include <stdlib.h>

#define UNPACKED_MAX ((size_t)64 << 20)
#define WORK_MAX ((uint64_t)128 << 20)
#define STEP ((size_t)256 << 10)

static bool unpack(struct tide_section packed, struct tide_buf *out)
{
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, WORK_MAX, 0) != LZMA_OK)
    return false;
  stream.next_in = packed.data;
  stream.avail_in = packed.n;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out->n < UNPACKED_MAX) {
    stream.next_out = tide_buf_extend(out, STEP);
    stream.avail_out = STEP;
    result = lzma_code(&stream, LZMA_FINISH);
    out->n -= stream.avail_out;
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END;
}

struct tide_elf *tide_elf_open_debugdata(const struct tide_elf *elf)
{
  struct tide_section packed = tide_elf_section(elf->elf, "gnu_debugdata");
  struct tide_buf bytes = {0};
  struct tide_elf *found;
  if (!packed.data)
    return NULL;
  if (!unpack(packed, &bytes)) {
    tide_buf_done(&bytes);
    return NULL;
  }
  return tide_elf_open_bytes(elf->path, bytes.data, bytes.n, &found, NULL) ? NULL : found;
}
