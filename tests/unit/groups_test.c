// SPDX-License-Identifier: Apache-2.0
//
// Groups of every kind over the indexer: whatever sites are gathered into, they add up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "indexer_fixture.h"
#include "view/groups.h"
#include "view/paths.h"

enum { MIB = 1 << 20 };

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_view view;
static struct tide_groups *groups;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  for (size_t i = 0; i < image->n_sites; i++) { // a frame of each stack's own, by three calls
    struct tide_frame *leaf = &image->frames[image->sites[i].stack];
    if (!(leaf->flags & (TIDE_FRAME_LOST | TIDE_FRAME_PAGES)))
      leaf->flags |= (uint16_t)(1 + image->sites[i].stack % 3) << TIDE_FRAME_CALL_SHIFT;
  }
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  return 0;
}

static int teardown(void **state)
{
  tide_groups_free(groups);
  groups = NULL;
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
  return 0;
}

static void gather(enum tide_group_kind kind, int sort)
{
  struct tide_question question;
  struct tide_wish wish = {.sort = sort};
  assert_int_equal(tide_question_make(profile->image, &wish, &question, NULL), TIDE_ERR_OK);
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_profile_ask(profile, &question);
  tide_view_init(&view, profile, naming, NULL, false);
  assert_int_equal(tide_groups_check(kind, profile->image, NULL), TIDE_ERR_OK);
  groups = tide_groups_new(&view, kind);
}

static int64_t sum_of_measures(void)
{
  int64_t sum = groups->rest.measure;
  for (size_t i = 0; i < groups->n; i++)
    sum += groups->items[i].measure;
  return sum;
}

static void expect_sum(int kind, const struct tide_question *question)
{
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_profile_ask(profile, question);
  tide_view_init(&view, profile, naming, NULL, false);
  groups = tide_groups_new(&view, (enum tide_group_kind)kind);
  assert_int_equal(sum_of_measures(), view.wanted);
  assert_int_equal(groups->weightless.measure, 0);
  for (size_t i = 1; i < groups->n && !tide_group_kind_is_classes(kind); i++)
    assert_true(groups->items[i - 1].measure >= groups->items[i].measure);
}

// Whatever is asked, of a whole run, a moment or a range, bounds included.
static void every_kind_adds_up(void **state)
{
  const char *const ats[] = {NULL, "50%", "peak", "end"};
  const char *const ranges[] = {"20%..70%", "start..peak", "peak..end"};
  size_t n = 0;
  tide_indexer_add_snapshots(capture);
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++)
    for (int sort = 0; sort < TIDE_SORTS_N; sort++)
      for (int by = 0; by < TIDE_BYS_N; by++)
        for (int w = 0; w < 7; w++) {
          struct tide_question question;
          struct tide_wish wish = {.sort = sort, .by = (enum tide_by)by};
          wish.at = w < 4 ? ats[w] : NULL;
          wish.range = w < 4 ? NULL : ranges[w - 4];
          if (tide_question_make(profile->image, &wish, &question, NULL) != TIDE_ERR_OK)
            continue;
          expect_sum(kind, &question);
          n++;
        }
  assert_true(n > 400);
}

static struct tide_group whole_of(void)
{
  return tide_groups_others(groups, 0);
}

// What a row says of itself does not depend on what it is ranked by: stacks that weigh nothing
// count there, too, and what is in no row is in the rest.
static void numbers_are_of_all_stacks(void **state)
{
  tide_indexer_add_snapshots(capture);
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++) {
    if (tide_group_kind_is_across((enum tide_group_kind)kind))
      continue;
    gather(kind, TIDE_MEASURE_TOTAL);
    size_t n_all = groups->n;
    struct tide_group all = whole_of(), *of_all = calloc(n_all, sizeof *of_all);
    memcpy(of_all, groups->items, n_all * sizeof *of_all);
    for (int sort = 0; sort < TIDE_MEASURES_N; sort++) {
      gather(kind, sort);
      assert_int_equal(whole_of().n_alloc, all.n_alloc);
      assert_int_equal(whole_of().peak_bytes, all.peak_bytes);
      assert_int_equal(whole_of().n_stacks, all.n_stacks);
      if (sort == TIDE_MEASURE_TEMP &&
          !tide_group_kind_is_text((enum tide_group_kind)kind)) // of which some weigh nothing
        assert_true(tide_groups_rest(groups, 0).n_alloc < all.n_alloc);
      for (size_t i = 0; i < groups->n; i++) {
        const struct tide_group *row = &groups->items[i], *same = of_all;
        assert_true(row->measure > 0);
        while (same < of_all + n_all && !(same->frame == row->frame && same->number == row->number))
          same++;
        assert_true(same < of_all + n_all);
        assert_int_equal(row->n_alloc, same->n_alloc);
        assert_int_equal(row->n_stacks, same->n_stacks);
      }
    }
    free(of_all);
  }
}

