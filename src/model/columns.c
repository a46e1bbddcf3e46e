// SPDX-License-Identifier: Apache-2.0
//
// See columns.h.
#include "model/columns.h"

#include "base/alloc.h"

#include <stdlib.h>

_Static_assert((TIDE_COLUMNS_MOST - 1) * 8 <= UINT16_MAX, "a place in a row has 16 bits");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a number's low bytes come first");

struct tide_columns *tide_columns_new(unsigned n_columns)
{
  struct tide_columns *columns = tide_alloc(sizeof *columns);
  columns->n_columns = n_columns;
  return columns;
}

void tide_columns_free(struct tide_columns *columns)
{
  if (!columns)
    return;
  for (size_t i = 0; i < columns->n_blocks; i++)
    free((void *)columns->blocks[i].smallest);
  free(columns->blocks);
  free(columns->open);
  free(columns);
}

// The least and the most of each column: row by row, as the rows lie.
static void find_ranges(const struct tide_columns *columns, size_t n_rows, uint64_t *ret_least,
                        uint64_t *ret_most)
{
  unsigned n = columns->n_columns;
  const uint64_t *row = columns->open;
  memcpy(ret_least, row, n * sizeof *row);
  memcpy(ret_most, row, n * sizeof *row);
  for (size_t i = 1; i < n_rows; i++) {
    row += n;
    for (unsigned c = 0; c < n; c++) {
      ret_least[c] = row[c] < ret_least[c] ? row[c] : ret_least[c];
      ret_most[c] = row[c] > ret_most[c] ? row[c] : ret_most[c];
    }
  }
}

static uint8_t bytes_for(uint64_t range)
{
  uint8_t n = 0;
  for (; range; range >>= 8)
    n++;
  return n;
}

static size_t block_bytes(unsigned n_columns, size_t n_rows, size_t row_bytes)
{
  return n_columns * (sizeof(uint64_t) + 3) + n_rows * row_bytes + 8;
}

// The open rows become a block.
static void close_block(struct tide_columns *columns, size_t n_rows)
{
  unsigned n = columns->n_columns;
  uint64_t least[TIDE_COLUMNS_MOST], most[TIDE_COLUMNS_MOST];
  size_t row_bytes = 0;
  find_ranges(columns, n_rows, least, most);
  for (unsigned c = 0; c < n; c++)
    row_bytes += bytes_for(most[c] - least[c]);
  uint64_t *smallest = tide_alloc(block_bytes(n, n_rows, row_bytes));
  uint16_t *place = (uint16_t *)(smallest + n);
  uint8_t *n_bytes = (uint8_t *)(place + n), *rows = n_bytes + n, *to = rows;
  size_t at = 0;
  for (unsigned c = 0; c < n; c++) {
    smallest[c] = least[c];
    place[c] = (uint16_t)at;
    n_bytes[c] = bytes_for(most[c] - least[c]);
    at += n_bytes[c];
  }
  for (const uint64_t *number = columns->open; number < columns->open + n_rows * n; number += n)
    for (unsigned c = 0; c < n; c++) {
      uint64_t more = number[c] - smallest[c];
      memcpy(to, &more, sizeof more); // what is too much is written over, or nobody's
      to += n_bytes[c];
    }
  TIDE_GROW(columns->blocks, columns->n_blocks, columns->cap_blocks);
  columns->blocks[columns->n_blocks++] =
      (struct tide_columns_block){smallest, place, n_bytes, rows, row_bytes};
}

void tide_columns_add(struct tide_columns *columns, const uint64_t *row)
{
  size_t n_open = columns->n_rows % TIDE_COLUMNS_BLOCK_ROWS;
  unsigned n = columns->n_columns;
  if (!columns->open)
    columns->open = tide_alloc_array(TIDE_COLUMNS_BLOCK_ROWS, n * sizeof *row);
  for (unsigned c = 0; c < n; c++)
    columns->open[n_open * n + c] = row[c];
  columns->n_rows++;
  if (n_open + 1 == TIDE_COLUMNS_BLOCK_ROWS)
    close_block(columns, TIDE_COLUMNS_BLOCK_ROWS);
}

void tide_columns_finish(struct tide_columns *columns)
{
  size_t n_open = columns->n_rows % TIDE_COLUMNS_BLOCK_ROWS;
  if (n_open)
    close_block(columns, n_open);
  free(columns->open);
  columns->open = NULL;
}

uint64_t tide_columns_bytes(const struct tide_columns *columns)
{
  uint64_t bytes = sizeof *columns + columns->cap_blocks * sizeof *columns->blocks;
  for (size_t i = 0, left = columns->n_rows; i < columns->n_blocks; i++) {
    size_t n = left < TIDE_COLUMNS_BLOCK_ROWS ? left : TIDE_COLUMNS_BLOCK_ROWS;
    bytes += block_bytes(columns->n_columns, n, columns->blocks[i].row_bytes);
    left -= n;
  }
  return bytes;
}
