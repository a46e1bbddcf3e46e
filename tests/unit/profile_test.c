// SPDX-License-Identifier: Apache-2.0
//
// The profile against numbers added up by hand: rows of several threads merge, negative ones
// included; pages stay apart; ranks order; the right image is picked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "profile/completeness.h"
#include "unit.h"

#include "base/alloc.h"
#include "indexer_fixture.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#define MIB (1ll << 20)

static struct tide_capture *capture;
static struct tide_profile *profile;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  return 0;
}

static int teardown(void **state)
{
  tide_profile_free(profile);
  tide_capture_free(capture);
  return 0;
}

static const struct tide_profile_site *site_of(uint32_t stack)
{
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].stack == stack)
      return &profile->sites[i];
  fail_msg("no site of stack %u", stack);
  return NULL;
}

static void merges_threads_of_a_stack(void **state)
{
  const struct tide_profile_site *site = site_of(3);
  assert_int_equal(site->n_rows, 3);
  assert_int_equal(site->in_row->n_alloc, 1050000);
  assert_int_equal(site->in_row->b_alloc, 3060 * MIB);
  assert_int_equal(site->in_row->n_free, 1049990);
  assert_int_equal(site->in_row->b_free, 3059 * MIB);
  assert_int_equal(tide_site_live_blocks(site), 10);
  assert_int_equal(tide_site_live_bytes(site), 1 * MIB);
  assert_int_equal(site->in_row->peak_bytes, 190 * MIB);
  assert_int_equal(site->in_row->peak_blocks, 20000);
  assert_int_equal(site->in_row->high_bytes, 220 * MIB);
  assert_true(tide_profile_own_max_is_bound(profile, site));
  assert_false(tide_profile_own_max_is_bound(profile, site_of(4)));
  assert_int_equal(site->in_row->life_ns, 960000ll * 1000 + 89990ll * 2000);
  assert_int_equal(site->in_row->n_foreign, 89990);
  assert_int_equal(site->in_row->first_ns, 250000000); // the freeing thread's 0 is not a time
  assert_int_equal(site->in_row->last_ns, 8000000000);
}

// Most stacks have one row, and what that says is not copied, unless a site would say otherwise: an
// age is never below zero, a time is one of allocations.
static void one_row_is_not_copied(void **state)
{
  const struct tide_profile_site *site = site_of(4);
  struct tide_site *row = &capture->images[INDEXER_IMAGE].sites[profile->rows[site->first_row]];
  assert_int_equal(site->n_rows, 1);
  assert_ptr_equal(site->in_row, &row->counters);
  assert_true(sizeof *site <= 32);
  const struct tide_counters before = row->counters;
  row->age_ns = -5;
  row->high_bytes = -1;
  tide_profile_free(profile);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  site = site_of(4);
  assert_ptr_not_equal(site->in_row, &row->counters);
  assert_int_equal(site->in_row->age_ns, 0);
  assert_int_equal(site->in_row->high_bytes, 0);
  assert_int_equal(site->in_row->b_alloc, before.b_alloc);
  row->counters = before;
  row->n_alloc = 0;
  tide_profile_free(profile);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  assert_true(before.last_ns > 0);
  assert_int_equal(site_of(4)->in_row->last_ns, 0);
}

static void sums_histograms_on_demand(void **state)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lifetimes[TIDE_LIFE_BUCKETS_N], n = 0;
  tide_profile_site_histograms(profile, site_of(3), sizes, lifetimes);
  assert_int_equal(sizes[8], 1049000);
  assert_int_equal(sizes[9], 1000);
  assert_int_equal(lifetimes[10], 960000);
  assert_int_equal(lifetimes[11], 89990);
  for (unsigned i = 0; i < TIDE_SIZE_BUCKETS_N; i++)
    n += sizes[i];
  assert_int_equal(n, 1050000);
}

static void totals_are_the_heap_alone(void **state)
{
  const struct tide_numbers *t = &profile->totals;
  assert_int_equal(t->n_alloc, 1050000 + 20000 + 13129000 + 100 + 50 + 40 + 10 + 4);
  assert_int_equal(t->b_alloc, (3060 + 200 + 6500 + 64 + 8 + 2 + 1 + 1) * MIB);
  assert_int_equal(t->live_bytes, (1 + 2 + 1) * MIB + 4096);
  assert_int_equal(t->live_blocks, 190 + 10 + 4 + 10);
  assert_int_equal(t->n_temp, 8700000);
  assert_int_equal(profile->lost.n_alloc, 10);
  assert_int_equal(profile->lost.b_alloc, 1 * MIB);
  assert_int_equal(profile->n_stacks, 7);
  assert_int_equal(tide_profile_allocations(profile->image), t->n_alloc);
  assert_int_equal(site_of(10)->kind, TIDE_SITE_PAGES);
  assert_int_equal(site_of(11)->kind, TIDE_SITE_LOST);
  assert_int_equal(site_of(14)->kind, TIDE_SITE_HEAP);
}

