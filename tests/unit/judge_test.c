// SPDX-License-Identifier: Apache-2.0
//
// The indexer before the judge: limits to the byte, and what each thing that is missing does to a
// limit that is kept and to one that is broken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "check/judge.h"
#include "indexer_fixture.h"
#include "model/capture.h"

#define MIB (INT64_C(1) << 20)
#define SECONDS(s) ((uint64_t)((s)*1e9))

static struct tide_capture *capture, *baseline;
static struct tide_image *image;
static struct tide_judgement *judgement;
static bool command_failed;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  image = &capture->images[INDEXER_IMAGE];
  image->peak_bound_bytes = 0;
  baseline = tide_indexer_capture();
  baseline->images[INDEXER_IMAGE].peak_bound_bytes = 0;
  command_failed = false;
  return 0;
}

static int teardown(void **state)
{
  tide_judgement_free(judgement);
  tide_capture_free(capture);
  tide_capture_free(baseline);
  judgement = NULL;
  return 0;
}

static struct tide_naming *name(void *context, const struct tide_image *of)
{
  return tide_naming_new_from(of, &tide_indexer_names);
}

// Lives until the next one.
static const struct tide_judged *judge(const struct tide_heap_budget *budget)
{
  static struct tide_heap_budget kept;
  kept = *budget;
  const struct tide_budgets budgets = {.items = &kept, .n = 1};
  const struct tide_check_file file = {"x", capture};
  const struct tide_check_input input = {
      .budgets = &budgets,
      .files = &file,
      .n_files = 1,
      .baseline = baseline,
      .command_failed = command_failed,
      .name = name,
  };
  tide_judgement_free(judgement);
  judgement = tide_check_judge(&input);
  assert_int_equal(judgement->n, 1);
  assert_int_equal(judgement->ruling, judgement->items[0].ruling);
  return &judgement->items[0];
}

static struct tide_heap_budget of(enum tide_limited what, int64_t limit)
{
  return (struct tide_heap_budget){.what = what, .limit = (uint64_t)limit, .program = "indexer"};
}

static enum tide_ruling rule(enum tide_limited what, int64_t limit)
{
  struct tide_heap_budget budget = of(what, limit);
  return judge(&budget)->ruling;
}

// What each number is, and so which limit is the last that is kept.
static const struct {
  enum tide_limited what;
  int64_t value;
} values[] = {
    {TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES},
    {TIDE_LIMITED_TOTAL, (3000 + 60 + 200 + 6500 + 64 + 2 + 8 + 1 + 1) * MIB},
    {TIDE_LIMITED_ALLOCS, 1000000 + 50000 + 20000 + 13129000 + 100 + 50 + 40 + 10 + 4},
    {TIDE_LIMITED_LEAKED, (1 + 2 + 1) * MIB + 4096},
    {TIDE_LIMITED_RSS, 470 * MIB},
};
enum { VALUES_N = sizeof values / sizeof *values };

static void keeps_and_breaks_to_the_byte(void **state)
{
  for (size_t i = 0; i < VALUES_N; i++) {
    assert_int_equal(rule(values[i].what, values[i].value), TIDE_RULING_KEPT);
    assert_int_equal(judgement->items[0].bounds.value, values[i].value);
    assert_int_equal(rule(values[i].what, values[i].value - 1), TIDE_RULING_BROKEN);
    assert_true(judgement->items[0].n_culprits > 0);
  }
  assert_int_equal(rule(TIDE_LIMITED_TEMP, INT64_MAX), TIDE_RULING_UNKNOWN); // blocks, no bytes
  assert_int_equal(judgement->items[0].doubts, tide_doubt_bit(TIDE_DOUBT_LACKING));
}

static void names_who_broke_it(void **state)
{
  rule(TIDE_LIMITED_PEAK, 0);
  const struct tide_culprit *first = &judgement->items[0].culprits[0];
  assert_string_equal(first->function, "indexer::postings::Block::push");
  assert_string_equal(first->file, "/home/me/indexer/src/postings.rs");
  assert_int_equal(first->line, 88);
  assert_int_equal(first->value, (150 + 50 - 10 + 64) * MIB);
}

