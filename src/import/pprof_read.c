// SPDX-License-Identifier: Apache-2.0
//
// pprof's profile.proto as heap profiles have it: of Go, jemalloc_pprof, gperftools through pprof,
// and ours. Columns are found by name: alloc_objects, alloc_space, inuse_objects, inuse_space, of
// which any may be missing; the values are unbiased already.
//
// A message is a row of fields in any order: the strings may come last. So the file is in memory,
// and read twice: first the tables, then the samples. Ids are any numbers; tables map them to rows.
// What refers to nothing is wrong, at the byte of its message.
//
// An address is that of the call. It becomes that of its file: a mapping of a program without
// position-independent code is where it was linked, another one is taken to be linked at 0. All
// modules then have a bias of 0, and names and files can be looked up alike.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "import/builder.h"
#include "import/importers.h"
#include "import/mappings.h"
#include "import/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LACKS                                                                                      \
  (TIDE_LACK_PEAK | TIDE_LACK_TEMP | TIDE_LACK_LIFETIMES | TIDE_LACK_LIFE_HIST |                   \
   TIDE_LACK_SIZE_HIST | TIDE_LACK_RESIZES | TIDE_LACK_THREADS | TIDE_LACK_TIMES |                 \
   TIDE_LACK_CLOCK)
#define MAX_BYTES ((size_t)2 << 30)

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum profile_field {
  P_SAMPLE_TYPE = 1,
  P_SAMPLE = 2,
  P_MAPPING = 3,
  P_LOCATION = 4,
  P_FUNCTION = 5,
  P_STRING = 6,
  P_TIME_NANOS = 9,
  P_PERIOD_TYPE = 11,
  P_COMMENT = 13,
  P_LAST = 15,
};
enum { MAX_TYPES = 32, MAX_CHAIN = 256, MAX_FRAMES = 4096, MAX_BUILD_ID = 32 };
enum column { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, COLUMNS_N };

struct field { // of a message
  uint32_t number;
  enum wire wire;
  uint64_t value;
  struct tide_cursor bytes;
};

struct text { // a string of the table; not NUL-terminated
  const uint8_t *at;
  size_t n;
};

struct mapping {
  uint64_t id, start, limit, offset, filename, build_id, last_addr;
  const uint8_t *at; // of its message
  uint16_t module;
  uint64_t bias;
};

struct function {
  uint64_t id, name, filename;
};

struct location {
  uint64_t id, mapping_id, addr;
  const uint8_t *at;
  struct tide_cursor message; // its lines are read when it becomes a place
  struct tide_place place;
};

struct reader {
  struct tide_source *source;
  struct tide_builder *builder;
  struct tide_diag *diag;
  struct tide_buf bytes;
  struct text *strings;
  size_t n_strings, cap_strings;
  struct mapping *mappings;
  size_t n_mappings, cap_mappings;
  struct function *functions;
  size_t n_functions, cap_functions;
  struct location *locations;
  size_t n_locations, cap_locations;
  struct tide_table by_function, by_location, by_mapping;
  struct {
    uint64_t type, unit;
  } types[MAX_TYPES];
  size_t n_types;
  int columns[COLUMNS_N]; // index of the sample type; -1: none
  struct tide_buf names;
};

static enum tide_err wrong(const struct reader *r, const uint8_t *at, const char *what)
{
  return tide_source_fail(r->source, TIDE_ERR_FORMAT, (uint64_t)(at - r->bytes.data), r->diag,
                          "not as a pprof profile is written: %s", what);
}

static struct tide_cursor next_bytes(struct tide_cursor *c)
{
  uint64_t n = tide_cursor_varint(c);
  const uint8_t *at = n <= tide_cursor_left(c) ? tide_cursor_bytes(c, (size_t)n) : NULL;
  c->bad |= !at;
  return at ? tide_cursor_make(at, (size_t)n) : (struct tide_cursor){0};
}

// The next field; false at the end, or where the message is broken (cursor->bad).
static bool next_field(struct tide_cursor *c, struct field *ret)
{
  if (c->bad || c->at == c->end)
    return false;
  uint64_t tag = tide_cursor_varint(c);
  *ret = (struct field){.number = (uint32_t)(tag >> 3), .wire = (enum wire)(tag & 7)};
  c->bad |= tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
  switch (ret->wire) {
  case VARINT: ret->value = tide_cursor_varint(c); break;
  case FIXED64: ret->value = tide_cursor_u64(c); break;
  case FIXED32: ret->value = tide_cursor_u32(c); break;
  case BYTES: ret->bytes = next_bytes(c); break;
  default: c->bad = true;
  }
  return !c->bad;
}

