// SPDX-License-Identifier: Apache-2.0
//
// The bare shape of one DWARF unit: which functions, inlined calls and named scopes it has, and
// which holds which. One pass over the unit's bytes, taking nothing else from them; libdw is asked
// for the rest. libdw alone would do, but it has no way to go on behind a subtree other than
// through it again, and compilers built on LLVM leave out the links that would spare it that: for
// a unit of a Rust program it took 20 ms where this takes 2.
#pragma once
#include "symbol/elf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIDE_DIE_NONE UINT32_MAX

struct tide_die {
  uint64_t offset; // in .debug_info
  uint32_t parent; // index of the nearest entry around it, TIDE_DIE_NONE at the top
  uint32_t end;    // index behind all that lies within
  uint16_t tag;    // DW_TAG_subprogram, _inlined_subroutine, _namespace, or a type with functions
  bool has_code;   // it has addresses of its own
};

struct tide_dies {
  struct tide_die *items; // owned; by rising offset, what is within behind what is around
  size_t n, cap;
};

// Reads the unit whose header is at offset in info. A damaged unit gives what comes before the
// damage.
void tide_dies_read(struct tide_dies *dies, const struct tide_section *info,
                    const struct tide_section *abbrev, uint64_t offset);
void tide_dies_done(struct tide_dies *dies);

// Index of the entry at exactly this offset, or TIDE_DIE_NONE.
uint32_t tide_dies_find(const struct tide_dies *dies, uint64_t offset);
