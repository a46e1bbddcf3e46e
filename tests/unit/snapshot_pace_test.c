// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of simulated runs: how far apart, how many, and what they cost, whenever the run ends.
// The sampler's own thinning is at work, on snapshots without rows.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "observe/sample.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define FIFTIETH 0.02

typedef int64_t bytes_at(uint64_t time_ns);

struct simulated {
  struct tide_sampler sampler;
  uint64_t end_ns, tick_ns, n_cells, n_sharing;
  bytes_at *bytes;
  uint64_t cell_ns;
  uint64_t mark_ns;     // a mark every so often; 0: none
  uint64_t new_cell_ns; // a cell more every so often; 0: none
  // Found:
  uint64_t spent_ns;
  double worst; // gap at any time, as a share of the run up to then, from the first second on
};

static double widest(const struct tide_sampler *sampler, uint64_t now_ns)
{
  uint64_t last_ns = 0, most_ns = 0;
  for (size_t i = 0; i <= sampler->n_snapshots; i++) {
    uint64_t at_ns = i < sampler->n_snapshots ? sampler->snapshots[i].time_ns : now_ns;
    most_ns = at_ns - last_ns > most_ns ? at_ns - last_ns : most_ns;
    last_ns = at_ns;
  }
  return (double)most_ns / (double)now_ns;
}

static void take(struct simulated *run, uint64_t time_ns, int64_t bytes, bool is_mark)
{
  struct tide_sampler *s = &run->sampler;
  uint64_t cost_ns = 20000 + run->n_cells * run->cell_ns;
  if (s->n_snapshots == TIDE_SAMPLE_MAX_SNAPSHOTS)
    tide_sampler_thin_snapshots(s);
  s->snapshots[s->n_snapshots++] =
      (struct tide_sample_snapshot){.time_ns = time_ns, .live_bytes = bytes, .is_mark = is_mark};
  tide_snapshot_pace_note(&s->pace, time_ns, bytes, run->n_cells, cost_ns);
  run->spent_ns += cost_ns;
}

static void simulate(struct simulated *run)
{
  struct tide_sampler *s = &run->sampler;
  run->tick_ns = run->tick_ns ? run->tick_ns : MS;
  run->n_sharing = run->n_sharing ? run->n_sharing : 1;
  s->snapshots = calloc(TIDE_SAMPLE_MAX_SNAPSHOTS, sizeof *s->snapshots);
  tide_snapshot_pace_init(&s->pace, 0);
  for (uint64_t t = run->tick_ns, n = 0; t <= run->end_ns; t += run->tick_ns, n++) {
    int64_t bytes = run->bytes(t);
    run->n_cells = run->new_cell_ns ? t / run->new_cell_ns : run->n_cells;
    if (run->mark_ns && t % run->mark_ns == 0)
      take(run, t, bytes, true);
    if (tide_snapshot_pace_is_due(&s->pace, t, bytes, run->n_cells, run->n_sharing))
      take(run, t, bytes, false);
    double gap = n % 16 == 0 && t >= S ? widest(s, t) : 0;
    run->worst = gap > run->worst ? gap : run->worst;
  }
}

static void done(struct simulated *run)
{
  for (size_t i = 0; i < run->sampler.n_snapshots; i++)
    tide_sample_rows_done(&run->sampler.snapshots[i].rows);
  free(run->sampler.snapshots);
}

static int64_t steady(uint64_t t)
{
  return (int64_t)t;
}
static int64_t burst_then_idle(uint64_t t)
{
  return t < 300 * MS ? (int64_t)t : (int64_t)(300 * MS);
}
static int64_t idle_then_burst(uint64_t t)
{
  return t < 30 * S ? 1000 : (int64_t)(t - 30 * S);
}
static int64_t sawtooth(uint64_t t)
{
  return (int64_t)(t % (7 * MS));
}
static int64_t sawtooth_then_idle(uint64_t t)
{
  return t < 20 * S ? sawtooth(t) : 0;
}

