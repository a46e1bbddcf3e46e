// SPDX-License-Identifier: Apache-2.0
//
// Columns of numbers, each kept in the narrowest type that holds all it has: what is in memory is
// what will be written. A value that does not fit makes the column wider, which happens a few times
// at most.
#pragma once
#include "base/buf.h"

enum tide_page_type {
  TIDE_PAGE_U8,
  TIDE_PAGE_U16,
  TIDE_PAGE_U32,
  TIDE_PAGE_I8,
  TIDE_PAGE_I16,
  TIDE_PAGE_I32,
  TIDE_PAGE_F64,
  TIDE_PAGE_TYPES_N,
};
extern const char *const tide_page_type_words[TIDE_PAGE_TYPES_N]; // "u8", …
size_t tide_page_type_bytes(enum tide_page_type type);

enum tide_page_column_id {
#define X(id, name) TIDE_PAGE_##id,
#include "page/columns.def"
#undef X
  TIDE_PAGE_COLUMNS_N,
};
extern const char *const tide_page_column_names[TIDE_PAGE_COLUMNS_N];

struct tide_page_column { // all zero: empty
  struct tide_buf bytes;  // little endian
  size_t n;
  enum tide_page_type type;
  double least, most; // of its values, and 0
};

// An integer: of the unsigned and the signed beyond 2^53 the nearest one that a double can be.
void tide_page_column_add(struct tide_page_column *column, double value);
double tide_page_column_get(const struct tide_page_column *column, size_t i);
// Makes an empty column one of bytes; they are its own now, and the buffer is empty.
void tide_page_column_take(struct tide_page_column *column, struct tide_buf *bytes);
void tide_page_column_done(struct tide_page_column *column);