// Of each thing that is missing: the numbers of which it leaves the lower bound.
enum { PEAK = 1, TOTAL = 2, ALLOCS = 4, LEAKED = 8 };

static void expect_doubt(enum tide_doubt doubt, unsigned at_least)
{
  for (size_t i = 0; i < VALUES_N - 1; i++) { // but RSS, which nothing of the heap concerns
    assert_int_equal(rule(values[i].what, INT64_MAX), TIDE_RULING_UNKNOWN);
    assert_true(judgement->items[0].doubts & tide_doubt_bit(doubt));
    assert_int_equal(rule(values[i].what, values[i].value - 1),
                     at_least >> values[i].what & 1 ? TIDE_RULING_BROKEN : TIDE_RULING_UNKNOWN);
  }
}

static void pauses_leave_more_open(void **state)
{
  image->n_pauses = 1;
  expect_doubt(TIDE_DOUBT_PAUSED, PEAK | TOTAL | ALLOCS | LEAKED);
}

static void losses_leave_what_is_live_open(void **state)
{
  image->loss.n_lost_busy = 1;
  expect_doubt(TIDE_DOUBT_LOST, TOTAL | ALLOCS);
}

static void a_recorder_that_stepped_aside(void **state)
{
  image->off_reason = 1;
  expect_doubt(TIDE_DOUBT_STEPPED_ASIDE, PEAK | TOTAL | ALLOCS);
}

static void a_run_that_goes_on(void **state)
{
  capture->finished = false;
  expect_doubt(TIDE_DOUBT_UNFINISHED, PEAK | TOTAL | ALLOCS);
  assert_int_equal(rule(TIDE_LIMITED_RSS, INT64_MAX), TIDE_RULING_UNKNOWN);
  assert_int_equal(rule(TIDE_LIMITED_RSS, 5), TIDE_RULING_BROKEN);
  capture->finished = true;
  image->end_kind = TIDE_END_DETACHED;
  expect_doubt(TIDE_DOUBT_UNFINISHED, PEAK | TOTAL | ALLOCS);
}

static void a_damaged_file(void **state)
{
  capture->cut = true;
  expect_doubt(TIDE_DOUBT_DAMAGED, TOTAL | ALLOCS);
}

static void one_that_was_attached_to(void **state)
{
  image->lacks |= TIDE_LACK_BEFORE;
  expect_doubt(TIDE_DOUBT_BEFORE, PEAK | TOTAL | ALLOCS | LEAKED);
}

static void functions_that_were_not_hooked(void **state)
{
  image->lacks |= TIDE_LACK_UNHOOKED;
  expect_doubt(TIDE_DOUBT_UNHOOKED, TOTAL | ALLOCS);
}

static void an_allocator_of_its_own(void **state)
{
  tide_roll_add(&capture->roll, &(struct tide_unrecorded){.exe = image->exe,
                                                          .detail = "jemalloc",
                                                          .parent = "",
                                                          .why = TIDE_WHY_OWN_ALLOCATOR,
                                                          .n_processes = 1});
  expect_doubt(TIDE_DOUBT_UNHOOKED, PEAK | TOTAL | ALLOCS | LEAKED);
}

static void a_peak_with_a_bound(void **state)
{
  image->peak_bound_bytes = 1000;
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES + 1000), TIDE_RULING_KEPT);
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES + 999), TIDE_RULING_UNKNOWN);
  assert_int_equal(judgement->items[0].doubts, tide_doubt_bit(TIDE_DOUBT_BOUND));
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES - 1000), TIDE_RULING_UNKNOWN);
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES - 1001), TIDE_RULING_BROKEN);
}

static void samples_without_a_known_error(void **state)
{
  image->sampled_every_bytes = TIDE_SAMPLED_SOMEHOW;
  assert_int_equal(rule(TIDE_LIMITED_TOTAL, INT64_MAX), TIDE_RULING_UNKNOWN);
  assert_int_equal(rule(TIDE_LIMITED_TOTAL, 0), TIDE_RULING_UNKNOWN);
  assert_int_equal(judgement->items[0].doubts, tide_doubt_bit(TIDE_DOUBT_SAMPLED));
}

