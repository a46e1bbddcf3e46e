// SPDX-License-Identifier: Apache-2.0
//
// The massif reader on any bytes; fuzz_import.h says what must hold.
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  fuzz_import(tide_massif_read, data, n);
  return 0;
}
