// SPDX-License-Identifier: Apache-2.0
//
// A pull parser by hand: strict where it matters to whoever reads the events, which is structure.
#include "import/json_read.h"

#include <stdlib.h>
#include <string.h>

void tide_json_read_init(struct tide_json_read *json, struct tide_stream *stream)
{
  *json = (struct tide_json_read){.stream = stream};
  tide_buf_u8(&json->text, 0);
}

void tide_json_read_done(struct tide_json_read *json)
{
  tide_buf_done(&json->text);
}

static enum tide_json_event bad(struct tide_json_read *json, const char *why)
{
  json->failed = true;
  json->why = why;
  return TIDE_JSON_BAD;
}

// The next byte without taking it; -1 at the end.
static int peek(struct tide_json_read *json)
{
  struct tide_stream *s = json->stream;
  if (s->at == s->end && tide_stream_fill(s, 1) == 0)
    return -1;
  return *s->at;
}

static int peek_past_space(struct tide_json_read *json)
{
  int c;
  while ((c = peek(json)) == ' ' || c == '\n' || c == '\t' || c == '\r')
    json->stream->at++;
  return c;
}

static void put_utf8(struct tide_buf *out, uint32_t c)
{
  if (c < 0x80) {
    tide_buf_u8(out, (uint8_t)c);
    return;
  }
  if (c < 0x800) {
    tide_buf_u8(out, (uint8_t)(0xc0 | c >> 6));
  } else {
    if (c < 0x10000) {
      tide_buf_u8(out, (uint8_t)(0xe0 | c >> 12));
    } else {
      tide_buf_u8(out, (uint8_t)(0xf0 | c >> 18));
      tide_buf_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
    }
    tide_buf_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
  }
  tide_buf_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
}

static bool take_hex4(struct tide_json_read *json, uint32_t *ret_value)
{
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    int c = peek(json);
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return false;
    value = value << 4 | (uint32_t)digit;
    json->stream->at++;
  }
  *ret_value = value;
  return true;
}

// Behind "\u". Half a pair is U+FFFD; so is NUL, which would end the text.
static bool take_unicode(struct tide_json_read *json)
{
  uint32_t high, low;
  if (!take_hex4(json, &high))
    return false;
  if (high >= 0xd800 && high < 0xdc00 && tide_stream_fill(json->stream, 6) >= 6 &&
      memcmp(json->stream->at, "\\u", 2) == 0) {
    json->stream->at += 2;
    if (!take_hex4(json, &low))
      return false;
    bool paired = low >= 0xdc00 && low < 0xe000;
    high = paired ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
  }
  put_utf8(&json->text, high == 0 || (high >= 0xd800 && high < 0xe000) ? 0xfffd : high);
  return true;
}

static bool take_escape(struct tide_json_read *json)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  int c = peek(json);
  if (c < 0)
    return false;
  json->stream->at++;
  if (c == 'u')
    return take_unicode(json);
  const char *found = c ? strchr(from, c) : NULL;
  if (found)
    tide_buf_u8(&json->text, (uint8_t)to[found - from]);
  return found;
}

// Behind the first quote.
static bool take_string(struct tide_json_read *json)
{
  tide_buf_clear(&json->text);
  for (int c; (c = peek(json)) >= 0;) {
    json->stream->at++;
    if (c == '"') {
      tide_buf_u8(&json->text, 0);
      return true;
    }
    if (json->text.n >= TIDE_JSON_READ_TEXT_MAX)
      return bad(json, "a text is longer than a mebibyte");
    if (c == '\\' ? !take_escape(json) : c < 0x20) {
      if (peek(json) >= 0)
        bad(json, "a text is not as JSON has it");
      return false;
    }
    if (c != '\\')
      tide_buf_u8(&json->text, (uint8_t)c);
  }
  return false;
}

static bool take_number(struct tide_json_read *json)
{
  tide_buf_clear(&json->text);
  for (int c; (c = peek(json)) > 0 && strchr("+-.0123456789eE", c) && json->text.n < 64;) {
    tide_buf_u8(&json->text, (uint8_t)c);
    json->stream->at++;
  }
  tide_buf_u8(&json->text, 0);
  return json->text.n > 1;
}

