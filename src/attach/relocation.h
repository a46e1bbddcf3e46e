// SPDX-License-Identifier: Apache-2.0
//
// What a linker writes into the code of a relocatable file, by kind of processor: which bytes it
// may change for a relocation, and the address that it wrote there. Nothing here touches a process,
// and each architecture's part works on any machine.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of code from a relocation's place on, before < 0 <= behind; also those that a linker may
// write another instruction over (it relaxes loads of addresses and of thread-local storage).
struct tide_relocated {
  int before;
  unsigned behind;
};

struct tide_relocations {
  unsigned machine; // e_machine
  struct tide_relocated (*bytes)(uint32_t type);
  // The symbol's address, read from the linked code of a call or jump at `at`; 0: it is none.
  uint64_t (*target)(uint32_t type, const uint8_t *code, uint64_t at, int64_t addend);
};

extern const struct tide_relocations tide_relocations_x86_64, tide_relocations_aarch64;
// NULL: a kind that is not known here.
static inline const struct tide_relocations *tide_relocations_of(unsigned machine)
{
  return machine == tide_relocations_x86_64.machine    ? &tide_relocations_x86_64
         : machine == tide_relocations_aarch64.machine ? &tide_relocations_aarch64
                                                       : NULL;
}
