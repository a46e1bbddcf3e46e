// SPDX-License-Identifier: Apache-2.0
//
// Functions of a program without symbols, found by their code: that of installed archives (libc.a,
// libjemalloc.a ...), from which a static program may have been linked. Only what is in the program
// once is believed, and of an archive only if the calls among what was found go where it was found.
#pragma once
#include "attach/loaded.h"

struct tide_signature_names {
  bool (*is_wanted)(const char *name);
  // The name that a function may be given where the one it is called by was not found; NULL: none.
  const char *(*stands_for)(const char *name);
};

// Adds what it finds to loaded's functions. dirs: as tide_debugfile_open has it; archives are
// looked for there, too. False: it is no program, or it has symbols of its own.
bool tide_signature_find(struct tide_loaded *loaded, const char *dirs,
                         const struct tide_signature_names *names);

// Adds functions that map or unmap pages, known by the system call that they make with their
// arguments. Of static programs alone.
void tide_signature_find_page_calls(struct tide_loaded *loaded);

// Which files would tell more of a program without symbols, in words; the caller's.
char *tide_signature_advice(const struct tide_loaded *loaded);