static bool is_expected(const struct field *field)
{
  bool is_varint = field->number == 7 || field->number == 8 || field->number == P_TIME_NANOS ||
                   field->number == 10 || field->number == 12 || field->number == 14 ||
                   field->number == P_LAST;
  if (field->number == P_COMMENT)
    return field->wire == VARINT || field->wire == BYTES;
  return field->number <= P_LAST && field->wire == (is_varint ? VARINT : BYTES);
}

// Protobuf has no magic. A profile begins with known fields of the right kinds and, unlike text,
// with small numbers.
bool tide_pprof_recognise(const uint8_t *head, size_t n)
{
  struct field field;
  size_t n_fields = 0;
  bool has_small = false;
  for (size_t i = 0; i < n && i < 8; i++)
    has_small |= head[i] < '\t';
  if (!has_small)
    return false;
  struct tide_cursor c = tide_cursor_make(head, n);
  while (next_field(&c, &field)) {
    if (!is_expected(&field))
      return false;
    n_fields++;
  }
  if (c.bad && n_fields == 0) { // one field longer than the head
    c = tide_cursor_make(head, n);
    uint64_t tag = tide_cursor_varint(&c), length = tide_cursor_varint(&c);
    return !c.bad && tag == (P_SAMPLE << 3 | BYTES) && length > n;
  }
  return n_fields > 0;
}

static bool same_function(const void *context, const void *key, uint32_t position)
{
  return ((const struct reader *)context)->functions[position].id == *(const uint64_t *)key;
}

static bool same_location(const void *context, const void *key, uint32_t position)
{
  return ((const struct reader *)context)->locations[position].id == *(const uint64_t *)key;
}

static bool same_mapping(const void *context, const void *key, uint32_t position)
{
  return ((const struct reader *)context)->mappings[position].id == *(const uint64_t *)key;
}

// The row of an id; n when there is none. Nothing is added: a table is made when it is complete.
static size_t row_of(const struct reader *r, const struct tide_table *table, tide_table_same *same,
                     uint64_t id, size_t n)
{
  if (!table->cap)
    return n;
  uint32_t hash = tide_table_mix(id, 0);
  size_t at = hash & (table->cap - 1);
  for (; table->slots[at].id; at = (at + 1) & (table->cap - 1))
    if (table->slots[at].hash == hash && same(r, &id, table->slots[at].id - 1))
      return table->slots[at].id - 1;
  return n;
}

static void read_mapping(struct reader *r, struct tide_cursor message)
{
  struct mapping m = {.at = message.at};
  struct field f;
  while (next_field(&message, &f)) {
    uint64_t *const to[] = {NULL, &m.id, &m.start, &m.limit, &m.offset, &m.filename, &m.build_id};
    if (f.wire == VARINT && f.number < sizeof to / sizeof *to)
      *to[f.number] = f.value;
  }
  TIDE_GROW(r->mappings, r->n_mappings, r->cap_mappings);
  r->mappings[r->n_mappings++] = m;
}

static void read_function(struct reader *r, struct tide_cursor message)
{
  struct function function = {0};
  struct field f;
  while (next_field(&message, &f)) {
    uint64_t *const to[] = {NULL, &function.id, &function.name, NULL, &function.filename};
    if (f.wire == VARINT && f.number < sizeof to / sizeof *to && to[f.number])
      *to[f.number] = f.value;
  }
  TIDE_GROW(r->functions, r->n_functions, r->cap_functions);
  r->functions[r->n_functions++] = function;
}

static void read_location(struct reader *r, struct tide_cursor message)
{
  struct location l = {.at = message.at, .message = message};
  struct field f;
  while (next_field(&message, &f)) {
    uint64_t *const to[] = {NULL, &l.id, &l.mapping_id, &l.addr};
    if (f.wire == VARINT && f.number < sizeof to / sizeof *to)
      *to[f.number] = f.value;
  }
  TIDE_GROW(r->locations, r->n_locations, r->cap_locations);
  r->locations[r->n_locations++] = l;
}

static enum tide_err read_type(struct reader *r, struct tide_cursor message)
{
  struct field f;
  if (r->n_types == MAX_TYPES)
    return wrong(r, message.at, "more than 32 kinds of values");
  while (next_field(&message, &f))
    if (f.wire == VARINT && f.number == 1)
      r->types[r->n_types].type = f.value;
    else if (f.wire == VARINT && f.number == 2)
      r->types[r->n_types].unit = f.value;
  r->n_types++;
  return TIDE_ERR_OK;
}

