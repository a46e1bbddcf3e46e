// SPDX-License-Identifier: Apache-2.0
//
// aarch64: whole instructions, which a linker may replace by others of the same length.
#include "attach/relocation.h"

#include <elf.h>
#include <string.h>

static struct tide_relocated relocated(uint32_t type)
{
  switch (type) {
  case R_AARCH64_NONE: return (struct tide_relocated){0, 0};
  case R_AARCH64_ABS64:
  case R_AARCH64_PREL64: return (struct tide_relocated){0, 8};
  default: return (struct tide_relocated){0, 4};
  }
}

// b and bl: 26 bits of words.
static uint64_t target(uint32_t type, const uint8_t *code, uint64_t at, int64_t addend)
{
  uint32_t word;
  if (type != R_AARCH64_CALL26 && type != R_AARCH64_JUMP26)
    return 0;
  memcpy(&word, code, sizeof word);
  int64_t distance = (int64_t)((uint64_t)(word & 0x3ffffff) << 38) >> 36;
  return at + (uint64_t)distance - (uint64_t)addend;
}

const struct tide_relocations tide_relocations_aarch64 = {EM_AARCH64, relocated, target};
