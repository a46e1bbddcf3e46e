// SPDX-License-Identifier: Apache-2.0
//
// Heap profiles of gperftools, jemalloc and Go as text, of any bytes.
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  tide_heap_text_recognise(data, n < TIDE_STREAM_HEAD_BYTES ? n : TIDE_STREAM_HEAD_BYTES);
  fuzz_import(tide_heap_text_read, data, n);
  return 0;
}
