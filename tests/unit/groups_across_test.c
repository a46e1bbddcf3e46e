// SPDX-License-Identifier: Apache-2.0
//
// Threads and classes against a plain list of blocks: for every measure, unit, moment and range,
// what a row is given is a part of what it really has, rows add up to the whole, and nothing that
// could be told is left to the row of several.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "view/groups.h"

enum { STACKS = 9, THREADS = 4, STEPS = 600, LOOKS = 7, NEVER = INT32_MAX };

struct block {
  uint32_t stack, maker, freer; // threads
  uint64_t bytes, life_ns;
  int born, freed; // steps; each step has one event
  bool resized, temporary;
};

struct run {
  uint64_t random;
  struct block blocks[STEPS];
  int n_blocks;
  int looks[LOOKS + 1]; // the step each snapshot is after, the peak's included
  int peak_step;
  struct tide_capture *capture;
};

static uint64_t next_random(struct run *run, uint64_t below) // xorshift
{
  run->random ^= run->random << 13;
  run->random ^= run->random >> 7;
  run->random ^= run->random << 17;
  return run->random % below;
}

// Stacks differ in what is known of them: stack 0 has blocks of one kind in every respect, stack 1
// frees everything, stack 2 nothing, stack 3 belongs to one thread, stack 4 is freed by the maker.
static void free_block(struct run *run, struct block *block, int step)
{
  bool own = block->stack == 4 || next_random(run, 2);
  block->freed = step;
  block->freer = own ? block->maker : 1 + (uint32_t)next_random(run, THREADS - 1);
  block->resized = block->stack && next_random(run, 5) == 0;
  block->temporary = !block->resized && block->freer == block->maker && next_random(run, 2);
  block->life_ns = block->stack ? UINT64_C(1) << next_random(run, 40) : 100;
}

static void play(struct run *run, uint64_t seed)
{
  *run = (struct run){.random = seed * 0x9E3779B97F4A7C15u + 1};
  for (int step = 0; step < STEPS; step++) {
    int which = run->n_blocks ? (int)next_random(run, (uint64_t)run->n_blocks) : -1;
    struct block *old = which < 0 ? NULL : &run->blocks[which];
    if (old && old->freed == NEVER && old->stack != 2 && next_random(run, 4)) {
      free_block(run, old, step);
      continue;
    }
    uint32_t stack = (uint32_t)next_random(run, STACKS);
    run->blocks[run->n_blocks++] = (struct block){
        .stack = stack,
        .maker = stack == 3 ? 2 : 1 + (uint32_t)next_random(run, THREADS - 1),
        .bytes = stack ? next_random(run, 1 + (UINT64_C(1) << next_random(run, 12))) : 24,
        .born = step,
        .freed = NEVER,
    };
  }
  for (int i = 0; i < run->n_blocks; i++)
    if (run->blocks[i].stack == 1 && run->blocks[i].freed == NEVER)
      free_block(run, &run->blocks[i], STEPS - 1);
}

static bool is_live(const struct block *block, int after_step)
{
  return block->born <= after_step && block->freed > after_step;
}

static int64_t live_bytes(const struct run *run, int after_step)
{
  int64_t sum = 0;
  for (int i = 0; i < run->n_blocks; i++)
    sum += is_live(&run->blocks[i], after_step) ? (int64_t)run->blocks[i].bytes : 0;
  return sum;
}

static void find_peak(struct run *run)
{
  for (int step = 0; step < STEPS; step++)
    if (live_bytes(run, step) > live_bytes(run, run->peak_step))
      run->peak_step = step;
}

static unsigned bucket_of(uint64_t value, unsigned n)
{
  unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
  return bits < n ? bits : n - 1;
}

static unsigned size_class(const struct block *block)
{
  return bucket_of((block->bytes - (block->bytes != 0)) >> 2, TIDE_SIZE_BUCKETS_N);
}

static unsigned life_class(const struct block *block)
{
  if (block->freed == NEVER)
    return TIDE_LIFE_CLASS_LIVE;
  if (block->resized)
    return TIDE_LIFE_CLASS_RESIZED;
  unsigned bucket = bucket_of(block->life_ns, TIDE_LIFE_BUCKETS_N);
  return bucket < TIDE_LIFE_CLASS_SHORTEST
             ? 0
             : 1 + (bucket - TIDE_LIFE_CLASS_SHORTEST) / TIDE_LIFE_CLASS_BUCKETS;
}

