// SPDX-License-Identifier: Apache-2.0
//
// Files that hold the debug info of another. dirs are debug directories, separated by colons (NULL:
// none); /usr/lib/debug comes after them. What is returned is the caller's, NULL when there is
// none.
#pragma once
#include "symbol/elf.h"
#include "symbol/symbol.h"

#include <elfutils/libdw.h>

// ---- from servers ----
//
// Debug info from the servers that DEBUGINFOD_URLS names, through libdebuginfod, which keeps what
// it gets in a cache of its own. The library is loaded when first needed: without it, or without
// servers, nothing is ever found. Trouble (a server that does not answer, a user who gives up) ends
// all asking: a hundred modules must not wait for a hundred timeouts. An answer that is too large
// (DEBUGINFOD_MAXSIZE) is refused and removed, and others are asked for.

struct tide_debuginfod;

// The watch may be NULL, and must outlive the result.
struct tide_debuginfod *tide_debuginfod_new(const struct tide_symbol_watch *watch);
void tide_debuginfod_free(struct tide_debuginfod *d); // NULL is fine

enum tide_debuginfod_kind { TIDE_DEBUGINFOD_DEBUGINFO, TIDE_DEBUGINFOD_EXECUTABLE };

// The path, owned, of a file with that build id, or NULL. what is the name to show meanwhile. A
// NULL d finds nothing.
char *tide_debuginfod_find(struct tide_debuginfod *d, enum tide_debuginfod_kind kind,
                           const uint8_t *build_id, size_t build_id_len, const char *what);

// Why no more is asked for, or what is wrong with the latest answer, in a few words; NULL when
// nothing is wrong (or d is NULL).
const char *tide_debuginfod_trouble(const struct tide_debuginfod *d);

// Does the environment name servers?
bool tide_debuginfod_is_configured(void);

// ---- debug files ----

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
