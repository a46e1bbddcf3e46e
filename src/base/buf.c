// SPDX-License-Identifier: Apache-2.0
//
// Bytes in and out: little endian and LEB128 both ways.
#define _GNU_SOURCE
#include "base/buf.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARINT_BYTES 10u

void tide_buf_done(struct tide_buf *buf)
{
  free(buf->data);
  *buf = (struct tide_buf){0};
}

void tide_buf_clear(struct tide_buf *buf)
{
  buf->n = 0;
}

static void reserve(struct tide_buf *buf, size_t more)
{
  if (buf->cap - buf->n >= more)
    return;
  size_t cap = buf->cap ? buf->cap : 256;
  while (cap - buf->n < more)
    cap *= 2;
  buf->data = tide_realloc_array(buf->data, cap, 1);
  buf->cap = cap;
}

uint8_t *tide_buf_extend(struct tide_buf *buf, size_t n)
{
  reserve(buf, n);
  buf->n += n;
  return buf->data + buf->n - n;
}

void tide_buf_append(struct tide_buf *buf, const void *data, size_t n)
{
  if (n)
    memcpy(tide_buf_extend(buf, n), data, n);
}

void tide_buf_text(struct tide_buf *buf, const char *text)
{
  tide_buf_append(buf, text, strlen(text));
}

void tide_buf_printf(struct tide_buf *buf, const char *format, ...)
{
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n > 0) {
    reserve(buf, (size_t)n + 1);
    vsnprintf((char *)buf->data + buf->n, (size_t)n + 1, format, again);
    buf->n += (size_t)n;
  }
  va_end(again);
}

static void little_endian(struct tide_buf *buf, uint64_t v, unsigned bytes)
{
  uint8_t *p = tide_buf_extend(buf, bytes);
  for (unsigned i = 0; i < bytes; i++)
    p[i] = (uint8_t)(v >> 8 * i);
}

void tide_buf_u8(struct tide_buf *buf, uint8_t v)
{
  little_endian(buf, v, 1);
}
void tide_buf_u16(struct tide_buf *buf, uint16_t v)
{
  little_endian(buf, v, 2);
}
void tide_buf_u32(struct tide_buf *buf, uint32_t v)
{
  little_endian(buf, v, 4);
}
void tide_buf_u64(struct tide_buf *buf, uint64_t v)
{
  little_endian(buf, v, 8);
}

void tide_buf_long_varint(struct tide_buf *buf, uint64_t v)
{
  reserve(buf, MAX_VARINT_BYTES);
  uint8_t *p = buf->data + buf->n;
  for (; v >= 0x80; v >>= 7)
    *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  buf->n = (size_t)(p - buf->data);
}

void tide_buf_string(struct tide_buf *buf, const char *text)
{
  size_t n = text ? strlen(text) : 0;
  tide_buf_varint(buf, n);
  tide_buf_append(buf, text, n);
}

const char *tide_buf_cstr(struct tide_buf *buf)
{
  reserve(buf, 1);
  buf->data[buf->n] = 0;
  return (const char *)buf->data;
}

const uint8_t *tide_cursor_bytes(struct tide_cursor *c, size_t n)
{
  if (c->bad || tide_cursor_left(c) < n) {
    c->bad = true;
    return NULL;
  }
  c->at += n;
  return c->at - n;
}

static uint64_t read_little_endian(struct tide_cursor *c, unsigned bytes)
{
  const uint8_t *p = tide_cursor_bytes(c, bytes);
  uint64_t v = 0;
  for (unsigned i = 0; p && i < bytes; i++)
    v |= (uint64_t)p[i] << 8 * i;
  return v;
}

uint8_t tide_cursor_u8(struct tide_cursor *c)
{
  return (uint8_t)read_little_endian(c, 1);
}
uint16_t tide_cursor_u16(struct tide_cursor *c)
{
  return (uint16_t)read_little_endian(c, 2);
}
uint32_t tide_cursor_u32(struct tide_cursor *c)
{
  return (uint32_t)read_little_endian(c, 4);
}
uint64_t tide_cursor_u64(struct tide_cursor *c)
{
  return read_little_endian(c, 8);
}

uint64_t tide_cursor_long_varint(struct tide_cursor *c)
{
  uint64_t v = 0;
  const uint8_t *p = c->at;
  for (unsigned shift = 0; !c->bad && p < c->end; shift += 7) {
    uint8_t byte = *p++;
    if (shift == 63 && byte > 1)
      break;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      c->at = p;
      return v;
    }
  }
  c->bad = true;
  return 0;
}
