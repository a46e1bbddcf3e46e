// SPDX-License-Identifier: Apache-2.0
//
// See otlp.h. A pprof is read three times, since what is referred to may come later in it: once
// for strings, mappings and functions, once for locations, once for samples. A table is a row of
// encoded messages (base/lookup.h), so that what is met again gets its number again.
#define _GNU_SOURCE
#include "push/otlp.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/wire.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { // of pprof
  IN_SAMPLE_TYPE = 1,
  IN_SAMPLE = 2,
  IN_MAPPING = 3,
  IN_LOCATION = 4,
  IN_FUNCTION = 5,
  IN_STRING = 6,
  IN_TIME = 9,
  IN_PERIOD_TYPE = 11,
  IN_PERIOD = 12,
  IN_COMMENT = 13,
};
enum table_kind { // by their field in the dictionary
  MAPPINGS = 1,
  LOCATIONS = 2,
  FUNCTIONS = 3,
  LINKS = 4,
  STRINGS = 5,
  ATTRIBUTES = 6,
  STACKS = 7,
  TABLES_N = 8,
};
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { OF_RESOURCE = 1, OF_SCOPE_PROFILES = 2 };     // ResourceProfiles
enum { SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };        // ScopeProfiles
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };          // InstrumentationScope
enum { RESOURCE_ATTRIBUTES = 1 };                    // Resource
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };     // KeyValue, and KeyValueAndUnit
enum { ANY_STRING = 1, ANY_INT = 3, ANY_ARRAY = 5 }; // AnyValue
enum { ARRAY_VALUES = 1 };                           // ArrayValue
enum {
  OUT_SAMPLE_TYPE = 1,
  OUT_SAMPLES = 2,
  OUT_TIME = 3,
  OUT_DURATION = 4,
  OUT_PERIOD_TYPE = 5,
  OUT_PERIOD = 6,
  OUT_ID = 7,
  OUT_ATTRIBUTES = 11,
};
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum { STACK_LOCATIONS = 1 };
enum { MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { COLUMNS_AT_MOST = 8, ID_BYTES = 16 };

struct numbers { // of pprof -> of a table; what is not there is 0
  uint64_t *values;
  size_t n;
};

struct transcoder {
  struct tide_intern tables[TABLES_N];
  // Of the profile at hand:
  struct tide_cursor *texts; // its strings
  size_t n_texts, cap_texts;
  struct numbers mappings, functions, locations;
  struct tide_cursor types[COLUMNS_AT_MOST], period_type;
  size_t n_types;
  struct tide_buf columns[COLUMNS_AT_MOST]; // samples so far
  struct tide_buf comments;                 // an ArrayValue
  uint64_t time_ns, period;
  bool is_bad;
};

// ---- tables ----

static uint64_t number_in(struct transcoder *t, enum table_kind kind, struct tide_buf *entry)
{
  uint64_t number = tide_intern_add(&t->tables[kind], entry->data, entry->n);
  tide_buf_done(entry);
  return number;
}

static uint64_t number_of_text(struct transcoder *t, const char *text)
{
  return tide_intern_text(&t->tables[STRINGS], text);
}

// The string of that number of the pprof; "" if there is none.
static struct tide_cursor text_at(struct transcoder *t, uint64_t idx)
{
  t->is_bad |= idx >= t->n_texts;
  return idx < t->n_texts ? t->texts[idx] : tide_cursor_make("", 0);
}

static uint64_t number_of_string(struct transcoder *t, uint64_t idx)
{
  struct tide_cursor text = text_at(t, idx);
  return tide_intern_add(&t->tables[STRINGS], text.at, tide_cursor_left(&text));
}

static void set_number(struct numbers *numbers, uint64_t id, uint64_t number)
{
  if (id >= 1u << 24) // more than a profile of 4 MiB can have
    return;
  while (id >= numbers->n) {
    size_t n = numbers->n ? 2 * numbers->n : 64;
    numbers->values = tide_realloc_array(numbers->values, n, sizeof *numbers->values);
    memset(numbers->values + numbers->n, 0, (n - numbers->n) * sizeof *numbers->values);
    numbers->n = n;
  }
  numbers->values[id] = number;
}

static uint64_t get_number(const struct numbers *numbers, uint64_t id)
{
  return id < numbers->n ? numbers->values[id] : 0;
}

static void put_nonzero(struct tide_buf *buf, unsigned field, uint64_t v)
{
  if (v)
    tide_wire_put_u64(buf, field, v);
}

// ---- attributes ----

static void put_any_text(struct tide_buf *buf, unsigned field, const void *text, size_t n)
{
  struct tide_buf any = {0};
  tide_wire_put_bytes(&any, ANY_STRING, text, n);
  tide_wire_put_nested(buf, field, &any);
}

// An entry of the table of attributes; its value is taken.
static uint64_t number_of_attribute(struct transcoder *t, const char *key, struct tide_buf *value)
{
  struct tide_buf entry = {0};
  tide_wire_put_u64(&entry, KEY_VALUE_KEY, number_of_text(t, key));
  tide_wire_put_nested(&entry, KEY_VALUE_VALUE, value);
  return number_in(t, ATTRIBUTES, &entry);
}

static void put_attribute_number(struct tide_buf *buf, unsigned field, uint64_t number)
{
  struct tide_buf packed = {0};
  tide_buf_varint(&packed, number);
  tide_wire_put_nested(buf, field, &packed);
}

// ---- what is referred to ----

static void take_mapping(struct transcoder *t, struct tide_cursor message)
{
  struct tide_wire_field f;
  struct tide_buf entry = {0};
  uint64_t fields[7] = {0}; // id, start, limit, offset, filename, build id
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number < 7)
      fields[f.number] = f.value;
  t->is_bad |= message.bad;
  put_nonzero(&entry, MAPPING_LIMIT, fields[3]);
  put_nonzero(&entry, MAPPING_FILENAME, number_of_string(t, fields[5]));
  struct tide_cursor build_id = text_at(t, fields[6]);
  if (tide_cursor_left(&build_id)) {
    struct tide_buf value = {0};
    tide_wire_put_bytes(&value, ANY_STRING, build_id.at, tide_cursor_left(&build_id));
    put_attribute_number(&entry, MAPPING_ATTRIBUTES,
                         number_of_attribute(t, "process.executable.build_id.gnu", &value));
  }
  set_number(&t->mappings, fields[1], number_in(t, MAPPINGS, &entry));
}

