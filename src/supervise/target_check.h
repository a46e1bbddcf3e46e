// SPDX-License-Identifier: Apache-2.0
//
// A look at a program before it starts: can the recorder be loaded into it, and will it see the
// allocations? What it finds is one sentence for the user, with the way out. A program that cannot
// be recorded still runs.
#pragma once
#include "store/codes.h"
#include <stdbool.h>

struct tide_target {
  bool unfit;        // it cannot be recorded, or not as a whole
  enum tide_why why; // then
  char *detail;      // name of its allocator, loader or sanitizer, or ""; NULL when it is fine
  bool preload;      // set LD_PRELOAD for it? (a static program's children can be recorded)
  char *path;        // of the program, or of its script's interpreter; NULL when not found
  char *sentence;    // for the user; NULL when it is fine
};

// Judges a program by its file. True: unfit; *ret_detail is the caller's to free.
bool tide_target_judge(const char *path, enum tide_why *ret_why, char **ret_detail);

// command is looked up as execvp does; scripts are followed to their interpreter. What cannot be
// found or read is left to exec to complain about.
void tide_target_check(const char *command, struct tide_target *ret_target);
void tide_target_done(struct tide_target *target);
