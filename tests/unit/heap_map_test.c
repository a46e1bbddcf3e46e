// SPDX-License-Identifier: Apache-2.0
//
// The map of the heap: nothing is lost when buckets are joined, however large or scattered the heap
// is; and what was read of a process that ended is known to be worth nothing.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "residence/ledger.h"
#include "residence/take.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
#define GIB (UINT64_C(1) << 30)

struct heap {
  struct tide_space_run run; // all that is in memory
  struct tide_space space;
  struct tide_residence table;
  struct tide_ledger ledger;
};

static void begin(struct heap *heap, uint64_t lo, uint64_t hi)
{
  *heap = (struct heap){.run = {lo, hi, false}};
  heap->space = (struct tide_space){
      .page_bytes = PAGE, .runs = &heap->run, .n_runs = 1, .memory_fd = -1, .pagemap_fd = -1};
  heap->ledger =
      (struct tide_ledger){.space = &heap->space, .to = &heap->table, .page.start = UINT64_MAX};
  tide_ledger_begin_heap(&heap->ledger);
}

static void tell(struct heap *heap, uint64_t lo, uint64_t n, enum tide_residence_kind kind)
{
  tide_ledger_span(&heap->ledger, lo, lo + n, kind, TIDE_NO_SITE);
}

static struct tide_residence_bucket sum_of(const struct tide_residence *table)
{
  struct tide_residence_bucket sum = {0};
  for (size_t i = 0; i < table->n_map; i++) {
    const struct tide_residence_bucket *bucket = &table->map[i];
    assert_true(!i || bucket->at > table->map[i - 1].at);
    assert_true(bucket->live + bucket->free <= table->bucket_bytes);
    assert_true(bucket->pinned <= bucket->free);
    sum.live += bucket->live;
    sum.free += bucket->free;
    sum.pinned += bucket->pinned;
  }
  return sum;
}

static void expect_sum(struct heap *heap)
{
  const struct tide_residence *table = &heap->table;
  tide_ledger_end_heap(&heap->ledger);
  assert_in_range(table->n_map, 1, TIDE_RESIDENCE_BUCKETS);
  struct tide_residence_bucket sum = sum_of(table);
  assert_int_equal(sum.live, table->rows[TIDE_RESIDENCE_UNRECORDED]);
  assert_int_equal(sum.free, table->rows[TIDE_RESIDENCE_FREE] + table->rows[TIDE_RESIDENCE_TOP]);
  assert_int_equal(sum.pinned, table->pinned);
}

// A block of 1,000 bytes and 3,096 free ones on each page; the top in the end.
static void every_page_is_pinned(void **state)
{
  (void)state;
  static const unsigned sizes[] = {1, 255, 256, 257, 1000, 100000};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    struct heap heap;
    uint64_t lo = GIB, n = sizes[k];
    begin(&heap, lo, lo + (n + 3) * PAGE);
    for (uint64_t i = 0; i < n; i++) {
      tell(&heap, lo + i * PAGE, 1000, TIDE_RESIDENCE_UNRECORDED);
      tell(&heap, lo + i * PAGE + 1000, PAGE - 1000, TIDE_RESIDENCE_FREE);
    }
    tell(&heap, lo + n * PAGE, 3 * PAGE, TIDE_RESIDENCE_TOP);
    expect_sum(&heap);
    assert_int_equal(heap.table.pinned, n * (PAGE - 1000));
    assert_true(heap.table.n_map * heap.table.bucket_bytes < 2 * (n + 4) * PAGE + PAGE);
    tide_residence_done(&heap.table);
  }
}

// Long spans, of which the middle is counted at once.
static void long_spans(void **state)
{
  (void)state;
  struct heap heap;
  begin(&heap, GIB, 5 * GIB);
  tell(&heap, GIB + 100, 2 * GIB, TIDE_RESIDENCE_UNRECORDED);
  tell(&heap, 3 * GIB + 100, GIB, TIDE_RESIDENCE_FREE);
  tell(&heap, 4 * GIB + 100, 5000, TIDE_RESIDENCE_UNRECORDED);
  expect_sum(&heap);
  assert_true(heap.table.n_map > TIDE_RESIDENCE_BUCKETS / 4);
  tide_residence_done(&heap.table);
}

// Much is reserved and little in memory; and each place is far from the next.
static void scattered(void **state)
{
  (void)state;
  struct heap heap;
  begin(&heap, 700 * GIB, 700 * GIB + 3 * PAGE);
  tell(&heap, GIB, 8192 * GIB, TIDE_RESIDENCE_FREE);
  expect_sum(&heap);
  assert_int_equal(heap.table.n_map, 3);
  tide_residence_done(&heap.table);
  begin(&heap, 0, 1000000 * GIB);
  for (uint64_t i = 1; i < 5000; i++)
    tell(&heap, i * 7 * GIB, 3000, TIDE_RESIDENCE_UNRECORDED);
  expect_sum(&heap);
  tide_residence_done(&heap.table);
}

static void other_memory_is_not_on_it(void **state)
{
  (void)state;
  struct heap heap;
  begin(&heap, GIB, 2 * GIB);
  tell(&heap, GIB, PAGE, TIDE_RESIDENCE_UNRECORDED);
  tide_ledger_end_heap(&heap.ledger);
  tell(&heap, GIB + 4 * PAGE, 9 * PAGE, TIDE_RESIDENCE_OTHER);
  tide_ledger_begin_heap(&heap.ledger);
  tell(&heap, GIB + 20 * PAGE, PAGE, TIDE_RESIDENCE_FREE);
  expect_sum(&heap);
  assert_int_equal(heap.table.n_map, 2);
  tide_residence_done(&heap.table);
}

// ---- one that ends ----

static void what_ended_cannot_be_read(void **state)
{
  (void)state;
  struct tide_space *space;
  struct tide_diag diag = {0};
  char word[8];
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(tide_space_take((uint32_t)child, &space, &diag), TIDE_ERR_OK);
  assert_true(space->n_runs > 0 && !space->has_ended);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_false(tide_space_read(space, space->runs[0].lo, word, sizeof word));
  assert_true(space->has_ended);
  assert_false(tide_space_read(space, space->runs[0].lo, word, sizeof word));
  tide_space_close(space);
}

UNIT_TESTS(heap_map_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_page_is_pinned),
      cmocka_unit_test(long_spans),
      cmocka_unit_test(scattered),
      cmocka_unit_test(other_memory_is_not_on_it),
      cmocka_unit_test(what_ended_cannot_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
