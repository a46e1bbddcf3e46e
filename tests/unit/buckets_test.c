// SPDX-License-Identifier: Apache-2.0
//
// Histograms of sites: what is added is what is read, whatever order it comes in, and an empty
// bucket takes no memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/image_sums.h"

struct plain { // what a site would be if it kept every bucket
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lifetimes[TIDE_LIFE_BUCKETS_N];
};

static struct plain buckets_of(const struct tide_image *image, const struct tide_site *site)
{
  struct plain all = {0};
  tide_site_sum_buckets(image, site, all.sizes, all.lifetimes);
  return all;
}

static struct tide_image image_of_sites(size_t n)
{
  struct tide_image image = {.n_sites = n};
  image.sites = tide_alloc_array(n, sizeof *image.sites);
  return image;
}

static void nothing_takes_nothing(void **state)
{
  struct tide_image image = image_of_sites(1);
  struct plain none = {0};
  tide_site_add_buckets(&image, image.sites, none.sizes, none.lifetimes);
  struct plain all = buckets_of(&image, image.sites);
  assert_memory_equal(&all, &none, sizeof all);
  assert_int_equal(image.counts.n, 0);
  assert_null(tide_site_counts(&image, image.sites));
  assert_null(tide_site_reserve_buckets(&image, image.sites));
  tide_image_done(&image);
}

static void outermost_buckets(void **state)
{
  struct tide_image image = image_of_sites(2);
  struct plain first = {.sizes = {[0] = 1, [TIDE_SIZE_BUCKETS_N - 1] = UINT64_MAX},
                        .lifetimes = {[0] = 7, [TIDE_LIFE_BUCKETS_N - 1] = 9}};
  struct plain second = {.lifetimes = {[3] = 5}};
  tide_site_add_buckets(&image, &image.sites[0], first.sizes, first.lifetimes);
  tide_site_add_buckets(&image, &image.sites[1], second.sizes, second.lifetimes);
  struct plain all = buckets_of(&image, &image.sites[0]);
  assert_memory_equal(&all, &first, sizeof all);
  all = buckets_of(&image, &image.sites[1]);
  assert_memory_equal(&all, &second, sizeof all);
  assert_int_equal(image.counts.n, 5);
  tide_image_done(&image);
}

// Sites grow in turn: one's new buckets must not be another's.
static void sites_grow_apart(void **state)
{
  enum { N = 7, ROUNDS = 2000 };
  struct tide_image image = image_of_sites(N);
  struct plain expected[N] = {0};
  uint32_t random = 1;
  for (int i = 0; i < ROUNDS; i++) {
    struct plain more = {0};
    random = random * 1664525 + 1013904223;
    more.sizes[random >> 24 & 31] = random >> 8 & 255;
    more.lifetimes[(random >> 16 & 255) % TIDE_LIFE_BUCKETS_N] = 1;
    size_t at = (random >> 4) % N;
    tide_site_add_buckets(&image, &image.sites[at], more.sizes, more.lifetimes);
    for (size_t k = 0; k < TIDE_SIZE_BUCKETS_N; k++)
      expected[at].sizes[k] += more.sizes[k];
    for (size_t k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
      expected[at].lifetimes[k] += more.lifetimes[k];
  }
  for (size_t i = 0; i < N; i++) {
    struct plain all = buckets_of(&image, &image.sites[i]);
    assert_memory_equal(&all, &expected[i], sizeof all);
  }
  tide_image_done(&image);
}

// Adding to buckets that are there moves nothing: a merge of many parts stays small.
static void known_buckets_stay_in_place(void **state)
{
  struct tide_image image = image_of_sites(1);
  struct plain some = {.sizes = {[4] = 2}, .lifetimes = {[9] = 1, [11] = 1}};
  for (int i = 0; i < 1000; i++)
    tide_site_add_buckets(&image, image.sites, some.sizes, some.lifetimes);
  assert_int_equal(image.counts.n, 3);
  assert_int_equal(buckets_of(&image, image.sites).sizes[4], 2000);
  tide_image_done(&image);
}

// Half the memory of an import is its sites: they stay small.
static void a_site_is_small(void **state)
{
  assert_in_range(sizeof(struct tide_site), 1, 280);
}

UNIT_TESTS(buckets_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_takes_nothing),
      cmocka_unit_test(outermost_buckets),
      cmocka_unit_test(sites_grow_apart),
      cmocka_unit_test(a_site_is_small),
      cmocka_unit_test(known_buckets_stay_in_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