static void take_function(struct transcoder *t, struct tide_cursor message)
{
  struct tide_wire_field f;
  struct tide_buf entry = {0};
  uint64_t fields[5] = {0}; // id, name, name in the file, source file
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number < 5)
      fields[f.number] = f.value;
  t->is_bad |= message.bad;
  for (unsigned i = 2; i < 5; i++)
    put_nonzero(&entry, i - 1, number_of_string(t, fields[i]));
  set_number(&t->functions, fields[1], number_in(t, FUNCTIONS, &entry));
}

static void put_line(struct transcoder *t, struct tide_buf *location, struct tide_cursor message)
{
  struct tide_wire_field f;
  struct tide_buf line = {0};
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number <= 2)
      put_nonzero(&line, f.number, f.number == 1 ? get_number(&t->functions, f.value) : f.value);
  t->is_bad |= message.bad;
  tide_wire_put_nested(location, LOCATION_LINES, &line);
}

static void take_location(struct transcoder *t, struct tide_cursor message)
{
  struct tide_wire_field f;
  struct tide_buf entry = {0}, lines = {0};
  uint64_t fields[4] = {0}; // id, mapping, address
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_VARINT && f.number < 4)
      fields[f.number] = f.value;
    else if (f.wire == TIDE_WIRE_BYTES && f.number == 4)
      put_line(t, &lines, f.bytes);
  t->is_bad |= message.bad;
  put_nonzero(&entry, LOCATION_MAPPING, get_number(&t->mappings, fields[2]));
  put_nonzero(&entry, LOCATION_ADDRESS, fields[3]);
  tide_buf_append(&entry, lines.data, lines.n);
  tide_buf_done(&lines);
  set_number(&t->locations, fields[1], number_in(t, LOCATIONS, &entry));
}

// ---- samples ----

static uint64_t number_of_stack(struct transcoder *t, struct tide_cursor ids)
{
  struct tide_buf packed = {0}, entry = {0};
  while (!ids.bad && ids.at < ids.end)
    tide_buf_varint(&packed, get_number(&t->locations, tide_cursor_varint(&ids)));
  t->is_bad |= ids.bad;
  tide_wire_put_nested(&entry, STACK_LOCATIONS, &packed);
  return number_in(t, STACKS, &entry);
}

// One to each column that has something of it.
static void take_sample(struct transcoder *t, struct tide_cursor message)
{
  struct tide_wire_field f;
  struct tide_cursor ids = {0}, values = {0};
  while (tide_wire_next(&message, &f))
    if (f.wire == TIDE_WIRE_BYTES && f.number == 1)
      ids = f.bytes;
    else if (f.wire == TIDE_WIRE_BYTES && f.number == 2)
      values = f.bytes;
  uint64_t stack = number_of_stack(t, ids);
  for (size_t i = 0; i < t->n_types; i++) {
    struct tide_buf sample = {0}, packed = {0};
    uint64_t value = tide_cursor_varint(&values);
    if (!value)
      continue;
    tide_buf_varint(&packed, value);
    put_nonzero(&sample, SAMPLE_STACK, stack);
    tide_wire_put_nested(&sample, SAMPLE_VALUES, &packed);
    tide_wire_put_nested(&t->columns[i], OUT_SAMPLES, &sample);
  }
  t->is_bad |= message.bad || values.bad;
}

