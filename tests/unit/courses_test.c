// SPDX-License-Identifier: Apache-2.0
//
// What grows, by its course in time: loaders, programs that wait, that end and that are held up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "leak_fixture.h"

// Nothing but what is held was allocated.
static struct tide_capture *loading(uint64_t cpu_ns)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  for (int i = 0; i < LOOKS; i++)
    capture->images->ticks[i].n_alloc /= 4;
  capture->images->cpu_ns = cpu_ns;
  return capture;
}

static void a_loader_may_keep_what_it_reads(void **state)
{
  static const uint64_t works[] = {0, RUN_MS * MS / 4, RUN_MS * MS}; // 0: not known
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    struct judged j = tide_judge(loading(works[i]));
    assert_int_equal(j.findings->n, 0);
    tide_judged_done(&j);
  }
}

static void who_waits_and_frees_nothing_is_no_loader(void **state)
{
  struct judged j = tide_judge(loading(RUN_MS * MS / 5));
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_LEAK);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_MEDIUM);
  assert_false(j.findings->items[0].is_note);
  tide_judged_done(&j);
}

static void growth_that_ends_is_none(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  for (int i = LOOKS / 2; i < LOOKS; i++)
    capture->images->snapshots[i].rows[0] = capture->images->snapshots[LOOKS / 2].rows[0];
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->n, 0);
  tide_judged_done(&j);
}

// What the leaky place holds at a look, of so many allocations in all.
static void look_again(struct tide_image *image, int i, int64_t held, uint64_t n_alloc)
{
  image->snapshots[i].rows[0].live_blocks = held;
  image->snapshots[i].rows[0].live_bytes = held * BLOCK;
  image->snapshots[i].n_rows = held != 0;
  image->ticks[i].live_blocks = held;
  image->ticks[i].n_alloc = n_alloc;
  image->ticks[i].n_free = n_alloc - (uint64_t)held;
}

// In its last third less comes to stay, and so much of what comes and goes.
static struct tide_capture *slower(int leaked, uint64_t made)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  const struct tide_tick *ticks = capture->images->ticks;
  for (int i = LOOKS * 2 / 3; i < LOOKS; i++)
    look_again(capture->images, i, ticks[i - 1].live_blocks + leaked, ticks[i - 1].n_alloc + made);
  return capture;
}

static void a_program_that_gets_less_of_the_machine_grows_slower(void **state)
{
  struct judged j = tide_judge(slower(4, 16));
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_LEAK);
  tide_judged_done(&j);
  j = tide_judge(slower(4, 40)); // it does as much as ever: what grew levels off
  assert_int_equal(j.findings->n, 0);
  tide_judged_done(&j);
}

// From a look on nothing is made any more: half of what was held goes at once, the rest at the end.
static struct tide_capture *taken_down(int64_t per_look, int from)
{
  struct tide_capture *capture = tide_leaking_capture(per_look);
  struct tide_image *image = capture->images;
  image->sites[0].n_free = image->sites[0].n_alloc;
  image->sites[0].b_free = image->sites[0].b_alloc;
  for (int i = 0; i < LOOKS; i++) {
    int n = i < from ? i + 1 : from;
    look_again(image, i,
               per_look * (i < from        ? n
                           : i < LOOKS - 1 ? n / 2
                                           : 0),
               (uint64_t)per_look * 4 * (uint64_t)n);
  }
  return capture;
}

// A few blocks take no sixth of a run to be freed: somebody else had the machine.
static void an_end_that_is_held_up_hides_no_growth(void **state)
{
  struct judged j = tide_judge(taken_down(10, LOOKS - 4));
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_GROWTH);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_HIGH);
  assert_int_equal(j.findings->items[0].evidence[TIDE_EVIDENCE_OF_BLOCKS], 10 * (LOOKS - 4));
  tide_judged_done(&j);
  struct tide_capture *capture = taken_down(10, LOOKS - 4);
  capture->images->ticks[LOOKS - 1].n_alloc++; // the last word of a program
  capture->images->ticks[LOOKS - 1].n_free++;
  j = tide_judge(capture);
  assert_int_equal(j.findings->n, 1);
  tide_judged_done(&j);
}

static void an_end_of_many_frees_is_a_part_of_the_course(void **state)
{
  struct judged j = tide_judge(taken_down(RUN_MS, LOOKS - 4));
  assert_int_equal(j.findings->n, 1);
  tide_judged_done(&j);
  j = tide_judge(taken_down(RUN_MS * 3, LOOKS - 4));
  for (size_t i = 0; i < j.findings->n; i++)
    assert_int_not_equal(j.findings->items[i].rule, TIDE_RULE_GROWTH);
  tide_judged_done(&j);
}

static void what_goes_long_before_the_end_is_no_growth(void **state)
{
  struct judged j = tide_judge(taken_down(10, LOOKS * 3 / 4));
  assert_int_equal(j.findings->n, 0);
  tide_judged_done(&j);
}

UNIT_TESTS(courses_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loader_may_keep_what_it_reads),
      cmocka_unit_test(who_waits_and_frees_nothing_is_no_loader),
      cmocka_unit_test(growth_that_ends_is_none),
      cmocka_unit_test(a_program_that_gets_less_of_the_machine_grows_slower),
      cmocka_unit_test(an_end_that_is_held_up_hides_no_growth),
      cmocka_unit_test(an_end_of_many_frees_is_a_part_of_the_course),
      cmocka_unit_test(what_goes_long_before_the_end_is_no_growth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