static void ask(struct tide_profile *asked, int sort)
{
  struct tide_question question;
  struct tide_wish wish = {.sort = sort};
  assert_int_equal(tide_question_make(asked->image, &wish, &question, NULL), TIDE_ERR_OK);
  tide_profile_ask(asked, &question);
}

// Every byte of the peak belongs to some site.
static void peak_shares_add_up(void **state)
{
  int64_t bytes = 0, blocks = 0;
  for (size_t i = 0; i < profile->n_sites; i++) {
    bool heap = profile->sites[i].kind != TIDE_SITE_PAGES;
    bytes += heap ? profile->sites[i].in_row->peak_bytes : 0;
    blocks += heap ? profile->sites[i].in_row->peak_blocks : 0;
  }
  assert_int_equal(bytes, INDEXER_PEAK_BYTES);
  assert_int_equal(blocks, INDEXER_PEAK_BLOCKS);
  ask(profile, TIDE_MEASURE_PEAK);
  assert_int_equal(profile->whole, INDEXER_PEAK_BYTES);
}

static void ranks(void **state)
{
  static const struct {
    int sort;
    uint32_t first, second;
  } cases[] = {
      {TIDE_MEASURE_PEAK, 3, 4}, {TIDE_MEASURE_LIVE, 4, 3}, {TIDE_MEASURE_TOTAL, 5, 3},
      {TIDE_SORT_COUNT, 5, 3},   {TIDE_MEASURE_TEMP, 5, 3}, {TIDE_MEASURE_LEAK, 4, 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ask(profile, cases[i].sort);
    assert_int_equal(profile->sites[0].stack, cases[i].first);
    assert_int_equal(profile->sites[1].stack, cases[i].second);
    assert_int_equal(profile->sites[profile->n_sites - 1].stack, 10); // pages last
    for (size_t k = 1; k + 1 < profile->n_sites; k++)
      assert_true(profile->sites[k - 1].weight >= profile->sites[k].weight);
  }
}

static void completeness(void **state)
{
  assert_false(tide_profile_is_complete(profile)); // ten events have no stack, one is cut
  capture->images[INDEXER_IMAGE].loss = (struct tide_loss){.n_guessed = 1, .n_failed = 3};
  assert_true(tide_profile_is_complete(profile));
  capture->finished = false;
  assert_false(tide_profile_is_complete(profile));
  assert_int_equal(tide_profile_unknown_frames(profile->image), 1);
  assert_true(tide_profile_overhead(profile) > 1.19);
  assert_true(tide_profile_overhead(profile) < 1.21);
  // Of the whole run, where that is known, and with what tidemark itself took.
  capture->has_cost = true;
  capture->cost = (struct tide_cost){.cpu_ns = 300, .recorder_ns = 200, .supervisor_ns = 50};
  assert_true(tide_profile_overhead(profile) == 3.5);
  // A quarter of the run and less is waiting: then it is a share of a core.
  capture->duration_ns = 401;
  assert_true(tide_profile_overhead_of_core(profile) == 0);
  capture->duration_ns = 500;
  assert_true(tide_profile_overhead_of_core(profile) == 0.5);
  capture->cost.recorder_ns = 300; // nonsense is nothing
  assert_true(tide_profile_overhead(profile) == 0);
  assert_true(tide_profile_overhead_of_core(profile) == 0);
}

static void picks_an_image(void **state)
{
  size_t idx = 99;
  struct tide_diag diag;
  assert_int_equal(tide_profile_pick(capture, NULL, &idx, &diag), TIDE_ERR_OK);
  assert_int_equal(idx, INDEXER_IMAGE);
  assert_int_equal(tide_profile_pick(capture, "41306", &idx, &diag), TIDE_ERR_OK);
  assert_int_equal(idx, 0);
  assert_int_equal(tide_profile_pick(capture, "1", &idx, &diag), TIDE_ERR_OK);
  assert_int_equal(idx, 1);
  assert_int_equal(tide_profile_pick(capture, "#0", &idx, &diag), TIDE_ERR_OK);
  assert_int_equal(idx, 0);
  assert_int_equal(tide_profile_pick(capture, "7", &idx, &diag), TIDE_ERR_NOT_FOUND);
  assert_int_equal(tide_profile_pick(capture, "#41306", &idx, &diag), TIDE_ERR_NOT_FOUND);
  assert_int_equal(tide_profile_pick(capture, "x", &idx, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_profile_pick(capture, "", &idx, &diag), TIDE_ERR_USAGE);
  assert_int_equal(idx, 0); // failures left it alone
}

static void empty_images_are_fine(void **state)
{
  struct tide_profile *shell = tide_profile_new(capture, 0);
  assert_int_equal(shell->n_sites, 0);
  assert_int_equal(shell->totals.n_alloc, 0);
  ask(shell, TIDE_MEASURE_PEAK);
  tide_profile_free(shell);
}

UNIT_TESTS(profile_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(merges_threads_of_a_stack),
      TEST(one_row_is_not_copied),
      TEST(sums_histograms_on_demand),
      TEST(totals_are_the_heap_alone),
      TEST(peak_shares_add_up),
      TEST(ranks),
      TEST(completeness),
      TEST(picks_an_image),
      TEST(empty_images_are_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
