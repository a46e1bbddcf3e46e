// SPDX-License-Identifier: Apache-2.0
//
// Annexes of cells, in chunks per thread. An annex is whole (all zeros, or filled) before its cell
// says where it is.
#include "store/annex.h"

// Of 64, 128 and 320 bytes: a chunk is two kilobytes or a little more, the first a quarter. Touches
// are of 32, and of few cells.
static uint32_t chunk_annexes(enum tide_annex_kind kind, bool first)
{
  static const uint8_t n[TIDE_ANNEX_KINDS] = {
      [TIDE_ENDS] = 32, [TIDE_PAST] = 16, [TIDE_HIST] = 8, [TIDE_TOUCHES] = 16};
  return first ? n[kind] / 4 : n[kind];
}

// 0: there is no room.
static uint32_t annex_next(struct tide_writer *w, enum tide_annex_kind kind)
{
  struct tide_annex_chunk *chunk = &w->annexes[kind];
  if (chunk->next == chunk->end) {
    uint32_t n = chunk_annexes(kind, !chunk->end), at = tide_annex_chunk(kind, n);
    if (!at) {
      tide_add_relaxed(&tide_store.header->n_lost_full, 1);
      return 0;
    }
    *chunk = (struct tide_annex_chunk){at, at + n};
  }
  return chunk->next++;
}

TIDE_COLD struct tide_ends *tide_ends_new(struct tide_writer *w, struct tide_cell *c)
{
  if (tide_cell_is_single(c)) {
    tide_cell_unfold(w, c);
    struct tide_ends *ends = tide_ends_find(c);
    return ends ? ends : tide_ends_at(0);
  }
  uint32_t id = annex_next(w, TIDE_ENDS);
  struct tide_streak s = c->sizes;
  tide_store_release(&c->sizes.word,
                     tide_streak_make(id, tide_streak_bucket(s), tide_streak_count(s)).word);
  return tide_ends_at(id * sizeof(struct tide_ends));
}

TIDE_COLD struct tide_past *tide_past_new(struct tide_writer *w, struct tide_ends *ends)
{
  uint32_t id = annex_next(w, TIDE_PAST);
  if (ends != tide_ends_at(0))
    tide_store_release(&ends->past, id);
  return tide_past_at(id);
}

TIDE_COLD struct tide_touches *tide_touches_of(struct tide_writer *w, struct tide_cell *c)
{
  struct tide_ends *ends = tide_ends_of(w, c);
  uint32_t id = tide_load_relaxed(&ends->touches);
  id &= (uint32_t)(tide_store.annex_mask / TIDE_STREAK_ANNEX_UNIT);
  if (!id) {
    id = annex_next(w, TIDE_TOUCHES);
    if (ends != tide_ends_at(0))
      tide_store_release(&ends->touches, id);
  }
  return tide_touches_at(id);
}

TIDE_COLD struct tide_hist *tide_hist_new(struct tide_writer *w, struct tide_ends *ends)
{
  uint32_t id = annex_next(w, TIDE_HIST);
  struct tide_streak s = ends->lives;
  if (ends != tide_ends_at(0))
    tide_store_release(&ends->lives.word,
                       tide_streak_make(id, tide_streak_bucket(s), tide_streak_count(s)).word);
  return tide_hist_at(id * sizeof(struct tide_hist));
}

void tide_cell_make_single(struct tide_cell *c, struct tide_stamp now, uint64_t life,
                           bool temporary)
{
  uint32_t born = c->stamp.interval & 0xfff;
  uint32_t at_peak = c->stamp.epoch != now.epoch ? TIDE_SINGLE_AT_PEAK : 0;
  now.interval = TIDE_SINGLE | at_peak | (temporary ? TIDE_SINGLE_TEMPORARY : 0) | born << 12 |
                 (now.interval & 0xfff);
  tide_store_relaxed(&c->stamp.both, now.both);
  __atomic_thread_fence(__ATOMIC_RELEASE); // as with a closing: see tide_book_close()
  c->n_free = 1;
  c->b_free = c->b_alloc;
  c->birth_live_sum = life;
  tide_store_release(&c->stamp.interval, now.interval | TIDE_SINGLE_WHOLE);
}

// The annexes are filled while the cell is still a single, of which nobody looks at annexes.
TIDE_COLD void tide_cell_unfold(struct tide_writer *w, struct tide_cell *c)
{
  struct tide_stamp s = c->stamp;
  uint64_t life = c->birth_live_sum;
  bool temporary = s.interval & TIDE_SINGLE_TEMPORARY, at_peak = s.interval & TIDE_SINGLE_AT_PEAK;
  uint32_t born = TIDE_SINGLE_BORN(s.interval), ended = TIDE_SINGLE_ENDED(s.interval);
  uint32_t id = annex_next(w, TIDE_ENDS);
  struct tide_ends *ends = tide_ends_at(id * sizeof *ends);
  *ends = (struct tide_ends){
      .high_bytes = (int64_t)c->b_alloc,
      .life_sum = life,
      .lives = tide_streak_make(0, tide_life_bucket(life), 1),
      .n_temp = temporary,
      .b_temp = temporary ? c->b_alloc : 0,
      .peak_bytes = at_peak ? (int64_t)c->b_alloc : 0,
      .peak_blocks = at_peak,
  };
  if (born != ended)
    tide_past_new(w, ends)->closings[0] =
        (struct tide_closing){.n_alloc = 1, .b_alloc = c->b_alloc, .interval = born};
  c->sizes = tide_streak_make(id, tide_streak_bucket(c->sizes), tide_streak_count(c->sizes));
  c->birth_live_sum = 0;
  s.interval = ended;
  tide_store_release(&c->stamp.both, s.both);
}
