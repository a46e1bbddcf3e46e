// SPDX-License-Identifier: Apache-2.0
//
// Reading unwind data that may be damaged. A cursor never leaves the readable span it was opened
// in: what would lie beyond reads as 0 and marks the cursor as cut, and its user then drops what it
// read. LEB128 of any length ends at the latest with the span.
#pragma once
#include "unwind/host.h"

#include <string.h>

struct tide_eh_bytes {
  const uint8_t *at, *end;
  bool cut; // something reached beyond the end
};

// From address to the end of the readable span it is in; cut if it is in none.
static inline struct tide_eh_bytes tide_eh_at(const struct tide_object *object, uint64_t address)
{
  for (uint32_t i = 0; i < object->n_readable; i++) {
    const struct tide_span *span = &object->readable[i];
    if (address - span->start < span->end - span->start)
      return (struct tide_eh_bytes){(const uint8_t *)address, (const uint8_t *)span->end, false};
  }
  static const uint8_t nowhere[1];
  return (struct tide_eh_bytes){nowhere, nowhere, true};
}

static inline uint64_t tide_eh_left(const struct tide_eh_bytes *b)
{
  return (uint64_t)(b->end - b->at);
}

static inline bool tide_eh_cut(struct tide_eh_bytes *b)
{
  b->at = b->end;
  b->cut = true;
  return false;
}

// Makes the cursor end after the next n bytes, if there are so many.
static inline bool tide_eh_limit(struct tide_eh_bytes *b, uint64_t n)
{
  if (n > tide_eh_left(b))
    return tide_eh_cut(b);
  b->end = b->at + n;
  return true;
}

TIDE_HOT bool tide_eh_skip(struct tide_eh_bytes *b, uint64_t n)
{
  if (n > tide_eh_left(b))
    return tide_eh_cut(b);
  b->at += n;
  return true;
}

// Inlined, so that bytes is a constant and the copy an instruction.
TIDE_HOT uint64_t tide_eh_fixed(struct tide_eh_bytes *b, unsigned bytes)
{
  uint64_t value = 0;
  const uint8_t *from = b->at;
  if (tide_eh_skip(b, bytes))
    memcpy(&value, from, bytes); // both architectures are little endian
  return value;
}

// The bits of a LEB128, and how many there were.
static inline uint64_t tide_eh_leb(struct tide_eh_bytes *b, unsigned *ret_bits)
{
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte;
  do {
    byte = (uint8_t)tide_eh_fixed(b, 1);
    if (shift < 64) {
      value |= (uint64_t)(byte & 0x7f) << shift;
      shift += 7;
    }
  } while (byte & 0x80);
  *ret_bits = shift;
  return value;
}

// Almost all have one byte.
TIDE_HOT uint64_t tide_eh_uleb(struct tide_eh_bytes *b)
{
  unsigned bits;
  if (TIDE_LIKELY(b->at < b->end && *b->at < 0x80))
    return *b->at++;
  return tide_eh_leb(b, &bits);
}

static inline int64_t tide_eh_sleb(struct tide_eh_bytes *b)
{
  unsigned bits;
  uint64_t value = tide_eh_leb(b, &bits);
  if (bits < 64 && value >> (bits - 1) & 1)
    value |= ~0ull << bits;
  return (int64_t)value;
}

// A pointer (DW_EH_PE): the low nibble is the format, then comes what it is relative to. Indirect
// ones are refused: no linker makes them where we look, and a wrong one would lead anywhere.
static inline uint64_t tide_eh_pointer(struct tide_eh_bytes *b, uint8_t encoding,
                                       uint64_t data_base)
{
  enum { OMITTED = 0xff, INDIRECT = 0x80 };
  if (encoding == OMITTED)
    return 0;
  uint64_t base = (encoding & 0x70) == 0x10   ? (uint64_t)b->at
                  : (encoding & 0x70) == 0x30 ? data_base
                                              : 0;
  uint64_t value;
  switch (encoding & 0xf) {
  case 1: value = tide_eh_uleb(b); break;
  case 2: value = tide_eh_fixed(b, 2); break;
  case 3: value = tide_eh_fixed(b, 4); break;
  case 9: value = (uint64_t)tide_eh_sleb(b); break;
  case 10: value = (uint64_t)(int64_t)(int16_t)tide_eh_fixed(b, 2); break;
  case 11: value = (uint64_t)(int64_t)(int32_t)tide_eh_fixed(b, 4); break;
  default: value = tide_eh_fixed(b, 8); break;
  }
  if (encoding & INDIRECT)
    tide_eh_cut(b);
  return value && !b->cut ? value + base : 0;
}
