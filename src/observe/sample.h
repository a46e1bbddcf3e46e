// SPDX-License-Identifier: Apache-2.0
//
// Watching one store over time: the timeline and the snapshots of an image, taken without stopping
// it and in bounded memory. Both start dense, because most programs are short, and thin out: when
// the table is full the interval doubles and what is closer together goes, so an hour has as many
// points as a second.
//
// What a look costs is measured and paid for by a wait (of snapshots: snapshot_pace.h), all
// together a hundredth of a core: a program with a million stacks is looked at less often. Live
// bytes come from the header and the threads' deltas and are cheap at any size; counts need a walk
// over all cells, so between two walks they are interpolated.
//
// A snapshot is kept as what each stack did since the one before, which is known exactly (see
// intervals.h) where the store can be written; elsewhere it is what a walk over the cells found.
// One that is thinned out leaves its counts to the next, so no event is ever counted twice or not
// at all. What was live follows from the sums.
#pragma once
#include "base/buf.h"
#include "model/model.h"
#include "observe/before.h"
#include "observe/intervals.h"
#include "observe/rss.h"
#include "observe/snapshot_pace.h"
#include "observe/store_view.h"
#include "observe/tops.h"

// ---- rows ----
//
// What stacks did between two snapshots, by rising stack: kept as bytes, since of a million stacks
// a row of five words each would be more than all the rest.

struct tide_sample_row {
  uint32_t stack;
  struct tide_tally more;
};

struct tide_sample_rows {
  struct tide_buf bytes;
  size_t n;
  uint64_t next; // the least stack that may be put
};

void tide_sample_rows_done(struct tide_sample_rows *rows);
// Behind all that are there. A row of nothing is not kept.
void tide_sample_rows_put(struct tide_sample_rows *rows, const struct tide_sample_row *row);
// Gives back what was reserved for more.
void tide_sample_rows_fit(struct tide_sample_rows *rows);
// Rows in any order, several of a stack among them, as they belong: sorts them.
void tide_sample_rows_gather(struct tide_sample_rows *ret, struct tide_sample_row *rows, size_t n);
// Adds the rows of another to these.
void tide_sample_rows_join(struct tide_sample_rows *rows, const struct tide_sample_rows *more);

struct tide_sample_reader {
  struct tide_cursor cursor;
  uint64_t next;
  struct tide_sample_row row; // the present one; stack UINT32_MAX: behind the last
};
// At the first row; then from one to the next.
struct tide_sample_reader tide_sample_reader_make(const struct tide_sample_rows *rows);
void tide_sample_reader_next(struct tide_sample_reader *reader);

// ---- watching ----

struct tide_sample_tick {
  struct tide_tick tick;
  bool counted; // live blocks and whatever is cumulative are of this moment
  uint32_t n_tops;
  struct tide_top_value *tops; // what the largest stacks held; the sampler's
};

struct tide_sample_snapshot {
  uint64_t time_ns;
  uint32_t interval; // that ended with it; 0: not known
  struct tide_sample_rows rows;
  size_t n_full; // rows it will have in an image, of what is live, too: at most
  int64_t live_bytes;
  bool is_mark;  // of a moment that has a name: others are thinned out before it
  bool is_reset; // what came before it is live there, and counted nowhere; it stays, as the first
};

struct tide_sample_straggler { // seen after the snapshot it belongs to
  uint32_t interval;
  struct tide_sample_row row;
};

