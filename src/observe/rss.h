// SPDX-License-Identifier: Apache-2.0
//
// The RSS of one image over time, as the program's own: what the kernel counts less what of it is
// the recorder's. The first is read at every tick, the second less often, because it costs more
// (each look is paid for by a wait of a hundred times its cost, like every other): in between it is
// taken to rise evenly, which the two looks around a moment bound.
#pragma once
#include "model/model.h"
#include "observe/store_view.h"
#include "observe/untouched.h"

// ---- what is in memory now ----
//
// What of a target is in memory, and how much of that is the recorder's. Nobody is stopped: the
// kernel tells the first in a line of text and the second page by page, for the ranges that the
// recorder has noted in the store. The second costs about 10 ns for each page of ours.
//
// /proc/PID/pagemap stays with the memory it was opened for, so it also tells whether that is still
// there: statm of a process that has replaced itself by exec is already about something else.

struct tide_resident {
  uint32_t pid;             // whose files are still to be opened; 0: they were, or of nobody
  int statm_fd, pagemap_fd; // -1: not to be had
  bool scans;               // the kernel can be asked for ranges (6.7 and later)
  uint64_t home;            // where the target has its store; 0: not known
  // Of what the recorder had when it was last asked for: the store, which is shared memory, and its
  // code. Whatever else it had is of no file.
  uint64_t recorder_shared_bytes, recorder_file_bytes;
  struct tide_range *ranges; // as of the last look
  size_t cap_ranges;
  // The most that was seen, and what there was at the first look: neither of files nor of the
  // store.
  uint64_t max_anonymous_bytes, first_anonymous_bytes;
  bool has_looked;
};

// Opens nothing before it is asked for something: most short processes never are. 0: of nobody.
void tide_resident_open(struct tide_resident *resident, uint32_t pid);
void tide_resident_close(struct tide_resident *resident);

// All bytes in memory, the recorder's among them; 0: not known, or no longer the image's.
uint64_t tide_resident_all(struct tide_resident *resident, const struct tide_store_view *view);

// Has the process surely become another one's, by exec or by its end?
bool tide_resident_has_left(struct tide_resident *resident, const struct tide_store_view *view);

// Those of the recorder; 0: not known.
uint64_t tide_resident_recorder(struct tide_resident *resident, const struct tide_store_view *view);

// ---- over time ----

struct tide_rss_look { // both at one moment
  uint64_t time_ns, all_bytes, recorder_bytes;
};

struct tide_rss_high { // a moment that may have been the highest; all_bytes 0: none
  uint64_t time_ns, all_bytes;
  int64_t live_bytes; // -1: not known
};

struct tide_rss {
  struct tide_resident resident;
  uint32_t pid;
  struct tide_rss_look *looks; // by rising time
  size_t n_looks, cap_looks;
  struct tide_rss_kinds *kinds; // at some of the looks, without the recorder's; by rising time
  size_t n_kinds, cap_kinds;
  uint64_t kinds_interval_ns;
  // The tick at which most was the program's own, judged by what was last known to be the
  // recorder's: ticks are thinned out, and this one is kept.
  struct tide_rss_high at_tick;
  uint64_t max_own_bytes;
  uint64_t old_mark_bytes;     // the kernel's high water mark at a restart
  struct tide_rss_high marked; // the kernel's high water mark; reached then or a little earlier
  uint64_t max_all_bytes;      // over all ticks
  uint64_t ceiling_bytes, ceiling_ns; // up to that moment there was never more; 0: not known
  struct tide_untouched untouched;
  bool has_ended; // nobody will look again, and what is in `untouched` is over
  uint64_t max_recorder_bytes, max_swapped_bytes;
  uint64_t spent_ns; // on the last look at the recorder's part, if it was in the last take
  uint64_t look_interval_ns, next_look_ns, next_mark_ns;
};

#define TIDE_RSS_MAX_LOOKS 1024
#define TIDE_RSS_MAX_KINDS 256 // of which each process that ended keeps as many

void tide_rss_init(struct tide_rss *rss, uint32_t pid, uint64_t time_ns);
void tide_rss_done(struct tide_rss *rss);

// All bytes that are in memory now, and whatever else is due; 0: not known. The heap holds
// live_bytes.
uint64_t tide_rss_take(struct tide_rss *rss, const struct tide_store_view *view, uint64_t time_ns,
                       int64_t live_bytes, size_t n_sharing);

// The highest are looked for anew, from now on. What the kernel has as its high water mark counts
// only if it rises.
void tide_rss_restart(struct tide_rss *rss);

// A high water mark that somebody else has heard of.
void tide_rss_note_mark(struct tide_rss *rss, uint64_t time_ns, uint64_t high_bytes);

// What the process, and perhaps others, never had more than, over the whole of its life.
void tide_rss_note_ceiling(struct tide_rss *rss, uint64_t high_bytes);

// The image has ended, at the latest at time_ns: nobody looks again. After the notes above.
void tide_rss_note_end(struct tide_rss *rss, uint64_t time_ns);

// The program's own part of what tide_rss_take() gave at that time (all of it where the recorder's
// is not known), and by how much it may be wrong.
uint64_t tide_rss_own(const struct tide_rss *rss, uint64_t time_ns, uint64_t all_bytes,
                      uint64_t *ret_bound);

// Did the heap hold what it held at its peak, or next to that?
bool tide_rss_is_at_peak(const struct tide_image *image, const struct tide_tick *tick);

// Tells the image all there is to know of its RSS. Its ticks are the program's own already; near is
// the tick, as it was taken, that tells most of its peak.
void tide_rss_fill_image(const struct tide_rss *rss, const struct tide_tick *near,
                         struct tide_image *image);
