// SPDX-License-Identifier: Apache-2.0
//
// What a thread allocates and frees, counted as it happens: for a program that asks (regions, in
// tidemark.h). The store counts by stack, so that a sum would take as long as there are stacks, and
// a maximum of some while could not be told at all.
//
// It costs nothing while nobody asks. A thread that is tallied always owes something (thread.h), so
// that each of its events ends in tide_leave_slow(), with what kind of event it was, or, where the
// thread's own regions are all that it owes for, in a few additions at its end. How much it was is
// told by what the thread's slot holds, with what waits in its pairs: before and after.
//
//     live bytes               /\                  open regions, each with the most that was
//        |            /\      /  \                 live from its beginning to that of the next
//        |      /\   /  \  B_/    \_ now
//        |  A__/  \_/    \/                        A: the first two summits, B: the third.
//        |__/___________________________ time      The most since A is the highest of A and B.
//
// So an event looks at the latest region alone, and a region that nobody ends is one entry too many
// in a table that is the recorder's own: nothing points to memory of the program's.
//
// All threads together are counted in the same way, under a lock, while a region of the process is
// open. That begins as each thread looks up before its next event.
#pragma once
#include "store/store.h"

// The kind of an event, told when its thread leaves.
enum tide_event { TIDE_EVENT_NONE, TIDE_EVENT_ALLOC, TIDE_EVENT_FREE, TIDE_EVENT_RESIZE };

struct tide_region_counts {
  uint64_t n_alloc, n_free, n_resize; // a resize is neither of the others
  uint64_t b_alloc, b_free;           // what resizes gain and lose included
  int64_t b_resize;
  uint64_t b_fresh, b_resized; // of allocations alone; new sizes of resizes
};

struct tide_live_most {
  int64_t bytes, blocks;
};

enum { TIDE_OPEN_MOST = 32, TIDE_LOGGED_MOST = 4096 };

// The latest events, for who wants to know where they were: a ring. Of a resize, two.
struct tide_region_row {
  uint64_t addr;
  uint64_t what; // TIDE_ROW_WHAT(); of an end, 0
};
enum { TIDE_ROW_CELL_BITS = 28 };
#define TIDE_ROW_MOST_BYTES ((UINT64_C(1) << (64 - TIDE_ROW_CELL_BITS)) - 1)
#define TIDE_ROW_BYTES(what) ((what) >> TIDE_ROW_CELL_BITS)
#define TIDE_ROW_CELL(what) ((uint32_t)(what) & ((1u << TIDE_ROW_CELL_BITS) - 1))

struct tide_region_table {
  struct tide_region_counts counts; // while any is open
  struct tide_region_row *log;      // of TIDE_LOGGED_MOST; NULL: there is no memory for it
  uint64_t n_logged;                // so far
  uint64_t last_id;
  uint32_t n_open;
  struct tide_open {
    uint64_t id;
    struct tide_live_most most; // until the next one began
  } open[TIDE_OPEN_MOST];
};

struct tide_thread_tally {
  const struct tide_thread_slot *slot;
  bool is_on;                        // each event is noted
  uint64_t resized_from, resized_to; // by the event under way: address, and size
  int64_t held;                      // as of the latest
  uint64_t serial;    // of the thread that has this state, among all; 0: it has not asked
  uint64_t since[16]; // a region of the way in's, for what the thread did since it first asked
  struct tide_region_table tally;
};

// A thread takes over a state: it has no open regions. After its clock was read.
void tide_tally_adopt(struct tide_thread_tally *own, const struct tide_thread_slot *slot);
// The thread looks up, after its clock was read: is it to be tallied from now on?
void tide_tally_look(struct tide_thread_tally *own);
// An event, as a thread that is tallied tells it at its end.
struct tide_noted {
  enum tide_event event;
  uint32_t cell;      // of a new block, or a resized one
  uint64_t addr;      // of the block
  uint64_t old, size; // of a resize: where the block was, and what it has now
};
void tide_tally_note(struct tide_thread_tally *own, const struct tide_noted *noted);
// Is there nothing to be tallied for but regions of the thread itself?
bool tide_tally_is_own(const struct tide_thread_tally *own);
// first: another number for each recording of a process, in which regions of an earlier one are
// known not to be open.
void tide_tally_init(uint64_t first);
void tide_tally_after_fork(void);

