// SPDX-License-Identifier: Apache-2.0
//
// A cell is packed as the words of its struct that are not zero: their number, and of each how many
// words lie between it and the one before, and its value, all varints. A cell to which something is
// added is packed anew behind all others.
#define _GNU_SOURCE
#include "observe/before.h"

#include "base/alloc.h"
#include "observe/store_view.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = sizeof(struct tide_before_cell) / sizeof(uint64_t) };

struct taking {
  struct tide_before *before;
  struct tide_store_view *view;
  const struct tide_intervals *intervals;
};

static void add_tally(struct tide_tally *sum, const struct tide_tally *more)
{
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

static void put_cell(struct tide_before *before, uint32_t cell, const struct tide_before_cell *had)
{
  uint64_t words[WORDS], n = 0;
  memcpy(words, had, sizeof words);
  for (unsigned i = 0; i < WORDS; i++)
    n += words[i] != 0;
  if (!n)
    return;
  before->places[cell] = before->bytes.n;
  tide_buf_varint(&before->bytes, n);
  for (unsigned i = 0, next = 0; i < WORDS; i++) {
    if (!words[i])
      continue;
    tide_buf_varint(&before->bytes, i - next);
    tide_buf_varint(&before->bytes, words[i]);
    next = i + 1;
  }
}

bool tide_before_cell(const struct tide_before *before, uint32_t cell, struct tide_before_cell *ret)
{
  uint64_t words[WORDS] = {0}, place = cell < before->n_places ? before->places[cell] : 0;
  if (!place)
    return false;
  struct tide_cursor in = tide_cursor_make(before->bytes.data + place, before->bytes.n - place);
  uint64_t n = tide_cursor_varint(&in), at = 0;
  for (; n; n--, at++) {
    at += tide_cursor_varint(&in);
    words[at < WORDS ? at : 0] = tide_cursor_varint(&in);
  }
  memcpy(ret, words, sizeof *ret);
  return true;
}

void tide_before_histograms(const struct tide_whole_cell *whole, struct tide_before_cell *had)
{
  for (unsigned k = 0; whole->has_hist && k < TIDE_SIZE_BUCKETS; k++)
    had->sizes[k] = (uint64_t)whole->carry.size[k] << 32 | whole->hist.size[k];
  for (unsigned k = 0; whole->has_hist && k < TIDE_LIFE_BUCKETS; k++)
    had->lives[k] = (uint64_t)whole->carry.life[k] << 32 | whole->hist.life[k];
  struct tide_streak sizes = whole->cell.sizes, lives = whole->ends.lives;
  uint32_t life = tide_streak_bucket(lives);
  had->sizes[tide_streak_bucket(sizes) % TIDE_SIZE_BUCKETS] += tide_streak_count(sizes);
  had->lives[life < TIDE_LIFE_BUCKETS ? life : 0] += tide_streak_count(lives);
}

static struct tide_before_cell cell_as_it_is(const struct tide_whole_cell *whole,
                                             const struct tide_tally *seen)
{
  const struct tide_ends *ends = &whole->ends;
  const struct tide_past *past = &whole->past;
  struct tide_before_cell had = {
      .did = *seen,
      .high_bytes = (uint64_t)ends->high_bytes,
      .life_sum = ends->life_sum,
      .n_temp = ends->n_temp,
      .b_temp = ends->b_temp,
      .n_foreign = past->n_foreign,
      .n_resize = past->n_resize,
      .b_resize_old = past->b_resize_old,
      .b_resize_new = past->b_resize_new,
      .n_moved = past->n_moved,
      .b_moved = past->b_moved,
      .n_looked = whole->touches.n_looked,
      .b_looked = whole->touches.b_looked,
      .b_touched = whole->touches.b_touched,
      .n_samples = whole->spreads.n_samples,
      .alloc_blocks_spread = whole->spreads.alloc_blocks,
      .alloc_bytes_spread = whole->spreads.alloc_bytes,
  };
  tide_before_histograms(whole, &had);
  return had;
}

static void take_events(struct taking *t, uint32_t id, const struct tide_cell *cell)
{
  struct tide_before_cell had = {0};
  if (tide_events_read(t->view, cell, &had.n_events, &had.events_weight))
    put_cell(t->before, id, &had);
}

static void take_block(void *context, const struct tide_cell_block *block)
{
  struct taking *t = context;
  struct tide_whole_cell whole;
  for (uint32_t i = 0; i < block->n; i++) {
    uint32_t stack = block->owners[i].stack, id = block->first + i;
    if (!stack || id >= t->before->n_places)
      continue;
    if (!(block->cells[i].n_alloc || block->cells[i].n_free)) {
      if (block->owners[i].family == TIDE_FAMILY_EVENTS)
        take_events(t, id, &block->cells[i]);
      continue;
    }
    struct tide_tally seen = tide_interval_seen(t->intervals, id);
    tide_whole_cell_read(t->view, block, i, true, &whole);
    struct tide_before_cell had = cell_as_it_is(&whole, &seen);
    put_cell(t->before, id, &had);
    if (t->view->kinds[stack] == TIDE_SITE_PAGES)
      continue;
    add_tally(&t->before->heap, &seen);
    t->before->resizes.n += had.n_resize;
    t->before->resizes.b_old += had.b_resize_old;
    t->before->resizes.b_new += had.b_resize_new;
  }
}

struct tide_before *tide_before_new(struct tide_store_view *view,
                                    const struct tide_intervals *intervals, uint64_t time_ns)
{
  struct tide_before *before = tide_alloc(sizeof *before);
  before->time_ns = time_ns;
  before->header = view->header;
  before->n_places = view->header.n_cells;
  before->places = tide_alloc_array(before->n_places + 1, sizeof *before->places);
  tide_buf_u8(&before->bytes, 0); // place 0 is nobody's
  struct taking taking = {before, view, intervals};
  tide_store_view_cells(view, take_block, &taking);
  return before;
}

void tide_before_free(struct tide_before *before)
{
  if (!before)
    return;
  tide_buf_done(&before->bytes);
  free(before->places);
  free(before);
}

void tide_before_add(struct tide_before *before, uint32_t cell, bool is_heap,
                     const struct tide_tally *more)
{
  struct tide_before_cell had = {0};
  tide_before_cell(before, cell, &had);
  add_tally(&had.did, more);
  if (cell >= before->n_places) { // made right then
    uint32_t n = before->n_places;
    before->n_places = cell + 1;
    before->places = tide_realloc_array(before->places, before->n_places, sizeof *before->places);
    memset(before->places + n, 0, (before->n_places - n) * sizeof *before->places);
  }
  put_cell(before, cell, &had);
  if (is_heap)
    add_tally(&before->heap, more);
}
