// SPDX-License-Identifier: Apache-2.0
//
// A process that is to be attached to, as /proc tells of it. Looking changes nothing.
#pragma once
#include "base/err.h"

struct tide_candidate {
  uint32_t pid;
  uint32_t inside_pid; // its number in its own pid namespace, if that is not ours; else 0
  char name[16];
  char exe[4096];  // as it calls its program; "" when that is not known
  char file[64];   // where we can open that, whatever its root
  char where[128]; // "4711 (redis-server, 12 inside its container)", for sentences
};

// Fails when there is no such process.
enum tide_err tide_candidate_read(uint32_t pid, struct tide_candidate *ret_candidate,
                                  struct tide_diag *diag);

// Has it another root directory, or other mounts? Then its paths are not ours.
bool tide_candidate_is_elsewhere(const struct tide_candidate *candidate);

// Refuses what cannot be attached to, with the way out: ended, the kernel's own, ourselves, of
// another machine, recorded already, under valgrind, with a sanitizer, or not permitted.
enum tide_err tide_candidate_check(const struct tide_candidate *candidate, struct tide_diag *diag);
