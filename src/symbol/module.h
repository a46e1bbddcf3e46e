// SPDX-License-Identifier: Apache-2.0
//
// One module of the recorded program and the files its names come from: the file itself, if it is
// still the one recorded, or a stand-in; a separate debug file; the DWARF of either. Opened once.
#pragma once
#include "symbol/debuginfod.h"
#include "symbol/dwarf.h"
#include "symbol/elf.h"
#include "symbol/names.h"
#include "symbol/symbol.h"

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

struct tide_symbol_module *tide_symbol_module_new(const char *path, const uint8_t *build_id,
                                                  uint32_t build_id_len);
void tide_symbol_module_free(struct tide_symbol_module *m);

// Finds what there is, the first time. servers may be NULL.
void tide_symbol_module_settle(struct tide_symbol_module *m,
                               const struct tide_symbol_sources *sources,
                               struct tide_debuginfod *servers);

// The debug info of a settled module, NULL when there is none. Opened the first time, which unpacks
// it as a whole if it is packed. names must outlive the module.
struct tide_dwarf *tide_symbol_module_dwarf(struct tide_symbol_module *m,
                                            const struct tide_symbol_sources *sources,
                                            struct tide_debuginfod *servers,
                                            struct tide_names *names);
