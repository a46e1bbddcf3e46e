// SPDX-License-Identifier: Apache-2.0
//
// What has grown in a range, against a plain list of blocks: runs with resizes, several threads,
// events that are counted long after they began, snapshots thinned out, more stacks than one look
// finds; every pair of snapshots, in bytes and blocks, before and after a file.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "fake_store.h"
#include "observe/sample.h"
#include "observe/store_read.h"
#include "profile/profile.h"
#include "profile/timeline.h"
#include "tide/file.h"
#include "tide/format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
enum { STACKS = 12, THREADS = 3, MOST_BLOCKS = 40000, NEVER = INT32_MAX };

struct block {
  uint32_t stack; // which of the run's
  uint64_t bytes;
  uint32_t born, freed; // intervals
};

struct thread {
  struct tide_cell *cells[STACKS];
  bool stalled; // in the middle of an event
  uint32_t interval;
  int what; // of that event: the block it frees, -1: it allocates
  uint32_t stack;
};

struct run {
  struct fake_store store;
  struct tide_store_view view;
  struct tide_sampler sampler;
  uint64_t random;
  uint32_t stacks[STACKS];
  size_t n_stacks; // that are there so far
  struct thread threads[THREADS];
  uint32_t slots[THREADS];
  struct block *blocks;
  int n_blocks;
};

static uint64_t next_random(struct run *run, uint64_t below) // xorshift
{
  run->random ^= run->random << 13;
  run->random ^= run->random >> 7;
  run->random ^= run->random << 17;
  return run->random % below;
}

