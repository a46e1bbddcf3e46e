// SPDX-License-Identifier: Apache-2.0
//
// Curves over time of captures made by hand, and of random ones against the definition taken word
// for word: for each stack and moment, look through all snapshots.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "profile/timeline.h"
#include "tide_gen.h"

#include <stdlib.h>

#define N_FRAMES 6u

// An image of nothing but snapshots; stacks 1 .. 5, rows where bytes[snapshot][stack] is not 0.
static struct tide_image image_of(size_t n_times, const int64_t bytes[][N_FRAMES])
{
  struct tide_image image = {.n_frames = N_FRAMES, .n_snapshots = n_times};
  image.snapshots = tide_alloc_array(n_times, sizeof *image.snapshots);
  image.start_ns = 1000;
  image.end_ns = 1000 + 100 * n_times;
  for (size_t s = 0; s < n_times; s++) {
    struct tide_snapshot *snapshot = &image.snapshots[s];
    snapshot->time_ns = 1000 + 100 * (s + 1);
    snapshot->rows = tide_alloc_array(N_FRAMES, sizeof *snapshot->rows);
    for (uint32_t stack = 1; stack < N_FRAMES; stack++)
      if (bytes[s][stack])
        snapshot->rows[snapshot->n_rows++] =
            (struct tide_snapshot_row){stack, bytes[s][stack], bytes[s][stack] / 10, 1, 1};
  }
  return image;
}

static void assert_values(const int64_t *values, size_t n, ...)
{
  va_list args;
  va_start(args, n);
  for (size_t i = 0; i < n; i++) {
    int64_t wanted = va_arg(args, int);
    if (values[i] != wanted)
      fail_msg("value %zu is %lld, not %lld", i, (long long)values[i], (long long)wanted);
  }
  va_end(args);
}

static const int64_t hand_made[5][N_FRAMES] = {
    // stack 1 grows and stays, 2 comes and goes, 3 falls to what is kept, 4 is kept, but for a
    // moment; 5 is below zero, as a torn look may have it
    {0, 10, 50, 90, 40, 0},  {0, 20, 0, 80, 40, -70}, {0, 30, 60, 70, 0, 0},
    {0, 30, 0, 30, 40, -10}, {0, 40, 0, 30, 40, 20},
};

static void curves_of_single_stacks(void **state)
{
  struct tide_image image = image_of(5, hand_made);
  struct tide_timeline *timeline = tide_timeline_new(&image, NULL, 0);
  int64_t live[5], kept[5];
  assert_int_equal(timeline->n_times, 5);
  assert_int_equal(timeline->times_ns[4], 1500);
  tide_timeline_sum(timeline, (uint32_t[]){1}, 1, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 10, 20, 30, 30, 40);
  assert_values(kept, 5, 10, 20, 30, 30, 40);
  tide_timeline_sum(timeline, (uint32_t[]){2}, 1, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 50, 0, 60, 0, 0);
  assert_values(kept, 5, 0, 0, 0, 0, 0);
  tide_timeline_sum(timeline, (uint32_t[]){3}, 1, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 90, 80, 70, 30, 30);
  assert_values(kept, 5, 30, 30, 30, 30, 30);
  tide_timeline_sum(timeline, (uint32_t[]){4}, 1, TIDE_UNIT_BYTES, live, kept);
  assert_values(kept, 5, 0, 0, 0, 40, 40);
  tide_timeline_sum(timeline, (uint32_t[]){5}, 1, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 0, 0, 0, 0, 20);
  assert_values(kept, 5, 0, 0, 0, 0, 20);
  tide_timeline_free(timeline);
  tide_image_done(&image);
}

static void curves_of_several_stacks_add_up(void **state)
{
  struct tide_image image = image_of(5, hand_made);
  struct tide_timeline *timeline = tide_timeline_new(&image, NULL, 0);
  int64_t live[5], kept[5];
  tide_timeline_sum(timeline, (uint32_t[]){3, 1, 2}, 3, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 150, 100, 160, 60, 70);
  // Stack by stack, which is closer than the least of the sums, 60.
  assert_values(kept, 5, 40, 50, 60, 60, 70);
  tide_timeline_sum(timeline, (uint32_t[]){3, 1, 2}, 3, TIDE_UNIT_BLOCKS, live, kept);
  assert_values(live, 5, 15, 10, 16, 6, 7);
  assert_values(kept, 5, 4, 5, 6, 6, 7);
  tide_timeline_sum(timeline, NULL, 0, TIDE_UNIT_BYTES, live, kept);
  assert_values(live, 5, 0, 0, 0, 0, 0);
  tide_timeline_free(timeline);
  tide_image_done(&image);
}

static void image_without_snapshots_has_no_curve(void **state)
{
  struct tide_image image = {.n_frames = 3, .start_ns = 5, .end_ns = 5};
  struct tide_timeline *timeline = tide_timeline_new(&image, NULL, 0);
  int64_t columns[4] = {9, 9, 9, 9};
  assert_int_equal(timeline->n_times, 0);
  tide_timeline_sum(timeline, (uint32_t[]){2}, 1, TIDE_UNIT_BYTES, NULL, NULL);
  tide_timeline_columns(timeline, NULL, 4, columns);
  assert_values(columns, 4, 0, 0, 0, 0);
  tide_timeline_columns(timeline, NULL, 0, NULL);
  tide_timeline_free(timeline);
  tide_timeline_free(NULL);
}

