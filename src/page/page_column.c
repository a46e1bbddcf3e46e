// SPDX-License-Identifier: Apache-2.0
//
// Adding is a comparison and a store; widening copies all there is.
#include "page/page_column.h"

#include <assert.h>
#include <string.h>

const char *const tide_page_type_words[TIDE_PAGE_TYPES_N] = {
    "u8", "u16", "u32", "i8", "i16", "i32", "f64",
};

const char *const tide_page_column_names[TIDE_PAGE_COLUMNS_N] = {
#define X(id, name) [TIDE_PAGE_##id] = name,
#include "page/columns.def"
#undef X
};

static const struct {
  size_t bytes;
  double least, most;
} types[TIDE_PAGE_TYPES_N] = {
    {1, 0, UINT8_MAX},
    {2, 0, UINT16_MAX},
    {4, 0, UINT32_MAX},
    {1, INT8_MIN, INT8_MAX},
    {2, INT16_MIN, INT16_MAX},
    {4, INT32_MIN, INT32_MAX},
    {8, -18446744073709551616.0, 18446744073709551616.0},
};

size_t tide_page_type_bytes(enum tide_page_type type)
{
  return types[type].bytes;
}

static enum tide_page_type narrowest(double least, double most)
{
  enum tide_page_type type = TIDE_PAGE_U8;
  while (type < TIDE_PAGE_F64 && (least < types[type].least || most > types[type].most))
    type++;
  return type;
}

// Little endian whatever the machine is: so are all machines this is built for.
static void store_value(uint8_t *at, enum tide_page_type type, double value)
{
  uint64_t word;
  if (type == TIDE_PAGE_F64)
    memcpy(&word, &value, sizeof word);
  else
    word = (uint64_t)(int64_t)value;
  for (size_t i = 0; i < types[type].bytes; i++)
    at[i] = (uint8_t)(word >> 8 * i);
}

double tide_page_column_get(const struct tide_page_column *column, size_t i)
{
  assert(i < column->n);
  const uint8_t *at = column->bytes.data + i * types[column->type].bytes;
  uint64_t word = 0;
  for (size_t k = 0; k < types[column->type].bytes; k++)
    word |= (uint64_t)at[k] << 8 * k;
  double value;
  switch (column->type) {
  case TIDE_PAGE_I8: return (int8_t)word;
  case TIDE_PAGE_I16: return (int16_t)word;
  case TIDE_PAGE_I32: return (int32_t)word;
  case TIDE_PAGE_F64: memcpy(&value, &word, sizeof value); return value;
  default: return (double)word;
  }
}

static void widen_column(struct tide_page_column *column)
{
  struct tide_page_column wider = {.n = column->n, .least = column->least, .most = column->most};
  wider.type = narrowest(column->least, column->most);
  for (size_t i = 0; i < column->n; i++)
    store_value(tide_buf_extend(&wider.bytes, types[wider.type].bytes), wider.type,
                tide_page_column_get(column, i));
  tide_buf_done(&column->bytes);
  *column = wider;
}

void tide_page_column_add(struct tide_page_column *column, double value)
{
  column->least = value < column->least ? value : column->least;
  column->most = value > column->most ? value : column->most;
  if (column->least < types[column->type].least || column->most > types[column->type].most)
    widen_column(column);
  store_value(tide_buf_extend(&column->bytes, types[column->type].bytes), column->type, value);
  column->n++;
}

void tide_page_column_take(struct tide_page_column *column, struct tide_buf *bytes)
{
  assert(column->n == 0);
  column->bytes = *bytes;
  column->n = bytes->n;
  column->most = UINT8_MAX;
  *bytes = (struct tide_buf){0};
}

void tide_page_column_done(struct tide_page_column *column)
{
  tide_buf_done(&column->bytes);
  *column = (struct tide_page_column){0};
}
