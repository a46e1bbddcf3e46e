// SPDX-License-Identifier: Apache-2.0
//
// Files that hold the debug info of another. dirs are debug directories, separated by colons (NULL:
// none); /usr/lib/debug comes after them. What is returned is the caller's, NULL when there is
// none.
#pragma once
#include "symbol/elf.h"

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
