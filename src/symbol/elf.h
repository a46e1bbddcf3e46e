// SPDX-License-Identifier: Apache-2.0
//
// One ELF file, mapped: its build id, where its code lies, its functions by address, and where its
// debug info may be. Opening reads headers only; the function table is built at the first question.
// The file is bytes from outside: whatever it holds, the answers are empty, never wrong memory.
#pragma once
#include "base/err.h"

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

// ---- ranges of addresses ----
//
// A table of address ranges that answers "which range holds this address". Ranges may overlap and
// nest, as those of units and symbols do in real files; the one that starts last wins, and among
// those the shortest. Fill it with add, sort it once, then find. Single-threaded.

struct tide_address_range {
  uint64_t lo, hi; // [lo, hi)
  uint64_t reach;  // the greatest hi of this and all earlier ranges: how far back to look
  uint32_t value;  // the caller's: an index into what the range stands for
};

struct tide_ranges {
  struct tide_address_range *items; // owned
  size_t n, cap;
};

void tide_ranges_done(struct tide_ranges *ranges);
void tide_ranges_add(struct tide_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value);
void tide_ranges_sort(struct tide_ranges *ranges);

// Of the sorted table; NULL when no range holds the address. Valid until the next change.
const struct tide_address_range *tide_ranges_find(const struct tide_ranges *ranges, uint64_t addr);
// The last range that starts at or before the address, whether it reaches it or not.
const struct tide_address_range *tide_ranges_before(const struct tide_ranges *ranges,
                                                    uint64_t addr);

// ---- the file ----

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 // libelf has it from 0.188 on
#endif

struct tide_section {  // mapped or unpacked; good as long as the file is open
  const uint8_t *data; // NULL when the file has no such section
  size_t n;
};

enum tide_elf_debug { // is there a .debug_info?
  TIDE_ELF_DEBUG_NONE,
  TIDE_ELF_DEBUG_READY,
  TIDE_ELF_DEBUG_ZSTD, // packed in a way the libelf at hand does not know, see tide_elf_for_dwarf()
};

struct tide_elf_symbol {
  const char *name; // in the mapped string table; may end in "@VERSION"
  uint8_t rank;     // among names of one address the least is the best
};

struct tide_elf {
  char *path;     // owned
  int fd;         // -1: in memory alone
  uint8_t *bytes; // owned; the whole of a file that is in memory alone, else NULL
  Elf *elf;
  const uint8_t *build_id; // in the mapping; NULL when there is none
  size_t build_id_len;
  uint64_t code_lo, code_hi; // all executable sections lie within; equal when there are none
  enum tide_elf_debug debug;
  bool has_symtab; // .symtab, which knows static functions, not just .dynsym
  bool by_rustc;   // compiled by rustc, at least in part

  bool indexed;                    // the rest is built by the first tide_elf_function()
  struct tide_elf *unpacked;       // owned; a copy for libdw, NULL until it is needed
  struct tide_elf *mini;           // owned; unpacked from .gnu_debugdata, NULL when there is none
  struct tide_elf_symbol *symbols; // owned
  size_t n_symbols, symbols_cap;
  struct tide_ranges sized;  // functions
  struct tide_ranges labels; // code symbols without a size, hand-written assembly mostly
};

// Fails with SYSTEM when the file cannot be opened (diag->sys_errno says why), with FORMAT when it
// is not an ELF file of a kind that programs load.
enum tide_err tide_elf_open(const char *path, struct tide_elf **ret_elf, struct tide_diag *diag);
// The same for a file in memory (from malloc), which is taken over whatever comes of it. The name
// stands for a path.
enum tide_err tide_elf_open_bytes(const char *name, uint8_t *bytes, size_t n,
                                  struct tide_elf **ret_elf, struct tide_diag *diag);
void tide_elf_free(struct tide_elf *elf); // NULL is fine

// The name (mangled, perhaps with "@VERSION") of the function at addr, NULL when none is known.
// Good as long as the file is open. Not const in spirit: the first call builds the table.
const char *tide_elf_function(struct tide_elf *elf, uint64_t addr);

// The names of functions that .dynsym leaves out, as some distributions keep them in stripped files
// (MiniDebugInfo: an xz-packed ELF file in .gnu_debugdata). NULL when elf has none.
struct tide_elf *tide_elf_open_debugdata(const struct tide_elf *elf);
// The running kernel's vDSO if it has this build id, else NULL.
struct tide_elf *tide_elf_open_vdso(const uint8_t *build_id, size_t build_id_len);

// What to read DWARF from: the file, or a copy in which the debug sections are unpacked. Lives as
// long as elf. NULL when they cannot be unpacked.
Elf *tide_elf_for_dwarf(struct tide_elf *elf);

// A debug section by its name without the dot ("debug_line"). If it is compressed, libdw has to
// have unpacked it, which dwarf_begin_elf() does.
struct tide_section tide_elf_section(Elf *elf, const char *name);