static void columns_keep_the_highest(void **state)
{
  const struct tide_image image = {.start_ns = 1000, .end_ns = 2000};
  const uint64_t times_ns[] = {1250, 1290, 1299, 1600, 1610, 2000};
  const int64_t values[] = {5, 50, 7, 3, 0, 8};
  int64_t columns[10];
  tide_columns_highest(times_ns, values, 6, &image, 10, columns);
  // Nothing yet; then the highest; then held until somebody looks again.
  assert_values(columns, 10, 0, 0, 50, 7, 7, 7, 7, 0, 0, 8);
  tide_columns_highest(times_ns, values, 6, &image, 1, columns);
  assert_values(columns, 1, 50);
  tide_columns_highest(times_ns, values, 6, &image, 2, columns);
  assert_values(columns, 2, 50, 8);
  // Moments outside of the image's own time belong to its ends.
  tide_columns_highest((uint64_t[]){3, 9000}, values, 2, &image, 3, columns);
  assert_values(columns, 3, 5, 5, 50);
  const struct tide_image instant = {.start_ns = 7, .end_ns = 7};
  tide_columns_highest((uint64_t[]){7, 8}, values, 2, &instant, 3, columns);
  assert_values(columns, 3, 5, 5, 50);
}

// What the header promises, looked up row by row.
static int64_t live_of(const struct tide_image *image, size_t snapshot, uint32_t stack)
{
  const struct tide_snapshot *s = &image->snapshots[snapshot];
  for (size_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].stack == stack)
      return s->rows[i].live_bytes > 0 ? s->rows[i].live_bytes : 0;
  return 0;
}

static int64_t kept_of(const struct tide_image *image, size_t snapshot, uint32_t stack)
{
  int64_t least = image->lacks & TIDE_LACK_LIVE ? 0 : INT64_MAX;
  for (size_t s = snapshot; s < image->n_snapshots; s++) {
    int64_t live = live_of(image, s, stack);
    least = live < least ? live : least;
  }
  return least;
}

static void compare(const struct tide_timeline *timeline, const uint32_t *stacks, size_t n)
{
  const struct tide_image *image = timeline->image;
  size_t n_times = timeline->n_times;
  TIDE_CLEANUP_FREE int64_t *live = tide_alloc_array(n_times, sizeof *live);
  TIDE_CLEANUP_FREE int64_t *kept = tide_alloc_array(n_times, sizeof *kept);
  tide_timeline_sum(timeline, stacks, n, TIDE_UNIT_BYTES, live, kept);
  for (size_t s = 0; s < n_times; s++) {
    uint64_t live_sum = 0, kept_sum = 0;
    for (size_t i = 0; i < n; i++) {
      live_sum += (uint64_t)live_of(image, s, stacks[i]);
      kept_sum += (uint64_t)kept_of(image, s, stacks[i]);
    }
    assert_int_equal(live[s], live_sum);
    assert_int_equal(kept[s], kept_sum);
  }
}

static void random_captures_agree_with_the_definition(void **state)
{
  for (uint64_t seed = 0; seed < 60; seed++) { // any numbers, negative and extreme ones too
    struct tide_capture *capture = tide_gen_capture(seed, 30);
    for (size_t k = 0; k < capture->n_images; k++) {
      const struct tide_image *image = &capture->images[k];
      struct tide_timeline *timeline = tide_timeline_new(image, NULL, 0);
      TIDE_CLEANUP_FREE uint32_t *stacks = tide_alloc_array(image->n_frames, sizeof *stacks);
      size_t n = 0;
      for (uint32_t stack = 0; stack < image->n_frames; stack++)
        if (stack % 3 != seed % 3)
          stacks[n++] = stack;
      compare(timeline, stacks, n);
      compare(timeline, stacks, n ? 1 : 0);
      tide_timeline_free(timeline);
      timeline = tide_timeline_new(image, stacks, n); // of these alone
      compare(timeline, stacks, n);
      tide_timeline_free(timeline);
    }
    tide_capture_free(capture);
  }
}

// As programs give them: what is kept only grows, is part of what is live, and is all at the end;
// and so it stays when reduced to columns.
static void kept_is_part_of_live(void **state)
{
  struct tide_capture *capture = tide_gen_program(5, 400, 40);
  struct tide_image *image = capture->images;
  image->end_ns = 400000000;
  struct tide_timeline *timeline = tide_timeline_new(image, NULL, 0);
  TIDE_CLEANUP_FREE uint32_t *stacks = tide_alloc_array(image->n_sites, sizeof *stacks);
  for (size_t i = 0; i < image->n_sites; i++)
    stacks[i] = image->sites[i].stack;
  int64_t live[40], kept[40], live_columns[24], kept_columns[24], highest = 0, most = 0;
  tide_timeline_sum(timeline, stacks, image->n_sites, TIDE_UNIT_BYTES, live, kept);
  for (size_t i = 0; i < 40; i++) {
    assert_true(kept[i] >= 0 && kept[i] <= live[i]);
    assert_true(i == 0 || kept[i] >= kept[i - 1]);
    highest = live[i] > highest ? live[i] : highest;
  }
  assert_true(kept[39] > 0);
  assert_int_equal(kept[39], live[39]);
  tide_timeline_columns(timeline, live, 24, live_columns);
  tide_timeline_columns(timeline, kept, 24, kept_columns);
  for (size_t i = 0; i < 24; i++) {
    assert_true(kept_columns[i] <= live_columns[i]);
    most = live_columns[i] > most ? live_columns[i] : most;
  }
  assert_int_equal(most, highest);
  tide_timeline_free(timeline);
  tide_capture_free(capture);
}

UNIT_TESTS(timeline_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(curves_of_single_stacks),
      cmocka_unit_test(curves_of_several_stacks_add_up),
      cmocka_unit_test(image_without_snapshots_has_no_curve),
      cmocka_unit_test(columns_keep_the_highest),
      cmocka_unit_test(random_captures_agree_with_the_definition),
      cmocka_unit_test(kept_is_part_of_live),
  };
  return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
