// SPDX-License-Identifier: Apache-2.0
//
// A profile of packed rows is that of the same rows, plain: every number of every site, and the
// order under every question, which is also the one that comparing makes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "profile/profile.h"

#include <stdlib.h>

enum { STACKS = 3000, THREADS = 3 }; // two rows of some stacks, more than are kept plain

static uint64_t next_random(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// Many numbers are alike, so that ties are common; some are below zero.
static struct tide_site any_site(uint32_t stack, uint64_t *random)
{
  struct tide_site site = {.stack = stack, .thread = (uint32_t)(next_random(random) % THREADS)};
  uint64_t *numbers = (uint64_t *)&site.counters;
  for (size_t i = 0; i < TIDE_COUNTERS_N; i++)
    numbers[i] = next_random(random) >> (next_random(random) % 8 ? 61 : 30);
  site.peak_bytes -= 2;
  return site;
}

static void make_capture(struct tide_capture *capture, bool packed)
{
  uint64_t random = 88172645463325252u;
  struct tide_image *image = tide_alloc(sizeof *image);
  image->frames = tide_alloc_array(STACKS + 2, sizeof *image->frames);
  image->n_frames = STACKS + 2;
  image->frames[1] = (struct tide_frame){.flags = TIDE_FRAME_PAGES};
  for (size_t i = 2; i < image->n_frames; i++)
    image->frames[i].parent = next_random(&random) % 9 == 0; // pages, or the heap
  TIDE_CLEANUP_FREE struct tide_site *sites = tide_alloc_array((size_t)STACKS * 2, sizeof *sites);
  size_t n = 0;
  for (uint32_t stack = 2; stack < STACKS + 2; stack++)
    for (unsigned k = 0; k < 1 + (stack % 2); k++)
      sites[n++] = any_site(stack, &random);
  assert_true(n > TIDE_ROWS_PACKED_FROM);
  if (packed) {
    tide_image_add_sites(image, sites, n / 3); // plain at first
    tide_image_add_sites(image, sites + n / 3, n - n / 3);
    tide_image_finish_sites(image);
  } else {
    image->sites = sites;
    image->n_sites = n;
    sites = NULL;
  }
  assert_int_equal(image->packed_sites != NULL, packed);
  capture->images = image;
  capture->n_images = 1;
}

// As profile.h has it.
static bool is_before(const struct tide_profile_site *a, const struct tide_profile_site *b)
{
  bool a_pages = a->kind == TIDE_SITE_PAGES, b_pages = b->kind == TIDE_SITE_PAGES;
  int64_t a_bytes = (int64_t)TIDE_OF_SITE(a, b_alloc), b_bytes = (int64_t)TIDE_OF_SITE(b, b_alloc);
  int64_t a_blocks = (int64_t)TIDE_OF_SITE(a, n_alloc),
          b_blocks = (int64_t)TIDE_OF_SITE(b, n_alloc);
  if (a_pages != b_pages)
    return b_pages;
  if (a->weight != b->weight)
    return a->weight > b->weight;
  if (a_bytes != b_bytes)
    return a_bytes > b_bytes;
  return a_blocks != b_blocks ? a_blocks > b_blocks : a->stack < b->stack;
}

static void compare(const struct tide_profile *plain, const struct tide_profile *packed)
{
  assert_int_equal(plain->n_sites, STACKS);
  assert_int_equal(packed->n_sites, STACKS);
  assert_memory_equal(&plain->totals, &packed->totals, sizeof plain->totals);
  assert_true(plain->whole == packed->whole);
  for (size_t i = 0; i < STACKS; i++) {
    const struct tide_profile_site *a = &plain->sites[i], *b = &packed->sites[i];
    const struct tide_numbers x = tide_site_numbers(a), y = tide_site_numbers(b);
    assert_int_equal(a->stack, b->stack);
    assert_int_equal(a->kind, b->kind);
    assert_true(a->weight == b->weight);
    assert_memory_equal(&x, &y, sizeof x);
    assert_true(!i || is_before(&plain->sites[i - 1], a));
  }
}

static void packed_rows_make_the_same_profile(void **state)
{
  (void)state;
  struct tide_capture *plain = tide_capture_new(), *packed = tide_capture_new();
  make_capture(plain, false);
  make_capture(packed, true);
  struct tide_profile *a = tide_profile_new(plain, 0), *b = tide_profile_new(packed, 0);
  for (unsigned measure = 0; measure < TIDE_MEASURES_N; measure++)
    for (unsigned bytes = 0; bytes < 2; bytes++) {
      struct tide_question question = {.measure = (enum tide_measure)measure,
                                       .unit = bytes ? TIDE_UNIT_BYTES : TIDE_UNIT_BLOCKS};
      tide_profile_ask(a, &question);
      tide_profile_ask(b, &question);
      compare(a, b);
    }
  tide_profile_free(a);
  tide_profile_free(b);
  tide_capture_free(plain);
  tide_capture_free(packed);
}

UNIT_TESTS(packed_profile_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_rows_make_the_same_profile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
