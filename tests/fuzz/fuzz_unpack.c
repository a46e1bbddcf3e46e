// SPDX-License-Identifier: Apache-2.0
//
// ELF files from anywhere, as they are opened for their debug info: sections that claim to be
// packed, and what they unpack to.
#include "base/alloc.h"
#include "symbol/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct tide_elf *elf;
  if (n == 0)
    return 0;
  uint8_t *copy = tide_alloc(n);
  memcpy(copy, data, n);
  if (tide_elf_open_bytes("any", copy, n, &elf, NULL) != TIDE_ERR_OK)
    return 0;
  Elf *file = tide_elf_for_dwarf(elf);
  struct tide_section info = {0};
  if (file)
    info = tide_elf_section(file, "debug_info");
  unsigned sum = 0;
  for (size_t i = 0; i < info.n; i++)
    sum += info.data[i];
  if (sum > info.n * UINT8_MAX)
    abort(); // never; but now every byte was read
  tide_elf_free(elf);
  return 0;
}
