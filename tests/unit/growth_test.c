// SPDX-License-Identifier: Apache-2.0
//
// Histories of captures made by hand: what stacks held at looks, and what was asked for between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "profile/growth.h"
#include "words/growth_words.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)
#define KIB INT64_C(1024)

// One look per row of {held, asked for, in so many}; of stack 3, beside others that change, too.
struct seen {
  int64_t held;
  uint64_t bytes, n;
  enum tide_snapshot_kind kind;
};

static struct tide_image image_of(const struct seen *seen, size_t n)
{
  struct tide_image image = {.n_frames = 6, .n_snapshots = n, .has_counts = true};
  image.snapshots = tide_alloc_array(n, sizeof *image.snapshots);
  image.start_ns = 5 * MS;
  for (size_t i = 0; i < n; i++) {
    struct tide_snapshot *snapshot = &image.snapshots[i];
    snapshot->kind = seen[i].kind;
    snapshot->time_ns = (15 + 10 * i) * MS;
    snapshot->rows = tide_alloc_array(3, sizeof *snapshot->rows);
    snapshot->rows[snapshot->n_rows++] = (struct tide_snapshot_row){2, 7 * (int64_t)i, 1, 1, 7};
    if (seen[i].held || seen[i].n)
      snapshot->rows[snapshot->n_rows++] =
          (struct tide_snapshot_row){3, seen[i].held, 1, seen[i].n, seen[i].bytes};
    snapshot->rows[snapshot->n_rows++] = (struct tide_snapshot_row){4, 1000, 1, 0, 0};
  }
  return image;
}

// Gives the words; the image is done with.
static char *words_of(struct tide_image *image, struct tide_growth *growth)
{
  tide_growth_init(growth, image, (uint32_t[]){3}, 1);
  return tide_growth_words(growth, image, (struct tide_style){.utf8 = true});
}

static void expect_words(char *words, const char *wanted)
{
  if (wanted)
    assert_string_equal(words, wanted);
  else
    assert_null(words);
  free(words);
}

static void doublings_are_seen_as_such(void **state)
{
  const struct seen seen[] = {
      {64 * KIB, 64 * 1024, 1},
      {64 * KIB, 0, 0},
      {128 * KIB, 128 * 1024, 1},
      {512 * KIB, 768 * 1024, 2},
      {900 * KIB, 0, 0, TIDE_SNAPSHOT_PEAK}, // nobody looked: no step
      {1024 * KIB, 1024 * 1024, 1},
      {1024 * KIB, 0, 0, TIDE_SNAPSHOT_END},
  };
  struct tide_image image = image_of(seen, 7);
  struct tide_growth growth;
  char *words = words_of(&image, &growth);
  assert_int_equal(growth.n, 4);
  assert_int_equal(growth.n_rises, 4);
  assert_int_equal(growth.n_falls, 0);
  assert_true(growth.is_by_shares);
  assert_int_equal(growth.each_bytes, 0);
  assert_int_equal(growth.largest->rose, 512 * KIB);
  assert_int_equal(growth.steps[2].n, 2);
  assert_int_equal(growth.steps[2].bytes, 768 * 1024);
  expect_words(words, "from 64.0 KiB at 10.0 ms to 1.0 MiB at 60.0 ms in 4 steps, each by half of "
                      "it or more");
  tide_growth_done(&growth);
  tide_image_done(&image);
}

static void equal_steps_and_falls(void **state)
{
  const struct seen seen[] = {
      {32 * KIB, 32 * 1024, 2}, {48 * KIB, 16 * 1024, 1}, {0, 0, 0},
      {16 * KIB, 16 * 1024, 1}, {16 * KIB, 16 * 1024, 1}, // one came, one went
  };
  struct tide_image image = image_of(seen, 5);
  struct tide_growth growth;
  char *words = words_of(&image, &growth);
  assert_int_equal(growth.n, 5);
  assert_int_equal(growth.steps[2].rose, -48 * KIB);
  assert_int_equal(growth.steps[4].rose, 0);
  assert_int_equal(growth.each_bytes, 16 * 1024);
  assert_false(growth.is_by_shares);
  expect_words(words, "from 32.0 KiB at 10.0 ms to 16.0 KiB at 40.0 ms in 3 steps, asked for by "
                      "16.0 KiB; it fell 1 time");
  tide_growth_done(&growth);
  tide_image_done(&image);
}

static void what_does_not_grow_is_not_told(void **state)
{
  const struct seen one[] = {{0, 0, 0}, {8 * KIB, 8192, 1}, {8 * KIB, 0, 0}, {8 * KIB, 0, 0}};
  const struct seen gone[] = {{0, 4096, 1}, {0, 8192, 1}, {0, 0, 0}, {0, 0, 0}};
  const struct seen uneven[] = {
      {KIB, 1024, 1}, {9 * KIB, 8192, 1}, {10 * KIB, 1024, 1}, {-1, 0, 0}};
  const char *const wanted[] = {
      "to 8.0 KiB by 20.0 ms, in one step", NULL,
      "from 1.0 KiB at 10.0 ms to 10.0 KiB at 30.0 ms in 3 steps, the largest 8.0 KiB by 20.0 ms; "
      "it fell 1 time"};
  const struct seen *const all[] = {one, gone, uneven};
  for (size_t i = 0; i < 3; i++) {
    struct tide_image image = image_of(all[i], 4);
    struct tide_growth growth;
    expect_words(words_of(&image, &growth), wanted[i]);
    tide_growth_done(&growth);
    image.n_snapshots = 3; // too few looks
    expect_words(words_of(&image, &growth), NULL);
    image.n_snapshots = 4;
    tide_growth_done(&growth);
    tide_image_done(&image);
  }
}

UNIT_TESTS(growth_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(doublings_are_seen_as_such),
      cmocka_unit_test(equal_steps_and_falls),
      cmocka_unit_test(what_does_not_grow_is_not_told),
  };
  return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
