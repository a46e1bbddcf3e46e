// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a stack are put together, halved and forgotten by the rules of their list.
#include "model/image_sums.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

static uint64_t *at(struct tide_numbers *numbers, size_t i)
{
  return (uint64_t *)((char *)numbers + tide_number_list[i].at);
}

// Every number another one, from start on.
static struct tide_numbers some_numbers(uint64_t start)
{
  struct tide_numbers numbers = {0};
  for (size_t i = 0; i < tide_number_list_n; i++)
    *at(&numbers, i) = start + i;
  return numbers;
}

static void all_fields_are_in_the_list(void **state)
{
  (void)state;
  assert_int_equal(tide_number_list_n * sizeof(uint64_t), sizeof(struct tide_numbers));
}

static void they_add_up_by_their_rules(void **state)
{
  (void)state;
  struct tide_numbers a = some_numbers(1000), b = some_numbers(5), sum = {0};
  tide_numbers_add(&sum, &a);
  assert_memory_equal(&sum, &a, sizeof a);
  tide_numbers_add(&sum, &b);
  for (size_t i = 0; i < tide_number_list_n; i++) {
    uint64_t value = *at(&sum, i);
    switch (tide_number_list[i].rule) {
    case TIDE_NUMBER_EARLIEST: assert_int_equal(value, 5 + i); break;
    case TIDE_NUMBER_LATEST: assert_int_equal(value, 1000 + i); break;
    default: assert_int_equal(value, 1005 + 2 * i);
    }
  }
}

static void times_are_of_rows_with_allocations(void **state)
{
  (void)state;
  struct tide_counters sum = {0}, freed = {.n_free = 1, .first_ns = 3, .last_ns = 9};
  struct tide_counters made = {.n_alloc = 1, .first_ns = 5, .last_ns = 6};
  tide_counters_add(&sum, &freed);
  assert_int_equal(sum.first_ns | sum.last_ns, 0);
  tide_counters_add(&sum, &made);
  tide_counters_add(&sum, &freed);
  assert_int_equal(sum.first_ns, 5);
  assert_int_equal(sum.last_ns, 6);
}

static void maxima_below_zero_do_not_count(void **state)
{
  (void)state;
  struct tide_counters sum = {.high_bytes = 10}, more = {.high_bytes = -4};
  tide_counters_add(&sum, &more);
  assert_int_equal(sum.high_bytes, 10);
}

static void the_halves_of_a_row_are_all_of_it(void **state)
{
  (void)state;
  struct tide_numbers row = some_numbers(100), sum = {0};
  struct tide_numbers done = tide_counters_done(&row.counters), held = tide_numbers_held(&row);
  tide_numbers_add(&sum, &done);
  tide_numbers_add(&sum, &held);
  row.high_bytes = 0; // is of neither
  assert_memory_equal(&sum, &row, sizeof sum);
  assert_int_equal(done.peak_bytes | done.live_bytes, 0);
  assert_int_equal(held.n_alloc | held.n_foreign, 0);
}

static void live_is_what_is_left(void **state)
{
  (void)state;
  struct tide_numbers n = {.n_alloc = 5, .n_free = 7, .b_alloc = 100, .b_free = 40};
  tide_numbers_live(&n);
  assert_int_equal(n.live_blocks, -2);
  assert_int_equal(n.live_bytes, 60);
}

static void what_lacks_is_forgotten_but_not_what_is_live(void **state)
{
  (void)state;
  struct tide_numbers n = some_numbers(1);
  tide_counters_forget(&n.counters, TIDE_LACK_RESIZES | TIDE_LACK_LIVE | TIDE_LACK_TOTAL);
  assert_int_equal(n.n_resize | n.b_resize_old | n.b_resize_new | n.n_moved | n.b_moved, 0);
  assert_true(n.n_alloc && n.b_free && n.high_bytes && n.age_ns && n.n_temp);
}

static void what_an_older_format_lacked_is_not_kept(void **state)
{
  (void)state;
  struct tide_image image = {.has_temp_bytes = true};
  size_t n_kept = 0;
  for (size_t i = 0; i < tide_number_list_n; i++)
    n_kept += tide_number_is_kept(&tide_number_list[i], &image);
  // b_resize_new, n_samples, their variances, what was from before, what was looked at
  assert_int_equal(n_kept, tide_number_list_n - 2 - 6 - 2 - 3);
  image.has_resized_bytes = image.has_samples = image.has_spreads = image.has_touches = true;
  image.is_reset = true;
  for (size_t i = 0; i < tide_number_list_n; i++)
    assert_true(tide_number_is_kept(&tide_number_list[i], &image));
}

static void keys_are_each_once(void **state)
{
  (void)state;
  for (size_t i = 0; i < tide_number_list_n; i++)
    for (size_t k = 0; k < i; k++)
      if (tide_number_list[i].key && tide_number_list[k].key)
        assert_string_not_equal(tide_number_list[i].key, tide_number_list[k].key);
}

UNIT_TESTS(numbers_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_fields_are_in_the_list),
      cmocka_unit_test(they_add_up_by_their_rules),
      cmocka_unit_test(times_are_of_rows_with_allocations),
      cmocka_unit_test(maxima_below_zero_do_not_count),
      cmocka_unit_test(the_halves_of_a_row_are_all_of_it),
      cmocka_unit_test(live_is_what_is_left),
      cmocka_unit_test(what_lacks_is_forgotten_but_not_what_is_live),
      cmocka_unit_test(what_an_older_format_lacked_is_not_kept),
      cmocka_unit_test(keys_are_each_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