static void add_bucket(struct tide_image *image, struct tide_site *site, int size, int life)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lives[TIDE_LIFE_BUCKETS_N] = {0};
  if (size >= 0)
    sizes[size] = 1;
  if (life >= 0)
    lives[life] = 1;
  tide_site_add_buckets(image, site, sizes, lives);
}

static void book(const struct run *run, struct tide_image *image, const struct block *block)
{
  struct tide_site *maker = &image->sites[block->stack * THREADS + block->maker];
  struct tide_site *freer = &image->sites[block->stack * THREADS + block->freer];
  int64_t bytes = (int64_t)block->bytes;
  maker->n_alloc++;
  maker->b_alloc += block->bytes;
  maker->peak_blocks += block->born <= run->peak_step;
  maker->peak_bytes += block->born <= run->peak_step ? bytes : 0;
  add_bucket(image, maker, (int)size_class(block), -1);
  if (block->freed == NEVER)
    return;
  freer->n_free++;
  freer->b_free += block->bytes;
  freer->n_foreign += freer != maker;
  freer->n_temp += block->temporary;
  freer->b_temp += block->temporary ? block->bytes : 0;
  freer->peak_blocks -= block->freed <= run->peak_step;
  freer->peak_bytes -= block->freed <= run->peak_step ? bytes : 0;
  if (!block->resized)
    add_bucket(image, freer, -1, (int)bucket_of(block->life_ns, TIDE_LIFE_BUCKETS_N));
}

// The snapshot that ended the interval of a step; never the peak's.
static uint32_t interval_of(const struct run *run, const struct tide_image *image, int step)
{
  uint32_t i = 0;
  while (run->looks[i] < step || image->snapshots[i].kind == TIDE_SNAPSHOT_PEAK)
    i++;
  return i;
}

static void fill_snapshot(const struct run *run, struct tide_image *image, uint32_t at)
{
  struct tide_snapshot *snapshot = &image->snapshots[at];
  snapshot->n_rows = STACKS;
  snapshot->rows = tide_alloc_array(STACKS, sizeof *snapshot->rows);
  for (uint32_t i = 0; i < STACKS; i++)
    snapshot->rows[i].stack = i + 1;
  for (int i = 0; i < run->n_blocks; i++) {
    const struct block *block = &run->blocks[i];
    struct tide_snapshot_row *row = &snapshot->rows[block->stack];
    bool live = is_live(block, run->looks[at]);
    bool born = interval_of(run, image, block->born) == at;
    row->live_blocks += live;
    row->live_bytes += live ? (int64_t)block->bytes : 0;
    row->n_alloc += born;
    row->b_alloc += born ? block->bytes : 0;
  }
}

static void fill_snapshots(struct run *run, struct tide_image *image)
{
  image->n_snapshots = LOOKS + 1;
  image->snapshots = tide_alloc_array(LOOKS + 1, sizeof *image->snapshots);
  size_t n = 0;
  for (int i = 1; i <= LOOKS; i++) {
    int step = STEPS * i / LOOKS - 1;
    if (n + 1 == (size_t)i && run->peak_step <= step) {
      image->snapshots[n].kind = TIDE_SNAPSHOT_PEAK;
      run->looks[n++] = run->peak_step;
    }
    image->snapshots[n].kind = i == LOOKS ? TIDE_SNAPSHOT_END : TIDE_SNAPSHOT_TIMED;
    run->looks[n++] = step;
  }
  assert_int_equal(n, LOOKS + 1);
  for (uint32_t i = 0; i < n; i++) {
    image->snapshots[i].time_ns = (uint64_t)run->looks[i] + 1;
    fill_snapshot(run, image, i);
  }
}

static void fill_late_frees(const struct run *run, struct tide_image *image)
{
  image->late_frees = tide_alloc_array((size_t)run->n_blocks, sizeof *image->late_frees);
  for (int i = 0; i < run->n_blocks; i++) {
    const struct block *block = &run->blocks[i];
    if (block->freed == NEVER)
      continue;
    uint32_t born = interval_of(run, image, block->born);
    uint32_t freed = interval_of(run, image, block->freed);
    if (born != freed)
      image->late_frees[image->n_late_frees++] =
          (struct tide_late_free){block->stack + 1, born, freed, 1, block->bytes};
  }
}

