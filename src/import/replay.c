// SPDX-License-Identifier: Apache-2.0
//
// One event is a handful of additions; a snapshot is a walk over the stacks and is taken only after
// so many events that they cost more.
#include "import/replay.h"

#include "base/alloc.h"
#include "model/image_sums.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_INTERVAL_NS 5000000u
#define EVENTS_PER_STACK 16 // between snapshots

void tide_replay_init(struct tide_replay *r, struct tide_builder *builder)
{
  *r = (struct tide_replay){.builder = builder, .snapshot_interval_ns = FIRST_INTERVAL_NS};
  r->next_snapshot_ns = FIRST_INTERVAL_NS;
}

void tide_replay_done(struct tide_replay *r)
{
  free(r->kinds);
  free(r->stacks);
  free(r->more);
  tide_table_done(&r->kind_table);
  *r = (struct tide_replay){0};
}

uint32_t tide_replay_stack_new(struct tide_replay *r, uint32_t node)
{
  size_t n = r->n_stacks;
  TIDE_GROW(r->stacks, n, r->cap_stacks);
  TIDE_GROW(r->more, n, r->cap_more);
  r->stacks[n] = (struct tide_replay_stack){.epoch = r->epoch, .node = node};
  r->more[n] = (struct tide_replay_more){0};
  return (uint32_t)r->n_stacks++;
}

uint32_t tide_replay_kind_new(struct tide_replay *r, uint32_t stack, uint64_t size)
{
  TIDE_GROW(r->kinds, r->n_kinds, r->cap_kinds);
  r->kinds[r->n_kinds] = (struct tide_replay_kind){.size_bytes = size, .stack = stack};
  return (uint32_t)r->n_kinds++;
}

static bool same_kind(const void *context, const void *key, uint32_t position)
{
  const struct tide_replay_kind *a = &((const struct tide_replay *)context)->kinds[position];
  const struct tide_replay_kind *b = key;
  return a->size_bytes == b->size_bytes && a->stack == b->stack;
}

uint32_t tide_replay_kind_of(struct tide_replay *r, uint32_t stack, uint64_t size)
{
  struct tide_replay_kind key = {.size_bytes = size, .stack = stack};
  uint32_t hash = tide_table_mix(size, stack);
  uint32_t at = tide_table_put(&r->kind_table, hash, same_kind, r, &key, (uint32_t)r->n_kinds);
  return at < r->n_kinds ? at : tide_replay_kind_new(r, stack, size);
}

// Before a stack changes: what it holds may be its share of the peak.
static void touch(const struct tide_replay *r, struct tide_replay_stack *s)
{
  if (s->epoch == r->epoch)
    return;
  s->epoch = r->epoch;
  s->peak_bytes = s->live_bytes;
  s->peak_blocks = s->live_blocks;
}

void tide_replay_alloc(struct tide_replay *r, uint32_t kind_idx)
{
  struct tide_replay_kind *kind = &r->kinds[kind_idx];
  struct tide_replay_stack *s = &r->stacks[kind->stack];
  uint64_t size = kind->size_bytes;
  kind->n_alloc++;
  kind->n_live++;
  touch(r, s);
  if (s->n_alloc++ == 0)
    r->more[kind->stack].first_ns = r->now_ns;
  s->b_alloc += size;
  s->live_bytes += size;
  s->live_blocks++;
  s->last_ns = r->now_ns;
  if (s->live_bytes > s->high_bytes)
    s->high_bytes = s->live_bytes;
  r->n_alloc++;
  r->b_alloc += size;
  r->live_blocks++;
  r->live_bytes += size;
  if (r->live_bytes > r->peak_bytes)
    r->raised_ns = r->now_ns;
  r->n_events_since++;
}

static void note_peak(struct tide_replay *r)
{
  if (r->live_bytes <= r->peak_bytes)
    return;
  r->peak_bytes = r->live_bytes;
  r->peak_blocks = r->live_blocks;
  r->peak_ns = r->raised_ns;
  r->peak_rss_bytes = r->rss_bytes;
  r->epoch++;
}

bool tide_replay_free(struct tide_replay *r, uint32_t kind_idx, bool temporary)
{
  struct tide_replay_kind *kind = &r->kinds[kind_idx];
  struct tide_replay_stack *s = &r->stacks[kind->stack];
  if (kind->n_live == 0)
    return false;
  note_peak(r);
  touch(r, s);
  kind->n_live--;
  s->live_bytes -= kind->size_bytes;
  s->live_blocks--;
  if (temporary) {
    r->more[kind->stack].n_temp++;
    r->more[kind->stack].b_temp += kind->size_bytes;
  }
  r->n_free++;
  r->live_blocks--;
  r->live_bytes -= kind->size_bytes;
  r->n_events_since++;
  return true;
}

static int by_stack(const void *left, const void *right)
{
  const struct tide_snapshot_row *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
}

