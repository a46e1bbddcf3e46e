// SPDX-License-Identifier: Apache-2.0
//
// Chunk by chunk through each heap. The process goes on meanwhile, so that a size may have changed
// under the walk: it then goes on at the next block that is known, or at the next place from which
// several chunks follow each other.
#include "residence/glibc.h"

#include "base/alloc.h"

#include <stdlib.h>

enum {
  IN_USE = 1,        // bit of a size: the chunk before is in use
  LEAST_FREE = 48,   // at the beginning of a free chunk stays what the lists need
  LEAST_TOP = 33,    // stays at the top
  ENOUGH_CHUNKS = 8, // in a row: not by chance
  MAX_CACHED = 1 << 22,
  MAX_TRIED = 64, // known blocks, when the walk has lost its way
};

struct walking {
  struct tide_glibc *glibc;
  struct tide_ledger *ledger;
  struct tide_recorded *recorded;
  const struct tide_glibc_heap *heap;
  struct tide_space_window window;
  uint64_t free_from; // the first of the free chunks in a row that we are behind; 0: none
  struct tide_addresses caches, cached; // of threads, and the chunks in them
};

static struct tide_residence *table_of(const struct walking *w)
{
  return w->ledger->to;
}

static uint64_t size_word(struct walking *w, uint64_t chunk)
{
  uint64_t word = 0;
  tide_space_word(w->ledger->space, &w->window, chunk + 8, &word);
  return word;
}

static uint64_t round_up(uint64_t n, uint64_t unit)
{
  return (n + unit - 1) / unit * unit;
}

// ---- what a trim gives back ----

// Free chunks in a row become one; of that, whole pages are given back.
static void end_free(struct walking *w, uint64_t end)
{
  struct tide_space *space = w->ledger->space;
  uint64_t from = w->free_from, page = space->page_bytes;
  w->free_from = 0;
  if (!from || end - from <= page - 1 + LEAST_FREE)
    return;
  uint64_t lo = round_up(from + LEAST_FREE, page), hi = end / page * page;
  uint64_t bytes = hi > lo ? tide_space_resident(space, lo, hi) : 0;
  table_of(w)->trim += bytes;
  table_of(w)->arenas[w->heap->arena].trim += bytes;
}

// Only the main arena's is cut. Chunks of fast bins before it become part of it, in any arena.
static void tell_top(struct walking *w)
{
  struct tide_space *space = w->ledger->space;
  const struct tide_glibc_heap *heap = w->heap;
  struct tide_residence_arena *arena = &table_of(w)->arenas[heap->arena];
  uint64_t from = w->free_from ? w->free_from : heap->top;
  w->free_from = 0;
  if (arena->is_main) {
    uint64_t unit = w->glibc->trims_huge ? UINT64_C(2) << 20 : space->page_bytes;
    uint64_t more = heap->hi - from > LEAST_TOP ? (heap->hi - from - LEAST_TOP) / unit * unit : 0;
    arena->trim_top = tide_space_resident(space, heap->hi - more, heap->hi);
    table_of(w)->trim_top += arena->trim_top;
  } else {
    uint64_t lo = round_up(from + 32, space->page_bytes);
    table_of(w)->thread_tops += lo < heap->hi ? tide_space_resident(space, lo, heap->hi) : 0;
  }
  tide_ledger_span(w->ledger, heap->top + 8, heap->hi, TIDE_RESIDENCE_TOP, TIDE_NO_SITE);
}

static uint64_t chunk_end(const struct walking *w, uint64_t chunk, uint64_t size)
{
  uint64_t end = chunk + size + 8;
  return end < w->heap->hi ? end : w->heap->hi;
}

// ---- caches of threads ----

// A cache is a chunk that nobody asked for, with the heads of its lists: 64 of them behind as many
// counts, from 2.42 on 76. Each leads to blocks of its size, which the heap has in use.
static uint32_t lists_of(uint64_t size)
{
  return size == 0x290 ? 64 : size == 0x300 ? 76 : 0;
}

static bool is_in_list(struct tide_space *space, uint64_t block, uint32_t list, uint64_t *ret_link)
{
  uint64_t words[2]; // its size, and the link at its beginning: in one piece, as there are many
  if (block % 16 || !tide_space_read(space, block - 8, words, sizeof words))
    return false;
  *ret_link = words[1];
  return list >= 64 || (words[0] & ~7ull) == 32 + 16 * (uint64_t)list;
}