// ---- by a thread that has entered, and owes something from then on ----

// Which of two tables: the thread's, or that of the process.
enum tide_tally_whose { TIDE_TALLY_PROCESS, TIDE_TALLY_THREAD };

// Where a region began. Of the caller's memory: nothing of it is believed.
struct tide_region_start {
  uint64_t id;     // 0: it is not open
  uint64_t image;  // in which fork child, of which recording
  uint64_t serial; // of its thread
  uint64_t n_logged;
  struct tide_region_counts base;
};

void tide_tally_open(struct tide_thread_tally *own, enum tide_tally_whose whose,
                     struct tide_region_start *ret);
// What has changed since, and the most that was live above what was then. False: it is not open any
// more. ret_is_foreign: it is another thread's.
bool tide_tally_read(struct tide_thread_tally *own, enum tide_tally_whose whose,
                     const struct tide_region_start *start, struct tide_region_counts *ret_counts,
                     struct tide_live_most *ret_most, bool *ret_is_foreign);
// Copies what was logged since, of TIDE_LOGGED_MOST the latest; gives how many. ret_n: of so many.
uint32_t tide_tally_rows(struct tide_thread_tally *own, enum tide_tally_whose whose,
                         const struct tide_region_start *start, struct tide_region_row *to,
                         uint64_t *ret_n);
void tide_tally_close(struct tide_thread_tally *own, enum tide_tally_whose whose,
                      const struct tide_region_start *start);

// ---- the usual case ----
//
// Of a thread whose own regions are all that is tallied for (tide_tally_is_own()), one of which is
// open: a block that is new, or one that ended, and nothing else.

// What waits in the pairs is as good as held.
TIDE_HOT int64_t tide_tally_held(const struct tide_thread_tally *own)
{
  const struct tide_thread_slot *slot = own->slot;
  uint64_t open = tide_load_relaxed(&slot->pairs.open);
  return tide_load_relaxed(&slot->held) + (open ? (int64_t)open - 1 : 0);
}

// What the event changed.
TIDE_HOT int64_t tide_tally_change(struct tide_thread_tally *own)
{
  int64_t held = tide_tally_held(own), change = held - own->held;
  own->held = held;
  return change;
}

TIDE_HOT void tide_tally_log(struct tide_region_table *y, uint64_t addr, uint64_t what)
{
  if (TIDE_LIKELY(y->log))
    y->log[y->n_logged++ % TIDE_LOGGED_MOST] = (struct tide_region_row){addr, what};
}

// What is logged of a block.
TIDE_HOT uint64_t tide_tally_what(uint32_t cell, uint64_t bytes)
{
  bytes = bytes < TIDE_ROW_MOST_BYTES ? bytes : TIDE_ROW_MOST_BYTES;
  return cell ? bytes << TIDE_ROW_CELL_BITS | cell : 0;
}

TIDE_HOT struct tide_live_most tide_tally_live(const struct tide_region_counts *c)
{
  return (struct tide_live_most){(int64_t)(c->b_alloc - c->b_free),
                                 (int64_t)(c->n_alloc - c->n_free)};
}

// Of moments with as much, the latest is the one.
TIDE_HOT void tide_tally_raise(struct tide_live_most *most, struct tide_live_most now)
{
  if (now.bytes >= most->bytes)
    *most = now;
}

TIDE_HOT void tide_tally_alloc(struct tide_thread_tally *own, uint64_t addr, uint32_t cell)
{
  struct tide_region_table *y = &own->tally;
  struct tide_region_counts *c = &y->counts;
  uint64_t size = (uint64_t)tide_tally_change(own);
  c->n_alloc++;
  c->b_alloc += size;
  c->b_fresh += size;
  tide_tally_raise(&y->open[y->n_open - 1].most, tide_tally_live(c));
  tide_tally_log(y, addr, tide_tally_what(cell, size));
}

TIDE_HOT void tide_tally_free(struct tide_thread_tally *own, uint64_t addr)
{
  struct tide_region_table *y = &own->tally;
  y->counts.n_free++;
  y->counts.b_free -= (uint64_t)tide_tally_change(own);
  tide_tally_log(y, addr, 0);
}
