// SPDX-License-Identifier: Apache-2.0
//
// See pprof_tables.h. What refers to nothing is wrong, at the byte of its message.
#include "import/pprof_tables.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void tide_pprof_tables_done(struct tide_pprof_tables *t)
{
  tide_buf_done(&t->text);
  tide_table_done(&t->by_function);
  tide_table_done(&t->by_location);
  tide_table_done(&t->by_mapping);
  tide_trie_done(&t->stacks);
  free(t->strings);
  free(t->mappings);
  free(t->functions);
  free(t->locations);
  free(t->lines);
  free(t->sums_of);
  free(t->sums);
  free(t->sum_links);
  free(t->comments);
  *t = (struct tide_pprof_tables){0};
}

enum tide_err tide_pprof_wrong(const struct tide_pprof_tables *t, uint64_t offset, const char *what)
{
  return tide_stream_fail(t->stream, TIDE_ERR_FORMAT, offset, t->diag,
                          "not as a pprof profile is written: %s", what);
}

static bool same_function(const void *context, const void *key, uint32_t position)
{
  const struct tide_pprof_tables *t = context;
  return t->functions[position].id == *(const uint64_t *)key;
}

static bool same_location(const void *context, const void *key, uint32_t position)
{
  const struct tide_pprof_tables *t = context;
  return t->locations[position].id == *(const uint64_t *)key;
}

static bool same_mapping(const void *context, const void *key, uint32_t position)
{
  const struct tide_pprof_tables *t = context;
  return t->mappings[position].id == *(const uint64_t *)key;
}

struct tide_pprof_mapping *tide_pprof_mapping_of(const struct tide_pprof_tables *t, uint64_t id)
{
  uint32_t at = tide_table_index(&t->by_mapping, tide_table_mix(id, 0), same_mapping, t, &id);
  return at == UINT32_MAX ? NULL : &t->mappings[at];
}

struct tide_pprof_function *tide_pprof_function_of(const struct tide_pprof_tables *t, uint64_t id)
{
  uint32_t at = tide_table_index(&t->by_function, tide_table_mix(id, 0), same_function, t, &id);
  return at == UINT32_MAX ? NULL : &t->functions[at];
}

// Made when there is none; UINT32_MAX: there are too many.
static uint32_t location_of(struct tide_pprof_tables *t, uint64_t id)
{
  if (t->n_locations == UINT32_MAX - 1)
    return UINT32_MAX;
  uint32_t at = tide_table_put(&t->by_location, tide_table_mix(id, 0), same_location, t, &id,
                               (uint32_t)t->n_locations);
  if (at == t->n_locations) {
    TIDE_GROW(t->locations, t->n_locations, t->cap_locations);
    t->locations[t->n_locations++] = (struct tide_pprof_location){
        .id = id, .offset = TIDE_PPROF_NOWHERE, .used = TIDE_PPROF_NOWHERE};
  }
  return at;
}

enum tide_err tide_pprof_take_type(struct tide_pprof_tables *t, struct tide_cursor message,
                                   uint64_t offset)
{
  struct tide_wire_field f;
  if (t->n_types == TIDE_PPROF_MAX_TYPES)
    return tide_pprof_wrong(t, offset, "more than 32 kinds of values");
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number == 1)
      t->types[t->n_types] = f.value;
  t->n_types++;
  return TIDE_ERR_OK;
}

enum tide_err tide_pprof_take_mapping(struct tide_pprof_tables *t, struct tide_cursor message,
                                      uint64_t offset)
{
  struct tide_pprof_mapping m = {0};
  struct tide_wire_field f;
  while (tide_wire_next(&message, &f)) {
    uint64_t *const to[] = {NULL, &m.id, &m.start, &m.limit, &m.offset, &m.filename, &m.build_id};
    if (f.wire == TIDE_WIRE_VARINT && f.number < sizeof to / sizeof *to && to[f.number])
      *to[f.number] = f.value;
  }
  uint32_t n = (uint32_t)t->n_mappings;
  if (tide_table_put(&t->by_mapping, tide_table_mix(m.id, 0), same_mapping, t, &m.id, n) != n)
    return tide_pprof_wrong(t, offset, "two mappings have one id");
  TIDE_GROW(t->mappings, t->n_mappings, t->cap_mappings);
  t->mappings[t->n_mappings++] = m;
  return TIDE_ERR_OK;
}

