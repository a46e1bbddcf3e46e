// SPDX-License-Identifier: Apache-2.0
//
// The note of a module: what its names or lines are missing for, and the exact thing to do about
// it. One sentence each, "<file> <what>".
#pragma once
#include "symbol/debugfile.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/symbol.h"

// One module of the recorded program and the files its names come from: the file itself, if it is
// still the one recorded, or a stand-in; a separate debug file; the DWARF of either.
struct tide_symbol_module {
  struct tide_symbol_object object; // path is owned
  uint8_t build_id[32];
  uint32_t build_id_len;
  bool tried;               // the fields below are settled
  struct tide_elf *elf;     // the file itself; NULL when it cannot be used
  struct tide_elf *debug;   // its separate debug file; NULL when there is none
  struct tide_elf *lines;   // which of the two has debug info; NULL when neither does
  struct tide_dwarf *dwarf; // of that one; NULL until it is asked for
};

// The file of the recording cannot be had: why. servers may be NULL.
void tide_advise_unusable(struct tide_symbol_module *m, const char *path,
                          const struct tide_symbol_sources *sources,
                          const struct tide_debuginfod *servers, const char *why);
// There are no lines to be had: how to get them. servers may be NULL.
void tide_advise_no_debug_info(struct tide_symbol_module *m,
                               const struct tide_symbol_sources *sources,
                               const struct tide_debuginfod *servers);
// The same for whatever code of a file with debug info has none.
void tide_advise_no_lines_in_part(struct tide_symbol_module *m);
// Part of the debug info is in a file that was not found, if so: it shows when it is asked for.
void tide_advise_missing_part(struct tide_symbol_module *m);

// The last part of a path.
const char *tide_advice_name(const char *path);

// The name of the Debian package that a file came with, owned; NULL when the system is not Debian's
// or no package has the file. Reads the lists that dpkg keeps: one or two of them when file and
// package are named alike, else all.
char *tide_package_of(const char *path);