static void run_open(struct run *run, uint64_t seed, bool sealed)
{
  *run = (struct run){.random = seed * 0x9E3779B97F4A7C15u + 1};
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  assert_int_equal(ftruncate(fd, FAKE_STORE_BYTES), 0);
  if (sealed)
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  fake_store_map(&run->store, fd);
  for (size_t i = 0; i < THREADS; i++)
    run->slots[i] = fake_store_slot(&run->store, (uint32_t)i + 1, "thread");
  assert_int_equal(tide_store_view_open(&run->view, fd, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_store_view_refresh(&run->view, NULL), TIDE_ERR_OK);
  tide_sampler_init(&run->sampler, 0, 0);
  run->blocks = calloc(MOST_BLOCKS, sizeof *run->blocks);
}

static void run_close(struct run *run)
{
  tide_sampler_done(&run->sampler);
  tide_store_view_close(&run->view);
  fake_store_unmap(&run->store);
  free(run->blocks);
}

static struct tide_cell *cell_of(struct run *run, struct thread *thread, uint32_t stack)
{
  if (!thread->cells[stack])
    thread->cells[stack] =
        fake_store_cell(&run->store, run->stacks[stack], run->slots[thread - run->threads]);
  return thread->cells[stack];
}

static void allocate(struct run *run, struct thread *thread, uint32_t stack)
{
  uint64_t bytes = 1 + next_random(run, 100);
  fake_store_alloc(&run->store, cell_of(run, thread, stack), bytes);
  run->blocks[run->n_blocks++] =
      (struct block){stack, bytes, fake_store_interval(&run->store), NEVER};
}

static void release(struct run *run, struct thread *thread, int which)
{
  struct block *block = &run->blocks[which];
  fake_store_free_late(&run->store, cell_of(run, thread, block->stack), block->bytes, block->born);
  block->freed = fake_store_interval(&run->store);
}

static int any_live(struct run *run)
{
  for (int tries = 0; run->n_blocks && tries < 50; tries++) {
    int which = (int)next_random(run, (uint64_t)run->n_blocks);
    if (next_random(run, 3)) // mostly a young one
      which = run->n_blocks - 1 - (int)next_random(run, run->n_blocks < 60 ? 1 : 60);
    if (run->blocks[which].freed == NEVER)
      return which;
  }
  return -1;
}

static bool is_taken(const struct run *run, int which)
{
  for (size_t i = 0; i < THREADS; i++)
    if (run->threads[i].stalled && run->threads[i].what == which && which >= 0)
      return true;
  return false;
}

// A thread that lost its core in the middle of an event finishes it, in the interval it had found.
static void resume(struct run *run, struct thread *thread)
{
  run->store.seen_interval = thread->interval;
  if (thread->what >= 0)
    release(run, thread, thread->what);
  else
    allocate(run, thread, thread->stack);
  run->store.seen_interval = 0;
  thread->stalled = false;
}

static void event(struct run *run)
{
  struct thread *thread = &run->threads[next_random(run, THREADS)];
  uint32_t stack = (uint32_t)next_random(run, run->n_stacks);
  int live = next_random(run, 2) ? any_live(run) : -1;
  if (is_taken(run, live))
    return;
  if (thread->stalled) {
    if (next_random(run, 30) == 0)
      resume(run, thread);
    return;
  }
  if (next_random(run, 60) == 0) {
    cell_of(run, thread, live >= 0 ? run->blocks[live].stack : stack);
    thread->stalled = true;
    thread->what = live;
    thread->stack = stack;
    thread->interval = fake_store_interval(&run->store);
    return;
  }
  if (live >= 0)
    release(run, thread, live);
  if (live < 0 || next_random(run, 8) == 0) // the latter: a resize, perhaps at another stack
    allocate(run, thread, stack);
}

static void look(struct run *run, uint64_t time_ns)
{
  run->sampler.next_tick_ns = 0;
  run->sampler.pace.is_wanted = true;
  assert_int_equal(tide_store_view_refresh(&run->view, NULL), TIDE_ERR_OK);
  tide_sampler_look(&run->sampler, &run->view, time_ns, 1);
}

static void add_stack(struct run *run, uint64_t pc)
{
  uint32_t parent = run->n_stacks ? run->stacks[0] : 0;
  run->stacks[run->n_stacks++] = fake_store_node(&run->store, pc, parent, 0);
}

static void play(struct run *run, int n_looks)
{
  for (int i = 1; i <= n_looks; i++) {
    if (run->n_stacks < STACKS && (run->n_stacks == 0 || next_random(run, 4) == 0))
      add_stack(run, 0x1000 + (uint64_t)i);
    for (uint64_t n = next_random(run, 60); n; n--)
      event(run);
    look(run, (uint64_t)i * 10 * MS);
    if (next_random(run, 40) == 0)
      tide_sampler_thin_snapshots(&run->sampler);
  }
  for (uint64_t n = next_random(run, 60); n; n--)
    event(run);
  for (size_t i = 0; i < THREADS; i++)
    if (run->threads[i].stalled)
      resume(run, &run->threads[i]);
}

static struct tide_capture *capture_of(struct run *run, uint64_t end_ns)
{
  struct tide_clock clock = {1000, 0, 1.0};
  struct tide_capture *capture = tide_capture_new();
  capture->images = calloc(1, sizeof *capture->images);
  capture->n_images = 1;
  assert_int_equal(tide_store_view_refresh(&run->view, NULL), TIDE_ERR_OK);
  tide_sampler_finish(&run->sampler, &run->view);
  tide_store_read_image(&run->view, &clock, 0, capture->images);
  capture->images->peak_ns = end_ns / 3;
  capture->images->end_ns = end_ns;
  tide_sampler_fill_image(&run->sampler, capture->images, false);
  return capture;
}

// The interval that a snapshot ended; 0 at the start.
static uint32_t edge_of(const struct run *run, const struct tide_image *image, size_t snapshot)
{
  if (snapshot == TIDE_POINT_START)
    return 0;
  for (size_t i = 0; i < run->sampler.n_snapshots; i++)
    if (image->snapshots[snapshot].kind == TIDE_SNAPSHOT_TIMED &&
        run->sampler.snapshots[i].time_ns == image->snapshots[snapshot].time_ns)
      return run->sampler.snapshots[i].interval;
  return NEVER - 1; // the end
}

static void check_range(const struct run *run, const struct tide_profile *profile, size_t from,
                        size_t to, enum tide_unit unit)
{
  struct tide_question question = {.measure = TIDE_MEASURE_GROWN, .unit = unit};
  question.window.from = (struct tide_point){.given = true, .snapshot = from};
  question.window.to = (struct tide_point){.given = true, .snapshot = to};
  assert_false(tide_question_is_bound(profile->image, &question));
  int64_t *weights = calloc(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, &question, weights);
  uint32_t first = edge_of(run, profile->image, from), last = edge_of(run, profile->image, to);
  int64_t truth[STACKS] = {0};
  for (int i = 0; i < run->n_blocks; i++) {
    const struct block *block = &run->blocks[i];
    if (block->born > first && block->born <= last && block->freed > last)
      truth[block->stack] += unit == TIDE_UNIT_BYTES ? (int64_t)block->bytes : 1;
  }
  for (size_t i = 0; i < profile->n_sites; i++)
    for (size_t k = 0; k < run->n_stacks; k++)
      if (profile->sites[i].stack == run->stacks[k])
        assert_int_equal(weights[i], truth[k]);
  free(weights);
}

// In which interval the blocks were born that answer a question.
static void check_births(const struct run *run, const struct tide_image *image,
                         const struct tide_question *question)
{
  struct tide_births births;
  uint8_t *wanted = calloc(image->n_frames, 1);
  uint64_t *sums = calloc(image->n_frames, sizeof *sums);
  memset(wanted, 1, image->n_frames);
  assert_true(tide_births_init(&births, image, question));
  uint32_t from = births.first ? edge_of(run, image, births.first - 1) : 0;
  uint32_t held_at =
      question->measure == TIDE_MEASURE_TOTAL ? 0 : edge_of(run, image, births.past - 1);
  for (size_t s = births.first; s < births.past; s++) {
    if (image->snapshots[s].kind == TIDE_SNAPSHOT_PEAK)
      continue;
    uint32_t to = edge_of(run, image, s);
    uint64_t truth[STACKS] = {0}, all = 0;
    for (int i = 0; i < run->n_blocks; i++) {
      const struct block *block = &run->blocks[i];
      if (block->born > from && block->born <= to && block->freed > held_at)
        truth[block->stack] += question->unit == TIDE_UNIT_BYTES ? block->bytes : 1;
    }
    memset(sums, 0, image->n_frames * sizeof *sums);
    uint64_t added = tide_births_add(&births, s, wanted, sums);
    for (size_t k = 0; k < run->n_stacks; k++) {
      assert_int_equal(sums[run->stacks[k]], truth[k]);
      all += truth[k];
    }
    assert_int_equal(added, all);
    from = to;
  }
  tide_births_done(&births);
  free(sums);
  free(wanted);
}

static void check_all_births(const struct run *run, const struct tide_capture *capture)
{
  const struct tide_image *image = &capture->images[0];
  struct tide_question question = {.measure = TIDE_MEASURE_TOTAL};
  check_births(run, image, &question);
  question = (struct tide_question){TIDE_MEASURE_LEAK, TIDE_UNIT_BLOCKS, {{0}, {0}}, false};
  check_births(run, image, &question);
  question.measure = TIDE_MEASURE_LIVE;
  question.window.to.given = true;
  for (size_t to = 2; to < image->n_snapshots; to += 3) {
    question.window.to.snapshot = to;
    if (image->snapshots[to].kind != TIDE_SNAPSHOT_PEAK)
      check_births(run, image, &question);
  }
  question = (struct tide_question){.measure = TIDE_MEASURE_GROWN};
  question.window.from = (struct tide_point){.given = true, .snapshot = 1};
  question.window.to = (struct tide_point){.given = true, .snapshot = image->n_snapshots - 1};
  struct tide_births births;
  if (image->snapshots[1].kind != TIDE_SNAPSHOT_PEAK)
    check_births(run, image, &question);
  else
    assert_false(tide_births_init(&births, image, &question));
}

static size_t check_ranges(const struct run *run, const struct tide_capture *capture)
{
  const struct tide_image *image = &capture->images[0];
  struct tide_profile *profile = tide_profile_new(capture, 0);
  size_t n = 0;
  assert_true(image->has_late_frees);
  for (size_t to = 0; to < image->n_snapshots; to++)
    for (size_t from = to; from-- != 0 || from == TIDE_POINT_START;) {
      if (image->snapshots[to].kind != TIDE_SNAPSHOT_PEAK &&
          (from == TIDE_POINT_START || image->snapshots[from].kind != TIDE_SNAPSHOT_PEAK)) {
        check_range(run, profile, from, to, TIDE_UNIT_BYTES);
        check_range(run, profile, from, to, TIDE_UNIT_BLOCKS);
        n++;
      }
      if (from == TIDE_POINT_START)
        break;
    }
  tide_profile_free(profile);
  return n;
}

static struct tide_capture *through_a_file(const struct tide_capture *capture)
{
  struct tide_buf bytes = {0};
  struct tide_diag diag = {0};
  struct tide_capture *again = NULL;
  if (tide_file_encode(capture, &bytes, &diag) ||
      tide_file_parse(bytes.data, bytes.n, "test", &again, &diag))
    fail_msg("%s", diag.text);
  assert_false(again->cut);
  tide_buf_done(&bytes);
  return again;
}

// Member by member: between them are bytes that are nobody's.
static void expect_late_frees(const struct tide_image *found, const struct tide_image *wanted)
{
  assert_int_equal(found->n_late_frees, wanted->n_late_frees);
  for (size_t i = 0; i < wanted->n_late_frees; i++) {
    const struct tide_late_free *a = &found->late_frees[i], *b = &wanted->late_frees[i];
    assert_int_equal(a->stack, b->stack);
    assert_int_equal(a->born, b->born);
    assert_int_equal(a->freed, b->freed);
    assert_int_equal(a->n_blocks, b->n_blocks);
    assert_int_equal(a->bytes, b->bytes);
  }
}

static void every_range_is_exact(void **state)
{
  size_t n_ranges = 0, n_stragglers = 0, n_late = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct run run;
    run_open(&run, seed, true);
    play(&run, 20 + (int)next_random(&run, seed % 10 ? 60 : 400));
    uint64_t end_ns = (seed % 4 ? 100000 : 150) * MS; // some snapshots may be later than the end
    struct tide_capture *capture = capture_of(&run, end_ns);
    n_ranges += check_ranges(&run, capture);
    if (seed % 4) // where the end is the last
      check_all_births(&run, capture);
    struct tide_capture *again = through_a_file(capture);
    expect_late_frees(&again->images[0], &capture->images[0]);
    if (seed < 10)
      check_ranges(&run, again);
    n_stragglers += run.sampler.n_joined;
    n_late += capture->images[0].n_late_frees;
    tide_capture_free(again);
    tide_capture_free(capture);
    run_close(&run);
  }
  print_message("%zu ranges, %zu late frees, %zu stragglers\n", n_ranges, n_late, n_stragglers);
  assert_true(n_ranges > 15000 && n_late > 5000 && n_stragglers > 500); // it was worth it
}

