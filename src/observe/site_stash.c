// SPDX-License-Identifier: Apache-2.0
//
// A site is a mask of its words that are not zero, these words and the counts of its buckets, all
// varints, up to a multiple of four bytes, which are the unit of places.
#include "observe/site_stash.h"

#include "base/alloc.h"
#include "model/image_sums.h"

#define UNIT 4u

enum word {
  WORD_STACK,
  WORD_THREAD,
  WORD_SIZE_MASK,
  WORD_LIFE_MASK,
#define TIDE_NUMBER(field, ...) WORD_##field,
#include "model/numbers.def"
  N_WORDS
};
_Static_assert(N_WORDS <= 64, "a bit for each");

void tide_site_stash_done(struct tide_site_stash *stash)
{
  tide_buf_done(&stash->bytes);
}

bool tide_site_stash_has(const struct tide_site_stash *stash, uint32_t place)
{
  return (size_t)place * UNIT < stash->bytes.n;
}

// Times are small since something near; modulo 2^64, whatever they are.
static void tell_times_apart(uint64_t *words, const struct tide_image *image)
{
  words[WORD_last_ns] -= words[WORD_first_ns];
  words[WORD_first_ns] -= image->start_ns;
}

static void tell_times(uint64_t *words, const struct tide_image *image)
{
  words[WORD_first_ns] += image->start_ns;
  words[WORD_last_ns] += words[WORD_first_ns];
}

static void put_words(struct tide_buf *out, const uint64_t *words)
{
  uint64_t mask = 0;
  for (unsigned i = 0; i < N_WORDS; i++)
    mask |= (uint64_t)(words[i] != 0) << i;
  tide_buf_varint(out, mask);
  for (; mask; mask &= mask - 1)
    tide_buf_varint(out, words[__builtin_ctzll(mask)]);
}

uint32_t tide_site_stash_put(struct tide_site_stash *stash, const struct tide_image *image,
                             const struct tide_site *site)
{
  struct tide_buf *out = &stash->bytes;
  uint64_t place = out->n / UNIT;
  if (place >= TIDE_STASH_NONE)
    return TIDE_STASH_NONE;
  uint64_t words[N_WORDS] = {
      [WORD_STACK] = site->stack,
      [WORD_THREAD] = site->thread,
      [WORD_SIZE_MASK] = site->size_mask,
      [WORD_LIFE_MASK] = site->life_mask,
#define TIDE_NUMBER(field, ...) [WORD_##field] = (uint64_t)site->field,
#include "model/numbers.def"
  };
  tell_times_apart(words, image);
  put_words(out, words);
  const uint64_t *counts = tide_site_counts(image, site);
  for (unsigned k = 0, n_counts = tide_site_n_counts(site); k < n_counts; k++)
    tide_buf_varint(out, counts[k]);
  while (out->n % UNIT)
    tide_buf_u8(out, 0);
  return (uint32_t)place;
}

uint32_t tide_site_stash_get(const struct tide_site_stash *stash, uint32_t place,
                             struct tide_image *image, struct tide_site *ret_site)
{
  size_t from = (size_t)place * UNIT;
  struct tide_cursor in = tide_cursor_make(stash->bytes.data + from, stash->bytes.n - from);
  uint64_t words[N_WORDS] = {0};
  for (uint64_t mask = tide_cursor_varint(&in); mask; mask &= mask - 1)
    words[__builtin_ctzll(mask)] = tide_cursor_varint(&in);
  tell_times(words, image);
  *ret_site = (struct tide_site){
      .stack = (uint32_t)words[WORD_STACK],
      .thread = (uint32_t)words[WORD_THREAD],
      .size_mask = (uint32_t)words[WORD_SIZE_MASK],
      .life_mask = words[WORD_LIFE_MASK],
#define TIDE_NUMBER(field, type, ...) .field = (type)words[WORD_##field],
#include "model/numbers.def"
  };
  uint64_t *counts = tide_site_reserve_buckets(image, ret_site);
  for (unsigned k = 0, n_counts = tide_site_n_counts(ret_site); k < n_counts; k++)
    counts[k] = tide_cursor_varint(&in);
  size_t next = (size_t)(in.at - stash->bytes.data);
  return (uint32_t)((next + UNIT - 1) / UNIT);
}