// The first of several with one id counts.
enum tide_err tide_pprof_take_function(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset)
{
  (void)offset;
  struct tide_pprof_function function = {0};
  struct tide_wire_field f;
  while (tide_wire_next(&message, &f)) {
    uint64_t *const to[] = {NULL, &function.id, &function.name, NULL, &function.filename};
    if (f.wire == TIDE_WIRE_VARINT && f.number < sizeof to / sizeof *to && to[f.number])
      *to[f.number] = f.value;
  }
  uint32_t n = (uint32_t)t->n_functions;
  if (tide_table_put(&t->by_function, tide_table_mix(function.id, 0), same_function, t,
                     &function.id, n) != n)
    return TIDE_ERR_OK;
  TIDE_GROW(t->functions, t->n_functions, t->cap_functions);
  t->functions[t->n_functions++] = function;
  return TIDE_ERR_OK;
}

static void take_line(struct tide_pprof_tables *t, struct tide_cursor message)
{
  struct tide_pprof_line line = {0};
  struct tide_wire_field f;
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number == 1)
      line.function_id = f.value;
    else if (f.wire == TIDE_WIRE_VARINT && f.number == 2)
      line.line = f.value <= UINT32_MAX ? (uint32_t)f.value : 0;
  TIDE_GROW(t->lines, t->n_lines, t->cap_lines);
  t->lines[t->n_lines++] = line;
}

enum tide_err tide_pprof_take_location(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset)
{
  uint64_t id = 0, mapping_id = 0, addr = 0;
  size_t first_line = t->n_lines;
  struct tide_wire_field f;
  while (tide_wire_next(&message, &f)) {
    uint64_t *const to[] = {NULL, &id, &mapping_id, &addr};
    if (f.wire == TIDE_WIRE_VARINT && f.number < sizeof to / sizeof *to && to[f.number])
      *to[f.number] = f.value;
    else if (f.wire == TIDE_WIRE_BYTES && f.number == 4)
      take_line(t, f.bytes);
  }
  uint32_t at = location_of(t, id);
  if (at == UINT32_MAX)
    return tide_pprof_wrong(t, offset, "there are too many locations");
  struct tide_pprof_location *l = &t->locations[at];
  if (l->offset != TIDE_PPROF_NOWHERE)
    return tide_pprof_wrong(t, offset, "two locations have one id");
  l->offset = offset;
  l->mapping_id = mapping_id;
  l->addr = addr;
  l->first_line = first_line;
  l->n_lines = (uint32_t)(t->n_lines - first_line);
  return TIDE_ERR_OK;
}

enum tide_err tide_pprof_take_string(struct tide_pprof_tables *t, struct tide_cursor message,
                                     uint64_t offset)
{
  (void)offset;
  TIDE_GROW(t->strings, t->n_strings, t->cap_strings);
  t->strings[t->n_strings++] = t->text.n;
  tide_buf_append(&t->text, message.at, tide_cursor_left(&message));
  tide_buf_u8(&t->text, 0);
  return TIDE_ERR_OK;
}

void tide_pprof_take_comment(struct tide_pprof_tables *t, uint64_t comment)
{
  if (t->n_comments == TIDE_PPROF_MAX_COMMENTS)
    return;
  TIDE_GROW(t->comments, t->n_comments, t->cap_comments);
  t->comments[t->n_comments++] = comment;
}

enum tide_err tide_pprof_take_comments(struct tide_pprof_tables *t, struct tide_cursor message,
                                       uint64_t offset)
{
  (void)offset;
  while (message.at < message.end && !message.bad)
    tide_pprof_take_comment(t, tide_cursor_varint(&message));
  return TIDE_ERR_OK;
}

const char *tide_pprof_string(const struct tide_pprof_tables *t, uint64_t idx)
{
  return idx < t->n_strings ? (const char *)t->text.data + t->strings[idx] : "";
}

