// SPDX-License-Identifier: Apache-2.0
//
// Reading what docs/page-data.md describes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "page_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t width_of(const char *type)
{
  if (strcmp(type, "f64") == 0)
    return 8;
  return strtoul(type + 1, NULL, 10) / 8;
}

static void read_column(struct page_block *block, char *text)
{
  assert_in_range(block->n_columns, 0, PAGE_COLUMNS_MAX - 1);
  struct page_column *column = &block->columns[block->n_columns++];
  char *quote = strchr(text, '"');
  assert_non_null(quote);
  column->name = text;
  int n = sscanf(quote, "\": {\"type\": \"%7[a-z0-9]\", \"offset\": %zu, \"count\": %zu}",
                 column->type, &column->offset, &column->count);
  assert_int_equal(n, 3);
  *quote = 0;
  assert_int_equal(column->offset % 8, 0);
  assert_true(column->offset <= block->n);
  assert_true(column->count * width_of(column->type) <= block->n - column->offset);
}

// The names stay where they are in the facts' copy, cut out by NULs.
static void read_columns(struct page_block *block, char *text)
{
  for (char *next; *text == '"'; text = next) {
    char *end = strchr(text, '}');
    assert_non_null(end);
    next = end + strspn(end, "}, ");
    read_column(block, text + 1);
  }
}

void page_block_read(struct page_block *block, const struct tide_buf *bytes)
{
  *block = (struct page_block){.bytes = bytes->data, .n = bytes->n};
  assert_true(bytes->n >= 12);
  assert_memory_equal(bytes->data, "TidePage", 8);
  uint32_t n_facts;
  memcpy(&n_facts, bytes->data + 8, sizeof n_facts);
  assert_true(n_facts <= bytes->n - 12);
  assert_int_equal((12 + n_facts) % 8, 0);
  block->facts = tide_strndup((const char *)bytes->data + 12, n_facts);
  assert_int_equal(strlen(block->facts), n_facts);
  char *columns = strstr(block->facts, "\"columns\": {");
  assert_non_null(columns);
  *columns = 0;
  read_columns(block, columns + strlen("\"columns\": {"));
}

void page_block_done(struct page_block *block)
{
  free(block->facts);
  *block = (struct page_block){0};
}

static const struct page_column *find(const struct page_block *block, const char *name)
{
  for (size_t i = 0; i < block->n_columns; i++)
    if (strcmp(block->columns[i].name, name) == 0)
      return &block->columns[i];
  fail_msg("no column %s", name);
  return NULL;
}

size_t page_block_count(const struct page_block *block, const char *column)
{
  return find(block, column)->count;
}

double page_block_get(const struct page_block *block, const char *name, size_t i)
{
  const struct page_column *column = find(block, name);
  size_t width = width_of(column->type);
  assert_true(i < column->count);
  int64_t word = 0;
  double value;
  memcpy(&word, block->bytes + column->offset + i * width, width);
  if (width == 8) {
    memcpy(&value, &word, sizeof value);
    assert_true(value >= -1.9e19 && value <= 1.9e19); // and so not NaN
    return value;
  }
  unsigned spare = 64 - 8 * (unsigned)width;
  if (*column->type == 'i')
    word = (int64_t)((uint64_t)word << spare) >> spare;
  return (double)word;
}

char *page_block_text(const struct page_block *block, size_t text)
{
  size_t start = text ? (size_t)page_block_get(block, "text_end", text - 1) : 0;
  size_t end = (size_t)page_block_get(block, "text_end", text);
  assert_true(start <= end && end <= page_block_count(block, "text"));
  return tide_strndup((const char *)block->bytes + find(block, "text")->offset + start,
                      end - start);
}

bool page_block_says(const struct page_block *block, const char *json)
{
  return strstr(block->facts, json) != NULL;
}