static void resident_memory_with_the_recorders(void **state)
{
  image->rss_is_own = false;
  assert_int_equal(rule(TIDE_LIMITED_RSS, 470 * MIB), TIDE_RULING_KEPT);
  assert_int_equal(rule(TIDE_LIMITED_RSS, 470 * MIB - 1), TIDE_RULING_UNKNOWN);
  image->max_rss_bytes = 0;
  assert_int_equal(rule(TIDE_LIMITED_RSS, INT64_MAX), TIDE_RULING_UNKNOWN);
}

// ---- the run ----

static void each_process_by_itself(void **state)
{
  struct tide_heap_budget all = {.what = TIDE_LIMITED_PEAK, .limit = INDEXER_PEAK_BYTES};
  const struct tide_judged *judged = judge(&all);
  assert_int_equal(judged->ruling, TIDE_RULING_KEPT);
  assert_int_equal(judged->n_processes, 2);
  assert_string_equal(judged->program, "indexer");
  all.limit = 2999;
  judged = judge(&all);
  assert_int_equal(judged->n_broken, 2);
  all.program = "dash";
  all.limit = 3000;
  assert_int_equal(judge(&all)->ruling, TIDE_RULING_KEPT);
  all.program = "sh";
  judged = judge(&all);
  assert_int_equal(judged->ruling, TIDE_RULING_UNKNOWN);
  assert_int_equal(judged->doubts, tide_doubt_bit(TIDE_DOUBT_NOBODY));
  assert_null(judged->program);
}

static void a_process_that_was_not_recorded(void **state)
{
  struct tide_heap_budget all = {.what = TIDE_LIMITED_PEAK, .limit = INDEXER_PEAK_BYTES};
  tide_roll_add(&capture->roll, &(struct tide_unrecorded){.exe = "/bin/busybox",
                                                          .detail = "",
                                                          .parent = "",
                                                          .why = TIDE_WHY_STATIC,
                                                          .n_processes = 1});
  const struct tide_judged *judged = judge(&all);
  assert_int_equal(judged->ruling, TIDE_RULING_UNKNOWN);
  assert_string_equal(judged->who, "busybox");
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES), TIDE_RULING_KEPT); // of another
  all.limit--;
  assert_int_equal(judge(&all)->ruling, TIDE_RULING_BROKEN);
  all.program = "busybox";
  assert_int_equal(judge(&all)->doubts, tide_doubt_bit(TIDE_DOUBT_UNRECORDED));
  capture->roll.at_least = true; // it may have started another indexer
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES), TIDE_RULING_UNKNOWN);
}

static void a_child_that_was_lost(void **state)
{
  image->loss.n_fork_lost = 1;
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES), TIDE_RULING_UNKNOWN);
  assert_string_equal(judgement->items[0].who, "a child of indexer");
  assert_int_equal(rule(TIDE_LIMITED_PEAK, 5), TIDE_RULING_BROKEN);
  const struct tide_heap_budget other = {
      .what = TIDE_LIMITED_PEAK, .limit = 3000, .program = "dash"};
  assert_int_equal(judge(&other)->ruling, TIDE_RULING_KEPT);
}

static void several_as_one_sum(void **state)
{
  image->pid = 0;
  capture->n_images_left_out = 3;
  assert_int_equal(rule(TIDE_LIMITED_ALLOCS, values[2].value), TIDE_RULING_KEPT);
  assert_int_equal(rule(TIDE_LIMITED_ALLOCS, values[2].value - 1), TIDE_RULING_UNKNOWN);
  assert_int_equal(judgement->items[0].doubts, tide_doubt_bit(TIDE_DOUBT_LEFT_OUT));
  image->pid = 41307; // of old files nothing is known of them
  assert_int_equal(rule(TIDE_LIMITED_ALLOCS, INT64_MAX), TIDE_RULING_UNKNOWN);
}