// ---- a profile ----

static void take_first(struct transcoder *t, const struct tide_wire_field *f)
{
  if (f->wire == TIDE_WIRE_BYTES && f->number == IN_STRING) {
    TIDE_GROW(t->texts, t->n_texts, t->cap_texts);
    t->texts[t->n_texts++] = f->bytes;
  } else if (f->wire == TIDE_WIRE_BYTES && f->number == IN_SAMPLE_TYPE) {
    t->is_bad |= t->n_types == COLUMNS_AT_MOST;
    if (t->n_types < COLUMNS_AT_MOST)
      t->types[t->n_types++] = f->bytes;
  } else if (f->wire == TIDE_WIRE_BYTES && f->number == IN_PERIOD_TYPE) {
    t->period_type = f->bytes;
  } else if (f->wire == TIDE_WIRE_VARINT && f->number == IN_TIME) {
    t->time_ns = f->value;
  } else if (f->wire == TIDE_WIRE_VARINT && f->number == IN_PERIOD) {
    t->period = f->value;
  }
}

// Whose strings are known.
static void take_second(struct transcoder *t, const struct tide_wire_field *f)
{
  if (f->wire == TIDE_WIRE_BYTES && f->number == IN_MAPPING) {
    take_mapping(t, f->bytes);
  } else if (f->wire == TIDE_WIRE_BYTES && f->number == IN_FUNCTION) {
    take_function(t, f->bytes);
  } else if (f->wire == TIDE_WIRE_VARINT && f->number == IN_COMMENT) {
    struct tide_cursor text = text_at(t, f->value);
    put_any_text(&t->comments, ARRAY_VALUES, text.at, tide_cursor_left(&text));
  }
}

static void take_third(struct transcoder *t, const struct tide_wire_field *f)
{
  if (f->wire == TIDE_WIRE_BYTES && f->number == IN_LOCATION)
    take_location(t, f->bytes);
}

static void take_fourth(struct transcoder *t, const struct tide_wire_field *f)
{
  if (f->wire == TIDE_WIRE_BYTES && f->number == IN_SAMPLE)
    take_sample(t, f->bytes);
}

static void put_value_type(struct transcoder *t, struct tide_buf *buf, unsigned field,
                           struct tide_cursor type, bool *ret_is_allocated)
{
  struct tide_wire_field f;
  struct tide_buf out = {0};
  while (tide_wire_next(&type, &f)) {
    if (f.wire != TIDE_WIRE_VARINT || f.number > 2)
      continue;
    struct tide_cursor text = text_at(t, f.value);
    if (f.number == 1 && ret_is_allocated)
      *ret_is_allocated = tide_cursor_left(&text) > 6 && memcmp(text.at, "alloc_", 6) == 0;
    put_nonzero(&out, f.number, number_of_string(t, f.value));
  }
  t->is_bad |= type.bad;
  tide_wire_put_nested(buf, field, &out);
}

static void put_profile(struct transcoder *t, size_t column, uint64_t since_ns,
                        struct tide_buf *scope)
{
  struct tide_buf out = {0};
  uint8_t id[ID_BYTES];
  bool is_allocated = false;
  put_value_type(t, &out, OUT_SAMPLE_TYPE, t->types[column], &is_allocated);
  tide_buf_append(&out, t->columns[column].data, t->columns[column].n);
  since_ns = is_allocated && since_ns < t->time_ns ? since_ns : 0;
  tide_wire_put_fixed64(&out, OUT_TIME, t->time_ns - since_ns);
  put_nonzero(&out, OUT_DURATION, since_ns);
  put_value_type(t, &out, OUT_PERIOD_TYPE, t->period_type, NULL);
  put_nonzero(&out, OUT_PERIOD, t->period);
  if (getrandom(id, sizeof id, GRND_NONBLOCK) == sizeof id) // it may do without
    tide_wire_put_bytes(&out, OUT_ID, id, sizeof id);
  if (t->comments.n) {
    struct tide_buf value = {0};
    tide_wire_put_bytes(&value, ANY_ARRAY, t->comments.data, t->comments.n);
    put_attribute_number(&out, OUT_ATTRIBUTES,
                         number_of_attribute(t, "pprof.profile.comment", &value));
  }
  tide_wire_put_nested(scope, SCOPE_PROFILES, &out);
}

