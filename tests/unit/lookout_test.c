// SPDX-License-Identifier: Apache-2.0
//
// When tables of resident memory are taken: of programs that stand, grow, never stand still or come
// in thousands, at what cost; and that one is taken, of this process.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "supervise/lookout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)
#define MIB (UINT64_C(1) << 20)
#define TICK (5 * MS)
#define LATE (100000 * S) // any cost has been earned by then

// A program by its RSS over time, and what a look at it costs: by its size, and any look.
struct program {
  uint64_t (*rss)(uint64_t now_ns);
  uint64_t ns_per_mib, fixed_ns;
  bool works; // else it waits
  bool is_sampled;
  uint64_t now_and_then; // works one part in so many of the time; 0: as `works` says
};

struct looks {
  unsigned n;
  uint64_t last_bytes, most_bytes, last_ns;
};

// Looks take no time here. None begins while more was spent than may be.
static struct looks watch(struct program program, uint64_t for_ns)
{
  struct tide_lookout_purse purse = tide_lookout_purse_new();
  struct tide_lookout_tables tables = {0};
  struct looks looks = {0};
  for (uint64_t now = TICK; now <= for_ns; now += TICK) {
    uint64_t rss = program.rss(now), cost = rss / MIB * program.ns_per_mib + program.fixed_ns;
    struct tide_lookout_image image = {
        .rss_bytes = rss,
        .live_bytes = rss / 2,
        .cpu_ns = program.now_and_then ? now / program.now_and_then + 1
                  : program.works      ? now
                                       : MS,
        .is_sampled = program.is_sampled,
    };
    bool works = program.works || program.now_and_then;
    uint64_t credit = (works ? 31 : 250) * MS, rest = program.is_sampled ? 10 : 1;
    uint64_t earned = (program.is_sampled && works ? image.cpu_ns : now) / (works ? 100 : 50);
    if (!tide_lookout_is_due(&purse, &tables, &image, now))
      continue;
    assert_true(purse.spent_ns <= (earned + credit) / rest);
    tide_lookout_note_look(&tables, &image, now);
    tide_lookout_note_cost(&purse, rss, cost);
    looks.n++;
    looks.last_bytes = rss;
    looks.last_ns = now;
    looks.most_bytes = rss > looks.most_bytes ? rss : looks.most_bytes;
  }
  return looks;
}

static uint64_t small(uint64_t now)
{
  (void)now;
  return 2 * MIB;
}

static uint64_t plateau(uint64_t now) // from 100 ms on
{
  return now < 100 * MS ? 4 * MIB + now / MS * MIB : 200 * MIB;
}

static uint64_t loading(uint64_t now) // for 1.2 seconds
{
  return now < 1200 * MS ? 4 * MIB + now / (3 * MS) * MIB : 400 * MIB;
}

static uint64_t doubling(uint64_t now) // every 30 ms, and never still
{
  return MIB << now / (30 * MS);
}

static uint64_t steady(uint64_t now) // 100 MiB a second
{
  return MIB + now / (10 * MS) * MIB;
}

static uint64_t huge(uint64_t now)
{
  (void)now;
  return 10240 * MIB;
}

static void a_small_one_is_looked_at_once_it_is_old(void **state)
{
  (void)state;
  assert_int_equal(watch((struct program){small, MS / 2}, 150 * MS).n, 0);
  struct looks looks = watch((struct program){small, MS / 2}, S);
  assert_true(looks.n >= 1 && looks.last_ns >= 200 * MS);
}

static void one_that_stands_still_is_looked_at_there(void **state)
{
  (void)state;
  struct looks looks = watch((struct program){plateau, MS / 2}, 500 * MS);
  assert_int_equal(looks.most_bytes, 200 * MIB);
  // Looks on the way there leave enough for that, whatever they cost.
  looks = watch((struct program){loading, MS / 2, 30 * MS}, 3 * S);
  assert_true(looks.n >= 2);
  assert_int_equal(looks.last_bytes, 400 * MIB);
  looks = watch((struct program){loading, 2 * MS, 50 * MS}, 3 * S);
  assert_int_equal(looks.last_bytes, 400 * MIB);
}

// The last table before the end is of half the most, at least.
static void one_that_never_stands_still_is_looked_at_when_it_doubled(void **state)
{
  (void)state;
  struct looks looks = watch((struct program){doubling, MS / 4}, 230 * MS); // to 128 MiB
  assert_true(looks.n >= 3);
  assert_true(looks.most_bytes >= 64 * MIB);
  looks = watch((struct program){steady, MS / 4}, S); // to 101 MiB
  assert_true(looks.n >= 3 && looks.n <= 10);
  assert_true(looks.most_bytes >= 50 * MIB);
}

