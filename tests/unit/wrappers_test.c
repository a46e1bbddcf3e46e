// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of allocators by shape: main calls twelve functions, each of which calls one that
// allocates. What that one is depends on sizes, callers and what else it does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "view/blame.h"

#include <stdio.h>
#include <string.h>

enum { CALLERS = 12, MAIN = 1, CALLER = 2, GRAB = CALLER + CALLERS, BELOW = GRAB + CALLERS };

static struct tide_module modules[] = {{0}, {.path = (char *)"/app/prog"}};
static struct tide_frame frames[BELOW + 1];
static struct tide_site sites[CALLERS + 1];
static struct tide_image image;
static const char *grab_name;
static struct tide_naming *naming;

// An address is the number of the function.
static size_t lookup(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                     size_t max)
{
  static char callers[CALLERS][16];
  *out = (struct tide_symbol_frame){.file = "src/prog.c", .line = (uint32_t)addr};
  if (addr >= CALLER && addr < GRAB)
    snprintf(callers[addr - CALLER], sizeof *callers, "caller_%d", (int)addr - CALLER);
  out->function = addr == MAIN    ? "main"
                  : addr < GRAB   ? callers[addr - CALLER]
                  : addr == BELOW ? "other"
                                  : grab_name;
  return 1;
}

static int setup(void **state)
{
  grab_name = "grab";
  memset(frames, 0, sizeof frames);
  memset(sites, 0, sizeof sites);
  frames[MAIN] = (struct tide_frame){.pc = MAIN, .module = 1, .flags = TIDE_FRAME_IS_EXACT};
  for (uint32_t i = 0; i < CALLERS; i++) {
    frames[CALLER + i] = (struct tide_frame){CALLER + i, MAIN, 1, TIDE_FRAME_IS_EXACT};
    frames[GRAB + i] = (struct tide_frame){GRAB, CALLER + i, 1, TIDE_FRAME_IS_EXACT};
    sites[i] = (struct tide_site){.stack = GRAB + i, .n_alloc = 10, .b_alloc = 160 * (i + 1)};
  }
  frames[BELOW] = (struct tide_frame){BELOW, GRAB, 1, TIDE_FRAME_IS_EXACT};
  sites[CALLERS].stack = BELOW;
  image = (struct tide_image){.modules = modules,
                              .n_modules = 2,
                              .frames = frames,
                              .n_frames = BELOW + 1,
                              .sites = sites,
                              .n_sites = CALLERS + 1};
  static const struct tide_name_source source = {.lookup = lookup};
  naming = tide_naming_new_from(&image, &source);
  return 0;
}

static int teardown(void **state)
{
  tide_naming_free(naming);
  return 0;
}

static size_t n_wrappers(void)
{
  size_t n;
  tide_wrappers_fold(naming);
  tide_naming_wrappers(naming, &n);
  return n;
}

static void folds_what_hands_on(void **state)
{
  size_t n;
  assert_string_equal(tide_naming_culprit(naming, GRAB)->function, "grab");
  tide_wrappers_fold(naming);
  const struct tide_wrapper *wrappers = tide_naming_wrappers(naming, &n);
  assert_int_equal(n, 1);
  assert_string_equal(wrappers->function, "grab");
  assert_string_equal(wrappers->module, "prog");
  assert_int_equal(wrappers->n_callers, CALLERS);
  assert_string_equal(tide_naming_culprit(naming, GRAB)->function, "caller_0");
  assert_string_equal(tide_naming_culprit(naming, GRAB + 3)->function, "caller_3");
  assert_int_equal(tide_naming_of_node(naming, GRAB, &n)->layer, TIDE_LAYER_ALLOCATOR);
}

static void leaves_constructors(void **state)
{
  for (size_t i = 0; i < CALLERS; i++)
    sites[i].b_alloc = 480; // one size
  assert_int_equal(n_wrappers(), 0);
}

static void leaves_what_few_call(void **state)
{
  for (size_t i = 7; i < CALLERS; i++)
    sites[i].n_alloc = sites[i].b_alloc = 0;
  assert_int_equal(n_wrappers(), 0);
}

static void leaves_what_one_calls_most(void **state)
{
  sites[0].n_alloc = 200;
  assert_int_equal(n_wrappers(), 0);
}

static void leaves_what_does_more(void **state)
{
  sites[CALLERS].n_alloc = 30; // through another function: a fifth of it
  sites[CALLERS].b_alloc = 3000;
  assert_int_equal(n_wrappers(), 0);
}

// Somebody else's constructor of many sizes stays; what is called an allocator goes.
static void asks_less_of_names_that_speak_of_memory(void **state)
{
  frames[BELOW].parent = MAIN;
  sites[CALLERS].n_alloc = 1000;
  sites[CALLERS].b_alloc = 100000;
  assert_int_equal(n_wrappers(), 0);
  teardown(NULL);
  setup(NULL);
  frames[BELOW].parent = MAIN;
  sites[CALLERS].n_alloc = 1000;
  sites[CALLERS].b_alloc = 100000;
  grab_name = "pool::Alloc_block";
  assert_int_equal(n_wrappers(), 1);
}

static void keeps_what_a_rule_keeps(void **state)
{
  struct tide_rules *rules = tide_rules_new();
  struct tide_diag diag = {0};
  assert_int_equal(tide_rules_parse(rules, "x", "own function grab", &diag), TIDE_ERR_OK);
  tide_naming_set_rules(naming, rules);
  assert_int_equal(n_wrappers(), 0);
  assert_string_equal(tide_naming_culprit(naming, GRAB)->function, "grab");
  tide_rules_free(rules);
}

// Two captures are compared by the same frames, whichever of them showed the shape.
static void are_shared(void **state)
{
  static const struct tide_name_source source = {.lookup = lookup};
  struct tide_naming *other = tide_naming_new_from(&image, &source);
  size_t n;
  assert_int_equal(n_wrappers(), 1);
  assert_string_equal(tide_naming_culprit(other, GRAB)->function, "grab");
  tide_wrappers_share(other, naming);
  tide_naming_wrappers(other, &n);
  assert_int_equal(n, 1);
  assert_string_equal(tide_naming_culprit(other, GRAB)->function, "caller_0");
  tide_naming_free(other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

UNIT_TESTS(wrappers_test)
{
  const struct CMUnitTest tests[] = {
      TEST(folds_what_hands_on),     TEST(leaves_constructors),
      TEST(leaves_what_few_call),    TEST(leaves_what_one_calls_most),
      TEST(leaves_what_does_more),   TEST(asks_less_of_names_that_speak_of_memory),
      TEST(keeps_what_a_rule_keeps), TEST(are_shared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
