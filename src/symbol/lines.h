// SPDX-License-Identifier: Apache-2.0
//
// The line table of one unit (DWARF 2 to 5): which file and line an address came from. Ours rather
// than libdw's for two reasons. libdw sorts the rows of all sequences together, so that the remains
// of functions the linker threw away shadow live code; and it allocates each row on its own, which
// made it the dearest part of a first look-up in a Rust program.
#pragma once
#include "symbol/elf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
