// SPDX-License-Identifier: Apache-2.0
//
// Chunks in fast bins are free, but nothing at the chunk says so: one has to follow the lists. Any
// number may be in them, so a chunk is kept as a bit. A list often leads from one chunk to its
// neighbour, and then what is around them is read at once.
#include "residence/glibc.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
  PIECE_BITS = 19, // of the addresses that a piece of marks is for: a bit for every 16 bytes
  PIECE_WORDS = (1 << PIECE_BITS) / 16 / 64,
  AROUND_BYTES = 1 << 15,
};

struct tide_marks_piece {
  uint64_t number; // of its addresses
  uint64_t words[PIECE_WORDS];
};

// ---- marks ----

static bool is_piece(const void *table, uint32_t id, const void *key)
{
  const struct tide_marks *marks = table;
  const uint64_t *number = key;
  return marks->pieces[id]->number == *number;
}

static struct tide_marks_piece *find_piece(struct tide_marks *marks, uint64_t address)
{
  uint64_t number = address >> PIECE_BITS;
  if (marks->latest && marks->latest->number == number)
    return marks->latest;
  uint32_t id =
      tide_id_index_find(&marks->index, tide_hash_word(0, number), is_piece, marks, &number);
  return id == UINT32_MAX ? NULL : (marks->latest = marks->pieces[id]);
}

static struct tide_marks_piece *add_piece(struct tide_marks *marks, uint64_t address)
{
  struct tide_marks_piece *piece = tide_alloc(sizeof *piece);
  piece->number = address >> PIECE_BITS;
  TIDE_GROW(marks->pieces, marks->n, marks->cap);
  tide_id_index_add(&marks->index, tide_hash_word(0, piece->number), (uint32_t)marks->n);
  marks->pieces[marks->n++] = piece;
  return marks->latest = piece;
}

static size_t bit_of(uint64_t address)
{
  return (address & ((1u << PIECE_BITS) - 1)) / 16;
}

// False: it has been marked before.
static bool mark(struct tide_marks *marks, uint64_t address)
{
  struct tide_marks_piece *piece = find_piece(marks, address);
  size_t bit = bit_of(address);
  if (!piece)
    piece = add_piece(marks, address);
  uint64_t *word = &piece->words[bit / 64], before = *word;
  *word |= UINT64_C(1) << bit % 64;
  return *word != before;
}

bool tide_marks_have(struct tide_marks *marks, uint64_t address)
{
  const struct tide_marks_piece *piece = marks->n ? find_piece(marks, address) : NULL;
  size_t bit = bit_of(address);
  return piece && piece->words[bit / 64] >> bit % 64 & 1;
}

void tide_marks_done(struct tide_marks *marks)
{
  for (size_t i = 0; i < marks->n; i++)
    free(marks->pieces[i]);
  free(marks->pieces);
  tide_id_index_done(&marks->index);
  *marks = (struct tide_marks){0};
}

// ---- lists ----

struct following {
  struct tide_space *space;
  uint64_t lo, hi, before; // what is around; where the word was that was read last
  char around[AROUND_BYTES];
};

// The most of it lies where the list goes to.
static void read_around(struct following *f, uint64_t at)
{
  uint64_t page = f->space->page_bytes, most = at > f->before ? page : AROUND_BYTES - 2 * page;
  const struct tide_space_run *run = &f->space->runs[tide_space_run_at(f->space, at)];
  uint64_t lo = at - most > at ? 0 : (at - most) / page * page;
  f->lo = f->hi = 0;
  if (run == f->space->runs + f->space->n_runs || run->lo > at)
    return;
  lo = lo > run->lo ? lo : run->lo;
  uint64_t hi = run->hi - lo < AROUND_BYTES ? run->hi : lo + AROUND_BYTES;
  if (!tide_space_read(f->space, lo, f->around, (size_t)(hi - lo)))
    return;
  f->lo = lo;
  f->hi = hi;
}

static bool read_link(struct following *f, uint64_t at, uint64_t *ret_link)
{
  uint64_t far = at > f->before ? at - f->before : f->before - at;
  if ((at < f->lo || at + sizeof *ret_link > f->hi) && far < AROUND_BYTES / 2)
    read_around(f, at);
  f->before = at;
  if (at < f->lo || at + sizeof *ret_link > f->hi)
    return tide_space_read(f->space, at, ret_link, sizeof *ret_link);
  memcpy(ret_link, f->around + (at - f->lo), sizeof *ret_link);
  return true;
}

// Links are hidden: each is mixed with its own address. A list that leads back into itself ends.
static void follow(struct following *f, uint64_t chunk, struct tide_marks *marks)
{
  uint64_t link;
  while (chunk && chunk % 16 == 0 && mark(marks, chunk) && read_link(f, chunk + 16, &link))
    chunk = link ^ (chunk + 16) >> 12;
}

void tide_fast_bins_read(struct tide_space *space, const uint64_t *heads, size_t n,
                         struct tide_marks *marks)
{
  struct following f = {.space = space};
  for (size_t i = 0; i < n; i++)
    follow(&f, heads[i], marks);
}
