// SPDX-License-Identifier: Apache-2.0
//
// See snapshot_pace.h. Before a look its cost is guessed by the number of cells, from below: one
// that turns out dearer is paid for afterwards.
#include "observe/snapshot_pace.h"

#define MS UINT64_C(1000000)
#define FIRST_INTERVAL_NS (2 * MS)
#define SHARE 200           // of the time, for snapshots
#define FIRST_SHARE 25      // and this as well
#define FIRST_NS (400 * MS) // for so long
#define CELL_NS 25          // of a cell that did nothing, on the machines measured
#define NEW_CELL_NS 150     // of one that was not there
#define CHEAP_REST 400      // times its cost between two: nobody minds
#define PER_RUN 56          // where they are dear: somewhat more than 50, as looks may come late
#define LONGEST_PART 2      // of the run without one: it is taken on credit
#define CREDIT_PART 30      // of the run, for such a one at most
#define BYTES_PER_MOST 25   // the heap changed by a 25th of the most it held is an interval's way

void tide_snapshot_pace_init(struct tide_snapshot_pace *pace, uint64_t time_ns)
{
  *pace = (struct tide_snapshot_pace){.interval_ns = FIRST_INTERVAL_NS,
                                      .begun_ns = time_ns,
                                      .paid_ns = time_ns,
                                      .last_ns = time_ns};
}

static uint64_t ns_since(uint64_t now_ns, uint64_t then_ns)
{
  return now_ns > then_ns ? now_ns - then_ns : 0;
}

static void pay_in(struct tide_snapshot_pace *pace, uint64_t time_ns, uint64_t n_sharing)
{
  uint64_t before_ns = ns_since(pace->paid_ns, pace->begun_ns);
  uint64_t now_ns = ns_since(time_ns, pace->begun_ns);
  if (now_ns <= before_ns)
    return;
  uint64_t first_ns = ns_since(now_ns < FIRST_NS ? now_ns : FIRST_NS, before_ns);
  double paid_ns = (double)(now_ns - before_ns) / SHARE + (double)first_ns / FIRST_SHARE;
  pace->credit_ns += paid_ns / (double)(n_sharing ? n_sharing : 1);
  pace->paid_ns = time_ns;
}

static double apart(int64_t a, int64_t b)
{
  return a > b ? (double)a - (double)b : (double)b - (double)a;
}

static double way_at(const struct tide_snapshot_pace *pace, uint64_t span_ns, uint64_t interval_ns,
                     int64_t from_bytes, int64_t to_bytes)
{
  double bytes = pace->most_bytes > 0
                     ? apart(from_bytes, to_bytes) * BYTES_PER_MOST / (double)pace->most_bytes
                     : 0;
  bytes = bytes < TIDE_SNAPSHOT_BYTES_PART ? bytes : TIDE_SNAPSHOT_BYTES_PART;
  return (double)span_ns / (double)interval_ns + bytes;
}

double tide_snapshot_pace_way(const struct tide_snapshot_pace *pace, uint64_t span_ns,
                              int64_t from_bytes, int64_t to_bytes)
{
  return way_at(pace, span_ns, pace->interval_ns, from_bytes, to_bytes);
}

// The interval, but where that would be dear as long a one as a fiftieth of the run allows.
static uint64_t present_interval_ns(const struct tide_snapshot_pace *pace, uint64_t time_ns)
{
  uint64_t cheap_ns = pace->cost_ns * CHEAP_REST;
  uint64_t needed_ns = ns_since(time_ns, pace->begun_ns) / PER_RUN;
  uint64_t longest_ns = cheap_ns < needed_ns ? cheap_ns : needed_ns;
  return pace->interval_ns > longest_ns ? pace->interval_ns : longest_ns;
}

static double guess_ns(const struct tide_snapshot_pace *pace, uint64_t n_cells)
{
  uint64_t n_new = n_cells > pace->n_cells ? n_cells - pace->n_cells : 0;
  return (double)n_cells * CELL_NS + (double)n_new * NEW_CELL_NS;
}

// Is the hole so wide that it matters more than what is owed?
static bool has_credit(const struct tide_snapshot_pace *pace, uint64_t time_ns, double guessed_ns)
{
  uint64_t run_ns = ns_since(time_ns, pace->begun_ns);
  return run_ns >= FIRST_NS && ns_since(time_ns, pace->last_ns) >= run_ns / LONGEST_PART &&
         guessed_ns <= (double)run_ns / CREDIT_PART;
}

bool tide_snapshot_pace_is_due(struct tide_snapshot_pace *pace, uint64_t time_ns,
                               int64_t live_bytes, uint64_t n_cells, uint64_t n_sharing)
{
  pay_in(pace, time_ns, n_sharing);
  if (live_bytes > pace->most_bytes)
    pace->most_bytes = live_bytes;
  if (pace->is_over || pace->is_wanted)
    return pace->is_wanted && !pace->is_over;
  double way = way_at(pace, ns_since(time_ns, pace->last_ns), present_interval_ns(pace, time_ns),
                      pace->last_bytes, live_bytes);
  double guessed_ns = guess_ns(pace, n_cells);
  return way >= 1 && (pace->credit_ns >= guessed_ns || has_credit(pace, time_ns, guessed_ns));
}

void tide_snapshot_pace_note(struct tide_snapshot_pace *pace, uint64_t time_ns, int64_t live_bytes,
                             uint64_t n_cells, uint64_t cost_ns)
{
  pace->credit_ns -= (double)cost_ns;
  pace->cost_ns = cost_ns;
  pace->n_cells = n_cells;
  pace->last_ns = time_ns;
  pace->last_bytes = live_bytes;
  pace->is_wanted = false;
}

void tide_snapshot_pace_note_more(struct tide_snapshot_pace *pace, uint64_t cost_ns)
{
  pace->credit_ns -= (double)cost_ns;
  pace->cost_ns += cost_ns;
}
