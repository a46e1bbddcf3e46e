// SPDX-License-Identifier: Apache-2.0
//
// What servers are told of a run at one moment: a profile of each process that runs, those that
// hold most, and a last one of each that has ended, at the time of its end. Servers tell the
// processes apart by labels (service_name, host, pid), since two profiles of one time under the
// same labels would be added up by Parca and be one for Pyroscope.
//
// What is held is what is held then; what was allocated is what was allocated since the profile of
// that process before, so that sums over time are sums, as long as every request is taken.
//
// A process whose recording is switched off is told of once more, with all that was recorded up to
// then, and again when it is on, or at its end.
#pragma once
#include "cli/arguments.h"
#include "model/model.h"
#include "push/outbox.h"
#include "view/rules.h"

enum { TIDE_PUSH_MAX_PROCESSES = 16 }; // at one moment

struct tide_push_told; // of one process

struct tide_push_moments { // all zero but what the caller sets
  const struct tide_arguments *arguments;
  const struct tide_rules *rules;
  const char *name; // of the capture
  struct tide_push_label labels[TIDE_PUSH_MAX_LABELS];
  size_t n_labels;
  // Its own:
  char host[256];
  uint64_t latest_ns; // realtime: no two moments are the same
  struct tide_push_told *told;
  size_t n_told, cap_told;
  uint64_t n_left_out; // processes that the end was too full for; at the end
  size_t n_silent;     // processes of the latest moment that nothing was told of: see above
};

// Puts what is to be told into these, of which some may be NULL. From one thread at a time.
void tide_push_moments_tell(struct tide_push_moments *moments, const struct tide_capture *capture,
                            bool is_end, struct tide_outbox *const *outboxes, size_t n_outboxes);
void tide_push_moments_done(struct tide_push_moments *moments);
