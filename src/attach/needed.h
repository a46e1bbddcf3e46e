// SPDX-License-Identifier: Apache-2.0
//
// The objects that a program will load when it starts, found as the loader of glibc finds them, and
// without running it: DT_NEEDED by RPATH, LD_LIBRARY_PATH, RUNPATH, the loader's cache and the
// usual directories. What it loads later with dlopen() nobody can know.
#pragma once
#include "attach/loaded.h"

// The program first. Libraries that are not found are told among the unread. cache: of the
// loader's form; NULL: the machine's.
enum tide_err tide_needed_list_make(const char *program, const char *debug_dirs, const char *cache,
                                    struct tide_loaded_list *ret_list, struct tide_diag *diag);

// "glibc 2.36", "musl", by what the objects say of themselves; NULL: neither.
char *tide_needed_libc(const struct tide_loaded_list *list);