static void read_string(struct reader *r, struct tide_cursor message)
{
  TIDE_GROW(r->strings, r->n_strings, r->cap_strings);
  r->strings[r->n_strings++] = (struct text){message.at, tide_cursor_left(&message)};
}

// Where the file breaks off, what came before it counts.
static enum tide_err read_tables(struct reader *r)
{
  struct tide_cursor c = tide_cursor_make(r->bytes.data, r->bytes.n);
  struct field f;
  enum tide_err err = TIDE_ERR_OK;
  const uint8_t *at = c.at;
  for (; !err && next_field(&c, &f); at = c.at) {
    if (!is_expected(&f) && f.number <= P_LAST)
      return wrong(r, at, "a field is of another kind");
    switch (f.number) {
    case P_SAMPLE_TYPE: err = read_type(r, f.bytes); break;
    case P_MAPPING: read_mapping(r, f.bytes); break;
    case P_LOCATION: read_location(r, f.bytes); break;
    case P_FUNCTION: read_function(r, f.bytes); break;
    case P_STRING: read_string(r, f.bytes); break;
    case P_TIME_NANOS: r->builder->capture->start_realtime_ns = f.value; break;
    default: break;
    }
  }
  if (!err && c.bad)
    return tide_source_fail(r->source, TIDE_ERR_CUT, (uint64_t)(at - r->bytes.data), r->diag,
                            "the profile breaks off");
  return err;
}

static enum tide_err index_ids(struct reader *r)
{
  for (uint32_t i = 0; i < r->n_mappings; i++)
    if (tide_table_put(&r->by_mapping, tide_table_mix(r->mappings[i].id, 0), same_mapping, r,
                       &r->mappings[i].id, i) != i)
      return wrong(r, r->mappings[i].at, "two mappings have one id");
  for (uint32_t i = 0; i < r->n_functions; i++)
    tide_table_put(&r->by_function, tide_table_mix(r->functions[i].id, 0), same_function, r,
                   &r->functions[i].id, i);
  for (uint32_t i = 0; i < r->n_locations; i++)
    if (tide_table_put(&r->by_location, tide_table_mix(r->locations[i].id, 0), same_location, r,
                       &r->locations[i].id, i) != i)
      return wrong(r, r->locations[i].at, "two locations have one id");
  return TIDE_ERR_OK;
}

static bool is_string(const struct reader *r, uint64_t idx, const char *text)
{
  return idx < r->n_strings && r->strings[idx].n == strlen(text) &&
         memcmp(r->strings[idx].at, text, strlen(text)) == 0;
}

// "alloc_space" and so on; "objects" and "space" are what older profiles call those in use.
static enum tide_err find_columns(struct reader *r)
{
  static const struct {
    const char *word;
    enum column column;
  } words[] = {{"alloc_objects", ALLOC_OBJECTS}, {"alloc_space", ALLOC_SPACE},
               {"inuse_objects", INUSE_OBJECTS}, {"inuse_space", INUSE_SPACE},
               {"objects", INUSE_OBJECTS},       {"space", INUSE_SPACE}};
  for (int i = 0; i < COLUMNS_N; i++)
    r->columns[i] = -1;
  for (size_t w = 0; w < sizeof words / sizeof *words; w++)
    for (size_t i = 0; i < r->n_types; i++)
      if (r->columns[words[w].column] < 0 && is_string(r, r->types[i].type, words[w].word))
        r->columns[words[w].column] = (int)i;
  bool has_alloc = r->columns[ALLOC_SPACE] >= 0, has_inuse = r->columns[INUSE_SPACE] >= 0;
  if (!has_alloc && !has_inuse)
    return tide_fail(r->diag, TIDE_ERR_FORMAT,
                     "%s is a pprof profile, but not of a heap: it has neither inuse_space nor "
                     "alloc_space",
                     r->source->name);
  uint32_t *lacks = &r->builder->image->lacks;
  *lacks |= (has_alloc ? 0u : TIDE_LACK_TOTAL) | (has_inuse ? 0u : TIDE_LACK_LIVE);
  if ((has_alloc && r->columns[ALLOC_OBJECTS] < 0) || (has_inuse && r->columns[INUSE_OBJECTS] < 0))
    *lacks |= TIDE_LACK_BLOCKS;
  return TIDE_ERR_OK;
}

// Good until the next call with the same buffer offset: names are made one after another.
static const char *string_at(struct reader *r, uint64_t idx)
{
  if (idx >= r->n_strings)
    return "";
  size_t at = r->names.n;
  tide_buf_append(&r->names, r->strings[idx].at, r->strings[idx].n);
  tide_buf_u8(&r->names, 0);
  return (const char *)r->names.data + at;
}

