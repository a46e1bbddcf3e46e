// SPDX-License-Identifier: Apache-2.0
//
// A cell's annexes, made when they are first needed. Of a million stacks most are seen once: a
// block is allocated there, and perhaps freed. Such a cell is its one line (layout.h, TIDE_SINGLE);
// what has more to tell gets its ends, and seldom a past and histograms.
//
// Where an annex is, its cell or its ends say, in the store: the number is cut to the table before
// it is used (layout.h, invariant 7).
//
// When there is no room for an annex, annex 0 takes its place: nobody reads that, and what was lost
// is counted.
#pragma once
#include "rt/arch.h"
#include "store/writer.h"

// Makes the annex; annex 0 when there is no room.
struct tide_ends *tide_ends_new(struct tide_writer *w, struct tide_cell *c);
struct tide_past *tide_past_new(struct tide_writer *w, struct tide_ends *ends);
struct tide_hist *tide_hist_new(struct tide_writer *w, struct tide_ends *ends);

// Those of a cell, made if need be: large blocks are rare.
struct tide_touches *tide_touches_of(struct tide_writer *w, struct tide_cell *c);

// The cell is a single: it becomes one like any other, with annexes.
void tide_cell_unfold(struct tide_writer *w, struct tide_cell *c);
// The only block of a cell without annexes has ended: the cell becomes a single. Its late row and
// totals are the caller's.
void tide_cell_make_single(struct tide_cell *c, struct tide_stamp now, uint64_t life,
                           bool temporary);

TIDE_HOT bool tide_cell_is_single(const struct tide_cell *c)
{
  return c->stamp.interval & TIDE_SINGLE;
}

// The offset of a streak's annex, in units of 64 bytes each, cut to the table; 0: there is none.
TIDE_HOT uint64_t tide_annex_offset(struct tide_streak s)
{
  return s.word & tide_store.annex_mask;
}

// NULL: it has none.
TIDE_HOT struct tide_ends *tide_ends_find(const struct tide_cell *c)
{
  uint64_t offset = tide_annex_offset(c->sizes);
  return TIDE_LIKELY(offset) ? tide_ends_at(offset) : NULL;
}

TIDE_HOT struct tide_ends *tide_ends_of(struct tide_writer *w, struct tide_cell *c)
{
  struct tide_ends *ends = tide_ends_find(c);
  return TIDE_LIKELY(ends) ? ends : tide_ends_new(w, c);
}

TIDE_HOT struct tide_past *tide_past_of(struct tide_writer *w, struct tide_cell *c)
{
  struct tide_ends *ends = tide_ends_of(w, c);
  uint32_t id = tide_load_relaxed(&ends->past);
  id &= (uint32_t)(tide_store.annex_mask / TIDE_STREAK_ANNEX_UNIT);
  return TIDE_LIKELY(id) ? tide_past_at(id) : tide_past_new(w, ends);
}

// NULL: it has none.
TIDE_HOT struct tide_hist *tide_hist_of_streak(struct tide_streak lives)
{
  uint64_t offset = tide_annex_offset(lives) * (sizeof(struct tide_hist) / 64);
  return TIDE_LIKELY(offset) ? tide_hist_at(offset) : NULL;
}

TIDE_HOT struct tide_hist *tide_hist_find(const struct tide_ends *ends)
{
  return tide_hist_of_streak(ends->lives);
}

TIDE_HOT struct tide_hist *tide_hist_of(struct tide_writer *w, struct tide_ends *ends)
{
  struct tide_hist *hist = tide_hist_find(ends);
  return TIDE_LIKELY(hist) ? hist : tide_hist_new(w, ends);
}

TIDE_HOT uint64_t tide_cell_index(const struct tide_cell *c) // of 28 bits
{
  return (uint64_t)((const char *)c - (const char *)tide_store.cells) / sizeof *c;
}

TIDE_HOT int64_t tide_cell_live(const struct tide_cell *c)
{
  return (int64_t)(c->b_alloc - c->b_free);
}
