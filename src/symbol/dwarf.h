// SPDX-License-Identifier: Apache-2.0
//
// Functions, inlined calls and lines from DWARF 2 to 5, as gcc, clang and rustc write it. Work is
// done when asked for and kept: the units are indexed at the first look-up, the functions of a unit
// when an address falls into it, the inlined calls of a function likewise. libdw is not
// thread-safe, so neither is this.
#pragma once
#include "symbol/debugfile.h"
#include "symbol/elf.h"
#include "symbol/names.h"
#include "symbol/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// ---- the shape of a unit ----
//
// The bare shape of one DWARF unit: which functions, inlined calls and named scopes it has, and
// which holds which. One pass over the unit's bytes, taking nothing else from them; libdw is asked
// for the rest. libdw alone would do, but it has no way to go on behind a subtree other than
// through it again, and compilers built on LLVM leave out the links that would spare it that: for
// a unit of a Rust program it took 20 ms where this takes 2.

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

// ---- lines ----
//
// The line table of one unit (DWARF 2 to 5): which file and line an address came from. Ours rather
// than libdw's for two reasons. libdw sorts the rows of all sequences together, so that the remains
// of functions the linker threw away shadow live code; and it allocates each row on its own, which
// made it the dearest part of a first look-up in a Rust program.

struct tide_line_source {
  struct tide_section line, str, line_str; // .debug_line and the strings it points to; mapped
  uint64_t code_lo, code_hi;               // rows outside are dropped
};

struct tide_lines;

// The table at offset in .debug_line. comp_dir (NULL when unknown) is not copied. Never NULL: a
// damaged table gives what could be read of it.
struct tide_lines *tide_lines_new(const struct tide_line_source *source, uint64_t offset,
                                  const char *comp_dir);
void tide_lines_free(struct tide_lines *lines); // NULL is fine

// The path of a file by its number in this table; absolute if comp_dir is. NULL when there is none.
const char *tide_lines_file(struct tide_lines *lines, uint64_t number);
// ret_file may be set to NULL and ret_line to 0 where the table does not say.
bool tide_lines_find(struct tide_lines *lines, uint64_t addr, const char **ret_file,
                     uint32_t *ret_line);