// Whatever the heap does and whenever the run ends, none is further than a fiftieth from the next.
static void none_is_further_than_a_fiftieth(void **state)
{
  (void)state;
  bytes_at *const shapes[] = {steady, burst_then_idle, idle_then_burst, sawtooth,
                              sawtooth_then_idle};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    struct simulated run = {.end_ns = 100 * S, .bytes = shapes[i], .n_cells = 100, .cell_ns = 200};
    simulate(&run);
    print_message("shape %zu: widest gap %.2f %%, %zu kept, %.2f %% of a core\n", i,
                  100 * run.worst, run.sampler.n_snapshots,
                  100 * (double)run.spent_ns / (double)run.end_ns);
    assert_true(run.worst <= FIFTIETH);
    assert_true(run.spent_ns < run.end_ns / 100);
    done(&run);
  }
}

// A million stacks in six seconds, among five processes: dear, but not without any.
static void very_many_stacks_have_some(void **state)
{
  (void)state;
  struct simulated run = {
      .end_ns = 6 * S, .bytes = steady, .new_cell_ns = 6000, .cell_ns = 100, .n_sharing = 5};
  simulate(&run);
  print_message("a million stacks: widest gap %.0f %%, %.1f %% of a core\n", 100 * run.worst,
                100 * (double)run.spent_ns / (double)run.end_ns);
  assert_true(widest(&run.sampler, run.end_ns) <= 0.51);
  assert_in_range(run.sampler.n_snapshots, 3, 20);
  assert_true(run.spent_ns < run.end_ns / 10);
  done(&run);
}

// A run of a tenth of a second is looked at every other millisecond.
static void short_runs_are_seen(void **state)
{
  (void)state;
  struct simulated run = {.end_ns = 100 * MS, .bytes = steady, .n_cells = 100, .cell_ns = 100};
  simulate(&run);
  assert_true(widest(&run.sampler, run.end_ns) <= FIFTIETH + 0.001);
  done(&run);
}

// Ten thousand cells that all change: dear at first, within the means of a longer run.
static void dear_ones_keep_to_their_share(void **state)
{
  (void)state;
  struct simulated run = {.end_ns = 40 * S, .bytes = steady, .n_cells = 10000, .cell_ns = 150};
  simulate(&run);
  assert_true(widest(&run.sampler, run.end_ns) <= FIFTIETH);
  assert_true(run.spent_ns <= run.end_ns / 200 + 20 * MS);
  done(&run);
  // A million: fewer, and for twice the share.
  run = (struct simulated){.end_ns = 100 * S, .bytes = steady, .n_cells = 1000000, .cell_ns = 50};
  simulate(&run);
  print_message("a million stacks for long: widest gap %.1f %%, %.2f %% of a core\n",
                100 * widest(&run.sampler, run.end_ns),
                100 * (double)run.spent_ns / (double)run.end_ns);
  assert_true(widest(&run.sampler, run.end_ns) < 0.08);
  assert_true(run.spent_ns <= run.end_ns / 66);
  done(&run);
}

// A compiler's run: twelve thousand stacks in the end, and over before there is much credit. What
// there is goes evenly to all of it, whenever it ends.
static void dear_ones_of_short_runs_are_even(void **state)
{
  (void)state;
  for (uint64_t end_ns = 300 * MS; end_ns <= 3 * S; end_ns += 300 * MS) {
    struct simulated run = {.end_ns = end_ns,
                            .bytes = steady,
                            .cell_ns = 35,
                            .new_cell_ns = end_ns / 12000,
                            .tick_ns = 5 * MS};
    simulate(&run);
    print_message("%u ms: widest gap %.1f %%, %.2f %% of a core\n", (unsigned)(end_ns / MS),
                  100 * widest(&run.sampler, end_ns),
                  100 * (double)run.spent_ns / (double)run.end_ns);
    assert_true(widest(&run.sampler, end_ns) <= 0.045);
    assert_true(run.spent_ns <= end_ns / 200 + 400 * MS / 25 + MS);
    done(&run);
  }
}

