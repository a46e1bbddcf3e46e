// SPDX-License-Identifier: Apache-2.0
//
// The note of a module: what its names or lines are missing for, and the exact thing to do about
// it. One sentence each, "<file> <what>".
#pragma once
#include "symbol/module.h"

// The module's file leads the sentence: as a path where that leaves room, else by its name.
void tide_advise(struct tide_symbol_module *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same with another name for it.
void tide_advise_of(struct tide_symbol_module *m, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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