static uint32_t parse_build_id(const char *hex, uint8_t id[MAX_BUILD_ID])
{
  size_t n = strlen(hex);
  if (n % 2 || n / 2 > MAX_BUILD_ID || strspn(hex, "0123456789abcdefABCDEF") != n)
    return 0;
  for (size_t i = 0; i < n / 2; i++) {
    char two[] = {hex[2 * i], hex[2 * i + 1], '\0'};
    id[i] = (uint8_t)strtoul(two, NULL, 16);
  }
  return (uint32_t)(n / 2);
}

// Ends where the last address is, for those that span everything.
static void make_modules(struct reader *r)
{
  for (size_t i = 0; i < r->n_locations; i++) {
    const struct location *l = &r->locations[i];
    size_t m = row_of(r, &r->by_mapping, same_mapping, l->mapping_id, r->n_mappings);
    if (m < r->n_mappings && l->addr > r->mappings[m].last_addr)
      r->mappings[m].last_addr = l->addr;
  }
  for (size_t i = 0; i < r->n_mappings; i++) {
    struct mapping *m = &r->mappings[i];
    uint8_t id[MAX_BUILD_ID];
    bool is_fixed = m->start < TIDE_MAPPINGS_FIXED_BELOW || m->offset > m->start;
    m->bias = is_fixed ? 0 : m->start - m->offset;
    if (m->limit <= m->last_addr || m->limit > UINT64_MAX >> 8)
      m->limit = (m->last_addr | 4095) + 1;
    r->names.n = 0;
    uint32_t n_id = parse_build_id(string_at(r, m->build_id), id);
    r->names.n = 0;
    m->module = tide_builder_module(r->builder, string_at(r, m->filename), m->start - m->bias,
                                    m->limit - m->bias, 0, id, n_id);
  }
}

// The lines of a location, innermost first; gives their number.
static enum tide_err read_chain(struct reader *r, const struct location *l,
                                struct tide_names_frame *chain, size_t *ret_n)
{
  struct tide_cursor message = l->message;
  struct field f, part;
  size_t n = 0;
  struct {
    uint64_t name, filename;
  } texts[MAX_CHAIN];
  while (next_field(&message, &f)) {
    uint64_t function_id = 0, line = 0;
    if (f.number != 4 || f.wire != BYTES || n == MAX_CHAIN)
      continue;
    while (next_field(&f.bytes, &part))
      if (part.wire == VARINT && part.number == 1)
        function_id = part.value;
      else if (part.wire == VARINT && part.number == 2)
        line = part.value;
    size_t at = row_of(r, &r->by_function, same_function, function_id, r->n_functions);
    if (at == r->n_functions)
      return wrong(r, l->at, "a line is of no function");
    texts[n].name = r->functions[at].name;
    texts[n].filename = r->functions[at].filename;
    chain[n++] = (struct tide_names_frame){.line = line <= UINT32_MAX ? (uint32_t)line : 0};
  }
  size_t starts[MAX_CHAIN][2];
  r->names.n = 0;
  for (size_t i = 0; i < n; i++) {
    starts[i][0] = r->names.n;
    string_at(r, texts[i].name);
    starts[i][1] = r->names.n;
    string_at(r, texts[i].filename);
  }
  tide_buf_u8(&r->names, 0); // for indexes past the table
  for (size_t i = 0; i < n; i++) {
    chain[i].function = (const char *)r->names.data + starts[i][0];
    chain[i].file = (const char *)r->names.data + starts[i][1];
  }
  *ret_n = n;
  return TIDE_ERR_OK;
}

static enum tide_err make_places(struct reader *r)
{
  struct tide_names_frame chain[MAX_CHAIN];
  for (size_t i = 0; i < r->n_locations; i++) {
    struct location *l = &r->locations[i];
    size_t n = 0, m = row_of(r, &r->by_mapping, same_mapping, l->mapping_id, r->n_mappings);
    uint16_t module = m < r->n_mappings ? r->mappings[m].module : 0;
    uint64_t addr = l->addr - (m < r->n_mappings ? r->mappings[m].bias : 0);
    enum tide_err err = read_chain(r, l, chain, &n);
    if (err)
      return err;
    bool is_cut = n == 1 && strcmp(chain[0].function, "[frames left out]") == 0;
    if (is_cut)
      l->place = (struct tide_place){.flags = TIDE_FRAME_CUT};
    else if (n)
      l->place = tide_builder_place(r->builder, module, l->addr ? addr : 0, chain, n);
    else
      l->place = (struct tide_place){addr, module, TIDE_FRAME_IS_EXACT};
  }
  return TIDE_ERR_OK;
}

