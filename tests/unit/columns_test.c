// SPDX-License-Identifier: Apache-2.0
//
// Rows that are packed come back as they were, whatever their numbers are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "model/columns.h"
#include "model/rows.h"

#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// What column c has in row i: the first all alike, then of more and more bytes, each from 0, from
// near the top, or across the top.
static uint64_t number_at(size_t i, unsigned c)
{
  uint64_t random = 88172645463325252u + i * 64 + c;
  next_random(&random);
  uint64_t bits = next_random(&random);
  if (c == 0)
    return 7;
  uint64_t number = c >= 9 * 3 ? bits : bits >> (64 - 8 * (c % 9) - (c % 9 ? 0 : 1)) % 64;
  return c % 3 == 0 ? number : c % 3 == 1 ? UINT64_MAX - number : number - 100;
}

static void check(unsigned n_columns, size_t n_rows)
{
  struct tide_columns *columns = tide_columns_new(n_columns);
  uint64_t row[TIDE_COLUMNS_MOST];
  for (size_t i = 0; i < n_rows; i++) {
    for (unsigned c = 0; c < n_columns; c++)
      row[c] = number_at(i, c);
    tide_columns_add(columns, row);
  }
  tide_columns_finish(columns);
  assert_int_equal(columns->n_rows, n_rows);
  for (size_t i = 0; i < n_rows; i++)
    for (unsigned c = 0; c < n_columns; c++)
      assert_true(tide_columns_get(columns, i, c) == number_at(i, c));
  tide_columns_free(columns);
}

static void rows_come_back(void **state)
{
  (void)state;
  const size_t counts[] = {0, 1, 2, 255, 256, 257, 512, 1000};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    check(1, counts[i]);
    check(5, counts[i]);
    check(TIDE_COLUMNS_MOST, counts[i]);
  }
}

static void rows_that_are_given_up_are_freed(void **state)
{
  (void)state;
  struct tide_columns *columns = tide_columns_new(2);
  for (uint64_t i = 0; i < 300; i++)
    tide_columns_add(columns, (const uint64_t[]){i, i * i});
  tide_columns_free(columns); // one block whole, one open
  tide_columns_free(NULL);
  struct tide_row_sink sink = {0};
  for (uint32_t i = 0; i < TIDE_ROWS_PACKED_FROM + 3; i++)
    tide_row_sink_add(&sink, &(struct tide_snapshot_row){.stack = i});
  tide_row_sink_done(&sink);
}

static struct tide_snapshot_row snapshot_row(uint32_t i)
{
  return (struct tide_snapshot_row){i * 3, (int64_t)i - 50, -(int64_t)i, UINT64_MAX - i, i % 2};
}

static void snapshots_are_alike_plain_and_packed(void **state)
{
  (void)state;
  for (uint32_t n = TIDE_ROWS_PACKED_FROM - 2; n < TIDE_ROWS_PACKED_FROM + 3; n++) {
    struct tide_row_sink sink = {0};
    struct tide_snapshot snapshot = {0};
    for (uint32_t i = 0; i < n; i++) {
      const struct tide_snapshot_row row = snapshot_row(i);
      tide_row_sink_add(&sink, &row);
    }
    tide_row_sink_finish(&sink, &snapshot);
    assert_int_equal(snapshot.n_rows, n);
    assert_int_equal(snapshot.packed != NULL, n >= TIDE_ROWS_PACKED_FROM);
    for (uint32_t i = 0; i < n; i++) {
      const struct tide_snapshot_row row = tide_snapshot_row_at(&snapshot, i),
                                     was = snapshot_row(i);
      assert_int_equal(row.stack, was.stack);
      assert_true(row.live_bytes == was.live_bytes && row.live_blocks == was.live_blocks);
      assert_true(row.n_alloc == was.n_alloc && row.b_alloc == was.b_alloc);
      assert_int_equal(tide_snapshot_find(&snapshot, was.stack), i);
      assert_int_equal(tide_snapshot_find(&snapshot, was.stack + 1), n); // between two, or behind
      assert_true(tide_snapshot_row_live(&snapshot, i, true) == was.live_bytes);
      assert_true(tide_snapshot_row_live(&snapshot, i, false) == was.live_blocks);
    }
    tide_snapshot_done(&snapshot);
  }
}

UNIT_TESTS(columns_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_come_back),
      cmocka_unit_test(rows_that_are_given_up_are_freed),
      cmocka_unit_test(snapshots_are_alike_plain_and_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
