// SPDX-License-Identifier: Apache-2.0
//
// A second reader of the page's data, written from docs/page-data.md: columns by name, texts, the
// stack of a node. Whatever is not as the document says fails the test.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

enum { PAGE_COLUMNS_MAX = 96 };

struct page_column {
  const char *name;
  char type[8];
  size_t offset, count;
};

struct page_block {
  const uint8_t *bytes; // not owned
  size_t n;
  char *facts; // owned
  struct page_column columns[PAGE_COLUMNS_MAX];
  size_t n_columns;
};

void page_block_read(struct page_block *block, const struct tide_buf *bytes);
void page_block_done(struct page_block *block);

size_t page_block_count(const struct page_block *block, const char *column);
double page_block_get(const struct page_block *block, const char *column, size_t i);
// A string; owned.
char *page_block_text(const struct page_block *block, size_t text);
// Whether the facts hold a piece of JSON.
bool page_block_says(const struct page_block *block, const char *json);
