// SPDX-License-Identifier: Apache-2.0
//
// Words of the stack that a capture depends on, and whether they are still what they were. Nothing
// branches from one word to the next: independent loads, and what differs is gathered.
#pragma once
#include "rt/base.h"

struct tide_word {
  uint64_t slot, value;
};

#define TIDE_CHANGED(w) (*(uint64_t *)(w).slot ^ (w).value)

// The bits in which the stack differs from words, a multiple of four.
TIDE_HOT uint64_t tide_words_changed(const struct tide_word *w, const struct tide_word *end)
{
  uint64_t a = 0, b = 0;
  for (; w < end; w += 4) {
    a |= TIDE_CHANGED(w[0]) | TIDE_CHANGED(w[1]);
    b |= TIDE_CHANGED(w[2]) | TIDE_CHANGED(w[3]);
  }
  return a | b;
}

// A word in eight bytes, which are compared faster: 48 bits of its value, and above them where it
// is, in words from a base. By the words nearer to the leaf it is known that an address was saved
// there, and addresses have no more bits.
enum { TIDE_ADDRESS_BITS = 48, TIDE_WHERE_BITS = 64 - TIDE_ADDRESS_BITS };

// False: it is too far away.
static inline bool tide_word_pack(struct tide_word w, uint64_t base, uint64_t *ret_packed)
{
  uint64_t bytes = w.slot - base, where = bytes / 8;
  *ret_packed = where << TIDE_ADDRESS_BITS | w.value << TIDE_WHERE_BITS >> TIDE_WHERE_BITS;
  return !(where >> TIDE_WHERE_BITS) && !(bytes % 8);
}

static inline struct tide_word tide_word_unpack(uint64_t packed, uint64_t base)
{
  return (struct tide_word){base + (packed >> TIDE_ADDRESS_BITS) * 8,
                            packed << TIDE_WHERE_BITS >> TIDE_WHERE_BITS};
}

// The bits in which the stack differs from four packed words, shifted by TIDE_WHERE_BITS once they
// are all gathered: above them is where the words are.
TIDE_HOT uint64_t tide_four_changed(const uint64_t *w, uint64_t base)
{
#define CHANGED(packed) (((const uint64_t *)base)[(packed) >> TIDE_ADDRESS_BITS] ^ (packed))
  return (CHANGED(w[0]) | CHANGED(w[1])) | (CHANGED(w[2]) | CHANGED(w[3]));
#undef CHANGED
}

// The bits in which the stack differs from packed words, a multiple of four.
TIDE_HOT uint64_t tide_packed_changed(const uint64_t *w, const uint64_t *end, uint64_t base)
{
  uint64_t changed = 0;
  for (; w < end; w += 4)
    changed |= tide_four_changed(w, base);
  return changed << TIDE_WHERE_BITS;
}
