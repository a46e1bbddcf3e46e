// SPDX-License-Identifier: Apache-2.0
//
// Files that hold the debug info of another. dirs are debug directories, separated by colons (NULL:
// none); /usr/lib/debug comes after them. What is returned is the caller's, NULL when there is
// none.
#pragma once
#include "symbol/debuginfod.h"
#include "symbol/elf.h"

#include <elfutils/libdw.h>

// The best file with lines, or at least names, that elf does not have itself.
struct tide_elf *tide_debugfile_open(const struct tide_elf *elf, const char *dirs);
// A stand-in for a file that is gone or has changed, found by what is known of it.
struct tide_elf *tide_debugfile_open_gone(const char *path, const uint8_t *build_id,
                                          size_t build_id_len, const char *dirs);

// The name in elf's .gnu_debuglink and its checksum; NULL when there is none. Lives as long as elf.
const char *tide_debugfile_link(const struct tide_elf *elf, uint32_t *ret_crc);

// For others that look in debug directories. Calls look for each, until one says true.
bool tide_debugfile_each_dir(const char *dirs, bool (*look)(void *context, const char *dir),
                             void *context);
// DIR/.build-id/ab/cdef.debug, owned; NULL for what cannot be a build id.
char *tide_debugfile_build_id_path(const char *dir, const uint8_t *build_id, size_t build_id_len);

// ---- what several debug files share ----
//
// The file to which dwz moved what several debug files have in common: Debian's debug packages are
// made that way. A debug file names it in .gnu_debugaltlink, with its build id.

struct tide_altfile {
  char *missing; // owned; the name of the file when there should be one and is not
  int fd;
  Dwarf *dwarf; // owned; NULL: none
};

// Finds the file and joins it to the debug info, which was read from path. servers may be NULL.
void tide_altfile_join(struct tide_altfile *alt, Dwarf *dwarf, const char *path, const char *dirs,
                       struct tide_debuginfod *servers);
// After the debug info it was joined to is closed. All zero is fine.
void tide_altfile_done(struct tide_altfile *alt);
