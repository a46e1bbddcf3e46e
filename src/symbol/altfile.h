// SPDX-License-Identifier: Apache-2.0
//
// The file to which dwz moved what several debug files have in common: Debian's debug packages are
// made that way. A debug file names it in .gnu_debugaltlink, with its build id.
#pragma once
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"

#include <elfutils/libdw.h>

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
