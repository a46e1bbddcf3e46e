// SPDX-License-Identifier: Apache-2.0
//
// A row is the gap to the stack before, and four counts: five varints, mostly of one byte.
#include "observe/sample.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_sample_rows_done(struct tide_sample_rows *rows)
{
  tide_buf_done(&rows->bytes);
  *rows = (struct tide_sample_rows){0};
}

void tide_sample_rows_put(struct tide_sample_rows *rows, const struct tide_sample_row *row)
{
  const struct tide_tally *more = &row->more;
  if (!more->n_alloc && !more->b_alloc && !more->n_free && !more->b_free)
    return;
  tide_buf_varint(&rows->bytes, row->stack - rows->next);
  tide_buf_varint(&rows->bytes, more->n_alloc);
  tide_buf_varint(&rows->bytes, more->b_alloc);
  tide_buf_varint(&rows->bytes, more->n_free);
  tide_buf_varint(&rows->bytes, more->b_free);
  rows->next = (uint64_t)row->stack + 1;
  rows->n++;
}

void tide_sample_rows_fit(struct tide_sample_rows *rows)
{
  rows->bytes.data = tide_realloc_array(rows->bytes.data, rows->bytes.n, 1);
  rows->bytes.cap = rows->bytes.n;
}

struct tide_sample_reader tide_sample_reader_make(const struct tide_sample_rows *rows)
{
  struct tide_sample_reader reader = {tide_cursor_make(rows->bytes.data, rows->bytes.n), 0, {0}};
  tide_sample_reader_next(&reader);
  return reader;
}

void tide_sample_reader_next(struct tide_sample_reader *reader)
{
  struct tide_cursor *c = &reader->cursor;
  if (!tide_cursor_left(c)) {
    reader->row = (struct tide_sample_row){.stack = UINT32_MAX};
    return;
  }
  reader->row.stack = (uint32_t)(reader->next + tide_cursor_varint(c));
  reader->row.more.n_alloc = tide_cursor_varint(c);
  reader->row.more.b_alloc = tide_cursor_varint(c);
  reader->row.more.n_free = tide_cursor_varint(c);
  reader->row.more.b_free = tide_cursor_varint(c);
  reader->next = (uint64_t)reader->row.stack + 1;
}

static int by_stack(const void *left, const void *right)
{
  const struct tide_sample_row *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
}

static void add_tally(struct tide_tally *sum, const struct tide_tally *more)
{
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

// Cells and stacks were mostly made in the same order, so there is seldom much to sort.
void tide_sample_rows_gather(struct tide_sample_rows *ret, struct tide_sample_row *rows, size_t n)
{
  size_t sorted = 1;
  while (sorted < n && rows[sorted - 1].stack <= rows[sorted].stack)
    sorted++;
  if (sorted < n)
    qsort(rows, n, sizeof *rows, by_stack);
  for (size_t i = 0; i < n; i++) {
    struct tide_sample_row row = rows[i];
    while (i + 1 < n && rows[i + 1].stack == row.stack)
      add_tally(&row.more, &rows[++i].more);
    tide_sample_rows_put(ret, &row);
  }
  tide_sample_rows_fit(ret);
}

void tide_sample_rows_join(struct tide_sample_rows *rows, const struct tide_sample_rows *more)
{
  struct tide_sample_rows both = {0};
  struct tide_sample_reader a = tide_sample_reader_make(rows), b = tide_sample_reader_make(more);
  while (a.row.stack != UINT32_MAX || b.row.stack != UINT32_MAX) {
    struct tide_sample_row row = {.stack = a.row.stack < b.row.stack ? a.row.stack : b.row.stack};
    if (a.row.stack == row.stack) {
      add_tally(&row.more, &a.row.more);
      tide_sample_reader_next(&a);
    }
    if (b.row.stack == row.stack) {
      add_tally(&row.more, &b.row.more);
      tide_sample_reader_next(&b);
    }
    tide_sample_rows_put(&both, &row);
  }
  tide_sample_rows_done(rows);
  *rows = both;
  tide_sample_rows_fit(rows);
}