// One that is sampled takes a tenth of that; what it is looked at in the end is the same.
static void one_that_is_sampled_is_looked_at_less(void **state)
{
  (void)state;
  const struct program all = {plateau, MS / 2}, some = {plateau, MS / 2, .is_sampled = true};
  assert_int_equal(watch(some, 2 * S).n, 0); // a hundred milliseconds are not earned yet
  struct looks looks = watch(some, 60 * S);
  assert_true(looks.n >= 1 && looks.n <= watch(all, 60 * S).n);
  assert_int_equal(looks.most_bytes, 200 * MIB);
  // A small one is seen as soon as others.
  looks = watch((struct program){small, MS / 2, .is_sampled = true}, S);
  assert_true(looks.n >= 1);
}

static uint64_t swinging(uint64_t now) // twice as large every other second
{
  return now / S % 2 ? 40 * MIB : 20 * MIB;
}

// Of what was earned while it did nothing, nothing is spent on its work: see watch().
static void one_that_works_now_and_then_is_looked_at_by_its_work(void **state)
{
  (void)state;
  struct program often = {swinging, MS / 4, .is_sampled = true, .now_and_then = 1};
  struct program seldom = {swinging, MS / 4, .is_sampled = true, .now_and_then = 6};
  unsigned n_often = watch(often, 600 * S).n, n_seldom = watch(seldom, 600 * S).n;
  assert_true(n_seldom >= 10 && n_seldom <= n_often / 4);
}

// A hundred milliseconds for each: more than those who work are charged before it was earned.
static void one_that_works_on_is_looked_at_later(void **state)
{
  (void)state;
  const struct program waits = {plateau, MS / 2}, works = {plateau, MS / 2, .works = true};
  assert_int_equal(watch(waits, S).last_bytes, 200 * MIB);
  assert_true(watch(works, S).last_bytes < 200 * MIB);
  assert_int_equal(watch(works, 10 * S).last_bytes, 200 * MIB);
}

// Five seconds for each: not before it was earned.
static void a_huge_one_waits(void **state)
{
  (void)state;
  assert_int_equal(watch((struct program){huge, MS / 2}, 60 * S).n, 0);
  struct looks looks = watch((struct program){huge, MS / 2}, 1000 * S);
  assert_true(looks.n >= 2 && looks.n <= 4);
}

// ---- a real one ----

static struct tide_residence table_of_this_process(struct tide_lookout *lookout)
{
  struct tide_lookout_tables tables = {0};
  struct tide_lookout_image image = {.number = 7,
                                     .pid = (uint32_t)getpid(),
                                     .pid_fd = -1,
                                     .store_fd = -1,
                                     .rss_bytes = 20 * MIB,
                                     .live_bytes = MIB};
  struct tide_residence table = {0};
  uint32_t number = 0;
  tide_lookout_consider(lookout, &tables, &image, LATE);
  tide_lookout_wait(lookout);
  assert_true(tide_lookout_take(lookout, &number, &table));
  assert_int_equal(number, 7);
  assert_int_equal(table.time_ns, LATE);
  assert_false(tide_lookout_take(lookout, &number, &table)); // once
  tide_lookout_tables_done(&tables);
  return table;
}

static void one_is_taken_by_its_thread(void **state)
{
  (void)state;
  char *block = malloc(3 * MIB);
  memset(block, 1, 3 * MIB);
  struct tide_lookout *lookout = tide_lookout_new();
  for (int i = 0; i < 3; i++) {
    struct tide_residence table = table_of_this_process(lookout);
    assert_true(table.sum >= 3 * MIB);
    assert_int_equal(table.sum, tide_residence_sum(&table));
    tide_residence_done(&table);
  }
  tide_lookout_free(lookout);
  free(block);
}

static void one_that_is_gone_is_none(void **state)
{
  (void)state;
  struct tide_lookout *lookout = tide_lookout_new();
  struct tide_lookout_tables tables = {0};
  struct tide_lookout_image image = {
      .pid = 0x7ffffffe, .pid_fd = -1, .store_fd = -1, .rss_bytes = 20 * MIB};
  struct tide_residence table = {0};
  uint32_t number;
  tide_lookout_consider(lookout, &tables, &image, LATE);
  tide_lookout_wait(lookout);
  assert_false(tide_lookout_take(lookout, &number, &table));
  tide_lookout_free(lookout);
  tide_lookout_free(NULL);
}

UNIT_TESTS(lookout_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_one_is_looked_at_once_it_is_old),
      cmocka_unit_test(one_that_stands_still_is_looked_at_there),
      cmocka_unit_test(one_that_never_stands_still_is_looked_at_when_it_doubled),
      cmocka_unit_test(one_that_is_sampled_is_looked_at_less),
      cmocka_unit_test(one_that_works_now_and_then_is_looked_at_by_its_work),
      cmocka_unit_test(one_that_works_on_is_looked_at_later),
      cmocka_unit_test(a_huge_one_waits),
      cmocka_unit_test(one_is_taken_by_its_thread),
      cmocka_unit_test(one_that_is_gone_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
