// SPDX-License-Identifier: Apache-2.0
//
// pprof profiles of any bytes, packed or not.
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  tide_pprof_recognise(data, n < TIDE_STREAM_HEAD_BYTES ? n : TIDE_STREAM_HEAD_BYTES);
  fuzz_import(tide_pprof_read, data, n);
  return 0;
}
