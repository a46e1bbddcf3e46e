// SPDX-License-Identifier: Apache-2.0
//
// The order of sites in a file, of few and of many, against what it is meant to be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "tide/site_order.h"

#include <stdlib.h>

struct weight { // of a stack
  int64_t peak_bytes;
  uint64_t b_alloc;
};

static uint64_t next_random(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Numbers of any width, many of them equal, some below zero.
static uint64_t any_number(uint64_t *state)
{
  uint64_t width = next_random(state) % 5;
  uint64_t n = next_random(state) >> (width == 0 ? 63 : width == 1 ? 60 : width == 2 ? 50 : 24);
  return width == 4 && n % 2 ? 0 - n : n;
}

enum { ONE_PART = 2048 };

static bool is_rising(const struct tide_image *image, size_t before, size_t now)
{
  uint32_t a = image->sites[before].stack, b = image->sites[now].stack;
  return a < b || (a == b && before < now);
}

static struct weight lighter(struct weight a, struct weight b)
{
  bool is_less =
      a.peak_bytes < b.peak_bytes || (a.peak_bytes == b.peak_bytes && a.b_alloc < b.b_alloc);
  return is_less ? a : b;
}

static void check(size_t n, size_t n_frames, bool rising)
{
  uint64_t random = 88172645463325252u + n;
  struct tide_image image = {
      .sites = calloc(n, sizeof *image.sites), .n_sites = n, .n_frames = n_frames};
  struct weight *weights = calloc(n_frames, sizeof *weights);
  for (size_t i = 0; i < n; i++) {
    struct tide_site *site = &image.sites[i];
    site->stack = (uint32_t)(rising ? i * (n_frames - 1) / n : next_random(&random) % n_frames);
    site->peak_bytes = (int64_t)any_number(&random);
    site->b_alloc = any_number(&random);
    struct weight *w = &weights[site->stack];
    w->peak_bytes = (int64_t)((uint64_t)w->peak_bytes + (uint64_t)site->peak_bytes);
    w->b_alloc += site->b_alloc;
  }
  size_t *order = tide_sites_in_file_order(&image), n_heavy = n, split = n;
  uint8_t *met = calloc(n, 1);
  for (size_t i = 0; i < n; i++) {
    assert_true(order[i] < n && !met[order[i]]);
    met[order[i]] = 1;
    if (!i || is_rising(&image, order[i - 1], order[i]))
      continue;
    assert_int_equal(split, n); // once, where the heavy ones end
    split = n_heavy = i;
  }
  assert_true(n_heavy >= (n < ONE_PART ? n : ONE_PART));
  struct weight least = {INT64_MAX, UINT64_MAX};
  for (size_t i = 0; i < n_heavy; i++)
    least = lighter(least, weights[image.sites[order[i]].stack]);
  for (size_t i = n_heavy; i < n; i++) {
    struct weight w = weights[image.sites[order[i]].stack];
    assert_true(w.peak_bytes < least.peak_bytes ||
                (w.peak_bytes == least.peak_bytes && w.b_alloc <= least.b_alloc));
    assert_false(n_heavy && image.sites[order[i]].stack == image.sites[order[n_heavy - 1]].stack);
  }
  free(met);
  free(order);
  free(weights);
  free(image.sites);
}

static void few(void **state)
{
  (void)state;
  check(1, 2, true);
  check(2, 3, false);
  check(1000, 300, false);
}

static void many(void **state)
{
  (void)state;
  check(5000, 6000, true);
  check(20000, 70000, true);
  check(20000, 5000, false); // several rows of a stack, in any order
}

UNIT_TESTS(site_order_test)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(few), cmocka_unit_test(many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