// Each site is in the group it was counted in.
static void sites_know_their_group(void **state)
{
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++) {
    if (kind == TIDE_GROUP_THREAD || kind == TIDE_GROUP_SIZE || kind == TIDE_GROUP_LIFETIME)
      continue;
    gather(kind, TIDE_MEASURE_TOTAL);
    int64_t *sums = calloc(groups->n + 1, sizeof *sums);
    for (size_t i = 0; i < profile->n_sites; i++)
      sums[groups->of_site[i]] += tide_view_has(&view, i) ? profile->sites[i].weight : 0;
    assert_int_equal(sums[0], 0);
    for (size_t i = 0; i < groups->n; i++)
      assert_int_equal(sums[i + 1], groups->items[i].measure);
    free(sums);
  }
}

static const struct tide_group *crate(const char *name)
{
  for (size_t i = 0; i < groups->n; i++)
    if (groups->items[i].crate && strcmp(groups->items[i].crate, name) == 0)
      return &groups->items[i];
  fail_msg("no crate %s", name);
  return NULL;
}

static void larger_parts_hold_the_smaller(void **state)
{
  gather(TIDE_GROUP_CRATE, TIDE_MEASURE_PEAK);
  assert_int_equal(crate("indexer")->measure, (190 + 64 + 87 + 60) * (int64_t)MIB);
  assert_int_equal(crate("plugin")->measure, 2 * MIB);
  gather(TIDE_GROUP_MODULE, TIDE_MEASURE_PEAK);
  assert_int_equal(groups->n, 3); // the program, the plugin, events without a stack
  assert_int_equal(groups->items[0].measure, (401 + 2) * (int64_t)MIB);
  gather(TIDE_GROUP_STACK, TIDE_MEASURE_PEAK);
  assert_int_equal(groups->n, 8);
  assert_int_equal(groups->items[0].number, 3);
}

static const struct tide_group *thread(uint32_t number)
{
  for (size_t i = 0; i < groups->n; i++)
    if (!groups->items[i].several && groups->items[i].number == number)
      return &groups->items[i];
  return NULL;
}

// Thread 3 frees what others allocated: it holds nothing, and takes nothing from them. What it
// freed of a stack where two allocated is told to be theirs together.
static void blocks_are_their_makers(void **state)
{
  gather(TIDE_GROUP_THREAD, TIDE_MEASURE_PEAK);
  assert_int_equal(sum_of_measures(), INDEXER_PEAK_BYTES);
  assert_int_equal(thread(3)->measure, 0);
  assert_int_equal(thread(3)->peak_bytes, 0);
  assert_int_equal(thread(3)->n_foreign, 89990);
  bool several = false;
  for (size_t i = 0; i < groups->n; i++) {
    assert_true(groups->items[i].measure >= 0);
    several |= groups->items[i].several;
  }
  assert_true(several);
  gather(TIDE_GROUP_THREAD, TIDE_MEASURE_TOTAL);
  for (size_t i = 0; i < groups->n; i++) // of what was allocated everything is known
    assert_true(!groups->items[i].several || !groups->items[i].measure);
}

// Every allocation of stack 3 has one size and one end: freed, or live.
static void classes_of_one_stack(void **state)
{
  struct tide_filter *filter = NULL;
  gather(TIDE_GROUP_SIZE, TIDE_SORT_COUNT);
  assert_int_equal(groups->n, 3); // the fixture has few histograms: the last is what they lack
  assert_true(groups->items[2].several);
  assert_int_equal(groups->items[0].number, 8);
  assert_int_equal(groups->items[0].measure, 1049000);
  assert_int_equal(groups->items[1].measure, 1000);
  assert_int_equal(
      tide_filter_new(&(struct tide_filter_options){.function = "Block::push", .ignore = "Merge"},
                      &filter, NULL),
      TIDE_ERR_OK);
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_view_init(&view, profile, naming, filter, false);
  groups = tide_groups_new(&view, TIDE_GROUP_LIFETIME);
  assert_int_equal(groups->n, 2);
  assert_int_equal(groups->items[0].number, 0);
  assert_int_equal(groups->items[0].measure, 960000 + 89990);
  assert_int_equal(groups->items[1].number, TIDE_LIFE_CLASS_LIVE);
  assert_int_equal(groups->items[1].measure, 10);
  tide_view_done(&view);
  tide_filter_free(filter);
}

static enum tide_fate fate_of_stack(uint32_t stack)
{
  gather(TIDE_GROUP_STACK, TIDE_MEASURE_PEAK);
  tide_groups_tell_fates(groups, profile->image, groups->n);
  for (size_t i = 0; i < groups->n; i++)
    if (groups->items[i].number == stack)
      return groups->items[i].fate;
  fail_msg("no stack %u", stack);
  return TIDE_FATE_NONE;
}