static void read_list(struct tide_space *space, uint64_t block, uint32_t list,
                      struct tide_addresses *cached)
{
  uint64_t link;
  while (block && cached->n < MAX_CACHED && is_in_list(space, block, list, &link)) {
    tide_addresses_add(cached, block - 16);
    block = link ^ block >> 12;
  }
}

static void read_cache(struct walking *w, uint64_t chunk, uint64_t size)
{
  struct tide_space *space = w->ledger->space;
  uint64_t words[96], link;
  uint32_t n = lists_of(size), first = n * 2 / 8, used = 0;
  if (!n || !tide_space_read(space, chunk + 16, words, (first + n) * sizeof *words))
    return;
  for (uint32_t i = 0; i < n; i++) {
    if (words[first + i] && !is_in_list(space, words[first + i], i, &link))
      return;
    used += words[first + i] != 0;
  }
  for (uint32_t i = 0; i < n; i++)
    read_list(space, words[first + i], i, &w->cached);
  if (used)
    tide_addresses_add(&w->caches, chunk);
}

// The walk told it as in use by somebody unknown; now it is known what it is.
static void tell_again(struct walking *w, uint64_t chunk, enum tide_residence_kind kind)
{
  uint64_t *rows = table_of(w)->rows, size = size_word(w, chunk) & ~7ull;
  if (!tide_chunk_is_plausible(chunk, size, w->heap->hi) ||
      tide_recorded_at(w->recorded, chunk + 16))
    return;
  uint64_t bytes = tide_space_resident(w->ledger->space, chunk + 8, chunk_end(w, chunk, size));
  if (bytes > rows[TIDE_RESIDENCE_UNRECORDED])
    return; // the process went on meanwhile
  rows[TIDE_RESIDENCE_UNRECORDED] -= bytes;
  rows[kind] += bytes;
}

static void tell_all_again(struct walking *w, struct tide_addresses *chunks,
                           enum tide_residence_kind kind)
{
  tide_addresses_sort(chunks);
  for (size_t i = 0; i < w->glibc->n_heaps; i++) {
    w->heap = &w->glibc->heaps[i];
    size_t k = tide_addresses_from(chunks, w->heap->first);
    for (; k < chunks->n && chunks->items[k] < w->heap->hi; k++)
      if (!k || chunks->items[k] != chunks->items[k - 1])
        tell_again(w, chunks->items[k], kind);
  }
  free(chunks->items);
}

// ---- chunks ----

static void tell_in_use(struct walking *w, uint64_t chunk, uint64_t size)
{
  const struct tide_recorded_block *block = tide_recorded_at(w->recorded, chunk + 16);
  uint64_t end = chunk_end(w, chunk, size);
  if (block) {
    uint64_t hi = block->hi < end ? block->hi : end; // it may be another one by now
    tide_ledger_span(w->ledger, chunk + 8, chunk + 16, TIDE_RESIDENCE_ROUNDING, block->site);
    tide_ledger_span(w->ledger, chunk + 16, hi, TIDE_RESIDENCE_BLOCKS, block->site);
    tide_ledger_span(w->ledger, hi, end, TIDE_RESIDENCE_ROUNDING, block->site);
    return;
  }
  tide_ledger_span(w->ledger, chunk + 8, end, TIDE_RESIDENCE_UNRECORDED, TIDE_NO_SITE);
  read_cache(w, chunk, size);
}

static void tell_chunk(struct walking *w, uint64_t chunk, uint64_t size, bool in_use)
{
  if (in_use && !tide_marks_have(&w->glibc->fast, chunk)) {
    end_free(w, chunk);
    tell_in_use(w, chunk, size);
    return;
  }
  if (!w->free_from)
    w->free_from = chunk;
  tide_ledger_span(w->ledger, chunk + 8, chunk_end(w, chunk, size), TIDE_RESIDENCE_FREE,
                   TIDE_NO_SITE);
}

// ---- where the walk goes on ----

static bool begins_a_row(struct walking *w, uint64_t chunk)
{
  for (int i = 0; i < ENOUGH_CHUNKS; i++) {
    if (chunk == w->heap->top)
      return true;
    uint64_t size = size_word(w, chunk) & ~7ull;
    if (!tide_chunk_is_plausible(chunk, size, w->heap->hi))
      return false;
    chunk += size;
  }
  return true;
}