// A compiler's longer run: 170,000 stacks, and what a two-hundredth of the time pays for is a
// snapshot every tenth of the run.
static void dear_ones_of_longer_runs_make_no_hole(void **state)
{
  (void)state;
  struct simulated run = {
      .end_ns = 20 * S, .bytes = steady, .n_cells = 170000, .cell_ns = 50, .tick_ns = 20 * MS};
  simulate(&run);
  print_message("20 s: widest gap %.1f %%, at any time %.1f %%, %.2f %% of a core\n",
                100 * widest(&run.sampler, run.end_ns), 100 * run.worst,
                100 * (double)run.spent_ns / (double)run.end_ns);
  assert_true(widest(&run.sampler, run.end_ns) <= 0.07);
  assert_true(run.spent_ns <= run.end_ns / 66);
  done(&run);
}

// One of three hundred takes a three-hundredth, and some on credit.
static void images_share_the_time(void **state)
{
  (void)state;
  struct simulated run = {
      .end_ns = 10 * S, .bytes = steady, .n_cells = 1000, .cell_ns = 100, .n_sharing = 300};
  simulate(&run);
  assert_true(run.spent_ns <= 10 * S / 200 / 300 + 12 * 120000);
  done(&run);
}

// Marks stay, and make no hole in the rest.
static void marks_make_no_hole(void **state)
{
  (void)state;
  struct simulated run = {.end_ns = 60 * S, .bytes = steady, .n_cells = 100, .mark_ns = 2 * S};
  simulate(&run);
  assert_true(run.worst <= FIFTIETH);
  size_t n_marks = 0;
  for (size_t i = 0; i < run.sampler.n_snapshots; i++)
    n_marks += run.sampler.snapshots[i].is_mark;
  assert_int_equal(n_marks, 30);
  done(&run);
}

// What a dear one cost is paid for by the cheap ones around it, not by a pause of its own.
static void a_dear_one_makes_no_hole(void **state)
{
  (void)state;
  struct simulated run = {.end_ns = 10 * S, .bytes = steady, .n_cells = 100, .cell_ns = 100};
  simulate(&run);
  struct tide_snapshot_pace *pace = &run.sampler.pace;
  tide_snapshot_pace_note(pace, 10 * S, 0, 100, 20 * MS);
  uint64_t t = 10 * S;
  while (!tide_snapshot_pace_is_due(pace, t, steady(t), 100, 1))
    t += MS;
  assert_true(t - 10 * S <= 200 * MS);
  done(&run);
}

static void one_that_is_wanted_is_due(void **state)
{
  (void)state;
  struct tide_snapshot_pace pace;
  tide_snapshot_pace_init(&pace, 5);
  assert_false(tide_snapshot_pace_is_due(&pace, 5, 0, 1000000, 1));
  pace.is_wanted = true;
  assert_true(tide_snapshot_pace_is_due(&pace, 5, 0, 1000000, 1));
  pace.is_over = true;
  assert_false(tide_snapshot_pace_is_due(&pace, 5, 0, 1000000, 1));
}

UNIT_TESTS(snapshot_pace_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(none_is_further_than_a_fiftieth),
      cmocka_unit_test(short_runs_are_seen),
      cmocka_unit_test(dear_ones_keep_to_their_share),
      cmocka_unit_test(very_many_stacks_have_some),
      cmocka_unit_test(dear_ones_of_short_runs_are_even),
      cmocka_unit_test(dear_ones_of_longer_runs_make_no_hole),
      cmocka_unit_test(images_share_the_time),
      cmocka_unit_test(marks_make_no_hole),
      cmocka_unit_test(a_dear_one_makes_no_hole),
      cmocka_unit_test(one_that_is_wanted_is_due),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
