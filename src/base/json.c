// SPDX-License-Identifier: Apache-2.0
//
// JSON out. The only state is which containers are open and whether a comma is due.
#include "base/json.h"

#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void tide_json_init(struct tide_json *json, struct tide_sink *sink)
{
  *json = (struct tide_json){.sink = sink, .break_depth = 2};
}

void tide_json_done(struct tide_json *json)
{
  assert(json->depth == 0);
  tide_sink_text(json->sink, "\n");
}

static void new_line(struct tide_json *json)
{
  tide_sink_text(json->sink, "\n");
  tide_sink_repeat(json->sink, ' ', 2 * json->depth);
}

// Whatever must stand before the next value or key.
static void before(struct tide_json *json)
{
  if (json->after_key) {
    json->after_key = false;
    return;
  }
  if (json->depth == 0)
    return;
  if (json->has_member[json->depth])
    tide_sink_text(json->sink, ",");
  if (json->depth <= json->break_depth)
    new_line(json);
  else if (json->has_member[json->depth] && !json->is_tight)
    tide_sink_text(json->sink, " ");
  json->has_member[json->depth] = true;
}

static void open_container(struct tide_json *json, const char *bracket)
{
  assert(json->depth + 1 < TIDE_JSON_DEPTH_MAX);
  before(json);
  tide_sink_text(json->sink, bracket);
  json->has_member[++json->depth] = false;
}

static void close_container(struct tide_json *json, const char *bracket)
{
  assert(json->depth > 0);
  bool broken = json->has_member[json->depth] && json->depth <= json->break_depth;
  json->depth--;
  if (broken)
    new_line(json);
  tide_sink_text(json->sink, bracket);
}

void tide_json_open_object(struct tide_json *json)
{
  open_container(json, "{");
}
void tide_json_open_array(struct tide_json *json)
{
  open_container(json, "[");
}
void tide_json_close_object(struct tide_json *json)
{
  close_container(json, "}");
}
void tide_json_close_array(struct tide_json *json)
{
  close_container(json, "]");
}

static void escaped_control(struct tide_sink *sink, uint8_t c)
{
  switch (c) {
  case '"': tide_sink_text(sink, "\\\""); break;
  case '\\': tide_sink_text(sink, "\\\\"); break;
  case '\n': tide_sink_text(sink, "\\n"); break;
  case '\r': tide_sink_text(sink, "\\r"); break;
  case '\t': tide_sink_text(sink, "\\t"); break;
  default: tide_sink_printf(sink, "\\u%04x", c);
  }
}

static bool is_plain(uint8_t c)
{
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void quoted(struct tide_sink *sink, const char *text, size_t n)
{
  tide_sink_text(sink, "\"");
  for (size_t i = 0; i < n;) {
    size_t run = i;
    while (run < n && is_plain((uint8_t)text[run]))
      run++;
    tide_sink_bytes(sink, text + i, run - i);
    i = run;
    if (i == n)
      break;
    if ((uint8_t)text[i] < 0x80) {
      escaped_control(sink, (uint8_t)text[i++]);
      continue;
    }
    size_t length = tide_utf8_length(text + i, n - i);
    if (length)
      tide_sink_bytes(sink, text + i, length);
    else
      tide_sink_text(sink, "\xef\xbf\xbd"); // U+FFFD for each byte that is not UTF-8
    i += length ? length : 1;
  }
  tide_sink_text(sink, "\"");
}

void tide_json_key(struct tide_json *json, const char *key)
{
  before(json);
  quoted(json->sink, key, strlen(key));
  tide_sink_text(json->sink, json->is_tight && json->depth > json->break_depth ? ":" : ": ");
  json->after_key = true;
}

void tide_json_text_n(struct tide_json *json, const char *text, size_t n)
{
  before(json);
  quoted(json->sink, text, n);
}

void tide_json_text(struct tide_json *json, const char *text)
{
  before(json);
  if (text)
    quoted(json->sink, text, strlen(text));
  else
    tide_sink_text(json->sink, "null");
}

void tide_json_u64(struct tide_json *json, uint64_t v)
{
  before(json);
  tide_sink_u64(json->sink, v);
}

void tide_json_i64(struct tide_json *json, int64_t v)
{
  before(json);
  if (v < 0)
    tide_sink_bytes(json->sink, "-", 1);
  tide_sink_u64(json->sink, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void tide_json_bool(struct tide_json *json, bool v)
{
  before(json);
  tide_sink_text(json->sink, v ? "true" : "false");
}

void tide_json_hex(struct tide_json *json, uint64_t v)
{
  before(json);
  tide_sink_printf(json->sink, "\"0x%" PRIx64 "\"", v);
}

void tide_json_raw(struct tide_json *json, const void *text, size_t n)
{
  if (!n)
    return;
  before(json);
  tide_sink_bytes(json->sink, text, n);
}

bool tide_json_lacks(const struct tide_json *json, const char *key)
{
  return json->is_absent && json->is_absent(json->absent, key);
}

void tide_json_put_text(struct tide_json *json, const char *key, const char *text)
{
  if (tide_json_lacks(json, key))
    return;
  tide_json_key(json, key);
  tide_json_text(json, text);
}

void tide_json_put_u64(struct tide_json *json, const char *key, uint64_t v)
{
  if (tide_json_lacks(json, key))
    return;
  tide_json_key(json, key);
  tide_json_u64(json, v);
}

void tide_json_put_i64(struct tide_json *json, const char *key, int64_t v)
{
  if (tide_json_lacks(json, key))
    return;
  tide_json_key(json, key);
  tide_json_i64(json, v);
}

void tide_json_put_bool(struct tide_json *json, const char *key, bool v)
{
  if (tide_json_lacks(json, key))
    return;
  tide_json_key(json, key);
  tide_json_bool(json, v);
}