// 0: nowhere.
static uint64_t next_chunk(struct walking *w, uint64_t from)
{
  struct tide_recorded *recorded = w->recorded;
  uint64_t hi = w->heap->hi, at = round_up(from, 16);
  const struct tide_recorded_block *block = tide_recorded_from(recorded, from + 16);
  for (int i = 0; i < MAX_TRIED && block && block->lo < hi; i++) {
    if (block->lo % 16 == 0 && begins_a_row(w, block->lo - 16))
      hi = block->lo - 16;
    else
      block = tide_recorded_next(recorded);
  }
  // Before the next block that is known, or anywhere.
  for (uint64_t stop = hi; at < stop; at += 16) {
    struct tide_space *space = w->ledger->space;
    size_t run = tide_space_run_at(space, at + 8);
    if (run == space->n_runs || space->runs[run].lo >= stop)
      break;
    if (space->runs[run].lo > at + 8)
      at = space->runs[run].lo;
    if (at < stop && begins_a_row(w, at))
      return at;
  }
  return hi < w->heap->hi ? hi : 0;
}

// What is skipped is in use, as far as anybody knows.
static uint64_t skip(struct walking *w, uint64_t chunk)
{
  uint64_t next = next_chunk(w, chunk + 16), end = next ? next + 8 : w->heap->hi;
  if (chunk != w->heap->first) {
    table_of(w)->n_resyncs++;
    table_of(w)->skipped += tide_space_resident(w->ledger->space, chunk + 8, end);
  }
  tide_ledger_span(w->ledger, chunk + 8, end, TIDE_RESIDENCE_UNRECORDED, TIDE_NO_SITE);
  return next;
}

static void walk_heap(struct walking *w)
{
  const struct tide_glibc_heap *heap = w->heap;
  uint64_t chunk = heap->first;
  w->free_from = 0;
  tide_ledger_span(w->ledger, heap->lo, chunk + 8, TIDE_RESIDENCE_ALLOCATOR, TIDE_NO_SITE);
  while (chunk && chunk != heap->top && chunk < heap->hi) { // the top may have moved
    uint64_t size = size_word(w, chunk) & ~7ull, next = chunk + size;
    if (!heap->top && chunk + 64 >= heap->hi) { // the fence at the end of a full heap
      end_free(w, chunk);
      tide_ledger_span(w->ledger, chunk + 8, heap->hi, TIDE_RESIDENCE_ALLOCATOR, TIDE_NO_SITE);
      return;
    }
    if (!tide_chunk_is_plausible(chunk, size, heap->hi)) {
      end_free(w, chunk);
      chunk = skip(w, chunk);
      continue;
    }
    bool in_use = next + 16 > heap->hi || size_word(w, next) & IN_USE;
    tell_chunk(w, chunk, size, in_use);
    chunk = next;
  }
  if (chunk == heap->top && chunk)
    tell_top(w);
  end_free(w, heap->hi);
}

// ---- all heaps ----

static uint64_t in_use(const struct tide_residence *table)
{
  return table->rows[TIDE_RESIDENCE_BLOCKS] + table->rows[TIDE_RESIDENCE_ROUNDING] +
         table->rows[TIDE_RESIDENCE_UNRECORDED];
}

void tide_glibc_walk(struct tide_glibc *glibc, struct tide_ledger *ledger,
                     struct tide_recorded *recorded)
{
  struct walking w = {.glibc = glibc, .ledger = ledger, .recorded = recorded};
  struct tide_residence *table = ledger->to;
  for (size_t i = 0; i < glibc->n_heaps; i++) {
    struct tide_residence_arena *arena = &table->arenas[glibc->heaps[i].arena];
    uint64_t used = in_use(table), freed = table->rows[TIDE_RESIDENCE_FREE];
    uint64_t top = table->rows[TIDE_RESIDENCE_TOP];
    w.heap = &glibc->heaps[i];
    tide_ledger_begin_heap(ledger);
    walk_heap(&w);
    tide_ledger_end_heap(ledger);
    arena->in_use += in_use(table) - used;
    arena->free += table->rows[TIDE_RESIDENCE_FREE] - freed;
    arena->top += table->rows[TIDE_RESIDENCE_TOP] - top;
  }
  tell_all_again(&w, &w.caches, TIDE_RESIDENCE_ALLOCATOR);
  tell_all_again(&w, &w.cached, TIDE_RESIDENCE_CACHED);
  tide_space_window_done(&w.window);
}
