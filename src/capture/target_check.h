// SPDX-License-Identifier: Apache-2.0
//
// A look at a program before it starts: can the recorder be loaded into it, and will it see the
// allocations? What it finds is one sentence for the user, with the way out. A program that cannot
// be recorded still runs.
#pragma once
#include <stdbool.h>

enum tide_target_kind {
  TIDE_TARGET_FINE,
  TIDE_TARGET_STATIC,     // no dynamic loader: nothing can be preloaded
  TIDE_TARGET_PRIVILEGED, // setuid, setgid, capabilities: the loader ignores preloads
  TIDE_TARGET_32_BIT,
  TIDE_TARGET_OTHER_MACHINE,
  TIDE_TARGET_MUSL,
  TIDE_TARGET_OTHER_LOADER,
  TIDE_TARGET_OWN_ALLOCATOR, // it defines malloc, or carries an allocator it calls directly
  TIDE_TARGET_SANITIZER,     // its runtime insists on being loaded first
};

struct tide_target {
  enum tide_target_kind kind;
  bool preload;   // set LD_PRELOAD for it? (a static program's children can be recorded)
  char *path;     // of the program, or of its script's interpreter; NULL when not found
  char *sentence; // for the user; NULL when it is fine
};

// command is looked up as execvp does; scripts are followed to their interpreter. What cannot be
// found or read is left to exec to complain about.
void tide_target_check(const char *command, struct tide_target *ret_target);
void tide_target_done(struct tide_target *target);
