// SPDX-License-Identifier: Apache-2.0
//
// What stacks did between two snapshots, by rising stack: kept as bytes, since of a million stacks
// a row of five words each would be more than all the rest.
#pragma once
#include "base/buf.h"
#include "observe/intervals.h"

struct tide_sample_row {
  uint32_t stack;
  struct tide_tally more;
};

struct tide_sample_rows {
  struct tide_buf bytes;
  size_t n;
  uint64_t next; // the least stack that may be put
};

void tide_sample_rows_done(struct tide_sample_rows *rows);
// Behind all that are there. A row of nothing is not kept.
void tide_sample_rows_put(struct tide_sample_rows *rows, const struct tide_sample_row *row);
// Gives back what was reserved for more.
void tide_sample_rows_fit(struct tide_sample_rows *rows);
// Rows in any order, several of a stack among them, as they belong: sorts them.
void tide_sample_rows_gather(struct tide_sample_rows *ret, struct tide_sample_row *rows, size_t n);
// Adds the rows of another to these.
void tide_sample_rows_join(struct tide_sample_rows *rows, const struct tide_sample_rows *more);

struct tide_sample_reader {
  struct tide_cursor cursor;
  uint64_t next;
  struct tide_sample_row row; // the present one; stack UINT32_MAX: behind the last
};
// At the first row; then from one to the next.
struct tide_sample_reader tide_sample_reader_make(const struct tide_sample_rows *rows);
void tide_sample_reader_next(struct tide_sample_reader *reader);