static struct tide_counters *counters_of_stack(uint32_t stack)
{
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].stack == stack)
      return (struct tide_counters *)profile->sites[i].in_row;
  return NULL;
}

static void fates_by_their_definitions(void **state)
{
  assert_int_equal(fate_of_stack(8), TIDE_FATE_NONE); // no snapshots yet
  tide_indexer_add_snapshots(capture);
  assert_int_equal(fate_of_stack(8), TIDE_FATE_GROWING);
  assert_int_equal(fate_of_stack(4), TIDE_FATE_HELD);
  assert_int_equal(fate_of_stack(5), TIDE_FATE_NONE); // freed on the way
  struct tide_counters *dict = counters_of_stack(4);
  dict->n_alloc = 190; // all that there ever were
  dict->n_free = 0;
  assert_int_equal(fate_of_stack(4), TIDE_FATE_HELD); // the last one came at 2 s of 8.4
  counters_of_stack(4)->last_ns = 700000000;
  assert_int_equal(fate_of_stack(4), TIDE_FATE_THROUGHOUT);
  counters_of_stack(4)->n_free = 190;
  assert_int_equal(fate_of_stack(4), TIDE_FATE_AT_END);
  counters_of_stack(4)->n_alloc = 191; // one of them was freed before
  counters_of_stack(4)->n_free = 191;
  assert_int_equal(fate_of_stack(4), TIDE_FATE_NONE);
  counters_of_stack(4)->n_resize = 1; // or resized
  assert_int_equal(fate_of_stack(4), TIDE_FATE_AT_END);
}

// With a limit the largest classes are shown, not the first.
static void a_limit_ranks_classes(void **state)
{
  gather(TIDE_GROUP_SIZE, TIDE_SORT_COUNT);
  assert_int_equal(tide_groups_shown(groups, SIZE_MAX, 0), 3);
  assert_int_equal(groups->items[0].number, 8);
  assert_int_equal(tide_groups_shown(groups, 2, 0), 2);
  for (size_t i = 1; i < groups->n; i++)
    assert_true(groups->items[i - 1].measure >= groups->items[i].measure);
  assert_int_equal(tide_groups_rest(groups, 2).measure, groups->items[2].measure);
  assert_int_equal(tide_groups_shown(groups, SIZE_MAX, groups->items[0].measure), 1);
}

static void refuses_what_is_not_there(void **state)
{
  struct tide_diag diag = {0};
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++)
    assert_int_equal(tide_groups_check(kind, profile->image, &diag), TIDE_ERR_OK);
  capture->images[INDEXER_IMAGE].lacks = TIDE_LACK_THREADS;
  assert_int_equal(tide_groups_check(TIDE_GROUP_THREAD, profile->image, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "the capture holds nothing by thread; it does by function"));
  assert_int_equal(tide_groups_check(TIDE_GROUP_SIZE, profile->image, &diag), TIDE_ERR_OK);
  for (size_t i = 0; i < profile->image->n_frames; i++)
    capture->images[INDEXER_IMAGE].frames[i].flags &= (uint16_t)~TIDE_FRAME_CALL;
  assert_int_equal(tide_groups_check(TIDE_GROUP_CALL, profile->image, &diag), TIDE_ERR_USAGE);
  assert_non_null(strstr(diag.text, "the capture holds nothing by call; it does by function"));
}

static void expect_crate(const char *function, const char *expected)
{
  char *crate = tide_crate_of(function);
  if (expected)
    assert_string_equal(crate, expected);
  else
    assert_null(crate);
  free(crate);
}

static void crates_of_functions(void **state)
{
  expect_crate("indexer::postings::Block::push", "indexer");
  expect_crate("<app::Row as core::fmt::Display>::fmt", "app");
  expect_crate("<alloc::vec::Vec<T> as app::Measure>::bytes", "app");
  expect_crate("<[u8]>::to_vec", "core");
  expect_crate("std::vector<int> app::rows<int>(long)", "app");
  expect_crate("(anonymous namespace)::f(int)", NULL);
  expect_crate("main", NULL);
  expect_crate("operator new(unsigned long)", NULL);
  expect_crate("", NULL);
}

UNIT_TESTS(groups_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_kind_adds_up),         TEST(numbers_are_of_all_stacks),
      TEST(sites_know_their_group),     TEST(larger_parts_hold_the_smaller),
      TEST(blocks_are_their_makers),    TEST(classes_of_one_stack),
      TEST(fates_by_their_definitions), TEST(a_limit_ranks_classes),
      TEST(refuses_what_is_not_there),  TEST(crates_of_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
