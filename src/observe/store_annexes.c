// SPDX-License-Identifier: Apache-2.0
//
// Annexes are read in place where the store is mapped. Elsewhere a piece of the table is read at a
// time: annexes were made in about the order of their cells.
#include "observe/store_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_ANNEXES 64u
#define SPARE_ITEMS 4096u

void tide_store_map_done(struct tide_store_map *map)
{
  if (map->base)
    munmap(map->base, map->base_bytes);
  if (map->near_base)
    munmap(map->near_base, map->near_base_bytes);
  *map = (struct tide_store_map){0};
}

// So many bytes from an offset on, which need not be where a page begins; NULL: they cannot be had.
static const char *map_bytes(const struct tide_store_view *view, uint64_t offset, uint64_t bytes,
                             void **ret_base, size_t *ret_base_bytes)
{
  uint64_t slack = offset % (uint64_t)sysconf(_SC_PAGESIZE);
  void *base = mmap(NULL, bytes + slack, PROT_READ, MAP_SHARED, view->fd, (off_t)(offset - slack));
  if (base == MAP_FAILED)
    return NULL;
  *ret_base = base;
  *ret_base_bytes = bytes + slack;
  return (const char *)base + slack;
}

// Twice as much as there is, as it will grow; the rest of the table is address space for nothing.
void tide_store_map_cover(const struct tide_store_view *view, const struct tide_area *area,
                          size_t bytes_each, uint64_t n, struct tide_store_map *map)
{
  if (map->items && map->n >= n)
    return;
  tide_store_map_done(map);
  uint64_t want = 2 * n + SPARE_ITEMS, have = want < area->capacity ? want : area->capacity;
  struct tide_store_map made = {.n = have, .n_near = area->n_near};
  made.items = map_bytes(view, area->offset, have * bytes_each, &made.base, &made.base_bytes);
  if (area->n_near)
    made.near_items = map_bytes(view, area->near_offset, area->n_near * bytes_each, &made.near_base,
                                &made.near_base_bytes);
  if (made.items && (made.near_items || !area->n_near))
    *map = made;
  else
    tide_store_map_done(&made);
}

void tide_store_annexes_forget(struct tide_store_view *view)
{
  struct tide_store_annexes *all[] = {&view->ends, &view->pasts, &view->hists, &view->touches};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    free(all[i]->piece);
    all[i]->piece = NULL;
  }
}

void tide_store_annexes_done(struct tide_store_view *view)
{
  tide_store_annexes_forget(view);
  tide_store_map_done(&view->ends.map);
  tide_store_map_done(&view->pasts.map);
  tide_store_map_done(&view->hists.map);
  tide_store_map_done(&view->touches.map);
}

// NULL: there is no such annex. Valid until the next of its kind is asked for. Of a piece only
// those are read that were handed out when the header was read, unless a later one is asked for: a
// short process has a few annexes.
static const void *annex_at(const struct tide_store_view *view, struct tide_store_annexes *annexes,
                            const struct tide_area *area, size_t bytes_each, uint32_t id,
                            uint32_t n_told)
{
  if (!id || id >= area->capacity)
    return NULL;
  if (annexes->map.items)
    return tide_store_map_at(&annexes->map, id, bytes_each);
  uint64_t first = id / PIECE_ANNEXES * PIECE_ANNEXES;
  if (!annexes->piece || annexes->first != first || id - first >= annexes->n) {
    bool is_told = id < n_told && n_told - first < PIECE_ANNEXES;
    annexes->n = is_told ? n_told - (uint32_t)first : PIECE_ANNEXES;
    annexes->first = first;
    annexes->piece = tide_realloc_array(annexes->piece, annexes->n, bytes_each);
    tide_store_view_items(view, area, bytes_each, first, annexes->piece, annexes->n);
  }
  return (const char *)annexes->piece + (id - first) * bytes_each;
}

static const struct tide_ends *ends_at(struct tide_store_view *view, const struct tide_cell *cell)
{
  struct tide_streak sizes = {__atomic_load_n(&cell->sizes.word, __ATOMIC_ACQUIRE)};
  return annex_at(view, &view->ends, &view->areas.ends, sizeof(struct tide_ends),
                  tide_streak_annex(sizes), view->header.n_ends);
}

static const struct tide_past *past_at(struct tide_store_view *view, const struct tide_ends *ends)
{
  uint32_t id = __atomic_load_n(&ends->past, __ATOMIC_ACQUIRE);
  return annex_at(view, &view->pasts, &view->areas.pasts, sizeof(struct tide_past), id,
                  view->header.n_pasts);
}

static const struct tide_touches *touches_at(struct tide_store_view *view,
                                             const struct tide_ends *ends)
{
  uint32_t id = __atomic_load_n(&ends->touches, __ATOMIC_ACQUIRE);
  return annex_at(view, &view->touches, &view->areas.touches, sizeof(struct tide_touches), id,
                  view->header.n_touches);
}

// A single that has no closing is one whose block ended in the interval of its birth.
static struct tide_closing closing_of_single(const struct tide_cell *cell, uint32_t interval)
{
  if (TIDE_SINGLE_BORN(interval) == TIDE_SINGLE_ENDED(interval))
    return (struct tide_closing){0};
  return (struct tide_closing){
      .n_alloc = 1, .b_alloc = cell->b_alloc, .interval = TIDE_SINGLE_BORN(interval)};
}

