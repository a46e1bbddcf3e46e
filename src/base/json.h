// SPDX-License-Identifier: Apache-2.0
//
// A streaming JSON writer: values go to a sink as they come, commas and indentation are the
// writer's business. The output is valid JSON for any input: bytes that are not UTF-8 become U+FFFD
// and control characters are escaped, so that a hostile symbol or path cannot break a reader. Two
// levels are broken into lines for people, everything deeper stays on its line.
#pragma once
#include "base/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum { TIDE_JSON_DEPTH_MAX = 1024 }; // many readers end there, too

struct tide_json {
  struct tide_sink *sink; // not owned
  unsigned depth;
  unsigned break_depth; // containers up to this depth get a line per member
  bool has_member[TIDE_JSON_DEPTH_MAX];
  bool after_key;
  bool is_tight; // no blanks within a line: for tables of a million lines
  // Members that the put functions leave out; NULL: none.
  bool (*is_absent)(uint32_t absent, const char *key);
  uint32_t absent;
};

void tide_json_init(struct tide_json *json, struct tide_sink *sink);
void tide_json_done(struct tide_json *json); // ends the last line

void tide_json_open_object(struct tide_json *json);
void tide_json_open_array(struct tide_json *json);
void tide_json_close_object(struct tide_json *json);
void tide_json_close_array(struct tide_json *json);

void tide_json_key(struct tide_json *json, const char *key);
void tide_json_text(struct tide_json *json, const char *text); // NULL gives null
void tide_json_text_n(struct tide_json *json, const char *text, size_t n);
void tide_json_u64(struct tide_json *json, uint64_t v);
void tide_json_i64(struct tide_json *json, int64_t v);
void tide_json_bool(struct tide_json *json, bool v);
void tide_json_hex(struct tide_json *json, uint64_t v); // the string "0x…"

// Text that is one or more whole values already, with commas between them. Nothing when n is 0.
void tide_json_raw(struct tide_json *json, const void *text, size_t n);

// Members of an object: key and value in one. Nothing where the member is absent.
bool tide_json_lacks(const struct tide_json *json, const char *key);
void tide_json_put_text(struct tide_json *json, const char *key, const char *text);
void tide_json_put_u64(struct tide_json *json, const char *key, uint64_t v);
void tide_json_put_i64(struct tide_json *json, const char *key, int64_t v);
void tide_json_put_bool(struct tide_json *json, const char *key, bool v);
