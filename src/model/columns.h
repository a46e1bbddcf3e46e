// SPDX-License-Identifier: Apache-2.0
//
// Rows of numbers, packed: what a capture of a million stacks is kept in. Rows are put behind one
// another and never changed. Every 256 of them are a block, in which a column takes as many bytes
// for a number as the numbers of that column, less the smallest, need; none where they are all
// alike. Most are small or zero, so a site takes 30 to 50 bytes of 216, a snapshot's row 6 of 40.
// Any number of any row is found at once, and those of a row lie side by side: who looks at rows in
// another order than theirs waits for memory once for each.
//
//   block:  | smallest, one per column | place in a row, likewise | bytes, likewise | rows … | 8 |
//
// The last 8 bytes are nobody's: each number is loaded as eight bytes, of which some are its own.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TIDE_COLUMNS_BLOCK_ROWS 256u
#define TIDE_COLUMNS_MOST 48u

struct tide_columns_block {
  const uint64_t *smallest;
  const uint16_t *place;
  const uint8_t *n_bytes;
  const uint8_t *rows;
  size_t row_bytes;
};

struct tide_columns {
  unsigned n_columns;
  struct tide_columns_block *blocks; // each one's memory begins at its smallest
  size_t n_blocks, cap_blocks;
  size_t n_rows;
  uint64_t *open; // rows of the block that is not full yet; NULL: none
};

struct tide_columns *tide_columns_new(unsigned n_columns);
void tide_columns_free(struct tide_columns *columns); // NULL is fine
void tide_columns_add(struct tide_columns *columns, const uint64_t *row);
// No row is read before this, and none added after it.
void tide_columns_finish(struct tide_columns *columns);
uint64_t tide_columns_bytes(const struct tide_columns *columns); // that finished ones take

static inline uint64_t tide_columns_block_get(const struct tide_columns_block *block, unsigned row,
                                              unsigned column)
{
  static const uint64_t masks[] = {0,
                                   0xff,
                                   0xffff,
                                   0xffffff,
                                   0xffffffffu,
                                   0xffffffffffull,
                                   0xffffffffffffull,
                                   0xffffffffffffffull,
                                   UINT64_MAX};
  uint64_t number;
  unsigned n_bytes = block->n_bytes[column];
  memcpy(&number, block->rows + row * block->row_bytes + block->place[column], sizeof number);
  return block->smallest[column] + (number & masks[n_bytes]);
}

static inline const struct tide_columns_block *tide_columns_block_of(const struct tide_columns *c,
                                                                     size_t row)
{
  return &c->blocks[row / TIDE_COLUMNS_BLOCK_ROWS];
}

static inline uint64_t tide_columns_get(const struct tide_columns *columns, size_t row,
                                        unsigned column)
{
  return tide_columns_block_get(tide_columns_block_of(columns, row), row % TIDE_COLUMNS_BLOCK_ROWS,
                                column);
}

// So many numbers of a row, from a column on.
static inline void tide_columns_block_row(const struct tide_columns_block *block, unsigned row,
                                          unsigned first, unsigned n, uint64_t *ret_numbers)
{
  for (unsigned i = 0; i < n; i++)
    ret_numbers[i] = tide_columns_block_get(block, row, first + i);
}
