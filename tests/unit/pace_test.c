// SPDX-License-Identifier: Apache-2.0
//
// Drafts, for checkpoints and for whoever looks, cost a run a fiftieth of its time at most, however
// many stacks it has.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "supervise/pace.h"

#define S UINT64_C(1000000000)
#define START (100 * S)

static void few_stacks_are_safe_after_a_second(void **state)
{
  (void)state;
  struct tide_pace pace;
  tide_pace_init(&pace, START);
  assert_int_equal(tide_pace_checkpoint_ns(&pace, 0), START + S);
  assert_int_equal(tide_pace_checkpoint_ns(&pace, 10000), START + S);
  assert_int_equal(tide_pace_look_ns(&pace, 10000), START + S);
}

static void many_wait_for_fifty_times_the_cost(void **state)
{
  (void)state;
  struct tide_pace pace;
  tide_pace_init(&pace, START);
  assert_true(tide_pace_checkpoint_ns(&pace, 1000000) >= START + 25 * S); // a guess
  tide_pace_note(&pace, START + 60 * S, START + 62 * S, 1000000);
  assert_int_equal(tide_pace_checkpoint_ns(&pace, 1000000), START + 162 * S);
  assert_true(tide_pace_checkpoint_ns(&pace, 2000000) > START + 162 * S);
  assert_int_equal(tide_pace_look_ns(&pace, 1000000), START + 162 * S);
}

// Somebody who looks gets one every second while they are cheap; checkpoints come less and less
// often beside that.
static void looking_does_not_hurry_checkpoints(void **state)
{
  (void)state;
  struct tide_pace pace;
  tide_pace_init(&pace, START);
  uint64_t now = START;
  unsigned n_checkpoints = 0;
  for (int i = 0; i < 100; i++) {
    now = tide_pace_look_ns(&pace, 100);
    assert_int_equal(now, START + (uint64_t)(i + 1) * S);
    bool saves = now >= tide_pace_checkpoint_ns(&pace, 100);
    tide_pace_note(&pace, now, now, 100);
    if (saves)
      tide_pace_note_checkpoint(&pace, now);
    n_checkpoints += saves;
  }
  assert_int_equal(n_checkpoints, 7); // after 1, 3, 7, 15, 31, 61, 91 s
  pace.look_ns = 5 * S;
  assert_int_equal(tide_pace_look_ns(&pace, 100), now + 5 * S);
}

// Whatever they cost and whoever wants them: after each its share of the time.
static void their_share_is_bounded(void **state)
{
  (void)state;
  struct tide_pace pace;
  tide_pace_init(&pace, 0);
  uint64_t now = 0, spent = 0;
  for (int i = 0; i < 40; i++) {
    uint64_t cost = (uint64_t)(i % 7 + 1) * S / 10;
    uint64_t due =
        i % 2 ? tide_pace_look_ns(&pace, 100000) : tide_pace_checkpoint_ns(&pace, 100000);
    assert_true(due - now <= 51 * S);
    tide_pace_note(&pace, due, due + cost, 100000);
    if (i % 2 == 0)
      tide_pace_note_checkpoint(&pace, due + cost);
    now = due + cost;
    spent += cost;
  }
  assert_true(spent * TIDE_PACE_REST <= now + 50 * S);
  assert_true(tide_pace_checkpoint_ns(&pace, 0) <= now + 50 * S);
}

UNIT_TESTS(pace_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_stacks_are_safe_after_a_second),
      cmocka_unit_test(many_wait_for_fifty_times_the_cost),
      cmocka_unit_test(looking_does_not_hurry_checkpoints),
      cmocka_unit_test(their_share_is_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