static void make_capture(struct run *run)
{
  run->capture = tide_capture_new();
  struct tide_image *image = run->capture->images = tide_alloc(sizeof *image);
  run->capture->n_images = 1;
  image->n_frames = STACKS + 1;
  image->frames = tide_alloc_array(image->n_frames, sizeof *image->frames);
  image->n_threads_known = THREADS;
  image->threads = tide_alloc_array(THREADS, sizeof *image->threads);
  image->n_sites = STACKS * THREADS;
  image->sites = tide_alloc_array(image->n_sites, sizeof *image->sites);
  for (uint32_t i = 0; i < image->n_sites; i++) {
    image->sites[i].stack = i / THREADS + 1;
    image->sites[i].thread = i % THREADS;
  }
  find_peak(run);
  for (int i = 0; i < run->n_blocks; i++)
    book(run, image, &run->blocks[i]);
  image->peak_bytes = live_bytes(run, run->peak_step);
  image->end_ns = STEPS;
  image->has_temp_bytes = image->has_counts = image->has_late_frees = true;
  fill_snapshots(run, image);
  fill_late_frees(run, image);
}

// Whether a block is meant by a question.
static bool is_meant(const struct run *run, const struct tide_question *question,
                     const struct block *block)
{
  const struct tide_point *from = &question->window.from, *to = &question->window.to;
  int first = from->given && from->snapshot != TIDE_POINT_START ? run->looks[from->snapshot] : -1;
  int last = to->given ? run->looks[to->snapshot] : STEPS;
  switch (question->measure) {
  case TIDE_MEASURE_PEAK: return is_live(block, run->peak_step);
  case TIDE_MEASURE_LEAK:
    return block->freed == NEVER && block->born > first && block->born <= last;
  case TIDE_MEASURE_LIVE: return is_live(block, last);
  case TIDE_MEASURE_GROWN: return is_live(block, last) && block->born > first;
  case TIDE_MEASURE_TEMP: return block->temporary;
  default: return block->born > first && block->born <= last;
  }
}

static uint32_t number_of(enum tide_group_kind kind, const struct block *block)
{
  return kind == TIDE_GROUP_THREAD ? block->maker
         : kind == TIDE_GROUP_SIZE ? size_class(block)
                                   : life_class(block);
}

struct counted {
  size_t n_rows, n_exact, n_several;
};

struct truth { // what a row really has, of all blocks, and of those whose stack has but one row
  int64_t all[TIDE_CLASSES_MAX], plain[TIDE_CLASSES_MAX], whole;
};

static struct truth truth_of(const struct run *run, const struct tide_question *question,
                             enum tide_group_kind kind)
{
  struct truth truth = {0};
  uint64_t used[STACKS] = {0}; // rows of a stack's blocks, meant or not
  for (int i = 0; i < run->n_blocks; i++)
    used[run->blocks[i].stack] |= UINT64_C(1) << number_of(kind, &run->blocks[i]);
  for (int i = 0; i < run->n_blocks; i++) {
    const struct block *block = &run->blocks[i];
    if (!is_meant(run, question, block))
      continue;
    int64_t weight = question->unit == TIDE_UNIT_BYTES ? (int64_t)block->bytes : 1;
    uint32_t number = number_of(kind, block);
    truth.all[number] += weight;
    truth.whole += weight;
    if ((used[block->stack] & (used[block->stack] - 1)) == 0)
      truth.plain[number] += weight;
  }
  return truth;
}

// A row is the sum of what its stacks gave to it, the largest first.
static void check_stacks(const struct tide_groups *groups, const struct tide_profile *profile)
{
  for (size_t i = 0; i < groups->n; i++) {
    int64_t sum = 0, last = INT64_MAX;
    for (size_t k = 0; k < tide_groups_stacks(groups, profile, i); k++) {
      struct tide_group_gift gift = tide_groups_stack(groups, profile, i, k);
      assert_true(gift.site < profile->n_sites && gift.weight <= last);
      last = gift.weight;
      sum += gift.weight;
    }
    assert_int_equal(sum, groups->items[i].measure);
  }
}

