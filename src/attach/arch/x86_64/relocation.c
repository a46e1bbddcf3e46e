// SPDX-License-Identifier: Apache-2.0
//
// x86_64: four bytes mostly. A load through the GOT becomes another instruction where the address
// is known (opcode and prefix before the displacement), and so do the sequences that find
// thread-local storage.
#include "attach/relocation.h"

#include <elf.h>
#include <string.h>

static struct tide_relocated relocated(uint32_t type)
{
  switch (type) {
  case R_X86_64_NONE: return (struct tide_relocated){0, 0};
  case R_X86_64_8:
  case R_X86_64_PC8: return (struct tide_relocated){0, 1};
  case R_X86_64_16:
  case R_X86_64_PC16: return (struct tide_relocated){0, 2};
  case R_X86_64_64:
  case R_X86_64_PC64:
  case R_X86_64_GOTOFF64: return (struct tide_relocated){0, 8};
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
  case R_X86_64_GOTTPOFF:
  case R_X86_64_GOTPC32_TLSDESC: return (struct tide_relocated){-3, 4};
  case R_X86_64_TLSDESC_CALL: return (struct tide_relocated){0, 2};
  case R_X86_64_TLSGD: return (struct tide_relocated){-4, 12};
  case R_X86_64_TLSLD: return (struct tide_relocated){-3, 9};
  default: return (struct tide_relocated){0, 4};
  }
}

static uint64_t target(uint32_t type, const uint8_t *code, uint64_t at, int64_t addend)
{
  int32_t distance;
  if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
    return 0;
  memcpy(&distance, code, sizeof distance);
  return at + (uint64_t)distance - (uint64_t)addend;
}

const struct tide_relocations tide_relocations_x86_64 = {EM_X86_64, relocated, target};
