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
#define HOLE_PART 8         // of a hole for the one that ends it, times the hole's part of the run
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

// What is paid from one time of the run to a later one.
static double pay_of(uint64_t from_ns, uint64_t to_ns, uint64_t n_sharing)
{
  uint64_t first_ns = ns_since(to_ns < FIRST_NS ? to_ns : FIRST_NS, from_ns);
  double paid_ns = (double)(to_ns - from_ns) / SHARE + (double)first_ns / FIRST_SHARE;
  return paid_ns / (double)(n_sharing ? n_sharing : 1);
}

static void pay_in(struct tide_snapshot_pace *pace, uint64_t time_ns, uint64_t n_sharing)
{
  uint64_t before_ns = ns_since(pace->paid_ns, pace->begun_ns);
  uint64_t now_ns = ns_since(time_ns, pace->begun_ns);
  if (now_ns <= before_ns)
    return;
  pace->credit_ns += pay_of(before_ns, now_ns, n_sharing);
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

static uint64_t lower(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

// How far apart they are if what is there, and comes until the run is twice as long, is to last
// that long. One that was dear among cheap ones tells nothing of those to come.
static uint64_t lasting_interval_ns(const struct tide_snapshot_pace *pace, uint64_t run_ns,
                                    uint64_t n_sharing)
{
  double cost_ns = (double)lower(pace->cost_ns, pace->before_ns);
  double means_ns = pay_of(run_ns, 2 * run_ns, n_sharing);
  means_ns += pace->credit_ns > 0 ? pace->credit_ns : 0;
  double interval_ns = means_ns > 0 ? (double)run_ns * cost_ns / means_ns : 0;
  double longest_ns = (double)run_ns / LONGEST_PART;
  return (uint64_t)(interval_ns < longest_ns ? interval_ns : longest_ns);
}

// The interval, but where that would be dear a longer one.
static uint64_t present_interval_ns(const struct tide_snapshot_pace *pace, uint64_t time_ns,
                                    uint64_t n_sharing)
{
  uint64_t run_ns = ns_since(time_ns, pace->begun_ns);
  uint64_t longest_ns = lower(pace->cost_ns * CHEAP_REST, run_ns / PER_RUN);
  uint64_t lasting_ns = lasting_interval_ns(pace, run_ns, n_sharing);
  return higher(pace->interval_ns, higher(longest_ns, lasting_ns));
}

static double guess_ns(const struct tide_snapshot_pace *pace, uint64_t n_cells)
{
  uint64_t n_new = n_cells > pace->n_cells ? n_cells - pace->n_cells : 0;
  return (double)n_cells * CELL_NS + (double)n_new * NEW_CELL_NS;
}

// Is the hole so wide that it matters more than what is owed? One of a fifth of the run is worth a
// fortieth of itself, one of a twentieth a hundred and sixtieth: by what the last ones took as
// well, as nothing else holds these back. Half the run is worth one even if many images share.
static bool has_credit(const struct tide_snapshot_pace *pace, uint64_t time_ns, double guessed_ns,
                       uint64_t n_sharing)
{
  double run_ns = (double)ns_since(time_ns, pace->begun_ns);
  double hole_ns = (double)ns_since(time_ns, pace->last_ns);
  double last_ns = (double)lower(pace->cost_ns, pace->before_ns);
  double cost_ns = (guessed_ns > last_ns ? guessed_ns : last_ns) * (double)n_sharing;
  if (run_ns < FIRST_NS || hole_ns < (double)pace->interval_ns || hole_ns < run_ns / PER_RUN)
    return false;
  return hole_ns * hole_ns >= cost_ns * HOLE_PART * run_ns ||
         (hole_ns >= run_ns / LONGEST_PART && guessed_ns <= run_ns / CREDIT_PART);
}

bool tide_snapshot_pace_is_due(struct tide_snapshot_pace *pace, uint64_t time_ns,
                               int64_t live_bytes, uint64_t n_cells, uint64_t n_sharing)
{
  pay_in(pace, time_ns, n_sharing);
  if (live_bytes > pace->most_bytes)
    pace->most_bytes = live_bytes;
  if (pace->is_over || pace->is_wanted)
    return pace->is_wanted && !pace->is_over;
  double way = way_at(pace, ns_since(time_ns, pace->last_ns),
                      present_interval_ns(pace, time_ns, n_sharing), pace->last_bytes, live_bytes);
  double guessed_ns = guess_ns(pace, n_cells);
  return (way >= 1 && pace->credit_ns >= guessed_ns) ||
         has_credit(pace, time_ns, guessed_ns, higher(n_sharing, 1));
}

void tide_snapshot_pace_note(struct tide_snapshot_pace *pace, uint64_t time_ns, int64_t live_bytes,
                             uint64_t n_cells, uint64_t cost_ns)
{
  pace->credit_ns -= (double)cost_ns;
  pace->before_ns = pace->cost_ns;
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