void tide_closings_read(struct tide_store_view *view, const struct tide_cell *cell,
                        struct tide_stamp stamp, struct tide_closing ret[2])
{
  ret[0] = ret[1] = (struct tide_closing){0};
  if (stamp.interval & TIDE_SINGLE) {
    ret[0] = closing_of_single(cell, stamp.interval);
    return;
  }
  const struct tide_ends *ends = ends_at(view, cell);
  const struct tide_past *past = ends ? past_at(view, ends) : NULL;
  if (past)
    memcpy(ret, past->closings, sizeof past->closings);
}

bool tide_resizes_read(struct tide_store_view *view, const struct tide_cell *cell,
                       struct tide_past *ret)
{
  const struct tide_ends *ends = tide_streak_annex(cell->sizes) ? ends_at(view, cell) : NULL;
  const struct tide_past *past = ends ? past_at(view, ends) : NULL;
  if (past && view->header.sample_bits)
    return false;
  if (past)
    *ret = *past;
  return past;
}

bool tide_events_read(struct tide_store_view *view, const struct tide_cell *cell, uint64_t *ret_n,
                      uint64_t *ret_weight)
{
  const struct tide_ends *ends = tide_streak_annex(cell->sizes) ? ends_at(view, cell) : NULL;
  if (!ends || !ends->n_events)
    return false;
  *ret_n = ends->n_events;
  *ret_weight = ends->w_events;
  return true;
}

static uint32_t life_bucket(uint64_t ticks)
{
  uint32_t bits = ticks ? 64 - (uint32_t)__builtin_clzll(ticks) : 0;
  return bits < TIDE_LIFE_BUCKETS ? bits : TIDE_LIFE_BUCKETS - 1;
}

// Its only event may be under way: until the block's end is counted it is live, and until the
// single is whole its lifetime is not known.
static void unfold(struct tide_whole_cell *w)
{
  uint32_t bits = w->cell.stamp.interval;
  bool at_peak = bits & TIDE_SINGLE_AT_PEAK, temporary = bits & TIDE_SINGLE_TEMPORARY;
  bool has_life = bits & TIDE_SINGLE_WHOLE;
  uint64_t bytes = w->cell.b_alloc, life = has_life ? w->cell.birth_live_sum : 0;
  w->ends.peak_bytes = at_peak ? (int64_t)bytes : 0;
  w->ends.peak_blocks = at_peak;
  w->past.closings[0] = closing_of_single(&w->cell, bits);
  w->cell.stamp.interval = TIDE_SINGLE_ENDED(bits);
  if (!w->cell.n_free)
    return;
  w->cell.birth_live_sum = 0;
  w->ends.high_bytes = (int64_t)bytes;
  w->ends.life_sum = life;
  w->ends.lives = tide_streak_make(0, life_bucket(life), has_life);
  w->ends.n_temp = temporary;
  w->ends.b_temp = temporary ? bytes : 0;
}

static void read_hist(struct tide_store_view *view, bool with_carries, struct tide_whole_cell *w)
{
  uint32_t id = tide_streak_annex(w->ends.lives);
  const struct tide_hist *hist =
      annex_at(view, &view->hists, &view->areas.hists, sizeof *hist, id, view->header.n_hists);
  w->has_hist = hist;
  if (!hist)
    return;
  w->hist = *hist;
  w->carry = (struct tide_hist){0};
  if (with_carries)
    tide_store_view_items(view, &view->areas.carries, sizeof w->carry, id, &w->carry, 1);
}

// Runs are of temporaries.
static void add_ended(struct tide_store_view *view, uint32_t id, struct tide_whole_cell *w)
{
  uint64_t n, bytes;
  if (!tide_store_pairs_ended(view, id, w->cell.stamp.interval, &n, &bytes))
    return;
  if (!w->has_hist)
    w->hist = w->carry = (struct tide_hist){0};
  w->has_hist = true;
  w->ends.n_temp += n;
  w->ends.b_temp += bytes;
  uint64_t lives = w->hist.life[0] + n;
  w->hist.life[0] = (uint32_t)lives;
  w->carry.life[0] += (uint32_t)(lives >> 32);
}

// Where the ends and the past of other stores have temporaries and resizes.
static void take_spreads(struct tide_whole_cell *w)
{
  w->spreads = w->past.spreads;
  w->past.spreads = (struct tide_spreads){0};
  w->peak_blocks_spread = w->ends.peak_blocks_spread;
  w->peak_bytes_spread = w->ends.peak_bytes_spread;
  w->ends.n_temp = w->ends.b_temp = 0;
}

void tide_whole_cell_read(struct tide_store_view *view, const struct tide_cell_block *block,
                          uint32_t i, bool with_carries, struct tide_whole_cell *ret)
{
  ret->cell = block->cells[i];
  ret->ends = (struct tide_ends){0};
  ret->past = (struct tide_past){0};
  ret->touches = (struct tide_touches){0};
  ret->spreads = (struct tide_spreads){0};
  ret->peak_blocks_spread = ret->peak_bytes_spread = 0;
  ret->has_hist = false;
  ret->before = NULL;
  ret->before_blocks = ret->before_bytes = 0;
  if (ret->cell.stamp.interval & TIDE_SINGLE) {
    unfold(ret);
    return;
  }
  const struct tide_ends *ends = ends_at(view, &ret->cell);
  if (ends) {
    ret->ends = *ends;
    const struct tide_past *past = past_at(view, &ret->ends);
    if (past)
      ret->past = *past;
    const struct tide_touches *touches = touches_at(view, &ret->ends);
    if (touches)
      ret->touches = *touches;
    read_hist(view, with_carries, ret);
  }
  if (view->header.sample_bits)
    take_spreads(ret);
  add_ended(view, block->first + i, ret);
}
