// SPDX-License-Identifier: Apache-2.0
//
// Questions about moments and ranges, over a hand-made image whose answers are plain to see.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "profile/profile.h"

// Two stacks. The first holds 100 bytes from the start on; the second comes, grows and goes.
static struct tide_snapshot_row at_1s[] = {{1, 100, 1, 1, 100}, {2, 10, 1, 3, 30}};
static struct tide_snapshot_row at_2s[] = {{1, 100, 1, 0, 0}, {2, 500, 5, 0, 0}};
static struct tide_snapshot_row at_3s[] = {{1, 100, 1, 0, 0}, {2, 40, 4, 6, 700}};
static struct tide_snapshot_row at_4s[] = {{1, 100, 1, 0, 0}, {2, 0, 0, 1, 5}};
static struct tide_snapshot snapshots[] = {
    {1000000000 + 7, TIDE_SNAPSHOT_TIMED, at_1s, 2},
    {2000000000 + 7, TIDE_SNAPSHOT_PEAK, at_2s, 2},
    {3000000000 + 7, TIDE_SNAPSHOT_TIMED, at_3s, 2},
    {4000000000 + 7, TIDE_SNAPSHOT_END, at_4s, 2},
};
static struct tide_frame frames[] = {{0}, {.pc = 16}, {.pc = 32}};
static struct tide_site sites[] = {
    {.stack = 1, .n_alloc = 1, .b_alloc = 100, .peak_blocks = 1, .peak_bytes = 100},
    {.stack = 2,
     .n_alloc = 10,
     .b_alloc = 735,
     .n_free = 10,
     .b_free = 735,
     .n_temp = 2,
     .b_temp = 9,
     .peak_blocks = 5,
     .peak_bytes = 500},
};
static struct tide_module modules[1] = {{.path = (char *)""}};
static struct tide_mark loaded = {1000000007, (char *)"loaded"};
static struct tide_image image = {
    .start_ns = 7,
    .end_ns = 4000000007,
    .peak_bytes = 600,
    .peak_ns = 2000000007,
    .modules = modules,
    .n_modules = 1,
    .frames = frames,
    .n_frames = 3,
    .sites = sites,
    .n_sites = 2,
    .snapshots = snapshots,
    .n_snapshots = 4,
    .marks = &loaded,
    .n_marks = 1,
    .has_temp_bytes = true,
    .has_counts = true,
};
static const struct tide_capture capture = {.images = &image, .n_images = 1};

static void expect(struct tide_wish wish, int64_t first, int64_t second)
{
  struct tide_diag diag = {0};
  struct tide_question question;
  if (tide_question_make(&image, &wish, &question, &diag))
    fail_msg("%s", diag.text);
  struct tide_profile *profile = tide_profile_new(&capture, 0);
  tide_profile_ask(profile, &question);
  for (size_t i = 0; i < profile->n_sites; i++)
    assert_int_equal(profile->sites[i].weight, profile->sites[i].stack == 1 ? first : second);
  assert_int_equal(profile->whole, first + second);
  tide_profile_free(profile);
}

static void whole_runs(void **state)
{
  expect((struct tide_wish){.sort = -1}, 100, 500);
  expect((struct tide_wish){.sort = TIDE_MEASURE_LEAK}, 100, 0);
  expect((struct tide_wish){.sort = TIDE_SORT_COUNT}, 1, 10);
  expect((struct tide_wish){.sort = TIDE_MEASURE_PEAK, .by = TIDE_BY_BLOCKS}, 1, 5);
  expect((struct tide_wish){.sort = TIDE_MEASURE_TEMP}, 0, 2);
  expect((struct tide_wish){.sort = TIDE_MEASURE_TEMP, .by = TIDE_BY_BYTES}, 0, 9);
}

static void moments(void **state)
{
  expect((struct tide_wish){.sort = -1, .at = "start"}, 0, 0);
  expect((struct tide_wish){.sort = -1, .at = "1s"}, 100, 10);
  expect((struct tide_wish){.sort = -1, .at = "0.4s"}, 0, 0); // the start is nearer
  expect((struct tide_wish){.sort = -1, .at = "peak"}, 100, 500);
  expect((struct tide_wish){.sort = -1, .at = "75%"}, 100, 40);
  expect((struct tide_wish){.sort = -1, .at = "2900ms", .by = TIDE_BY_BLOCKS}, 1, 4);
  expect((struct tide_wish){.sort = -1, .at = "end"}, 100, 0);
  expect((struct tide_wish){.sort = -1, .at = "loaded"}, 100, 10);
  expect((struct tide_wish){.sort = TIDE_MEASURE_TOTAL, .at = "3s"}, 100, 730);
}

