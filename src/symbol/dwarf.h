// SPDX-License-Identifier: Apache-2.0
//
// Functions, inlined calls and lines from DWARF 2 to 5, as gcc, clang and rustc write it. Work is
// done when asked for and kept: the units are indexed at the first look-up, the functions of a unit
// when an address falls into it, the inlined calls of a function likewise. libdw is not
// thread-safe, so neither is this.
#pragma once
#include "symbol/debuginfod.h"
#include "symbol/elf.h"
#include "symbol/names.h"
#include "symbol/symbol.h"

#define TIDE_INLINE_DEPTH_MAX 256 // deeper chains are cut; real ones stay below 60

struct tide_dwarf;

// NULL when libdw finds nothing to read. Code outside [code_lo, code_hi) is not believed: it is
// what linkers leave of functions they threw away. The file and the names must outlive the result.
struct tide_dwarf *tide_dwarf_new(struct tide_elf *elf, uint64_t code_lo, uint64_t code_hi,
                                  struct tide_names *names);
// Joins the file that dwz moved common parts to, if there is one; see symbol/debugfile.h.
void tide_dwarf_join_alt(struct tide_dwarf *dwarf, const char *path, const char *dirs,
                         struct tide_debuginfod *servers);
// A file that holds part of the debug info and was not found; NULL when all is there, as far as the
// look-ups so far could tell.
const char *tide_dwarf_missing(const struct tide_dwarf *dwarf);
void tide_dwarf_free(struct tide_dwarf *dwarf); // NULL is fine

// Whether rustc wrote debug info for more than its own libraries, which come with it: the program
// was built with some. Looks at the heads of units until one tells.
bool tide_dwarf_is_of_crates(struct tide_elf *elf);

// The frames at addr, innermost first; 0 when no unit covers it. The outermost may have no function
// (assembly) and any may have no line. out has room for TIDE_INLINE_DEPTH_MAX + 1 frames. The
// outermost has a whole name if DWARF gave its linkage name, not just its last part.
size_t tide_dwarf_lookup(struct tide_dwarf *dwarf, uint64_t addr, struct tide_symbol_frame *out,
                         bool *ret_has_whole_name);
