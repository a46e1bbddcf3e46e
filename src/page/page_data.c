// SPDX-License-Identifier: Apache-2.0
//
// The parts of the block put together. The facts name the offsets of the columns, which depend on
// the length of the facts: they are filled up to the most they could take.
#include "page/page_data.h"

#include "base/alloc.h"
#include "page/page_facts.h"
#include "page/page_names.h"
#include "page/page_numbers.h"
#include "page/page_sites.h"

#include <stdlib.h>

enum { MAGIC_BYTES = 8, HEAD_BYTES = 12, ALIGNMENT = 8 };

static uint64_t aligned(uint64_t n)
{
  return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void write_columns(struct tide_json *json, const struct tide_page_column *columns,
                          uint64_t offset)
{
  tide_json_key(json, "columns");
  tide_json_open_object(json);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++) {
    const struct tide_page_column *column = &columns[i];
    tide_json_key(json, tide_page_column_names[i]);
    tide_json_open_object(json);
    tide_json_put_text(json, "type", tide_page_type_words[column->type]);
    tide_json_put_u64(json, "offset", offset);
    tide_json_put_u64(json, "count", column->n);
    tide_json_close_object(json);
    offset = aligned(offset + column->bytes.n);
  }
  tide_json_close_object(json);
}

// With the columns beginning at an offset.
static struct tide_buf make_facts(const struct tide_page_data *data,
                                  const struct tide_profile *profile,
                                  const struct tide_naming *naming,
                                  const struct tide_page_options *options,
                                  const struct tide_page_told *told, uint64_t offset)
{
  struct tide_sink sink;
  struct tide_json json;
  tide_sink_init(&sink, NULL);
  tide_json_init(&json, &sink);
  json.break_depth = 0;
  tide_json_open_object(&json);
  tide_page_facts_write(&json, profile, naming, options, data, told);
  json.is_absent = NULL;
  write_columns(&json, data->columns, offset);
  tide_json_close_object(&json);
  return sink.buf;
}

// Written with an offset of as many digits as any has, they are as long as they can be.
static void fit_facts(struct tide_page_data *data, const struct tide_profile *profile,
                      struct tide_naming *naming, const struct tide_page_options *options)
{
  struct tide_page_told told;
  tide_page_told_init(&told, profile, naming, options, data);
  struct tide_buf longest = make_facts(data, profile, naming, options, &told, 1ull << 62);
  uint64_t columns_at = aligned(HEAD_BYTES + longest.n);
  tide_buf_done(&longest);
  data->facts = make_facts(data, profile, naming, options, &told, columns_at);
  tide_page_told_done(&told);
  while (HEAD_BYTES + data->facts.n < columns_at)
    tide_buf_u8(&data->facts, ' ');
}

struct tide_page_data *tide_page_data_new(const struct tide_profile *profile,
                                          struct tide_naming *naming,
                                          const struct tide_page_options *options)
{
  struct tide_page_data *data = tide_alloc(sizeof *data);
  struct tide_page_sites sites;
  struct tide_page_names names;
  const struct tide_page_choice choice = {options->n_keep, options->by_place};
  tide_page_sites_init(&sites, profile, naming, choice);
  tide_page_names_init(&names, profile->image, naming);
  tide_page_sites_write(&sites, profile, &names, data->columns);
  tide_page_names_write(&names, data->columns);
  tide_page_names_done(&names);
  tide_page_rows_write(&sites, profile, data->columns);
  tide_page_cells_write(&sites, profile->image, data->columns);
  tide_page_late_frees_write(&sites, profile->image, data->columns);
  tide_page_ticks_write(profile->image, data->columns);
  data->n_stacks = sites.n_of;
  data->n_gathered = sites.n_gathered;
  tide_page_sites_done(&sites);
  fit_facts(data, profile, naming, options);
  return data;
}

void tide_page_data_free(struct tide_page_data *data)
{
  if (!data)
    return;
  tide_buf_done(&data->facts);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++)
    tide_page_column_done(&data->columns[i]);
  free(data);
}

void tide_page_data_hand_out(const struct tide_page_data *data, tide_page_taker *take,
                             void *context)
{
  static const uint8_t padding[ALIGNMENT];
  struct tide_buf head = {0};
  tide_buf_append(&head, "TidePage", MAGIC_BYTES);
  tide_buf_u32(&head, (uint32_t)data->facts.n);
  take(context, head.data, head.n);
  tide_buf_done(&head);
  take(context, data->facts.data, data->facts.n);
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++) {
    const struct tide_buf *bytes = &data->columns[i].bytes;
    if (!bytes->n)
      continue;
    take(context, bytes->data, bytes->n);
    take(context, padding, (size_t)(aligned(bytes->n) - bytes->n));
  }
}

static void take_into_sink(void *context, const void *bytes, size_t n)
{
  tide_sink_bytes(context, bytes, n);
}

void tide_page_data_write(const struct tide_page_data *data, struct tide_sink *sink)
{
  tide_page_data_hand_out(data, take_into_sink, sink);
}

uint64_t tide_page_data_bytes(const struct tide_page_data *data)
{
  uint64_t n = HEAD_BYTES + data->facts.n;
  for (size_t i = 0; i < TIDE_PAGE_COLUMNS_N; i++)
    n += aligned(data->columns[i].bytes.n);
  return n;
}

static bool is_file(const struct tide_page_data *data, uint32_t text)
{
  const struct tide_page_column *files = &data->columns[TIDE_PAGE_FRAME_FILE];
  for (size_t i = 0; i < files->n; i++)
    if (tide_page_column_get(files, i) == text)
      return true;
  return false;
}

char *tide_page_data_file(const struct tide_page_data *data, uint32_t text)
{
  const struct tide_page_column *ends = &data->columns[TIDE_PAGE_TEXT_END];
  if (!text || text >= ends->n || !is_file(data, text))
    return NULL;
  size_t start = (size_t)tide_page_column_get(ends, text - 1);
  size_t end = (size_t)tide_page_column_get(ends, text);
  return tide_strndup((const char *)data->columns[TIDE_PAGE_TEXT].bytes.data + start, end - start);
}