// A repeated number, packed or not: adds what a field holds of it.
static size_t take_repeated(struct tide_wire_field *f, uint64_t *values, size_t n, size_t max)
{
  if (f->wire == TIDE_WIRE_VARINT && n < max)
    values[n++] = f->value;
  while (f->wire == TIDE_WIRE_BYTES && f->bytes.at < f->bytes.end && !f->bytes.bad) {
    uint64_t value = tide_cursor_varint(&f->bytes);
    if (n < max)
      values[n++] = value;
  }
  return n;
}

// The sums of a stack, all zero when it is new.
static uint64_t *sums_of(struct tide_pprof_tables *t, uint32_t link)
{
  if (t->stacks.n > t->cap_sums_of) {
    size_t cap = t->stacks.cap;
    t->sums_of = tide_realloc_array(t->sums_of, cap, sizeof *t->sums_of);
    memset(t->sums_of + t->cap_sums_of, 0, (cap - t->cap_sums_of) * sizeof *t->sums_of);
    t->cap_sums_of = cap;
  }
  size_t n = t->n_values;
  if (!t->sums_of[link]) {
    if (t->n_sums == t->cap_sums) {
      t->cap_sums = t->cap_sums ? 2 * t->cap_sums : 64;
      t->sums = tide_realloc_array(t->sums, t->cap_sums, n * sizeof *t->sums);
    }
    TIDE_GROW(t->sum_links, t->n_sums, t->cap_sum_links);
    memset(t->sums + t->n_sums * n, 0, n * sizeof *t->sums);
    t->sum_links[t->n_sums++] = link;
    t->sums_of[link] = (uint32_t)t->n_sums;
  }
  return t->sums + (t->sums_of[link] - 1) * n;
}

static enum tide_err find_locations(struct tide_pprof_tables *t, const uint64_t *ids, size_t n,
                                    uint64_t offset, uint32_t *ret_rows)
{
  for (size_t i = 0; i < n; i++) {
    ret_rows[i] = location_of(t, ids[i]);
    if (ret_rows[i] == UINT32_MAX)
      return tide_pprof_wrong(t, offset, "there are too many locations");
    struct tide_pprof_location *l = &t->locations[ret_rows[i]];
    if (l->used == TIDE_PPROF_NOWHERE)
      l->used = offset;
  }
  return TIDE_ERR_OK;
}

enum tide_err tide_pprof_take_sample(struct tide_pprof_tables *t, struct tide_cursor message,
                                     uint64_t offset)
{
  uint64_t ids[TIDE_PPROF_MAX_FRAMES], values[TIDE_PPROF_MAX_TYPES];
  uint32_t rows[TIDE_PPROF_MAX_FRAMES];
  size_t n_ids = 0, n_values = 0;
  struct tide_wire_field f;
  while (tide_wire_next(&message, &f))
    if (f.number == 1)
      n_ids = take_repeated(&f, ids, n_ids, TIDE_PPROF_MAX_FRAMES);
    else if (f.number == 2)
      n_values = take_repeated(&f, values, n_values, TIDE_PPROF_MAX_TYPES);
  if (!t->n_sums) {
    t->first_sample = offset;
    t->n_values = n_values;
  }
  if (n_values != t->n_values || !n_values)
    return tide_pprof_wrong(t, offset,
                            "a sample has another number of values than there are kinds");
  if (t->stacks.n + n_ids >= UINT32_MAX)
    return tide_pprof_wrong(t, offset, "there are too many stacks");
  enum tide_err err = find_locations(t, ids, n_ids, offset, rows);
  if (err)
    return err;
  uint64_t *sums = sums_of(t, tide_trie_put(&t->stacks, rows, n_ids));
  for (size_t i = 0; i < n_values; i++)
    sums[i] += values[i];
  return TIDE_ERR_OK;
}

enum tide_err tide_pprof_tables_check(const struct tide_pprof_tables *t)
{
  if (t->n_sums && t->n_values != t->n_types)
    return tide_pprof_wrong(t, t->first_sample,
                            "a sample has another number of values than there are kinds");
  for (size_t i = 0; i < t->n_locations; i++) {
    const struct tide_pprof_location *l = &t->locations[i];
    if (l->offset == TIDE_PPROF_NOWHERE)
      return tide_pprof_wrong(t, l->used, "a sample refers to no location");
  }
  return TIDE_ERR_OK;
}
