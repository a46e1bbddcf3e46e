// SPDX-License-Identifier: Apache-2.0
//
// The snapshots of a packed image, from what was sampled to parts of a file, without a row in
// memory for each stack in each snapshot. A file has the changes from one snapshot to the next, and
// so has the sampler: only where the peak comes between two, and at the end, are all stacks looked
// at. The numbers are those of tide_sampler_fill_snapshots() and tide_image_add_exact_snapshots().
#include "observe/sample.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "tide/part.h"

#include <stdlib.h>

struct packing {
  struct tide_pack *pack;
  uint32_t *row_of;                // per frame: index + 1 in the pack's stacks; 0: none
  struct tide_buf changes, counts; // of the snapshots of the part at hand
  size_t first, n;                 // these
  uint64_t time_ns;                // of the last one
  bool after_peak;                 // the last one was the peak's
  ZSTD_CCtx *zstd;
};

// Columns of one snapshot, of rows by rising stack, and where in them its pieces begin but for the
// first (see tide_encode_snapshots()).
struct columns {
  struct tide_buf stacks, a, b;
  uint64_t next, n;
  struct cut {
    size_t stacks, a, b;
  } * cuts;
  size_t n_cuts, cap_cuts;
};

static void columns_put(struct columns *c, uint32_t stack)
{
  if (c->n && c->n % tide_snapshot_rows == 0) {
    TIDE_GROW(c->cuts, c->n_cuts, c->cap_cuts);
    c->cuts[c->n_cuts++] = (struct cut){c->stacks.n, c->a.n, c->b.n};
  }
  tide_buf_varint(&c->stacks, stack - c->next);
  c->next = (uint64_t)stack + 1;
  c->n++;
}

static struct cut cut_at(const struct columns *c, size_t piece)
{
  return piece == 0          ? (struct cut){0}
         : piece > c->n_cuts ? (struct cut){c->stacks.n, c->a.n, c->b.n}
                             : c->cuts[piece - 1];
}

static uint64_t rows_before(const struct columns *c, size_t piece)
{
  return piece > c->n_cuts ? c->n : piece * tide_snapshot_rows;
}

static void columns_put_piece(const struct columns *c, size_t piece, struct tide_buf *out)
{
  struct cut from = cut_at(c, piece), to = cut_at(c, piece + 1);
  tide_buf_varint(out, rows_before(c, piece + 1) - rows_before(c, piece));
  tide_buf_append(out, c->stacks.data + from.stacks, to.stacks - from.stacks);
  tide_buf_append(out, c->a.data + from.a, to.a - from.a);
  tide_buf_append(out, c->b.data + from.b, to.b - from.b);
}

static void columns_done(struct columns *c)
{
  tide_buf_done(&c->stacks);
  tide_buf_done(&c->a);
  tide_buf_done(&c->b);
  free(c->cuts);
}

static int64_t at_least_zero(int64_t sum)
{
  return sum > 0 ? sum : 0;
}