static enum tide_json_event take_word(struct tide_json_read *json)
{
  static const struct {
    const char *word;
    size_t n;
    enum tide_json_event event;
  } words[] = {
      {"true", 4, TIDE_JSON_TRUE}, {"false", 5, TIDE_JSON_FALSE}, {"null", 4, TIDE_JSON_NULL}};
  size_t n = tide_stream_fill(json->stream, 5);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (n >= words[i].n && memcmp(json->stream->at, words[i].word, words[i].n) == 0) {
      json->stream->at += words[i].n;
      return words[i].event;
    }
  return n < 5 && json->stream->ended ? bad(json, NULL) : bad(json, "a value was expected");
}

static enum tide_json_event open_container(struct tide_json_read *json, bool is_object)
{
  json->stream->at++;
  if (json->depth == TIDE_JSON_READ_DEPTH_MAX)
    return bad(json, "it is nested more than 64 deep");
  json->is_object[json->depth++] = is_object;
  json->has_member = json->wants_value = false;
  return is_object ? TIDE_JSON_OBJECT : TIDE_JSON_ARRAY;
}

static enum tide_json_event close_container(struct tide_json_read *json)
{
  bool is_object = json->is_object[--json->depth];
  json->stream->at++;
  json->has_member = true;
  return is_object ? TIDE_JSON_OBJECT_END : TIDE_JSON_ARRAY_END;
}

static enum tide_json_event take_value(struct tide_json_read *json, int c)
{
  json->wants_value = false;
  if (c == '{' || c == '[')
    return open_container(json, c == '{');
  json->has_member = true;
  if (c == '"') {
    json->stream->at++;
    return take_string(json) ? TIDE_JSON_TEXT : bad(json, json->why);
  }
  if (c == '-' || (c >= '0' && c <= '9'))
    return take_number(json) ? TIDE_JSON_NUMBER : bad(json, "a number was expected");
  return take_word(json);
}

static enum tide_json_event take_key(struct tide_json_read *json, int c)
{
  if (c != '"')
    return bad(json, "a key was expected");
  json->stream->at++;
  if (!take_string(json))
    return bad(json, json->why);
  c = peek_past_space(json);
  if (c != ':')
    return bad(json, c < 0 ? NULL : "a colon was expected");
  json->stream->at++;
  json->wants_value = true;
  return TIDE_JSON_KEY;
}

enum tide_json_event tide_json_read_next(struct tide_json_read *json)
{
  if (json->failed)
    return TIDE_JSON_BAD;
  if (json->done)
    return TIDE_JSON_END;
  int c = peek_past_space(json);
  if (c < 0)
    return bad(json, NULL);
  bool in_object = json->depth && json->is_object[json->depth - 1];
  if (json->depth && !json->wants_value) {
    if (c == (in_object ? '}' : ']')) {
      enum tide_json_event event = close_container(json);
      json->done = json->depth == 0;
      return event;
    }
    if (json->has_member) {
      if (c != ',')
        return bad(json, "a comma was expected");
      json->stream->at++;
      c = peek_past_space(json);
      if (c < 0)
        return bad(json, NULL);
    }
    if (in_object)
      return take_key(json, c);
  }
  enum tide_json_event event = take_value(json, c);
  json->done = json->depth == 0;
  return event;
}

bool tide_json_read_skip(struct tide_json_read *json, enum tide_json_event event)
{
  if (event == TIDE_JSON_OBJECT || event == TIDE_JSON_ARRAY)
    for (unsigned depth = json->depth; json->depth >= depth && event != TIDE_JSON_BAD;)
      event = tide_json_read_next(json);
  return event != TIDE_JSON_BAD;
}

bool tide_json_read_u64(const struct tide_json_read *json, uint64_t *ret_value)
{
  uint64_t value = 0;
  for (const char *at = tide_json_read_text(json); *at; at++) {
    if (*at < '0' || *at > '9' || value > (UINT64_MAX - 9) / 10)
      return false;
    value = value * 10 + (uint64_t)(*at - '0');
  }
  *ret_value = value;
  return true;
}

enum tide_err tide_json_read_fail(const struct tide_json_read *json, struct tide_diag *diag)
{
  const struct tide_stream *s = json->stream;
  if (tide_stream_status(s, NULL))
    return tide_stream_status(s, diag);
  return json->why
             ? tide_stream_fail(s, TIDE_ERR_FORMAT, tide_stream_offset(s), diag,
                                "no right JSON: %s", json->why)
             : tide_stream_fail(s, TIDE_ERR_CUT, tide_stream_offset(s), diag, "it ends too early");
}
