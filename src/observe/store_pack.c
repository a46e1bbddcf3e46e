// SPDX-License-Identifier: Apache-2.0
//
// One walk over a store puts every row away in a few bytes (site_stash.h), with sums, ranks and
// what the snapshots need of its stack; no cell is read twice, so the numbers fit each other though
// the target runs on. Then, in the order of the ranks, 2,048 rows at a time become a part of the
// file.
#include "observe/store_read.h"

#include "base/alloc.h"
#include "model/image_sums.h"
#include "model/pack.h"
#include "observe/site_stash.h"
#include "observe/store_reading.h"
#include "tide/part.h"
#include "tide/site_order.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 8u // rows that are fetched into the cache before they are read
#define NO_FRAME (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST | TIDE_FRAME_SCOPE)

struct mixed { // a row of a stack whose ages are summed, see tide_reading_is_mixed()
  uint32_t stack, place;
  uint64_t age_ticks;
};

struct packing {
  struct tide_reading r;
  struct tide_pack *pack;
  uint64_t end_ticks;
  struct tide_site_stash stash; // of all rows; until they are packed, age_ns is in ticks
  struct tide_rank *ranks;      // whose rows are places in the stash
  size_t n_ranks, cap_ranks;
  uint64_t *is_mixed; // a bit per node; NULL: none is
  struct mixed *mixed;
  size_t n_mixed, cap_mixed;
  struct tide_buf raw;
  ZSTD_CCtx *zstd;
};

static bool has_bit(const uint64_t *bits, uint32_t i)
{
  return bits && bits[i / 64] >> i % 64 & 1;
}

static void note_mixed(struct packing *p, uint32_t stack)
{
  if (!p->is_mixed)
    p->is_mixed = tide_alloc_array(p->r.view->n_nodes / 64 + 1, sizeof *p->is_mixed);
  p->is_mixed[stack / 64] |= UINT64_C(1) << stack % 64;
}

static int64_t wrapped_sum(int64_t sum, uint64_t more)
{
  return (int64_t)((uint64_t)sum + more);
}

static void add_to_sums(struct tide_image_sums *sums, const struct tide_site *site)
{
  sums->n_alloc += site->n_alloc;
  sums->b_alloc += site->b_alloc;
  sums->n_free += site->n_free;
  sums->b_free += site->b_free;
  sums->before_blocks = wrapped_sum(sums->before_blocks, (uint64_t)site->before_blocks);
  sums->before_bytes = wrapped_sum(sums->before_bytes, (uint64_t)site->before_bytes);
  sums->n_resize += site->n_resize;
  sums->resized_bytes =
      (int64_t)((uint64_t)sums->resized_bytes + site->b_resize_new - site->b_resize_old);
}

static struct tide_pack_stack stack_of(const struct tide_site *site)
{
  return (struct tide_pack_stack){
      .stack = site->stack,
      .peak_bytes = site->peak_bytes,
      .peak_blocks = site->peak_blocks,
      .end_bytes = tide_counters_live_bytes(&site->counters),
      .end_blocks = tide_counters_live_blocks(&site->counters),
      .n_alloc = site->n_alloc,
      .b_alloc = site->b_alloc,
  };
}

static void put_away(struct packing *p, const struct tide_site *site)
{
  uint32_t place = tide_site_stash_put(&p->stash, p->r.image, site);
  if (place == TIDE_STASH_NONE) {
    p->pack->err = TIDE_ERR_LIMIT;
    return;
  }
  TIDE_GROW(p->ranks, p->n_ranks, p->cap_ranks);
  p->ranks[p->n_ranks++] = (struct tide_rank){
      .peak_bytes = site->peak_bytes, .b_alloc = site->b_alloc, .stack = site->stack, .row = place};
  struct tide_pack_stack stack = stack_of(site);
  tide_pack_stack_add(&p->pack->stacks, &stack);
}