struct tide_sampler {
  struct tide_rss rss;
  struct tide_sample_tick *ticks;
  size_t n_ticks, cap_ticks;
  struct tide_sample_snapshot *snapshots;
  size_t n_snapshots;
  // Of the walk at hand: rows of the snapshot it makes, those that came by rising stack and the
  // others, and rows of snapshots before.
  struct tide_sample_rows rising;
  struct tide_sample_row *rows;
  size_t n_rows, cap_rows;
  struct tide_sample_straggler *stragglers;
  size_t n_stragglers, cap_stragglers;
  size_t n_joined; // stragglers of all walks before
  struct tide_intervals intervals;
  struct tide_tops *tops; // chosen at the snapshot of that time; NULL: none were
  uint64_t chosen_ns;
  struct tide_late_frees lates;
  bool walked;   // the store cannot be written: snapshots are no instants, and nothing is late
  bool finished; // the target has ended, and all of it was taken
  bool lost;     // late frees found no room in the store
  struct tide_before *before; // what was counted up to the latest reset; NULL: there was none
  uint32_t reset_interval;    // the last of those
  const uint8_t *kinds;       // of stacks, the view's, while it is walked
  uint64_t *is_stack;         // a bit per node: a cell was seen there
  size_t cap_nodes, n_stacks;
  // Times on the capture's clock.
  uint64_t tick_interval_ns, next_tick_ns, next_walk_ns;
  struct tide_snapshot_pace pace;
};

// pid 0: not known, no RSS.
void tide_sampler_init(struct tide_sampler *sampler, uint32_t pid, uint64_t time_ns);
void tide_sampler_done(struct tide_sampler *sampler);

// Takes what is due at time_ns; the view must be ready. Returns when to come back. n_sharing images
// share the processor time that looking may take.
uint64_t tide_sampler_look(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns, size_t n_sharing);

// What was allocated so far, from the heap and by all threads: a walk over all cells. The view must
// be ready.
uint64_t tide_sampler_allocated(struct tide_store_view *view);

// Takes a snapshot of what has happened since the last one; the view's nodes must be up to date.
// False: there can be no more of them.
bool tide_sampler_snapshot(struct tide_sampler *sampler, struct tide_store_view *view,
                           uint64_t time_ns);

// The latest one is of a moment with a name.
void tide_sampler_mark_snapshot(struct tide_sampler *sampler);

// All that was counted up to now is taken off from now on, for whoever reads the view, which gets
// the sampler's `before`: timeline and snapshots begin anew, with what is live now. The view must
// be ready. monotonic_ns: now, too. False: there can be no more snapshots, and nothing was done.
bool tide_sampler_reset(struct tide_sampler *sampler, struct tide_store_view *view,
                        uint64_t time_ns, uint64_t monotonic_ns);

// What tide_sampler_reset() does to the snapshots: the latest takes over the counts of all others,
// and is the first from now on.
void tide_sampler_forget_snapshots(struct tide_sampler *sampler);

// Takes snapshots half as often from now on, and drops those that would not have been taken then,
// at least a quarter: never the last, and those of marks only where these are many.
void tide_sampler_thin_snapshots(struct tide_sampler *sampler);

// Rows that the snapshots and late frees will have in an image: what they cost.
size_t tide_sampler_rows(const struct tide_sampler *sampler);

// The target has ended: takes what it did before the last snapshot and was not seen then. The view
// must be fresh. Only then are the late frees of an image known.
void tide_sampler_finish(struct tide_sampler *sampler, struct tide_store_view *view);

// The snapshots so far as an image holds them, in room for two more, and the late frees. Rows of
// stacks that the image does not have are left out.
void tide_sampler_fill_snapshots(const struct tide_sampler *sampler, struct tide_image *image);
void tide_sampler_fill_late_frees(struct tide_sampler *sampler, struct tide_image *image);

// The same for a packed image: its snapshots with those of peak and end, packed.
void tide_sampler_pack_snapshots(const struct tide_sampler *sampler, struct tide_image *image);

// Gives the image its timeline, ending in exact ticks at its peak and its end, its snapshots with
// those of peak and end among them, its late frees if they are known, and what was seen of its RSS.
// The image's sites, peak_ns and end_ns must be there. is_brief: without snapshots and late frees.
void tide_sampler_fill_image(struct tide_sampler *sampler, struct tide_image *image, bool is_brief);
