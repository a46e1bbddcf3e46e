// SPDX-License-Identifier: Apache-2.0
//
// JSON in passing: one event after another from a stream, nothing kept but the text of the last
// key, string or number. Documents may be of any size; nesting and single texts may not.
#pragma once
#include "base/buf.h"
#include "import/stream.h"

enum { TIDE_JSON_READ_DEPTH_MAX = 64, TIDE_JSON_READ_TEXT_MAX = 1 << 20 };

enum tide_json_event {
  TIDE_JSON_BAD, // see tide_json_read_fail()
  TIDE_JSON_END, // of the document
  TIDE_JSON_OBJECT,
  TIDE_JSON_OBJECT_END,
  TIDE_JSON_ARRAY,
  TIDE_JSON_ARRAY_END,
  TIDE_JSON_KEY,
  TIDE_JSON_TEXT,
  TIDE_JSON_NUMBER,
  TIDE_JSON_TRUE,
  TIDE_JSON_FALSE,
  TIDE_JSON_NULL,
};

struct tide_json_read {
  struct tide_stream *stream; // not owned
  struct tide_buf text;       // of the last key, string or number, with a NUL
  unsigned depth;
  bool is_object[TIDE_JSON_READ_DEPTH_MAX];
  bool wants_value; // a key was read
  bool has_member;  // in the innermost container, so that a comma must come
  bool done;
  bool failed;
  const char *why; // NULL: the stream ended early
};

void tide_json_read_init(struct tide_json_read *json, struct tide_stream *stream);
void tide_json_read_done(struct tide_json_read *json);

enum tide_json_event tide_json_read_next(struct tide_json_read *json);

// Passes over a value whose first event was `event`. False when the document is bad.
bool tide_json_read_skip(struct tide_json_read *json, enum tide_json_event event);

static inline const char *tide_json_read_text(const struct tide_json_read *json)
{
  return (const char *)json->text.data;
}

// The last number, if it is a whole one that fits.
bool tide_json_read_u64(const struct tide_json_read *json, uint64_t *ret_value);

// Why the last event was TIDE_JSON_BAD: TIDE_ERR_CUT where the stream ends early.
enum tide_err tide_json_read_fail(const struct tide_json_read *json, struct tide_diag *diag);