static void take_block(void *context, const struct tide_cell_block *block)
{
  struct packing *p = context;
  struct tide_reading *r = &p->r;
  struct tide_whole_cell whole;
  struct tide_site site;
  for (uint32_t i = 0; i < block->n; i++) {
    const struct tide_owner *owner = &block->owners[i];
    if (!owner->stack || !(block->cells[i].n_alloc || block->cells[i].n_free)) {
      tide_reading_event(r, block, i);
      continue;
    }
    if (!tide_reading_cell(r, block, i, &whole))
      continue;
    tide_reading_count(r, &whole, owner);
    r->image->counts.n = 0; // of the row before
    tide_reading_site(r, &whole, owner, &site);
    site.age_ns = (int64_t)tide_reading_age_ticks(r, &whole, p->end_ticks);
    if (r->view->kinds[site.stack] != TIDE_SITE_PAGES)
      add_to_sums(&p->pack->sums, &site);
    if (tide_reading_is_mixed(site.n_foreign, (uint64_t)site.age_ns))
      note_mixed(p, site.stack);
    put_away(p, &site);
  }
}

// The row at a place, and the next one's place.
static uint32_t take_out(struct packing *p, uint32_t place, struct tide_site *ret_site)
{
  uint32_t next = tide_site_stash_get(&p->stash, place, p->r.image, ret_site);
  if (p->r.peak_is_now)
    tide_reading_share_is_live(ret_site);
  return next;
}

// The peak turned out to be now, so the shares are others than those that were ranked by. Stacks
// are not joined yet: there is one for each rank, in the same order.
static void rank_again(struct packing *p)
{
  struct tide_pack_stacks *stacks = &p->pack->stacks;
  for (size_t i = 0; i < stacks->n; i++) {
    struct tide_pack_stack stack = tide_pack_stack_at(stacks, i);
    stack.peak_bytes = stack.end_bytes;
    stack.peak_blocks = stack.end_blocks;
    tide_pack_stack_set(stacks, i, &stack);
    p->ranks[i].peak_bytes = stack.peak_bytes;
  }
}