static int64_t minus(int64_t a, int64_t b)
{
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

struct live {
  int64_t bytes, blocks;
};

static struct live live_now(const struct tide_pack_stack *s)
{
  return (struct live){at_least_zero(s->now_bytes), at_least_zero(s->now_blocks)};
}
static struct live live_at_peak(const struct tide_pack_stack *s)
{
  return (struct live){s->peak_bytes, s->peak_blocks};
}
static struct live live_at_end(const struct tide_pack_stack *s)
{
  return (struct live){s->end_bytes, s->end_blocks};
}

// What the last snapshot said.
static struct live told(const struct packing *p, const struct tide_pack_stack *s)
{
  return p->after_peak ? live_at_peak(s) : live_now(s);
}

static void put_change(struct columns *c, uint32_t stack, struct live before, struct live now)
{
  if (before.bytes == now.bytes && before.blocks == now.blocks)
    return;
  columns_put(c, stack);
  tide_buf_zigzag(&c->a, minus(now.bytes, before.bytes));
  tide_buf_zigzag(&c->b, minus(now.blocks, before.blocks));
}

static void put_count(struct columns *c, uint32_t stack, uint64_t n_alloc, uint64_t b_alloc)
{
  if (!n_alloc && !b_alloc)
    return;
  columns_put(c, stack);
  tide_buf_varint(&c->a, n_alloc);
  tide_buf_varint(&c->b, b_alloc);
}

static void close_part(struct packing *p, bool goes_on)
{
  struct tide_buf raw = {0};
  struct tide_part part = {.type = TIDE_PART_SNAPSHOTS, .flags = goes_on ? TIDE_PART_GOES_ON : 0};
  tide_buf_varint(&raw, p->first);
  tide_buf_varint(&raw, p->n);
  tide_buf_append(&raw, p->changes.data, p->changes.n);
  tide_buf_append(&raw, p->counts.data, p->counts.n);
  tide_buf_done(&p->changes);
  tide_buf_done(&p->counts);
  if (p->n && !p->pack->err)
    p->pack->err = tide_part_put(p->zstd, part, NULL, &raw, &p->pack->snapshots, NULL);
  tide_buf_done(&raw);
  p->first += goes_on ? 0 : p->n;
  p->n = 0;
}

static void put_snapshot(struct packing *p, const struct tide_snapshot *snapshot,
                         struct columns *changes, struct columns *counts)
{
  uint64_t time_ns = snapshot->time_ns > p->time_ns ? snapshot->time_ns : p->time_ns;
  size_t n_cuts = changes->n_cuts > counts->n_cuts ? changes->n_cuts : counts->n_cuts;
  if (n_cuts)
    close_part(p, false);
  for (size_t piece = 0; piece <= n_cuts; piece++) {
    tide_buf_varint(&p->changes, time_ns - p->time_ns);
    tide_buf_varint(&p->changes, snapshot->kind);
    columns_put_piece(changes, piece, &p->changes);
    columns_put_piece(counts, piece, &p->counts);
    p->n++;
    if (n_cuts)
      close_part(p, piece < n_cuts);
  }
  p->time_ns = time_ns;
  p->after_peak = snapshot->kind == TIDE_SNAPSHOT_PEAK;
  p->pack->n_snapshot_rows += changes->n + counts->n;
  columns_done(changes);
  columns_done(counts);
  if (p->changes.n + p->counts.n >= TIDE_SNAPSHOTS_BYTES)
    close_part(p, false);
}

// Never below zero: a broken store may have had other numbers when it was looked at.
static void take_off(uint64_t *sum, uint64_t counted)
{
  *sum -= counted < *sum ? counted : *sum;
}

static void advance_stack(struct tide_pack_stack *s, const struct tide_tally *more, bool counts)
{
  s->now_bytes = minus(s->now_bytes, minus((int64_t)more->b_free, (int64_t)more->b_alloc));
  s->now_blocks = minus(s->now_blocks, minus((int64_t)more->n_free, (int64_t)more->n_alloc));
  take_off(&s->n_alloc, counts ? more->n_alloc : 0);
  take_off(&s->b_alloc, counts ? more->b_alloc : 0);
}

static void put_again(const struct packing *p, struct columns *changes, size_t at)
{
  struct tide_pack_stack s = tide_pack_stack_at(&p->pack->stacks, at);
  put_change(changes, s.stack, told(p, &s), live_now(&s));
}

// Behind a peak all stacks that it had may be told anew.
static void put_timed(struct packing *p, const struct tide_snapshot *snapshot,
                      const struct tide_sample_snapshot *taken)
{
  struct columns changes = {0}, counts = {0};
  struct tide_sample_reader reader = tide_sample_reader_make(&taken->rows);
  size_t at = 0; // the first stack that was not looked at
  for (; reader.row.stack < p->pack->n_frames; tide_sample_reader_next(&reader)) {
    uint32_t row = p->row_of[reader.row.stack];
    if (!row)
      continue; // a broken store has fewer cells than before
    for (; p->after_peak && at < row - 1; at++)
      put_again(p, &changes, at);
    struct tide_pack_stack s = tide_pack_stack_at(&p->pack->stacks, row - 1);
    struct live before = told(p, &s);
    advance_stack(&s, &reader.row.more, !taken->is_reset);
    tide_pack_stack_set(&p->pack->stacks, row - 1, &s);
    put_change(&changes, s.stack, before, live_now(&s));
    if (!taken->is_reset)
      put_count(&counts, s.stack, reader.row.more.n_alloc, reader.row.more.b_alloc);
    at = row;
  }
  for (; p->after_peak && at < p->pack->stacks.n; at++)
    put_again(p, &changes, at);
  put_snapshot(p, snapshot, &changes, &counts);
}

static void put_exact(struct packing *p, const struct tide_snapshot *snapshot)
{
  struct columns changes = {0}, counts = {0};
  bool is_end = snapshot->kind == TIDE_SNAPSHOT_END;
  for (size_t i = 0; i < p->pack->stacks.n; i++) {
    struct tide_pack_stack s = tide_pack_stack_at(&p->pack->stacks, i);
    put_change(&changes, s.stack, told(p, &s), is_end ? live_at_end(&s) : live_at_peak(&s));
    if (is_end)
      put_count(&counts, s.stack, s.n_alloc, s.b_alloc);
  }
  put_snapshot(p, snapshot, &changes, &counts);
}

// The moments alone. The peak comes behind those of the same time, and the end behind all.
static void list_moments(const struct tide_sampler *sampler, struct tide_image *image)
{
  size_t n = 0, n_timed = 0;
  bool has_peak = false;
  struct tide_snapshot *out = tide_alloc_array(sampler->n_snapshots + 2, sizeof *out);
  while (n_timed < sampler->n_snapshots && sampler->snapshots[n_timed].time_ns <= image->end_ns)
    n_timed++;
  for (size_t i = 0; i < n_timed; i++) {
    const struct tide_sample_snapshot *taken = &sampler->snapshots[i];
    uint64_t time_ns = taken->is_reset ? image->start_ns : taken->time_ns;
    if (!has_peak && time_ns > image->peak_ns) {
      out[n++] = (struct tide_snapshot){.time_ns = image->peak_ns, .kind = TIDE_SNAPSHOT_PEAK};
      has_peak = true;
    }
    out[n++] = (struct tide_snapshot){.time_ns = time_ns, .kind = TIDE_SNAPSHOT_TIMED};
  }
  if (!has_peak)
    out[n++] = (struct tide_snapshot){.time_ns = image->peak_ns, .kind = TIDE_SNAPSHOT_PEAK};
  out[n++] = (struct tide_snapshot){.time_ns = image->end_ns, .kind = TIDE_SNAPSHOT_END};
  image->snapshots = out;
  image->n_snapshots = n;
  image->has_counts = true;
}

void tide_sampler_pack_snapshots(const struct tide_sampler *sampler, struct tide_image *image)
{
  struct tide_pack *pack = image->pack;
  struct packing p = {.pack = pack,
                      .row_of = tide_alloc_array(pack->n_frames, sizeof *p.row_of),
                      .zstd = ZSTD_createCCtx()};
  for (size_t i = 0; i < pack->stacks.n; i++)
    p.row_of[pack->stacks.items[i].stack] = (uint32_t)i + 1;
  list_moments(sampler, image);
  for (size_t i = 0, timed = 0; i < image->n_snapshots; i++) {
    const struct tide_snapshot *snapshot = &image->snapshots[i];
    if (snapshot->kind == TIDE_SNAPSHOT_TIMED)
      put_timed(&p, snapshot, &sampler->snapshots[timed++]);
    else
      put_exact(&p, snapshot);
  }
  close_part(&p, false);
  ZSTD_freeCCtx(p.zstd);
  free(p.row_of);
  tide_pack_stacks_done(&pack->stacks);
}
