// SPDX-License-Identifier: Apache-2.0
//
// Runs of equal blocks: where they begin by what jemalloc and mimalloc do, how full they are, and
// that what does not look like a run is not told as one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "residence/runs.h"

#include <stdlib.h>

enum { PAGE = 4096 };
#define BASE UINT64_C(0x7f0000000000)

struct heap {
  struct tide_space_run in_memory;
  struct tide_space space;
  struct tide_residence table;
  struct tide_runs runs;
};

static void begin(struct heap *heap, enum tide_runs_layout layout)
{
  *heap = (struct heap){.in_memory = {BASE, BASE + (1 << 20), false}};
  heap->space = (struct tide_space){
      .page_bytes = PAGE, .runs = &heap->in_memory, .n_runs = 1, .memory_fd = -1, .pagemap_fd = -1};
  heap->table.n_sites = heap->table.cap_sites = 2;
  heap->table.sites = tide_alloc_array(2, sizeof *heap->table.sites);
  heap->runs = (struct tide_runs){.layout = layout, .space = &heap->space, .to = &heap->table};
}

static void pass(struct heap *heap, uint64_t at, uint64_t size, uint32_t site)
{
  struct tide_recorded_block block = {BASE + at, BASE + at + size, site};
  tide_runs_pass(&heap->runs, &block);
}

// As malloc_stats_print has them: the size of a block, and of its slab.
static void slabs_are_those_of_jemalloc(void **state)
{
  static const uint64_t slabs[][3] = {
      {1, 8, 4096},        {9, 16, 4096},        {33, 48, 12288},       {80, 80, 20480},
      {100, 112, 28672},   {129, 160, 20480},    {300, 320, 20480},     {1500, 1536, 12288},
      {2049, 2560, 20480}, {9000, 10240, 20480}, {14336, 14336, 28672},
  };
  for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
    uint64_t class = slabs[i][1], bytes = slabs[i][2], last = bytes / class - 1;
    for (uint64_t k = 0; k <= last; k += last ? last : 1) {
      struct tide_run_at at = tide_run_of(TIDE_RUNS_JEMALLOC, BASE + k * class, slabs[i][0], PAGE);
      assert_int_equal(at.class, class);
      assert_int_equal(at.lo, BASE);
      assert_int_equal(at.hi, BASE + bytes);
      assert_int_equal(at.n_slots, bytes / class);
    }
  }
  struct tide_run_at large = tide_run_of(TIDE_RUNS_JEMALLOC, BASE, 14337, PAGE);
  assert_int_equal(large.class, 0);
  assert_int_equal(large.hi, BASE + 16384);
}

static void fullness_and_who_keeps_it(void **state)
{
  struct heap heap;
  begin(&heap, TIDE_RUNS_JEMALLOC);
  // Slabs of 64 blocks of 320 bytes: one with 10 of site 0, one with 20 of both, one full.
  for (uint64_t i = 0; i < 10; i++)
    pass(&heap, i * 640, 300, 0);
  for (uint64_t i = 0; i < 20; i++)
    pass(&heap, 20480 + i * 320, 310, i % 3 != 0); // most of site 1
  for (uint64_t i = 0; i < 64; i++)
    pass(&heap, 40960 + i * 320, 320, 1);
  tide_runs_end(&heap.runs);
  assert_int_equal(heap.table.n_classes, 1);
  const struct tide_residence_class *class = heap.table.classes;
  assert_int_equal(class->n_runs, 3);
  assert_int_equal(class->n_blocks, 94);
  assert_int_equal(class->n_slots, 192);
  assert_int_equal(class->resident, 61440);
  assert_int_equal(class->free, 61440 - 94 * 320);
  assert_int_equal(class->sparse, 40960 - 30 * 320);
  assert_int_equal(class->quarters[0], 1);
  assert_int_equal(class->quarters[1], 1);
  assert_int_equal(class->quarters[2], 0);
  assert_int_equal(class->quarters[3], 1);
  assert_int_equal(heap.table.sites[0].n_sparse, 1);
  assert_int_equal(heap.table.sites[0].sparse, 20480 - 10 * 320);
  assert_int_equal(heap.table.sites[1].n_sparse, 1);
  assert_int_equal(heap.table.sites[1].sparse, 20480 - 20 * 320);
  assert_int_equal(heap.table.n_shared_runs, 1);
  assert_int_equal(heap.table.n_unclear_runs, 0);
  tide_residence_done(&heap.table);
}

static void what_is_no_run_is_not_told(void **state)
{
  struct heap heap;
  begin(&heap, TIDE_RUNS_MIMALLOC);
  pass(&heap, 16, 300, 0); // two sizes in one
  pass(&heap, 16 + 320, 500, 0);
  pass(&heap, 65536, 300, 0); // no multiple apart
  pass(&heap, 65536 + 330, 300, 0);
  pass(&heap, 131072, 300, 0); // as it should be, beside a block too large for any
  pass(&heap, 131072 + 640, 300, 0);
  pass(&heap, 200704, 9000, 0);
  tide_runs_end(&heap.runs);
  assert_int_equal(heap.table.n_unclear_runs, 2);
  assert_int_equal(heap.table.n_classes, 1);
  assert_int_equal(heap.table.classes->n_runs, 1);
  assert_int_equal(heap.table.classes->n_blocks, 2);
  assert_int_equal(heap.table.classes->n_slots, 204);
  tide_residence_done(&heap.table);
  begin(&heap, TIDE_RUNS_NONE);
  pass(&heap, 0, 300, 0);
  tide_runs_end(&heap.runs);
  assert_int_equal(heap.table.n_classes + heap.table.n_unclear_runs, 0);
  tide_residence_done(&heap.table);
}

UNIT_TESTS(runs_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slabs_are_those_of_jemalloc),
      cmocka_unit_test(fullness_and_who_keeps_it),
      cmocka_unit_test(what_is_no_run_is_not_told),
  };
  return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
