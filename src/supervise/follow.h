// SPDX-License-Identifier: Apache-2.0
//
// Being the parent of the command: waiting for it, stopping when it is stopped, passing on signals.
//
// The terminal sends Ctrl-C, Ctrl-\, Ctrl-Z and a hangup to the whole foreground group, so the
// command has those already; what another process sends to us is meant for the command and is
// passed on (so a signal that a process sends to the whole group reaches the command twice: better
// than not at all, and nobody can tell the two apart). All signals are blocked meanwhile and read
// from a descriptor: dispositions stay as they were, because the command inherits them.
//
// Whoever waits for the rest, too, becomes the parent of what the command leaves behind, which
// otherwise is the system's first process: the only way to know of a daemon before it allocates.
#pragma once
#include "base/err.h"
#include <signal.h>
#include <sys/types.h>

struct tide_follow {
  sigset_t old_mask; // as it was, and as the command shall have it
  bool sigchld_was_ignored;
  bool active;        // signals are blocked: tide_follow_done() puts them back
  bool adopts;        // processes that the command leaves behind are ours
  bool terminal_stop; // Ctrl-Z was seen since the command last ran
  int signal_fd;
  int finish_fd;     // an eventfd: whoever writes to it ends the recording, not the command
  int asking_signal; // is for us, and not passed on; 0: none
  void (*asked)(void *context); // called when it comes
  void *asked_context;
};

struct tide_follow_end {
  int exit_status, term_signal; // term_signal 0: it exited
  bool core_dumped;
  uint64_t time_ns;       // CLOCK_MONOTONIC
  uint64_t max_rss_bytes; // the most of any process in its tree that was waited for
  uint64_t cpu_ns;        // of the command alone, children left out
};

enum tide_err tide_follow_init(struct tide_follow *follow, bool adopts, struct tide_diag *diag);
void tide_follow_done(struct tide_follow *follow); // zeroed is fine

// True: the command has ended. False: the recording shall end before it, told once.
bool tide_follow_to_end(struct tide_follow *follow, pid_t pid, struct tide_follow_end *ret_end);

// After the command's end: is any that was adopted still there? The caller has no other children.
bool tide_follow_left_any(const struct tide_follow *follow);
// Until none is. Ctrl-C and the other signals that would end us end the waiting, and so does being
// told that the recording shall end.
void tide_follow_rest(struct tide_follow *follow);