static void forget_profile(struct transcoder *t)
{
  free(t->texts);
  free(t->mappings.values);
  free(t->functions.values);
  free(t->locations.values);
  for (size_t i = 0; i < COLUMNS_AT_MOST; i++)
    tide_buf_done(&t->columns[i]);
  tide_buf_done(&t->comments);
  t->texts = NULL;
  t->n_texts = t->cap_texts = t->n_types = 0;
  t->mappings = t->functions = t->locations = (struct numbers){0};
  t->period_type = (struct tide_cursor){0};
  t->time_ns = t->period = 0;
}

static void put_pprof(struct transcoder *t, const struct tide_buf *pprof, uint64_t since_ns,
                      struct tide_buf *scope)
{
  static void (*const takers[])(struct transcoder *, const struct tide_wire_field *) = {
      take_first, take_second, take_third, take_fourth};
  for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
    struct tide_cursor all = tide_cursor_make(pprof->data, pprof->n);
    struct tide_wire_field f;
    while (tide_wire_next(&all, &f))
      takers[i](t, &f);
    t->is_bad |= all.bad;
  }
  t->is_bad |= !t->n_types;
  for (size_t i = 0; i < t->n_types; i++)
    put_profile(t, i, since_ns, scope);
  forget_profile(t);
}

// ---- the request ----

static const char *attribute_name(const char *label)
{
  static const char *const known[][2] = {
      {"service_name", "service.name"}, {"host", "host.name"}, {"pid", "process.pid"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(label, known[i][0]) == 0)
      return known[i][1];
  return label;
}

static void put_resource_attribute(struct tide_buf *resource, const struct tide_push_label *label)
{
  struct tide_buf pair = {0}, any = {0};
  const char *name = attribute_name(label->name), *value = label->value;
  bool is_pid =
      strcmp(name, "process.pid") == 0 && strlen(value) < 11 && !value[strspn(value, "0123456789")];
  tide_wire_put_bytes(&pair, KEY_VALUE_KEY, name, strlen(name));
  if (is_pid) {
    tide_wire_put_u64(&any, ANY_INT, strtoull(value, NULL, 10));
    tide_wire_put_nested(&pair, KEY_VALUE_VALUE, &any);
  } else {
    put_any_text(&pair, KEY_VALUE_VALUE, value, strlen(value));
  }
  tide_wire_put_nested(resource, RESOURCE_ATTRIBUTES, &pair);
}

static void put_series(struct transcoder *t, const struct tide_push_series *series,
                       struct tide_buf *message)
{
  struct tide_buf resource = {0}, us = {0}, scope = {0}, out = {0};
  for (size_t i = 0; i < series->n_labels; i++)
    put_resource_attribute(&resource, &series->labels[i]);
  tide_wire_put_nested(&out, OF_RESOURCE, &resource);
  tide_wire_put_bytes(&us, SCOPE_NAME, "tidemark", strlen("tidemark"));
  tide_wire_put_bytes(&us, SCOPE_VERSION, TIDE_VERSION, strlen(TIDE_VERSION));
  tide_wire_put_nested(&scope, SCOPE_SCOPE, &us);
  for (size_t i = 0; i < series->n_profiles; i++)
    put_pprof(t, &series->profiles[i], series->since_ns, &scope);
  tide_wire_put_nested(&out, OF_SCOPE_PROFILES, &scope);
  tide_wire_put_nested(message, REQUEST_RESOURCE_PROFILES, &out);
}

static void put_dictionary(const struct transcoder *t, struct tide_buf *message)
{
  struct tide_buf out = {0};
  for (unsigned kind = MAPPINGS; kind < TABLES_N; kind++)
    for (size_t i = 0; i < t->tables[kind].n; i++) {
      size_t n;
      const void *entry = tide_intern_get(&t->tables[kind], (uint32_t)i, &n);
      tide_wire_put_bytes(&out, kind, entry, n);
    }
  tide_wire_put_nested(message, REQUEST_DICTIONARY, &out);
}

enum tide_err tide_otlp_encode(const struct tide_push_series *series, size_t n_series,
                               struct tide_buf *message, struct tide_diag *diag)
{
  struct transcoder t = {0};
  for (unsigned kind = MAPPINGS; kind < TABLES_N; kind++)
    tide_intern_add(&t.tables[kind], "", 0); // "none"
  for (size_t i = 0; i < n_series; i++)
    put_series(&t, &series[i], message);
  put_dictionary(&t, message);
  for (unsigned kind = MAPPINGS; kind < TABLES_N; kind++)
    tide_intern_done(&t.tables[kind]);
  if (t.is_bad)
    return tide_fail(diag, TIDE_ERR_FORMAT, "what is to be pushed is no profile of pprof");
  return TIDE_ERR_OK;
}