static void check(const struct run *run, struct tide_profile *profile,
                  const struct tide_question *question, enum tide_group_kind kind,
                  struct counted *counted)
{
  const struct truth truth = truth_of(run, question, kind);
  struct tide_view view;
  tide_profile_ask(profile, question);
  tide_view_init(&view, profile, NULL, NULL, false);
  struct tide_groups *groups = tide_groups_new(&view, kind);
  int64_t sum = 0, missing = 0, several = 0, given[TIDE_CLASSES_MAX] = {0};
  for (size_t i = 0; i < groups->n; i++) {
    const struct tide_group *group = &groups->items[i];
    sum += group->measure;
    if (group->several)
      several += group->measure;
    else
      given[group->number] += group->measure;
  }
  for (size_t k = 0; k < TIDE_CLASSES_MAX; k++) {
    assert_true(given[k] <= truth.all[k]);
    assert_true(given[k] >= truth.plain[k]);
    missing += truth.all[k] - given[k];
    counted->n_rows += truth.all[k] != 0;
    counted->n_exact += truth.all[k] && truth.all[k] == given[k];
  }
  assert_int_equal(sum, truth.whole);
  assert_int_equal(several, missing);
  counted->n_several += several != 0;
  // What is known of every block.
  bool of_part = question->window.to.given;
  bool made = question->measure == TIDE_MEASURE_TOTAL;
  bool by_thread = kind == TIDE_GROUP_THREAD;
  bool all_known = !of_part && made && (by_thread || question->unit == TIDE_UNIT_BLOCKS);
  all_known |= !of_part && by_thread && question->measure == TIDE_MEASURE_TEMP;
  if (all_known)
    assert_int_equal(several, 0);
  bool at_peak = question->measure == TIDE_MEASURE_PEAK || question->at_least;
  if (kind == TIDE_GROUP_LIFETIME && !at_peak)
    assert_int_equal(given[TIDE_LIFE_CLASS_LIVE], truth.all[TIDE_LIFE_CLASS_LIVE]);
  check_stacks(groups, profile);
  tide_groups_shown(groups, 2, 0); // classes in another order now
  check_stacks(groups, profile);
  tide_groups_free(groups);
  tide_view_done(&view);
}

static void check_kinds(const struct run *run, struct tide_profile *profile,
                        struct tide_question question, struct counted *counted)
{
  for (int unit = 0; unit < 2; unit++)
    for (int kind = TIDE_GROUP_THREAD; kind <= TIDE_GROUP_LIFETIME; kind++) {
      question.unit = unit ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
      check(run, profile, &question, (enum tide_group_kind)kind, counted);
    }
}

static void check_windows(const struct run *run, struct tide_profile *profile,
                          struct counted *counted)
{
  const struct tide_image *image = profile->image;
  for (size_t to = 0; to < image->n_snapshots; to++)
    for (size_t from = 0; from <= to; from++) { // 0: the start
      struct tide_question question = {0};
      question.window.to = (struct tide_point){.given = true, .snapshot = to};
      question.window.from =
          (struct tide_point){.given = true, .snapshot = from ? from - 1 : TIDE_POINT_START};
      bool peak = image->snapshots[to].kind == TIDE_SNAPSHOT_PEAK;
      peak |= from && image->snapshots[from - 1].kind == TIDE_SNAPSHOT_PEAK;
      if (peak) // nobody looked: bounds, which groups_test adds up
        continue;
      question.measure = TIDE_MEASURE_GROWN;
      check_kinds(run, profile, question, counted);
      question.measure = TIDE_MEASURE_TOTAL;
      check_kinds(run, profile, question, counted);
      question.measure = TIDE_MEASURE_LIVE;
      check_kinds(run, profile, question, counted);
      question.measure = TIDE_MEASURE_LEAK;
      check_kinds(run, profile, question, counted);
    }
}

static void rows_are_what_blocks_say(void **state)
{
  struct counted counted = {0};
  for (uint64_t seed = 1; seed <= 30; seed++) {
    static struct run run;
    play(&run, seed);
    make_capture(&run);
    struct tide_profile *profile = tide_profile_new(run.capture, 0);
    for (int measure = 0; measure < TIDE_MEASURES_N; measure++)
      check_kinds(&run, profile, (struct tide_question){.measure = (enum tide_measure)measure},
                  &counted);
    check_windows(&run, profile, &counted);
    tide_profile_free(profile);
    tide_capture_free(run.capture);
  }
  print_message("%zu rows, %zu of them whole; several in %zu answers\n", counted.n_rows,
                counted.n_exact, counted.n_several);
  assert_true(counted.n_exact > 4000 && counted.n_several > 1000); // it was worth it
}

UNIT_TESTS(groups_across_test)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_what_blocks_say)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