static void a_command_that_failed(void **state)
{
  command_failed = true;
  assert_int_equal(rule(TIDE_LIMITED_PEAK, INT64_MAX), TIDE_RULING_UNKNOWN);
  assert_int_equal(judgement->items[0].doubts, tide_doubt_bit(TIDE_DOUBT_COMMAND));
  assert_int_equal(rule(TIDE_LIMITED_PEAK, 5), TIDE_RULING_BROKEN);
}

// ---- sites ----

static void sites_and_what_may_be_theirs(void **state)
{
  struct tide_heap_budget site = of(TIDE_LIMITED_PEAK, 0);
  site.site = "Block::push";
  const struct tide_judged *judged = judge(&site);
  // Own code without a name (the plugin, what nobody knows), a cut stack, one without a place.
  assert_int_equal(judged->ruling, TIDE_RULING_BROKEN);
  assert_int_equal(judged->bounds.least, 254 * MIB);
  assert_true(judged->bounds.most >= (254 + 1 + 1) * MIB);
  assert_true(judged->has_match);
  assert_int_equal(judged->n_culprits, 1);
  site.limit = 254 * MIB;
  judged = judge(&site);
  assert_int_equal(judged->ruling, TIDE_RULING_UNKNOWN);
  assert_true(judged->doubts & tide_doubt_bit(TIDE_DOUBT_CUT));
  assert_true(judged->doubts & tide_doubt_bit(TIDE_DOUBT_NO_STACK));
  site.limit = (uint64_t)judged->bounds.most;
  assert_int_equal(judge(&site)->ruling, TIDE_RULING_KEPT);
  site.site = "src/dict\\.rs"; // by file; the cut stack has it
  site.limit = 86 * MIB;
  assert_int_equal(judge(&site)->bounds.least, 87 * MIB);
  assert_int_equal(judgement->items[0].ruling, TIDE_RULING_BROKEN);
  site.site = "nowhere";
  assert_false(judge(&site)->has_match);
}

// ---- growth ----

static struct tide_heap_budget growth_of(enum tide_limited what, uint64_t ppm)
{
  return (struct tide_heap_budget){
      .what = what, .is_growth = true, .limit = ppm, .program = "indexer"};
}

static void growth_to_the_byte(void **state)
{
  struct tide_heap_budget peak = growth_of(TIDE_LIMITED_PEAK, 0);
  assert_int_equal(judge(&peak)->ruling, TIDE_RULING_KEPT);
  image->sites[3].peak_bytes += 1;
  image->peak_bytes += 1;
  const struct tide_judged *judged = judge(&peak);
  assert_int_equal(judged->ruling, TIDE_RULING_BROKEN);
  assert_int_equal(judged->limit, INDEXER_PEAK_BYTES);
  assert_int_equal(judged->n_culprits, 1);
  assert_string_equal(judged->culprits[0].function, "indexer::dict::Builder::intern");
  assert_int_equal(judged->culprits[0].value - judged->culprits[0].before, 1);
  peak.limit = 1; // a millionth is 432 bytes
  assert_int_equal(judge(&peak)->ruling, TIDE_RULING_KEPT);
  assert_int_equal(judgement->items[0].limit, INDEXER_PEAK_BYTES + 432);
}

static void growth_in_doubt(void **state)
{
  struct tide_heap_budget peak = growth_of(TIDE_LIMITED_PEAK, 0);
  baseline->images[INDEXER_IMAGE].peak_bound_bytes = 10;
  const struct tide_judged *judged = judge(&peak);
  assert_int_equal(judged->ruling, TIDE_RULING_UNKNOWN); // it may have been 10 less
  assert_int_equal(judged->doubts, tide_doubt_bit(TIDE_DOUBT_BASELINE));
  image->sites[3].peak_bytes += 11;
  image->peak_bytes += 11;
  assert_int_equal(judge(&peak)->ruling, TIDE_RULING_BROKEN);
  baseline->images[INDEXER_IMAGE].n_pauses = 1; // and may have been any more
  assert_int_equal(judge(&peak)->ruling, TIDE_RULING_UNKNOWN);
  baseline->images[INDEXER_IMAGE].n_pauses = 0;
  free(baseline->images[INDEXER_IMAGE].exe);
  baseline->images[INDEXER_IMAGE].exe = tide_strdup("/bin/other");
  assert_int_equal(judge(&peak)->doubts, tide_doubt_bit(TIDE_DOUBT_BASELINE));
}