static struct tide_snapshot_row row_take(const struct tide_replay_stack *s,
                                         struct tide_replay_more *more)
{
  struct tide_snapshot_row row = {
      .stack = s->node,
      .live_bytes = (int64_t)s->live_bytes,
      .live_blocks = (int64_t)s->live_blocks,
      .n_alloc = s->n_alloc - more->n_counted,
      .b_alloc = s->b_alloc - more->b_counted,
  };
  more->n_counted = s->n_alloc;
  more->b_counted = s->b_alloc;
  return row;
}

static void take_snapshot(struct tide_replay *r)
{
  const struct tide_image *image = r->builder->image;
  struct tide_snapshot snapshot = {.time_ns = r->now_ns, .kind = TIDE_SNAPSHOT_TIMED};
  size_t cap = 0, n_before = image->n_snapshots;
  bool sorted = true;
  for (size_t i = 0; i < r->n_stacks; i++) {
    struct tide_snapshot_row row = row_take(&r->stacks[i], &r->more[i]);
    if (!row.live_bytes && !row.live_blocks && !row.n_alloc && !row.b_alloc)
      continue;
    TIDE_GROW(snapshot.rows, snapshot.n_rows, cap);
    snapshot.rows[snapshot.n_rows++] = row;
    sorted =
        sorted && (snapshot.n_rows == 1 || snapshot.rows[snapshot.n_rows - 2].stack < row.stack);
  }
  snapshot.rows = tide_realloc_array(snapshot.rows, snapshot.n_rows, sizeof *snapshot.rows);
  if (!sorted)
    qsort(snapshot.rows, snapshot.n_rows, sizeof *snapshot.rows, by_stack);
  tide_builder_snapshot(r->builder, snapshot);
  if (image->n_snapshots <= n_before)
    r->snapshot_interval_ns *= 2;
  r->next_snapshot_ns = r->now_ns + r->snapshot_interval_ns;
  r->n_events_since = 0;
}

static struct tide_tick tick_now(const struct tide_replay *r)
{
  return (struct tide_tick){
      .time_ns = r->now_ns,
      .live_bytes = (int64_t)r->live_bytes,
      .live_blocks = (int64_t)r->live_blocks,
      .n_alloc = r->n_alloc,
      .b_alloc = r->b_alloc,
      .n_free = r->n_free,
      .rss_bytes = r->rss_bytes,
  };
}

void tide_replay_rss(struct tide_replay *r, uint64_t rss_bytes)
{
  struct tide_image *image = r->builder->image;
  r->rss_bytes = rss_bytes;
  if (rss_bytes > r->max_rss_bytes)
    r->max_rss_bytes = rss_bytes;
  if (image->n_ticks && image->ticks[image->n_ticks - 1].time_ns == r->now_ns)
    image->ticks[image->n_ticks - 1].rss_bytes = rss_bytes;
}

void tide_replay_time(struct tide_replay *r, uint64_t now_ns)
{
  if (now_ns <= r->now_ns)
    return;
  r->now_ns = now_ns;
  struct tide_tick tick = tick_now(r);
  tide_builder_tick(r->builder, &tick);
  if (now_ns >= r->next_snapshot_ns && r->n_events_since >= EVENTS_PER_STACK * r->n_stacks)
    take_snapshot(r);
}

// The curve shows its peak, whatever was thinned out.
static void insert_peak_tick(struct tide_replay *r)
{
  struct tide_image *image = r->builder->image;
  size_t at = 0;
  while (at < image->n_ticks && image->ticks[at].time_ns <= r->peak_ns)
    at++;
  struct tide_tick peak = at ? image->ticks[at - 1] : (struct tide_tick){0};
  peak.time_ns = r->peak_ns;
  peak.live_bytes = (int64_t)r->peak_bytes;
  peak.live_blocks = (int64_t)r->peak_blocks;
  image->ticks = tide_realloc_array(image->ticks, image->n_ticks + 1, sizeof *image->ticks);
  memmove(image->ticks + at + 1, image->ticks + at, (image->n_ticks - at) * sizeof *image->ticks);
  image->ticks[at] = peak;
  image->n_ticks++;
}

// Bucket 0: 0..4 bytes, bucket k: 2^(k+1)+1 .. 2^(k+2) bytes; the last takes the rest.
static unsigned size_bucket(uint64_t size)
{
  unsigned bits = size > 4 ? 64 - (unsigned)__builtin_clzll(size - 1) : 2;
  return bits - 2 < TIDE_SIZE_BUCKETS_N ? bits - 2 : TIDE_SIZE_BUCKETS_N - 1;
}

static struct tide_site *site_of(struct tide_replay *r, const struct tide_replay_kind *kind)
{
  return tide_builder_site(r->builder, r->stacks[kind->stack].node);
}

