// SPDX-License-Identifier: Apache-2.0
//
// Folded stacks of any bytes.
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  tide_folded_recognise(data, n < TIDE_STREAM_HEAD_BYTES ? n : TIDE_STREAM_HEAD_BYTES);
  fuzz_import(tide_folded_read, data, n);
  return 0;
}