static void ranges(void **state)
{
  expect((struct tide_wish){.sort = -1, .range = "1s..3s"}, 0, 30);
  expect((struct tide_wish){.sort = -1, .range = "peak.."}, 0, 0);
  expect((struct tide_wish){.sort = -1, .range = "2s..3s"}, 0, 0); // less than before
  expect((struct tide_wish){.sort = -1, .range = "1s..end"}, 0, 0);
  expect((struct tide_wish){.sort = -1, .range = "..peak"}, 100, 500);
  expect((struct tide_wish){.sort = TIDE_MEASURE_TOTAL, .range = "1s..3s"}, 0, 700);
  expect((struct tide_wish){.sort = TIDE_MEASURE_TOTAL, .range = ".."}, 100, 735);
  expect((struct tide_wish){.sort = TIDE_SORT_COUNT, .range = "3s..end"}, 0, 1);
  expect((struct tide_wish){.sort = TIDE_MEASURE_LIVE, .range = "1s..3s"}, 100, 40);
}

// Freed in between and allocated anew: what is held at the end came within the range.
static void grown_after_a_dip(void **state)
{
  at_3s[1].live_bytes = 3;
  at_4s[1].live_bytes = 8;
  expect((struct tide_wish){.sort = -1, .range = "1s..end"}, 0, 5);
  expect((struct tide_wish){.sort = -1, .range = "2s..3s"}, 0, 0);
  snapshots[2].n_rows = 1; // rows of zeros are left out
  expect((struct tide_wish){.sort = -1, .range = "1s..end"}, 0, 8);
  snapshots[2].n_rows = 2;
  at_3s[1].live_bytes = 40;
  at_4s[1].live_bytes = 0;
}

static void refuse(struct tide_wish wish, const char *word)
{
  struct tide_diag diag = {0};
  struct tide_question question;
  assert_int_equal(tide_question_make(&image, &wish, &question, &diag), TIDE_ERR_USAGE);
  if (!strstr(diag.text, word))
    fail_msg("\"%s\" not in \"%s\"", word, diag.text);
}

static void refuses_what_has_no_answer(void **state)
{
  refuse((struct tide_wish){.sort = -1, .at = "1s", .range = "1s..2s"},
         "either a moment or a range");
  refuse((struct tide_wish){.sort = TIDE_MEASURE_PEAK, .at = "1s"}, "moment of its own");
  refuse((struct tide_wish){.sort = TIDE_MEASURE_TEMP, .at = "1s"}, "whole run");
  refuse((struct tide_wish){.sort = TIDE_MEASURE_LEAK, .range = "1s.."},
         "was never freed was allocated");
  refuse((struct tide_wish){.sort = -1, .at = "5s"}, "ran for 4.00 s");
  refuse((struct tide_wish){.sort = -1, .range = "3s..1s"}, "before it begins");
  refuse((struct tide_wish){.sort = -1, .range = "3s"}, "no range");
  struct tide_diag diag = {0};
  struct tide_window window;
  assert_int_equal(tide_range_parse(&image, "900ms..1.2s", &window, &diag), TIDE_ERR_NOT_FOUND);
  assert_non_null(strstr(diag.text, "nearest to both is 1.00 s"));
  refuse((struct tide_wish){.sort = TIDE_SORT_COUNT, .by = TIDE_BY_BYTES}, "\"total\" has bytes");
}

// Nobody looks at the peak to tell what is kept: the look nearest to it answers.
static void leaks_are_seen_beside_the_peak(void **state)
{
  struct tide_question question;
  struct tide_wish wish = {.sort = TIDE_MEASURE_LEAK, .at = "peak"};
  image.has_late_frees = true;
  assert_int_equal(tide_question_make(&image, &wish, &question, NULL), TIDE_ERR_OK);
  const struct tide_point *to = &question.window.to;
  assert_true(to->snapshot == TIDE_POINT_START ||
              image.snapshots[to->snapshot].kind != TIDE_SNAPSHOT_PEAK);
  assert_true(to->seen_ns != to->asked_ns);
  wish.sort = TIDE_MEASURE_LIVE;
  assert_int_equal(tide_question_make(&image, &wish, &question, NULL), TIDE_ERR_OK);
  assert_int_equal(image.snapshots[to->snapshot].kind, TIDE_SNAPSHOT_PEAK);
  image.has_late_frees = false;
}