// ---- marks ----

static void add_marks(void)
{
  image->marks = tide_alloc_array(2, sizeof *image->marks);
  image->marks[0] = (struct tide_mark){SECONDS(1.5), tide_strdup("a")};
  image->marks[1] = (struct tide_mark){SECONDS(7.0), tide_strdup("b")};
  image->n_marks = 2;
}

static void between_marks(void **state)
{
  tide_indexer_add_snapshots(capture);
  add_marks();
  image->has_counts = true;
  for (size_t i = 0; i < image->n_snapshots; i++) // 100 more at each look, but the peak's
    if (image->snapshots[i].kind != TIDE_SNAPSHOT_PEAK) {
      image->snapshots[i].rows[0].n_alloc = 100;
      image->snapshots[i].rows[0].b_alloc = 1000;
    }
  struct tide_heap_budget range = of(TIDE_LIMITED_ALLOCS, 200);
  range.from = "a", range.to = "b";
  // Looks at 1, 3, 7: from 3 to 7 there were 100, from 1 to 7 it is 200.
  const struct tide_judged *judged = judge(&range);
  assert_int_equal(judged->ruling, TIDE_RULING_KEPT);
  assert_int_equal(judged->bounds.least, 100);
  assert_int_equal(judged->bounds.most, 200);
  range.limit = 199;
  assert_int_equal(judge(&range)->doubts, tide_doubt_bit(TIDE_DOUBT_BETWEEN));
  range.limit = 99;
  assert_int_equal(judge(&range)->ruling, TIDE_RULING_BROKEN);
  range.from = "start", range.to = "end";
  assert_int_equal(judge(&range)->bounds.least, 500);
  assert_int_equal(judgement->items[0].bounds.most, 500);
  range.from = "b", range.to = "a";
  assert_int_equal(judge(&range)->doubts, tide_doubt_bit(TIDE_DOUBT_NO_MARK));
}

static void a_peak_between_marks(void **state)
{
  add_marks();
  struct tide_heap_budget range = of(TIDE_LIMITED_PEAK, INDEXER_PEAK_BYTES - 1);
  range.from = "a", range.to = "b"; // 6.15 s lies in it
  assert_int_equal(judge(&range)->ruling, TIDE_RULING_BROKEN);
  image->marks[1].time_ns = SECONDS(6.0); // and now not: ticks rise by 6 MiB each 100 ms
  const struct tide_judged *judged = judge(&range);
  assert_int_equal(judged->ruling, TIDE_RULING_UNKNOWN);
  assert_int_equal(judged->bounds.least, 59 * 6 * MIB);
  range.limit++;
  assert_int_equal(judge(&range)->ruling, TIDE_RULING_KEPT);
  range.limit = 59 * 6 * MIB - 1;
  assert_int_equal(judge(&range)->ruling, TIDE_RULING_BROKEN);
}

UNIT_TESTS(judge_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(keeps_and_breaks_to_the_byte),
      TEST(names_who_broke_it),
      TEST(pauses_leave_more_open),
      TEST(losses_leave_what_is_live_open),
      TEST(a_recorder_that_stepped_aside),
      TEST(a_run_that_goes_on),
      TEST(a_damaged_file),
      TEST(one_that_was_attached_to),
      TEST(functions_that_were_not_hooked),
      TEST(an_allocator_of_its_own),
      TEST(a_peak_with_a_bound),
      TEST(samples_without_a_known_error),
      TEST(resident_memory_with_the_recorders),
      TEST(each_process_by_itself),
      TEST(a_process_that_was_not_recorded),
      TEST(a_child_that_was_lost),
      TEST(several_as_one_sum),
      TEST(a_command_that_failed),
      TEST(sites_and_what_may_be_theirs),
      TEST(growth_to_the_byte),
      TEST(growth_in_doubt),
      TEST(between_marks),
      TEST(a_peak_between_marks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