// Where the store cannot be written there is a lower bound, and it says so.
static void without_intervals_it_is_a_bound(void **state)
{
  struct run run;
  run_open(&run, 7, false);
  play(&run, 20);
  struct tide_capture *capture = capture_of(&run, 100000 * MS);
  assert_false(capture->images[0].has_late_frees);
  struct tide_question question = {.measure = TIDE_MEASURE_GROWN};
  question.window.from = (struct tide_point){.given = true, .snapshot = 2};
  question.window.to = (struct tide_point){.given = true, .snapshot = 5};
  assert_true(tide_question_is_bound(&capture->images[0], &question));
  tide_capture_free(capture);
  run_close(&run);
}

// So it is when late frees found no room, and at the peak, where nobody looked.
static void what_is_lost_makes_a_bound(void **state)
{
  struct run run;
  run_open(&run, 8, true);
  play(&run, 20);
  run.store.header->n_late_lost = 1;
  struct tide_capture *capture = capture_of(&run, 100000 * MS);
  assert_false(capture->images[0].has_late_frees);
  assert_int_equal(capture->images[0].n_late_frees, 0);
  tide_capture_free(capture);
  run_close(&run);
}

static void ranges_that_end_at_the_peak_are_bounds(void **state)
{
  struct run run;
  run_open(&run, 9, true);
  play(&run, 20);
  struct tide_capture *capture = capture_of(&run, 200 * MS);
  const struct tide_image *image = &capture->images[0];
  size_t peak = 0;
  while (image->snapshots[peak].kind != TIDE_SNAPSHOT_PEAK)
    peak++;
  assert_true(peak > 0);
  struct tide_question question = {.measure = TIDE_MEASURE_GROWN};
  question.window.from = (struct tide_point){.given = true, .snapshot = peak - 1};
  question.window.to = (struct tide_point){.given = true, .snapshot = peak};
  assert_true(tide_question_is_bound(image, &question));
  question.window.from.snapshot = TIDE_POINT_START; // all that is live then is new
  assert_false(tide_question_is_bound(image, &question));
  question.window.from.snapshot = peak;
  question.window.to.snapshot = peak + 1;
  assert_true(tide_question_is_bound(image, &question));
  tide_capture_free(capture);
  run_close(&run);
}

// Numbers of intervals are few bits of a block: when they are used up, no more snapshots are taken.
static void intervals_run_out(void **state)
{
  struct run run;
  run_open(&run, 10, true);
  play(&run, 5);
  run.store.header->stamp.interval = TIDE_LAST_INTERVAL - 1;
  look(&run, 500 * MS);
  assert_int_equal(fake_store_interval(&run.store), TIDE_LAST_INTERVAL);
  size_t n = run.sampler.n_snapshots;
  look(&run, 600 * MS);
  assert_int_equal(run.sampler.n_snapshots, n);
  assert_int_equal(fake_store_interval(&run.store), TIDE_LAST_INTERVAL);
  assert_true(run.sampler.pace.is_over);
  struct tide_capture *capture = capture_of(&run, 100000 * MS);
  check_ranges(&run, capture);
  tide_capture_free(capture);
  run_close(&run);
}

UNIT_TESTS(grown_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_range_is_exact),
      cmocka_unit_test(without_intervals_it_is_a_bound),
      cmocka_unit_test(what_is_lost_makes_a_bound),
      cmocka_unit_test(ranges_that_end_at_the_peak_are_bounds),
      cmocka_unit_test(intervals_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
