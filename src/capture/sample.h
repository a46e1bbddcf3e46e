// SPDX-License-Identifier: Apache-2.0
//
// Watching one store over time: the timeline and the snapshots of an image, taken without stopping
// it and in bounded memory. Both start dense, because most programs are short, and thin out: when
// the table is full every other entry goes and the interval doubles, so an hour has as many points
// as a second.
//
// What a look costs is measured, and the next one waits its hundredfold: a program with a million
// stacks is looked at less often, never at the expense of its core. Live bytes come from the
// header and the threads' deltas and are cheap at any size; counts need a walk over all cells, so
// between two walks they are interpolated.
//
// A snapshot also counts what was allocated since the one before. One that is thinned out leaves
// its counts to the next, so nothing allocated is ever counted twice or not at all.
#pragma once
#include "capture/model.h"
#include "capture/store_view.h"

#define TIDE_SAMPLE_MAX_TICKS 1024
#define TIDE_SAMPLE_MAX_SNAPSHOTS 198 // two more are made at the end: peak and end

struct tide_sample_tick {
  struct tide_tick tick;
  bool counted; // n_alloc, b_alloc, n_free, live_blocks are of this moment
};

struct tide_sample_stack {
  uint64_t n_alloc, b_alloc, n_free, b_free; // sums of the walk at hand, else zero
  uint64_t n_counted, b_counted;             // allocations that the snapshots together count
};

struct tide_sampler {
  uint32_t pid; // 0: not known, no RSS
  int statm_fd; // /proc/PID/statm, -1 when there is none
  struct tide_sample_tick *ticks;
  size_t n_ticks, cap_ticks;
  struct tide_snapshot *snapshots;
  size_t n_snapshots, n_rows; // rows over all snapshots
  struct tide_sample_stack *stacks;
  size_t n_stacks, cap_stacks;
  uint32_t *stack_of_node; // index + 1; 0: no cell was seen there, as with most nodes
  size_t cap_nodes;
  uint64_t max_rss_bytes; // the largest that was seen, or that the kernel remembers
  // Times on the capture's clock.
  uint64_t tick_interval_ns, next_tick_ns, next_walk_ns;
  uint64_t snapshot_interval_ns, next_snapshot_ns, next_rss_mark_ns;
};

void tide_sampler_init(struct tide_sampler *sampler, uint32_t pid, uint64_t time_ns);
void tide_sampler_done(struct tide_sampler *sampler);

// Takes what is due at time_ns; the view must be ready. Returns when to come back. n_sharing images
// share the processor time that looking may take.
uint64_t tide_sampler_look(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns, size_t n_sharing);

// Drops every other snapshot but the last and takes them half as often from now on.
void tide_sampler_thin_snapshots(struct tide_sampler *sampler);

// Gives the image its timeline, ending in exact ticks at its peak and its end, its snapshots with
// those of peak and end among them, and what was seen of its RSS. The image's sites, peak_ns and
// end_ns must be there. The timed snapshots' rows stay the sampler's (see
// tide_sampler_take_back()) unless give_away says that the image may keep them.
void tide_sampler_fill_image(struct tide_sampler *sampler, struct tide_image *image,
                             bool give_away);
// Before an image that was filled without give_away is freed.
void tide_sampler_take_back(struct tide_image *image);