static void fill_site(struct tide_site *site, const struct tide_replay_stack *s,
                      const struct tide_replay_more *more)
{
  site->n_alloc = s->n_alloc;
  site->b_alloc = s->b_alloc;
  site->n_free = s->n_alloc - s->live_blocks;
  site->b_free = s->b_alloc - s->live_bytes;
  site->peak_bytes = (int64_t)s->peak_bytes;
  site->peak_blocks = (int64_t)s->peak_blocks;
  site->high_bytes = (int64_t)s->high_bytes;
  site->n_temp = more->n_temp;
  site->b_temp = more->b_temp;
  site->first_ns = more->first_ns;
  site->last_ns = s->last_ns;
}

// The size of each kind, at its site: first which buckets there are, then how many are in each.
static void fill_buckets(struct tide_replay *r)
{
  struct tide_image *image = r->builder->image;
  for (size_t i = 0; i < r->n_kinds; i++) {
    const struct tide_replay_kind *kind = &r->kinds[i];
    if (kind->n_alloc)
      site_of(r, kind)->size_mask |= UINT32_C(1) << size_bucket(kind->size_bytes);
  }
  for (size_t i = 0; i < image->n_sites; i++)
    tide_site_reserve_buckets(image, &image->sites[i]);
  for (size_t i = 0; i < r->n_kinds; i++) {
    const struct tide_replay_kind *kind = &r->kinds[i];
    if (!kind->n_alloc)
      continue;
    const struct tide_site *site = site_of(r, kind);
    uint32_t below = (UINT32_C(1) << size_bucket(kind->size_bytes)) - 1;
    tide_site_counts(image, site)[__builtin_popcount(site->size_mask & below)] += kind->n_alloc;
  }
}

// Stacks that only were announced have no site.
static void fill_sites(struct tide_replay *r)
{
  for (size_t i = 0; i < r->n_stacks; i++) {
    touch(r, &r->stacks[i]);
    if (r->stacks[i].n_alloc)
      fill_site(tide_builder_site(r->builder, r->stacks[i].node), &r->stacks[i], &r->more[i]);
  }
  fill_buckets(r);
}

void tide_replay_finish(struct tide_replay *r)
{
  struct tide_image *image = r->builder->image;
  note_peak(r);
  struct tide_tick last = tick_now(r);
  tide_builder_tick(r->builder, &last);
  insert_peak_tick(r);
  fill_sites(r);
  image->end_ns = r->builder->capture->duration_ns = r->now_ns;
  image->peak_bytes = (int64_t)r->peak_bytes;
  image->peak_blocks = (int64_t)r->peak_blocks;
  image->peak_ns = r->peak_ns;
  image->rss_at_peak_bytes = r->peak_rss_bytes;
  image->max_rss_bytes = r->max_rss_bytes;
  image->has_temp_bytes = true;
  tide_image_add_exact_snapshots(image);
}

// ---- live blocks by address ----
//
// Linear probing with backward shift: what follows a removed block moves up if it may.

void tide_live_map_done(struct tide_import_map *map)
{
  free(map->slots);
  *map = (struct tide_import_map){0};
}

static size_t home(const struct tide_import_map *map, uint64_t addr)
{
  return (size_t)((addr * 0x9e3779b97f4a7c15ull) >> 20) & (map->cap - 1);
}

// The slot of an address, or the free one where it would be.
static size_t find_block(const struct tide_import_map *map, uint64_t addr)
{
  size_t at = home(map, addr);
  while (map->slots[at].addr && map->slots[at].addr != addr)
    at = (at + 1) & (map->cap - 1);
  return at;
}

static void grow_map(struct tide_import_map *map)
{
  struct tide_import_map bigger = {.n = map->n, .cap = map->cap ? map->cap * 2 : 1024};
  bigger.slots = tide_alloc_array(bigger.cap, sizeof *bigger.slots);
  for (size_t i = 0; i < map->cap; i++)
    if (map->slots[i].addr)
      bigger.slots[find_block(&bigger, map->slots[i].addr)] = map->slots[i];
  free(map->slots);
  *map = bigger;
}

bool tide_live_map_put(struct tide_import_map *map, const struct tide_live_block *block)
{
  if (map->n * 2 >= map->cap)
    grow_map(map);
  size_t at = find_block(map, block->addr);
  if (!block->addr || map->slots[at].addr)
    return false;
  map->slots[at] = *block;
  map->n++;
  return true;
}

bool tide_live_map_take(struct tide_import_map *map, uint64_t addr,
                        struct tide_live_block *ret_block)
{
  if (!addr || !map->cap)
    return false;
  size_t hole = find_block(map, addr), mask = map->cap - 1;
  if (!map->slots[hole].addr)
    return false;
  *ret_block = map->slots[hole];
  for (size_t at = (hole + 1) & mask; map->slots[at].addr; at = (at + 1) & mask) {
    size_t wants = home(map, map->slots[at].addr);
    if (((at - wants) & mask) >= ((at - hole) & mask)) {
      map->slots[hole] = map->slots[at];
      hole = at;
    }
  }
  map->slots[hole] = (struct tide_live_block){0};
  map->n--;
  return true;
}
