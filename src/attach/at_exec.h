// SPDX-License-Identifier: Apache-2.0
//
// A process taken through its exec: stopped where its new program begins, or where the loader has
// mapped every library that it starts with and has run nothing of any. Nobody else is told: a
// signal that comes is passed on, and a stop by job control stays one.
//
// Whoever traces may be killed at any moment. Nothing is written into the process but two things
// that harm nobody: the loader's sign for debuggers makes a system call that does nothing, and our
// own library is blanked among the preloads (PRELOAD below).
#pragma once
#include "attach/loaded.h"

#include <sys/types.h>

// Seizes a thread that is about to exec; with `spawns`, one that is about to start a process that
// will. False: errno says why.
bool tide_at_exec_seize(pid_t tid, bool spawns);

// Waits until a process stands at the beginning of its new program, and returns its number; 0: it
// has ended, or whoever holds the other end of `words` has told us to give up, or has gone.
pid_t tide_at_exec_await(int words);

// Where a process's loader says whether what it loads is there, an int that is 0 then. 0: nowhere.
uint64_t tide_at_exec_loader_state(const struct tide_outside *outside);

// Goes on until the loader has mapped everything. False with a reason: it cannot be told when; the
// process goes on from where it stands.
bool tide_at_exec_load(pid_t pid, const char **ret_why);
// Would that work with this loader, by its file?
bool tide_at_exec_gives_sign(const struct tide_loaded *loader);

// Lets it go, with the signals that came meanwhile (a bit each, from 1 on).
void tide_at_exec_go(pid_t pid, uint64_t signals);

// Does the process have a loader? A static one does not.
bool tide_at_exec_has_loader(pid_t pid);

enum { TIDE_PRELOAD_PLACES = 4 };

// LD_PRELOAD as the loader will see it.
struct tide_preload {
  uint64_t at[TIDE_PRELOAD_PLACES]; // where our library's path stands among its entries
  size_t n_places, n;               // n: bytes of the path
};

// Looks for the library's path, wherever others have put theirs before it. To be called where the
// program begins.
struct tide_preload tide_preload_find(pid_t pid, const char *library);
// Blanks it, so that the loader finds nothing there; and puts it back, for children. False: it
// cannot be written, or stands there too often.
bool tide_preload_blank(pid_t pid, const struct tide_preload *preload);
void tide_preload_restore(pid_t pid, const struct tide_preload *preload, const char *library);
