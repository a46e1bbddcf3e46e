// SPDX-License-Identifier: Apache-2.0
//
// A growing byte buffer, and a cursor over bytes that came from outside. The cursor never reads
// past its end: a failed read sets `bad` and gives zero, so a decoder checks once per record.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_buf {
  uint8_t *data; // owned
  size_t n, cap;
};

void tide_buf_done(struct tide_buf *buf);
void tide_buf_clear(struct tide_buf *buf);                // keeps the memory
uint8_t *tide_buf_extend(struct tide_buf *buf, size_t n); // n more bytes, uninitialised
void tide_buf_append(struct tide_buf *buf, const void *data, size_t n);
void tide_buf_text(struct tide_buf *buf, const char *text);
void tide_buf_printf(struct tide_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tide_buf_u8(struct tide_buf *buf, uint8_t v);
void tide_buf_u16(struct tide_buf *buf, uint16_t v); // little endian, as all below
void tide_buf_u32(struct tide_buf *buf, uint32_t v);
void tide_buf_u64(struct tide_buf *buf, uint64_t v);
void tide_buf_long_varint(struct tide_buf *buf, uint64_t v);
// LEB128. Captures are made of these, and most are short.
static inline void tide_buf_varint(struct tide_buf *buf, uint64_t v)
{
  if (v < 0x80 && buf->n < buf->cap)
    buf->data[buf->n++] = (uint8_t)v;
  else
    tide_buf_long_varint(buf, v);
}
// 0, -1, 1, -2 … as 0, 1, 2, 3 …
static inline uint64_t tide_zigzag(int64_t v)
{
  return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t tide_unzigzag(uint64_t v)
{
  return (int64_t)(v >> 1 ^ -(v & 1));
}
static inline void tide_buf_zigzag(struct tide_buf *buf, int64_t v)
{
  tide_buf_varint(buf, tide_zigzag(v));
}
void tide_buf_string(struct tide_buf *buf, const char *text); // varint length, bytes; NULL = ""
const char *tide_buf_cstr(struct tide_buf *buf); // NUL-terminated, valid until the next change

struct tide_cursor {
  const uint8_t *at, *end;
  bool bad; // something was read past the end
};

static inline struct tide_cursor tide_cursor_make(const void *data, size_t n)
{
  const uint8_t *p = data;
  return (struct tide_cursor){p, p + n, false};
}
static inline size_t tide_cursor_left(const struct tide_cursor *c)
{
  return (size_t)(c->end - c->at);
}
const uint8_t *tide_cursor_bytes(struct tide_cursor *c, size_t n); // NULL when short
uint8_t tide_cursor_u8(struct tide_cursor *c);
uint16_t tide_cursor_u16(struct tide_cursor *c);
uint32_t tide_cursor_u32(struct tide_cursor *c);
uint64_t tide_cursor_u64(struct tide_cursor *c);
uint64_t tide_cursor_long_varint(struct tide_cursor *c);
// More than 64 bits: bad. Captures are made of these, and most are short.
static inline uint64_t tide_cursor_varint(struct tide_cursor *c)
{
  if (!c->bad && c->at < c->end && *c->at < 0x80)
    return *c->at++;
  return tide_cursor_long_varint(c);
}
static inline int64_t tide_cursor_zigzag(struct tide_cursor *c)
{
  return tide_unzigzag(tide_cursor_varint(c));
}
