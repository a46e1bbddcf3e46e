// SPDX-License-Identifier: Apache-2.0
//
// Small readers that all payload decoders share. Each leaves the cursor `bad` when the bytes break
// a rule, so that a decoder asks once, at the end. Private to src/tide/decode*.c.
#pragma once
#include "base/alloc.h"
#include "tide/format.h"

#include <string.h>

static inline enum tide_err damaged(const char **ret_why, const char *why)
{
  *ret_why = why;
  return TIDE_ERR_DAMAGED;
}

static inline enum tide_err too_much(const char **ret_why)
{
  *ret_why = "it would take too much memory for a file of this size";
  return TIDE_ERR_LIMIT;
}

// A varint that must fit a narrower field.
static inline uint64_t get_limited(struct tide_cursor *in, uint64_t max)
{
  uint64_t v = tide_cursor_varint(in);
  if (v > max) {
    in->bad = true;
    return 0;
  }
  return v;
}

static inline uint32_t get_u32(struct tide_cursor *in)
{
  return (uint32_t)get_limited(in, UINT32_MAX);
}

static inline uint16_t get_u16(struct tide_cursor *in)
{
  return (uint16_t)get_limited(in, UINT16_MAX);
}

static inline int32_t get_i32(struct tide_cursor *in)
{
  int64_t v = tide_cursor_zigzag(in);
  if (v < INT32_MIN || v > INT32_MAX)
    in->bad = true;
  return (int32_t)v;
}

static inline uint64_t get_diff(struct tide_cursor *in, uint64_t before)
{
  return before + (uint64_t)tide_cursor_zigzag(in);
}

// A time that may only rise; beyond 64 bits is bad.
static inline uint64_t get_rise(struct tide_cursor *in, uint64_t before)
{
  uint64_t now;
  if (__builtin_add_overflow(before, tide_cursor_varint(in), &now)) {
    in->bad = true;
    return before;
  }
  return now;
}

// Length-prefixed bytes, not copied; NULL and a bad cursor when they are not all there.
static inline const uint8_t *get_bytes(struct tide_cursor *in, size_t *ret_n)
{
  *ret_n = (size_t)get_limited(in, tide_cursor_left(in));
  return tide_cursor_bytes(in, *ret_n);
}

// An owned copy, never NULL; a zero byte inside is bad.
static inline char *get_string(struct tide_cursor *in)
{
  size_t n;
  const uint8_t *bytes = get_bytes(in, &n);
  if (bytes && memchr(bytes, 0, n))
    in->bad = true;
  return tide_strndup(bytes ? (const char *)bytes : "", bytes ? n : 0);
}

// The head of a table part: where it continues, and how many rows it holds, of which each takes at
// least min_row_bytes of payload and row_bytes of memory.
static inline enum tide_err get_table_head(struct tide_cursor *in, struct tide_budget *budget,
                                           size_t n_before, size_t min_row_bytes, size_t row_bytes,
                                           size_t *ret_n, const char **ret_why)
{
  uint64_t first = tide_cursor_varint(in), n = tide_cursor_varint(in);
  if (in->bad || n > tide_cursor_left(in) / min_row_bytes)
    return damaged(ret_why, "it claims more rows than it holds");
  if (first != n_before)
    return damaged(ret_why, "it does not continue where the last part ended");
  // Twice: tables are copied when they grow.
  if (!tide_budget_take(budget, n, 2 * row_bytes))
    return too_much(ret_why);
  *ret_n = (size_t)n;
  return TIDE_ERR_OK;
}

// Does a part of a table go on with what a later version appended? All parts of a table do, or
// none: *has tells what those before had, and is told if this one is the first.
static inline bool get_appended(const struct tide_cursor *in, size_t n_before, size_t n, bool *has)
{
  bool here = !in->bad && tide_cursor_left(in) > 0;
  if (n_before == 0)
    *has = here;
  return in->bad || n == 0 || here == *has;
}

// Room for n more rows behind the n_used of a table.
#define MAKE_ROOM(rows, n_used, n)                                                                 \
  do {                                                                                             \
    (rows) = tide_realloc_array((rows), (n_used) + (n), sizeof *(rows));                           \
    if (n)                                                                                         \
      memset((rows) + (n_used), 0, (n) * sizeof *(rows));                                          \
  } while (0)

#define COLUMN(rows, n, field, value)                                                              \
  for (size_t i = 0; i < (n); i++)                                                                 \
  (rows)[i].field = (value)

// A difference to the row before.
#define COLUMN_DIFF(rows, n, field)                                                                \
  for (size_t i = 0; i < (n); i++)                                                                 \
  (rows)[i].field = (__typeof__((rows)->field))get_diff(in, i ? (uint64_t)(rows)[i - 1].field : 0)