// What an older capture does not hold is absent, not zero.
static void refuses_what_the_capture_does_not_hold(void **state)
{
  image.has_temp_bytes = image.has_counts = false;
  refuse((struct tide_wish){.sort = TIDE_MEASURE_TEMP, .by = TIDE_BY_BYTES}, "not their bytes");
  refuse((struct tide_wish){.sort = TIDE_MEASURE_TOTAL, .at = "1s"}, "does not say when");
  image.has_temp_bytes = image.has_counts = true;
  image.origin = (char *)"jemalloc";
  image.lacks = TIDE_LACK_PEAK | TIDE_LACK_TEMP | TIDE_LACK_BLOCKS;
  refuse((struct tide_wish){.sort = TIDE_MEASURE_PEAK},
         "jemalloc does not hold \"peak\"; it holds: live, total, grown, leak");
  refuse((struct tide_wish){.sort = TIDE_SORT_COUNT}, "no numbers of blocks");
  expect((struct tide_wish){.sort = -1}, 100, 0); // what is live, then
  size_t n_snapshots = image.n_snapshots;
  image.n_snapshots = 0; // a profile of one moment
  expect((struct tide_wish){.sort = -1, .at = "end"}, 100, 0);
  image.lacks = TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_TOTAL | TIDE_LACK_TEMP;
  refuse((struct tide_wish){.sort = -1}, "jemalloc holds no stacks");
  image.n_snapshots = n_snapshots;
  image.lacks = TIDE_LACK_PEAK | TIDE_LACK_LIVE;
  expect((struct tide_wish){.sort = -1}, 100, 735);
  image.lacks = 0;
  image.origin = NULL;
}

static struct tide_point point_at(const char *text)
{
  struct tide_point point;
  struct tide_diag diag = {0};
  if (tide_point_parse(&image, text, &point, &diag))
    fail_msg("%s: %s", text, diag.text);
  return point;
}

// Without a clock a moment is a part of the run; its unit is nobody's.
static void without_a_clock(void **state)
{
  image.origin = (char *)"massif.out";
  image.lacks = TIDE_LACK_CLOCK;
  refuse((struct tide_wish){.sort = -1, .at = "1s"}, "massif.out has no clock");
  refuse((struct tide_wish){.sort = -1, .range = "10%..1s"}, "no clock");
  expect((struct tide_wish){.sort = -1, .at = "25%"}, 100, 10);
  struct tide_point point = point_at("30%");
  assert_int_equal(point.whole, 4000000000);
  assert_int_equal(point.asked_ns, 1200000000);
  assert_int_equal(point.seen_ns, 1000000000);
  assert_null(point.word);
  assert_string_equal(point_at("peak").word, "peak");
  assert_string_equal(point_at("end").word, "end");
  struct tide_diag diag = {0};
  struct tide_window window;
  assert_int_equal(tide_range_parse(&image, "22%..30%", &window, &diag), TIDE_ERR_NOT_FOUND);
  assert_non_null(strstr(diag.text, "nearest to both is 25.0 %"));
  uint64_t end_ns = image.end_ns;
  image.end_ns = image.start_ns; // the peak and the end alone
  refuse((struct tide_wish){.sort = -1, .at = "40%"}, "start, peak and end");
  expect((struct tide_wish){.sort = -1, .at = "end"}, 100, 0);
  image.end_ns = end_ns;
  image.lacks = 0;
  image.origin = NULL;
  assert_int_equal(point_at("30%").whole, 0);
}

