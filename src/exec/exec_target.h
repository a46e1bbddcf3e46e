// SPDX-License-Identifier: Apache-2.0
//
// The next image: what its file is, and a word about it at the door.
#pragma once
#include "rt/base.h"
#include "store/codes.h"

#include <elf.h>
#include <stdbool.h>

// Will the next image be recorded? Most that cannot load us simply run without (static ones, other
// word sizes). Two kinds would not run at all: a program of musl's loader, which takes a library it
// cannot relocate for fatal, and one of a shared sanitizer, which insists on coming first.
// Whichever it is, the supervisor is told before the exec, or else nobody would know.

struct tide_exec_target {
  bool is_unfit;     // it will run unrecorded
  enum tide_why why; // then
  bool takes_us;     // false: it must be started without us
  bool is_elf;       // its file could be read, and is a program
  bool is_told;      // the supervisor knows
  bool is_seen_to;   // and sees to it that it is recorded nevertheless
  char path[1024];   // as it was found; of a script, its interpreter
};

// The supervisor's door, which stays; "" when there is none or other processes are left alone.
void tide_exec_target_init(const char *door);

// file as execve takes it; with search as execvp does, in path (NULL: nowhere). What cannot be read
// is taken to fit.
void tide_exec_target_look(const char *file, bool search, const char *path,
                           struct tide_exec_target *ret_target);

// This process is about to become the target. Also where it fits: a fork child whose parent is gone
// must be known before its exec, or the next image is a stranger.
void tide_exec_target_announce(struct tide_exec_target *target);
// This process is about to start another that becomes the target.
void tide_exec_target_announce_spawn(struct tide_exec_target *target);
// The call has returned: an exec has failed, a spawn has made `child` unless that is 0.
void tide_exec_target_returned(struct tide_exec_target *target, uint32_t child);

// Arguments and variables leave no room for ours: says so.
void tide_exec_target_is_long(struct tide_exec_target *target);

// Tells the user that the program is run without us, unless it is recorded nevertheless.
void tide_exec_target_say(const struct tide_exec_target *target);

// ---- an allocator of its own ----
//
// Does a program bring an allocator of its own, which the hooks would not see? Told by the global
// symbols that its file defines: a few microseconds where it is stripped. What is too large to be
// looked at is taken to bring none.

bool tide_exec_allocator_inside(long fd, const Elf64_Ehdr *elf);
