// SPDX-License-Identifier: Apache-2.0
//
// Protobuf as far as profiles need it: a message is a row of fields, each a tag and a number or
// bytes. Broken bytes leave the cursor `bad`.
#pragma once
#include "base/buf.h"

enum tide_wire {
  TIDE_WIRE_VARINT = 0,
  TIDE_WIRE_FIXED64 = 1,
  TIDE_WIRE_BYTES = 2,
  TIDE_WIRE_FIXED32 = 5,
};

struct tide_wire_field {
  uint32_t number;
  enum tide_wire wire;
  uint64_t value;           // of TIDE_WIRE_BYTES: their number
  struct tide_cursor bytes; // of TIDE_WIRE_BYTES, once they are at hand
};

// A field without its bytes: those follow. False at the end, or where the message is broken.
static inline bool tide_wire_head(struct tide_cursor *c, struct tide_wire_field *ret)
{
  if (c->bad || c->at == c->end)
    return false;
  uint64_t tag = tide_cursor_varint(c);
  *ret =
      (struct tide_wire_field){.number = (uint32_t)(tag >> 3), .wire = (enum tide_wire)(tag & 7)};
  c->bad |= tag >> 3 == 0 || tag >> 3 > UINT32_MAX;
  switch (ret->wire) {
  case TIDE_WIRE_VARINT:
  case TIDE_WIRE_BYTES: ret->value = tide_cursor_varint(c); break;
  case TIDE_WIRE_FIXED64: ret->value = tide_cursor_u64(c); break;
  case TIDE_WIRE_FIXED32: ret->value = tide_cursor_u32(c); break;
  default: c->bad = true;
  }
  return !c->bad;
}

// A field with its bytes.
static inline bool tide_wire_next(struct tide_cursor *c, struct tide_wire_field *ret)
{
  if (!tide_wire_head(c, ret))
    return false;
  if (ret->wire != TIDE_WIRE_BYTES)
    return true;
  const uint8_t *at =
      ret->value <= tide_cursor_left(c) ? tide_cursor_bytes(c, (size_t)ret->value) : NULL;
  c->bad |= !at;
  if (at)
    ret->bytes = tide_cursor_make(at, (size_t)ret->value);
  return at;
}

// ---- writing ----

static inline void tide_wire_put_u64(struct tide_buf *buf, unsigned field, uint64_t v)
{
  tide_buf_varint(buf, field << 3 | TIDE_WIRE_VARINT);
  tide_buf_varint(buf, v);
}

static inline void tide_wire_put_fixed64(struct tide_buf *buf, unsigned field, uint64_t v)
{
  tide_buf_varint(buf, field << 3 | TIDE_WIRE_FIXED64);
  tide_buf_u64(buf, v);
}

// A text, a nested message, or numbers that are packed.
static inline void tide_wire_put_bytes(struct tide_buf *buf, unsigned field, const void *data,
                                       size_t n)
{
  tide_buf_varint(buf, field << 3 | TIDE_WIRE_BYTES);
  tide_buf_varint(buf, n);
  tide_buf_append(buf, data, n);
}

// A nested message, which is empty afterwards.
static inline void tide_wire_put_nested(struct tide_buf *buf, unsigned field,
                                        struct tide_buf *inner)
{
  tide_wire_put_bytes(buf, field, inner->data, inner->n);
  tide_buf_done(inner);
}
