// SPDX-License-Identifier: Apache-2.0
//
// See pace.h. Before the first draft its cost is guessed by the number of cells.
#include "supervise/pace.h"

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_NS (1 * NS_PER_S)
#define LONGEST_NS (30 * NS_PER_S)
#define CELL_NS 1000u // reading, sorting and writing one: 500 to 1,000 ns on the machines measured

void tide_pace_init(struct tide_pace *pace, uint64_t now_ns)
{
  *pace = (struct tide_pace){
      .since_ns = now_ns,
      .look_ns = FIRST_NS,
      .checkpoint_ns = now_ns,
      .interval_ns = FIRST_NS,
  };
}

static uint64_t expected_ns(const struct tide_pace *pace, uint64_t n_cells)
{
  if (!pace->cost_ns)
    return n_cells * CELL_NS;
  uint64_t more = n_cells > pace->n_cells ? n_cells - pace->n_cells : 0;
  return pace->cost_ns + more * CELL_NS;
}

static uint64_t due_ns(const struct tide_pace *pace, uint64_t n_cells, uint64_t wish_ns)
{
  uint64_t rested_ns = pace->since_ns + expected_ns(pace, n_cells) * TIDE_PACE_REST;
  return rested_ns > wish_ns ? rested_ns : wish_ns;
}

uint64_t tide_pace_look_ns(const struct tide_pace *pace, uint64_t n_cells)
{
  return due_ns(pace, n_cells, pace->since_ns + pace->look_ns);
}

uint64_t tide_pace_checkpoint_ns(const struct tide_pace *pace, uint64_t n_cells)
{
  return due_ns(pace, n_cells, pace->checkpoint_ns + pace->interval_ns);
}

void tide_pace_note(struct tide_pace *pace, uint64_t before_ns, uint64_t after_ns, uint64_t n_cells)
{
  pace->since_ns = after_ns;
  pace->cost_ns = after_ns > before_ns ? after_ns - before_ns : 1;
  pace->n_cells = n_cells;
}

void tide_pace_note_checkpoint(struct tide_pace *pace, uint64_t now_ns)
{
  pace->checkpoint_ns = now_ns;
  if (pace->interval_ns < LONGEST_NS)
    pace->interval_ns = 2 * pace->interval_ns < LONGEST_NS ? 2 * pace->interval_ns : LONGEST_NS;
}
