// SPDX-License-Identifier: Apache-2.0
//
// Tables of where the resident memory of the images is (residence/take.h), taken while they run.
//
// One takes 0.1 to 0.7 seconds of a core for each gigabyte, so a thread of its own does it, one at
// a time, and the timeline goes on. Of an image they are taken when its RSS has grown by an eighth
// since the last, or its heap has changed by as much, and now and then besides. In all they take a
// fiftieth of a core at most, and what a run has to begin with. That is 250 ms for programs that
// wait while both stand still: nobody is held up. Those that work meanwhile feel it in their caches
// and on their cores, so half of the share and an eighth of the beginning are theirs, that once
// both stand still or each time that they have doubled: a table of a program that grows is soon out
// of date. Tables are thinned out like snapshots; the one of the most memory stays.
//
// A program of which samples alone are recorded may run for months, and is not to notice: tables,
// ticks and snapshots (observe/sample.h) then take a tenth of that. While it works, tables take
// that part of the time that it has worked, not of all: one that works now and then would find what
// was earned meanwhile spent on its work.
#pragma once
#include "model/residence_table.h"

enum { TIDE_SAMPLED_REST = 10 }; // so many times as long between two looks

struct tide_lookout;

struct tide_lookout_tables {    // of one image
  struct tide_residence *items; // by rising time
  size_t n;
  uint64_t seen_bytes, seen_live;             // RSS, and the heap, when the last one was asked for
  uint64_t still_bytes, still_live, still_ns; // neither has moved much from these since then
  uint64_t still_cpu_ns;                      // what it had worked by then
  uint64_t worked_ns;                         // what it has worked; where not known, all the time
  uint64_t next_ns, interval_ns; // when the next is due without growth, at the earliest
};

// No thread is started before there is something to do.
struct tide_lookout *tide_lookout_new(void);
void tide_lookout_free(struct tide_lookout *lookout);

// What tables have cost.
struct tide_lookout_purse {
  uint64_t spent_ns;             // of a core
  uint64_t worked_ns;            // by all images
  uint64_t ns_per_kib, seen_kib; // of RSS, as the last one took; how much that was
};

struct tide_lookout_image {
  uint32_t number, pid;
  int pid_fd, store_fd;           // the caller's
  uint64_t rss_bytes, live_bytes; // now
  uint64_t cpu_ns;                // that it has worked; 0: not known
  bool is_sampled;                // only some of its events are recorded
};

// Shall one be taken now? Notes what the image does; ask at every sample.
bool tide_lookout_is_due(struct tide_lookout_purse *purse, struct tide_lookout_tables *tables,
                         const struct tide_lookout_image *image, uint64_t now_ns);
// One is being taken; and it has been.
void tide_lookout_note_look(struct tide_lookout_tables *tables,
                            const struct tide_lookout_image *image, uint64_t now_ns);
void tide_lookout_note_cost(struct tide_lookout_purse *purse, uint64_t rss_bytes, uint64_t cost_ns);
struct tide_lookout_purse tide_lookout_purse_new(void);

// Begins to take a table of the image if one is due and there is nothing else under way. Times are
// those of the capture, which has run for now_ns.
void tide_lookout_consider(struct tide_lookout *lookout, struct tide_lookout_tables *tables,
                           const struct tide_lookout_image *image, uint64_t now_ns);

// A table that was finished since, and whose; false: none. One of a process that did not live to
// its end is not among them.
bool tide_lookout_take(struct tide_lookout *lookout, uint32_t *ret_number,
                       struct tide_residence *ret_table);

// Waits for the one that is under way.
void tide_lookout_wait(struct tide_lookout *lookout);

// Takes the table over.
void tide_lookout_tables_add(struct tide_lookout_tables *tables, struct tide_residence *table);
void tide_lookout_tables_done(struct tide_lookout_tables *tables);
