// SPDX-License-Identifier: Apache-2.0
//
// A recording of events played back into the numbers a capture holds: per stack, at the peak, at
// the end, and over time. Nothing is kept per event: memory is that of stacks and of kinds, a kind
// being a size at a stack. An event touches its kind and its stack, a cache line each.
//
// The share of each stack in the peak costs nothing while events come: when the live bytes first
// fall below a new maximum an epoch begins, and a stack that changes in a later epoch than its own
// notes what it held until then, which is its share. What never changes again still holds it.
#pragma once
#include "import/builder.h"
#include "import/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_replay_kind {
  uint64_t size_bytes;
  uint64_t n_alloc;
  uint32_t stack;
  uint32_t n_live; // a kind of 2^32 live blocks would need more memory than there is
};

struct tide_replay_stack { // a cache line
  uint64_t n_alloc, b_alloc;
  uint64_t live_bytes, peak_bytes, high_bytes;
  uint32_t live_blocks, peak_blocks;
  uint32_t epoch;
  uint32_t node;
  uint64_t last_ns;
};

struct tide_replay_more { // what fewer events need
  uint64_t n_temp, b_temp;
  uint64_t n_counted, b_counted; // allocations in snapshots so far
  uint64_t first_ns;
};

struct tide_replay {
  struct tide_builder *builder; // not owned
  struct tide_replay_kind *kinds;
  size_t n_kinds, cap_kinds;
  struct tide_table kind_table; // only where kinds are asked for by size and stack
  struct tide_replay_stack *stacks;
  struct tide_replay_more *more;
  size_t n_stacks, cap_stacks, cap_more;
  uint64_t now_ns, rss_bytes, max_rss_bytes;
  uint64_t n_alloc, b_alloc, n_free;
  uint64_t live_bytes, live_blocks;
  uint64_t peak_bytes, peak_blocks, peak_ns, peak_rss_bytes;
  uint64_t raised_ns; // when live bytes last rose above the peak
  uint32_t epoch;
  uint64_t n_events_since, next_snapshot_ns, snapshot_interval_ns;
};

void tide_replay_init(struct tide_replay *replay, struct tide_builder *builder);
void tide_replay_done(struct tide_replay *replay);

// A new stack; its node must not have one yet.
uint32_t tide_replay_stack_new(struct tide_replay *replay, uint32_t node);

// A new kind, or the one of that size and stack: a recording does one or the other throughout.
uint32_t tide_replay_kind_new(struct tide_replay *replay, uint32_t stack, uint64_t size_bytes);
uint32_t tide_replay_kind_of(struct tide_replay *replay, uint32_t stack, uint64_t size_bytes);

void tide_replay_alloc(struct tide_replay *replay, uint32_t kind);
// False, and nothing changed, when no block of that kind is live.
bool tide_replay_free(struct tide_replay *replay, uint32_t kind, bool temporary);

// The resident size from now on, also at a point of the timeline that is of this very moment.
void tide_replay_rss(struct tide_replay *replay, uint64_t rss_bytes);

// The clock moves on; times that fall are held. A point of the timeline, at times a snapshot.
void tide_replay_time(struct tide_replay *replay, uint64_t now_ns);

// The image's sites, peak, end, timeline and snapshots.
void tide_replay_finish(struct tide_replay *replay);

// ---- live blocks by address ----
//
// Live blocks by address, for recordings that name them so: open addressing, at most half full,
// removal without graves. Memory grows with live blocks alone.

struct tide_live_block {
  uint64_t addr; // 0: free slot; a block at 0 is not kept
  uint32_t kind; // what it is
};

struct tide_import_map {
  struct tide_live_block *slots;
  size_t n, cap; // cap is 0 or a power of two
};

void tide_live_map_done(struct tide_import_map *map);

// False, and nothing changed, when a block is there already.
bool tide_live_map_put(struct tide_import_map *map, const struct tide_live_block *block);
bool tide_live_map_take(struct tide_import_map *map, uint64_t addr,
                        struct tide_live_block *ret_block);
