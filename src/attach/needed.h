// SPDX-License-Identifier: Apache-2.0
//
// The objects that a program will load when it starts, found as its loader finds them, and without
// running it: DT_NEEDED by RPATH, LD_LIBRARY_PATH, RUNPATH, the cache of glibc's loader or the path
// of musl's, and the usual directories. What it loads later with dlopen() nobody can know.
#pragma once
#include "attach/loaded.h"

// The program first, the loader last. Libraries that are not found are told among the unread.
// cache: of the loader's form; NULL: the machine's.
enum tide_err tide_needed_list_make(const char *program, const char *debug_dirs, const char *cache,
                                    struct tide_loaded_list *ret_list, struct tide_diag *diag);

// A process that had loaded them, for who plans: where they would lie, and no memory to read.
struct tide_outside *tide_needed_outside(const struct tide_loaded_list *list);

// "glibc 2.36", "musl", by what the objects say of themselves; NULL: neither.
char *tide_needed_libc(const struct tide_loaded_list *list);
