// SPDX-License-Identifier: Apache-2.0
//
// The steps of reading a store that both ways share: into rows (store_read.c) and into a pack
// (store_pack.c). Private to these two, and to what they read first (store_facts.c).
#pragma once
#include "model/model.h"
#include "observe/before.h"
#include "observe/clock.h"
#include "observe/store_view.h"

enum { TIDE_READING_FAMILIES = 64 };

struct tide_reading {
  struct tide_store_view *view;
  const struct tide_clock *clock;
  struct tide_image *image;
  uint64_t *slot_events; // per thread slot: calls made, for the overhead
  bool has_carries;
  uint8_t life_bucket[TIDE_LIFE_BUCKETS]; // ticks to nanoseconds
  // Sums over cells, of the heap but for the first:
  uint64_t last_ticks, heap_last_ticks;
  uint64_t live_bytes, live_blocks;                      // now
  uint64_t share_bytes, share_blocks;                    // at the peak, as the cells have it
  struct tide_allocator families[TIDE_READING_FAMILIES]; // the same of each
  struct tide_event_row *events;                         // in the order of their cells
  size_t n_events, cap_events;
  struct tide_names_builder *names; // of scopes; NULL: there are none
  bool peak_is_now;                 // so every share is what is live; once that is found
  struct tide_before_cell before;   // of the cell at hand
};

// What the store says of its process as a whole; times begin with a reset.
void tide_reading_facts(struct tide_reading *r);
// Makes an image of everything but frames, sites and what follows from those.
void tide_reading_begin(struct tide_reading *r, struct tide_store_view *view,
                        const struct tide_clock *clock, struct tide_image *ret_image);
// A cell and its annexes, without what it had before a reset. Valid until the next one is read.
// False: there is nothing to tell.
bool tide_reading_cell(struct tide_reading *r, const struct tide_cell_block *block, uint32_t i,
                       struct tide_whole_cell *ret);
// Adds a cell to the sums.
void tide_reading_count(struct tide_reading *r, const struct tide_whole_cell *whole,
                        const struct tide_owner *owner);
// Adds a cell of ad hoc events, if it is one, to those of the image.
void tide_reading_event(struct tide_reading *r, const struct tide_cell_block *block, uint32_t i);
// The peak and the cost, when all cells were counted. Ends the reading.
void tide_reading_end(struct tide_reading *r);

// A cell's share of the peak.
struct tide_share {
  int64_t bytes, blocks;
  uint64_t bytes_spread, blocks_spread;
};
struct tide_share tide_reading_share(const struct tide_reading *r,
                                     const struct tide_whole_cell *whole);

// The share of a site when the peak is now.
static inline void tide_reading_share_is_live(struct tide_site *site)
{
  site->peak_bytes = tide_counters_live_bytes(&site->counters);
  site->peak_blocks = tide_counters_live_blocks(&site->counters);
  site->peak_bytes_spread = site->live_bytes_spread;
  site->peak_blocks_spread = site->live_blocks_spread;
}

// The row of a cell, with its buckets among the image's counts; without the ages of live blocks.
void tide_reading_site(const struct tide_reading *r, const struct tide_whole_cell *whole,
                       const struct tide_owner *owner, struct tide_site *ret_site);
// The sum of the ages of its live blocks in ticks, modulo 2^64.
uint64_t tide_reading_age_ticks(const struct tide_reading *r, const struct tide_whole_cell *whole,
                                uint64_t end_ticks);
// A row of a stack whose rows mean nothing alone: a block is taken from the sums of the thread that
// frees it. Where that is not the one that allocated it, one is far too high, another below zero.
static inline bool tide_reading_is_mixed(uint64_t n_foreign, uint64_t age_ticks)
{
  return n_foreign > 0 || (int64_t)age_ticks < 0;
}
uint64_t tide_reading_age_ns(const struct tide_reading *r, uint64_t age_ticks);

// Keeps the name of a frame that is a scope.
void tide_reading_scope(struct tide_reading *r, const struct tide_frame *frame);
struct tide_frame tide_reading_frame(const struct tide_reading *r, const struct tide_node *node);
