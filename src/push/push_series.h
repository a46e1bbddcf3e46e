// SPDX-License-Identifier: Apache-2.0
//
// What servers are sent of one process at one moment: profiles, and the labels that tell them from
// those of others.
#pragma once
#include "base/buf.h"

enum {
  TIDE_PUSH_MAX_LABELS = 20,                       // of the user's; servers take 30
  TIDE_PUSH_ALL_LABELS = TIDE_PUSH_MAX_LABELS + 3, // with service_name, host and pid
  TIDE_PUSH_MAX_PROFILES = 2,
};

struct tide_push_label {
  const char *name, *value; // not owned
};

struct tide_push_series {
  struct tide_push_label labels[TIDE_PUSH_ALL_LABELS]; // by rising name
  size_t n_labels;
  struct tide_buf profiles[TIDE_PUSH_MAX_PROFILES]; // each a whole pprof; owned
  size_t n_profiles;
  uint64_t since_ns; // what was allocated is that of so long before; OTLP alone asks
};

void tide_push_series_done(struct tide_push_series *series); // all zero is fine