// What the program mapped itself has its own maximum instead of a share of the heap's peak, is in
// no answer about the heap; of a part of the run it is known what was mapped, not what is left of
// it.
static void of_pages(void **state)
{
  static struct tide_frame page_frames[] = {
      {0}, {.pc = 16}, {.flags = TIDE_FRAME_PAGES}, {.pc = 32, .parent = 2}};
  static struct tide_site page_sites[] = {
      {.stack = 1, .n_alloc = 1, .b_alloc = 100, .peak_bytes = 100, .high_bytes = 100},
      {.stack = 3, .n_alloc = 3, .b_alloc = 90, .n_free = 1, .b_free = 70, .high_bytes = 80},
  };
  struct tide_image mapped = {.start_ns = 7,
                              .end_ns = 8,
                              .peak_bytes = 100,
                              .page_peak_bytes = 80,
                              .page_n_map = 3,
                              .modules = modules,
                              .n_modules = 1,
                              .frames = page_frames,
                              .n_frames = 4,
                              .sites = page_sites,
                              .n_sites = 2};
  const struct tide_capture one = {.images = &mapped, .n_images = 1};
  static const struct {
    int sort;
    enum tide_by by;
    int64_t whole;
    const char *refused;
    enum tide_hint hint;
  } cases[] = {
      {-1, TIDE_BY_DEFAULT, 80, NULL},
      {TIDE_MEASURE_PEAK, TIDE_BY_BYTES, 80, NULL},
      {TIDE_MEASURE_LIVE, TIDE_BY_DEFAULT, 20, NULL},
      {TIDE_MEASURE_LEAK, TIDE_BY_BLOCKS, 2, NULL},
      {TIDE_MEASURE_TOTAL, TIDE_BY_DEFAULT, 90, NULL},
      {TIDE_SORT_COUNT, TIDE_BY_DEFAULT, 3, NULL},
      {TIDE_MEASURE_PEAK, TIDE_BY_BLOCKS, 0, "not the most mappings", TIDE_HINT_COUNT},
      {TIDE_MEASURE_TEMP, TIDE_BY_DEFAULT, 0, "\"temp\" is not known"},
      {TIDE_MEASURE_GROWN, TIDE_BY_DEFAULT, 0, "\"grown\" is not known"},
  };
  struct tide_diag diag = {0};
  struct tide_question question;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_wish wish = {.sort = cases[i].sort, .by = cases[i].by, .of_pages = true};
    enum tide_err err = tide_question_make(&mapped, &wish, &question, &diag);
    if (cases[i].refused) {
      assert_int_equal(err, TIDE_ERR_USAGE);
      assert_non_null(strstr(diag.text, cases[i].refused));
      assert_int_equal(diag.hint, cases[i].hint);
      continue;
    }
    assert_int_equal(err, TIDE_ERR_OK);
    struct tide_profile *profile = tide_profile_new(&one, 0);
    tide_profile_ask(profile, &question);
    assert_int_equal(profile->whole, cases[i].whole);
    assert_int_equal(profile->sites[1].stack, 3);
    assert_int_equal(profile->sites[1].weight, cases[i].whole);
    tide_profile_free(profile);
  }
  const struct tide_wish plain = {.sort = -1, .of_pages = true},
                         timed = {.sort = TIDE_MEASURE_LEAK, .at = "end", .of_pages = true},
                         part = {.sort = -1, .range = "start..end", .of_pages = true};
  assert_int_equal(tide_question_make(&mapped, &timed, &question, &diag), TIDE_ERR_USAGE);
  assert_int_equal(diag.hint, TIDE_HINT_PAGES_AT_TIMES);
  assert_int_equal(tide_question_make(&mapped, &part, &question, &diag), TIDE_ERR_USAGE);
  assert_int_equal(diag.hint, TIDE_HINT_PAGES_AT_TIMES);
  mapped.page_n_map = 0; // and that is known
  assert_int_equal(tide_question_make(&mapped, &plain, &question, &diag), TIDE_ERR_OK);
  mapped.origin = (char *)"heaptrack 1.4";
  assert_int_equal(tide_question_make(&mapped, &plain, &question, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "holds nothing of memory the program mapped itself"));
}

UNIT_TESTS(question_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_runs),
      cmocka_unit_test(moments),
      cmocka_unit_test(ranges),
      cmocka_unit_test(grown_after_a_dip),
      cmocka_unit_test(refuses_what_has_no_answer),
      cmocka_unit_test(leaks_are_seen_beside_the_peak),
      cmocka_unit_test(refuses_what_the_capture_does_not_hold),
      cmocka_unit_test(without_a_clock),
      cmocka_unit_test(of_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