static int by_stack_and_place(const void *left, const void *right)
{
  const struct mixed *a = left, *b = right;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

// The first row of a stack gets the sum of all, which is exact modulo 2^64.
static void find_mixed(struct packing *p)
{
  struct tide_site site;
  if (!p->is_mixed)
    return;
  for (uint32_t place = 0, next; tide_site_stash_has(&p->stash, place); place = next) {
    p->r.image->counts.n = 0;
    next = take_out(p, place, &site);
    if (!has_bit(p->is_mixed, site.stack))
      continue;
    TIDE_GROW(p->mixed, p->n_mixed, p->cap_mixed);
    p->mixed[p->n_mixed++] = (struct mixed){site.stack, place, (uint64_t)site.age_ns};
  }
  if (p->n_mixed)
    qsort(p->mixed, p->n_mixed, sizeof *p->mixed, by_stack_and_place);
  for (size_t i = 0, first = 0; i < p->n_mixed; i++) {
    if (p->mixed[i].stack != p->mixed[first].stack)
      first = i;
    if (i == first)
      continue;
    p->mixed[first].age_ticks += p->mixed[i].age_ticks;
    p->mixed[i].age_ticks = 0;
  }
}

static uint64_t age_ticks(const struct packing *p, uint32_t place, const struct tide_site *site)
{
  struct mixed key = {.stack = site->stack, .place = place};
  const struct mixed *found = NULL;
  if (has_bit(p->is_mixed, site->stack) && p->n_mixed)
    found = bsearch(&key, p->mixed, p->n_mixed, sizeof key, by_stack_and_place);
  if (p->r.view->kinds[site->stack] == TIDE_SITE_PAGES)
    return 0; // nobody notes their births
  return found ? found->age_ticks : (uint64_t)site->age_ns;
}

static void put_part(struct packing *p, enum tide_part_type type)
{
  struct tide_part part = {.type = (uint16_t)type};
  if (!p->pack->err)
    p->pack->err = tide_part_put(p->zstd, part, NULL, &p->raw, &p->pack->tables, NULL);
}

static void pack_frames(struct packing *p)
{
  size_t n_nodes = p->r.view->n_nodes;
  struct tide_node *nodes = tide_alloc_array(TIDE_ROWS_FRAMES, sizeof *nodes);
  struct tide_frame *frames = tide_alloc_array(TIDE_ROWS_FRAMES, sizeof *frames);
  p->pack->n_frames = n_nodes ? n_nodes : 1;
  for (size_t first = 1; first < n_nodes; first += TIDE_ROWS_FRAMES) {
    size_t n = n_nodes - first < TIDE_ROWS_FRAMES ? n_nodes - first : TIDE_ROWS_FRAMES;
    tide_store_view_node_rows(p->r.view, first, nodes, n);
    for (size_t i = 0; i < n; i++) {
      frames[i] = tide_reading_frame(&p->r, &nodes[i]);
      tide_reading_scope(&p->r, &frames[i]);
      p->pack->has_nameless |= !frames[i].module && !(frames[i].flags & NO_FRAME);
    }
    tide_encode_frames(&p->raw, frames, first, n);
    put_part(p, TIDE_PART_FRAMES);
  }
  free(nodes);
  free(frames);
}

static void pack_sites(struct packing *p)
{
  struct tide_image *image = p->r.image;
  struct tide_site *rows = tide_alloc_array(TIDE_ROWS_SITES, sizeof *rows);
  for (size_t i = 0; i < p->n_ranks;) {
    size_t n = 0;
    image->counts.n = 0; // of the part before
    for (; i < p->n_ranks && n < TIDE_ROWS_SITES; i++, n++) {
      uint32_t place = p->ranks[i].row;
      if (i + AHEAD < p->n_ranks)
        tide_site_stash_prefetch(&p->stash, p->ranks[i + AHEAD].row);
      take_out(p, place, &rows[n]);
      rows[n].age_ns = (int64_t)tide_reading_age_ns(&p->r, age_ticks(p, place, &rows[n]));
    }
    tide_encode_sites(&p->raw, image, rows, p->pack->n_sites, n);
    put_part(p, TIDE_PART_SITES);
    p->pack->n_sites += n;
  }
  free(rows);
}

static void join_stacks(struct tide_pack_stack *to, const struct tide_pack_stack *more)
{
  to->peak_bytes = wrapped_sum(to->peak_bytes, (uint64_t)more->peak_bytes);
  to->peak_blocks = wrapped_sum(to->peak_blocks, (uint64_t)more->peak_blocks);
  to->end_bytes = wrapped_sum(to->end_bytes, (uint64_t)more->end_bytes);
  to->end_blocks = wrapped_sum(to->end_blocks, (uint64_t)more->end_blocks);
  to->n_alloc += more->n_alloc;
  to->b_alloc += more->b_alloc;
}

static int by_stack(const void *left, const void *right)
{
  const struct tide_pack_narrow *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
}

// Cells and stacks were mostly made in the same order, so there is seldom much to sort.
static void sort_stacks(struct tide_pack_stacks *stacks)
{
  size_t sorted = 1, kept = 0;
  while (sorted < stacks->n && by_stack(&stacks->items[sorted - 1], &stacks->items[sorted]) < 0)
    sorted++;
  if (sorted >= stacks->n)
    return;
  qsort(stacks->items, stacks->n, sizeof *stacks->items, by_stack);
  for (size_t i = 1; i < stacks->n; i++) {
    if (by_stack(&stacks->items[i], &stacks->items[kept]) != 0) {
      stacks->items[++kept] = stacks->items[i];
      continue;
    }
    struct tide_pack_stack sum = tide_pack_stack_at(stacks, kept);
    struct tide_pack_stack more = tide_pack_stack_at(stacks, i);
    join_stacks(&sum, &more);
    tide_pack_stack_set(stacks, kept, &sum);
  }
  stacks->n = kept + 1;
}

static void drop_order(struct packing *p)
{
  free(p->ranks);
  free(p->is_mixed);
  free(p->mixed);
  p->ranks = NULL;
  p->is_mixed = NULL;
  p->mixed = NULL;
}

void tide_store_pack_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image)
{
  struct packing p = {
      .pack = tide_alloc(sizeof *p.pack), .end_ticks = end_ticks, .zstd = ZSTD_createCCtx()};
  if (!p.zstd)
    p.pack->err = TIDE_ERR_SYSTEM;
  tide_reading_begin(&p.r, view, clock, ret_image);
  pack_frames(&p);
  tide_store_view_cells(view, take_block, &p);
  tide_reading_end(&p.r);
  tide_image_sums_live(&p.pack->sums);
  if (p.r.peak_is_now)
    rank_again(&p);
  tide_ranks_sort(p.ranks, p.n_ranks, p.pack->n_frames);
  find_mixed(&p);
  pack_sites(&p);
  drop_order(&p);
  sort_stacks(&p.pack->stacks);
  tide_site_stash_done(&p.stash);
  tide_buf_done(&p.raw);
  ZSTD_freeCCtx(p.zstd);
  free(ret_image->counts.items);
  ret_image->counts = (struct tide_counts){0};
  ret_image->pack = p.pack;
}