// A repeated number, packed or not: adds what a field holds of it.
static size_t take_repeated(struct field *f, uint64_t *values, size_t n, size_t max)
{
  if (f->wire == VARINT && n < max)
    values[n++] = f->value;
  while (f->wire == BYTES && f->bytes.at < f->bytes.end && !f->bytes.bad) {
    uint64_t value = tide_cursor_varint(&f->bytes);
    if (n < max)
      values[n++] = value;
  }
  return n;
}

static uint64_t value_of(const struct reader *r, const uint64_t *values, enum column column)
{
  return r->columns[column] < 0 ? 0 : values[r->columns[column]];
}

static void add_sample(struct reader *r, uint32_t stack, const uint64_t *values)
{
  struct tide_site *site = tide_builder_site(r->builder, stack);
  uint64_t n = value_of(r, values, ALLOC_OBJECTS), bytes = value_of(r, values, ALLOC_SPACE);
  uint64_t n_live = value_of(r, values, INUSE_OBJECTS), b_live = value_of(r, values, INUSE_SPACE);
  uint32_t lacks = r->builder->image->lacks;
  if (lacks & TIDE_LACK_TOTAL) { // at least what is in use was allocated
    n = n_live;
    bytes = b_live;
  }
  site->n_alloc += n;
  site->b_alloc += bytes;
  if (lacks & TIDE_LACK_LIVE)
    return;
  site->n_free += n - n_live;
  site->b_free += bytes - b_live;
}

static enum tide_err read_sample(struct reader *r, struct tide_cursor message)
{
  uint64_t ids[MAX_FRAMES], values[MAX_TYPES] = {0};
  size_t n_ids = 0, n_values = 0;
  const uint8_t *at = message.at;
  struct field f;
  while (next_field(&message, &f))
    if (f.number == 1)
      n_ids = take_repeated(&f, ids, n_ids, MAX_FRAMES);
    else if (f.number == 2)
      n_values = take_repeated(&f, values, n_values, MAX_TYPES);
  if (n_values != r->n_types)
    return wrong(r, at, "a sample has another number of values than there are kinds");
  uint32_t node = 0;
  if (n_ids == 0)
    node = tide_builder_node(r->builder, 0, (struct tide_place){.flags = TIDE_FRAME_LOST});
  while (n_ids-- > 0) {
    size_t row = row_of(r, &r->by_location, same_location, ids[n_ids], r->n_locations);
    if (row == r->n_locations)
      return wrong(r, at, "a sample refers to no location");
    node = tide_builder_node(r->builder, node, r->locations[row].place);
  }
  add_sample(r, node, values);
  return TIDE_ERR_OK;
}

static enum tide_err read_samples(struct reader *r)
{
  struct tide_cursor c = tide_cursor_make(r->bytes.data, r->bytes.n);
  struct field f;
  enum tide_err err = TIDE_ERR_OK;
  while (!err && next_field(&c, &f))
    if (f.number == P_SAMPLE)
      err = read_sample(r, f.bytes);
  return err;
}

static enum tide_err read_all(struct reader *r)
{
  enum tide_err err = tide_source_rest(r->source, MAX_BYTES, &r->bytes, r->diag);
  if (!err)
    err = tide_source_status(r->source, r->diag);
  if (!err && !r->bytes.n)
    err = tide_fail(r->diag, TIDE_ERR_FORMAT, "%s is empty", r->source->name);
  if (!err)
    err = read_tables(r);
  if (!err)
    err = index_ids(r);
  if (!err)
    err = find_columns(r);
  if (err)
    return err;
  make_modules(r);
  if (r->n_mappings) { // the first is the program
    r->names.n = 0;
    r->builder->image->exe = tide_strdup(string_at(r, r->mappings[0].filename));
  }
  err = make_places(r);
  return err ? err : read_samples(r);
}

enum tide_err tide_pprof_read(struct tide_source *source, struct tide_capture **ret_capture,
                              struct tide_diag *diag)
{
  struct reader r = {.source = source, .diag = diag};
  r.builder = tide_builder_new("pprof heap profile", LACKS);
  enum tide_err err = read_all(&r);
  if (!err)
    err = tide_builder_finish(r.builder, ret_capture, diag);
  tide_builder_free(r.builder);
  tide_buf_done(&r.bytes);
  tide_buf_done(&r.names);
  tide_table_done(&r.by_function);
  tide_table_done(&r.by_location);
  tide_table_done(&r.by_mapping);
  free(r.strings);
  free(r.mappings);
  free(r.functions);
  free(r.locations);
  return err;
}
