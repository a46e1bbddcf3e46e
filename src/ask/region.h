// SPDX-License-Identifier: Apache-2.0
//
// A region of the program's (tidemark.h), as the functions that it calls see it.
#pragma once
#include "record/tally.h"

struct tide_seat;
struct tide_thread;
struct tidemark_stats;

// What is in a struct tidemark_region. It is the program's memory: nothing of it is believed.
struct tide_region {
  struct tide_region_start start; // first: its id is what the header sets to 0
  uint32_t whose, n_pauses;
  uint64_t n_lost;
};

// 0, and the thread has entered; or -errno.
long tide_region_enter(struct tide_seat *seat, struct tide_thread **ret);
// By one who has. 0, or -errno.
long tide_region_read(struct tide_thread *t, const struct tide_region *region,
                      struct tidemark_stats *ret);
