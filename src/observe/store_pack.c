// SPDX-License-Identifier: Apache-2.0
//
// Three walks over a store that nobody writes any more:
//  1. sums and ranks: 24 bytes for each cell;
//  2. in the order of the ranks, 2,048 cells at a time become a part of the file;
//  3. what the snapshots need of each stack, while the cells' memory is given back.
// So the cells are in memory once, and nothing else is of their size. Whoever writes the store all
// the same spoils numbers: every walk checks what it reads.
#include "observe/store_read.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "tide/site_order.h"
#include "observe/store_reading.h"
#include "tide/part.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 8u // cells that are fetched into the cache before they are read
#define NO_FRAME (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST)

struct mixed { // a row of a stack whose ages are summed, see tide_reading_is_mixed()
  uint32_t stack, cell;
  uint64_t age_ticks;
};

struct packing {
  struct tide_reading r;
  struct tide_pack *pack;
  uint64_t end_ticks;
  struct tide_rank *ranks;
  size_t n_ranks, cap_ranks;
  uint64_t *is_mixed; // a bit per node; NULL: none is
  struct mixed *mixed;
  size_t n_mixed, cap_mixed;
  size_t cap_stacks;
  struct tide_buf raw;
  ZSTD_CCtx *zstd;
};

typedef void cell_visit(struct packing *p, uint32_t cell, const struct tide_whole_cell *whole,
                        const struct tide_owner *owner);
struct cells_walk {
  struct packing *p;
  cell_visit *visit;
};

static bool is_used(const struct tide_cell *cell, const struct tide_owner *owner)
{
  return owner->stack && (cell->n_alloc || cell->n_free);
}

static void walk_block(void *context, const struct tide_cell_block *block)
{
  const struct cells_walk *walk = context;
  struct tide_whole_cell whole;
  for (uint32_t i = 0; i < block->n; i++) {
    if (!is_used(&block->cells[i], &block->owners[i]))
      continue;
    tide_whole_cell_read(walk->p->r.view, block, i, walk->p->r.has_carries, &whole);
    walk->visit(walk->p, block->first + i, &whole, &block->owners[i]);
  }
}

static void walk_cells(struct packing *p, cell_visit *visit)
{
  tide_store_view_cells(p->r.view, walk_block, &(struct cells_walk){p, visit});
}

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

static void add_to_sums(struct tide_image_sums *sums, const struct tide_whole_cell *whole)
{
  const struct tide_cell *cell = &whole->cell;
  sums->n_alloc += cell->n_alloc;
  sums->b_alloc += cell->b_alloc;
  sums->n_free += cell->n_free;
  sums->b_free += cell->b_free;
  sums->n_resize += whole->past.n_resize;
  sums->resized_bytes = (int64_t)((uint64_t)sums->resized_bytes + whole->past.b_resize_new -
                                  whole->past.b_resize_old);
}

static void rank(struct packing *p, uint32_t cell, const struct tide_whole_cell *whole,
                 const struct tide_owner *owner)
{
  struct tide_reading *r = &p->r;
  tide_reading_count(r, whole, owner);
  if (r->view->kinds[owner->stack] != TIDE_SITE_PAGES)
    add_to_sums(&p->pack->sums, whole);
  if (tide_reading_is_mixed(whole->past.n_foreign,
                            tide_reading_age_ticks(r, &whole->cell, p->end_ticks)))
    note_mixed(p, owner->stack);
  TIDE_GROW(p->ranks, p->n_ranks, p->cap_ranks);
  p->ranks[p->n_ranks++] = (struct tide_rank){.peak_bytes = tide_reading_share(r, whole).bytes,
                                              .b_alloc = whole->cell.b_alloc,
                                              .stack = owner->stack,
                                              .row = cell};
}

// A cell that was met before; false: it is none any more.
static bool cell_again(struct packing *p, uint32_t id, struct tide_whole_cell *ret_whole,
                       struct tide_owner *ret_owner)
{
  struct tide_cell cell;
  if (!tide_store_view_cell(p->r.view, id, &cell, ret_owner) || !is_used(&cell, ret_owner))
    return false;
  struct tide_cell_block block = {id, 1, &cell, ret_owner};
  tide_whole_cell_read(p->r.view, &block, 0, p->r.has_carries, ret_whole);
  return true;
}

// The peak turned out to be now, so the shares are others than those that were ranked by.
static void rank_again(struct packing *p)
{
  struct tide_whole_cell whole;
  struct tide_owner owner;
  for (size_t i = 0; i < p->n_ranks; i++)
    if (cell_again(p, p->ranks[i].row, &whole, &owner))
      p->ranks[i].peak_bytes = tide_reading_share(&p->r, &whole).bytes;
}

static void gather_mixed(struct packing *p, uint32_t cell, const struct tide_whole_cell *whole,
                         const struct tide_owner *owner)
{
  if (!has_bit(p->is_mixed, owner->stack))
    return;
  TIDE_GROW(p->mixed, p->n_mixed, p->cap_mixed);
  p->mixed[p->n_mixed++] =
      (struct mixed){owner->stack, cell, tide_reading_age_ticks(&p->r, &whole->cell, p->end_ticks)};
}

static int by_stack_and_cell(const void *left, const void *right)
{
  const struct mixed *a = left, *b = right;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return (a->cell > b->cell) - (a->cell < b->cell);
}

// The first row of a stack gets the sum of all, which is exact modulo 2^64.
static void find_mixed(struct packing *p)
{
  if (!p->is_mixed)
    return;
  walk_cells(p, gather_mixed);
  if (p->n_mixed)
    qsort(p->mixed, p->n_mixed, sizeof *p->mixed, by_stack_and_cell);
  for (size_t i = 0, first = 0; i < p->n_mixed; i++) {
    if (p->mixed[i].stack != p->mixed[first].stack)
      first = i;
    if (i == first)
      continue;
    p->mixed[first].age_ticks += p->mixed[i].age_ticks;
    p->mixed[i].age_ticks = 0;
  }
}

static uint64_t age_ticks(const struct packing *p, uint32_t cell,
                          const struct tide_whole_cell *whole, const struct tide_owner *owner)
{
  struct mixed key = {.stack = owner->stack, .cell = cell};
  const struct mixed *found = NULL;
  if (has_bit(p->is_mixed, owner->stack) && p->n_mixed)
    found = bsearch(&key, p->mixed, p->n_mixed, sizeof key, by_stack_and_cell);
  if (p->r.view->kinds[owner->stack] == TIDE_SITE_PAGES)
    return 0; // nobody notes their births
  return found ? found->age_ticks : tide_reading_age_ticks(&p->r, &whole->cell, p->end_ticks);
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
  struct tide_whole_cell whole;
  struct tide_owner owner;
  for (size_t i = 0; i < p->n_ranks;) {
    size_t n = 0;
    image->counts.n = 0; // of the part before
    for (; i < p->n_ranks && n < TIDE_ROWS_SITES; i++) {
      uint32_t cell = p->ranks[i].row;
      if (i + AHEAD < p->n_ranks)
        tide_store_view_prefetch(p->r.view, p->ranks[i + AHEAD].row);
      if (!cell_again(p, cell, &whole, &owner))
        continue;
      tide_reading_site(&p->r, &whole, &owner, &rows[n]);
      rows[n++].age_ns = (int64_t)tide_reading_age_ns(&p->r, age_ticks(p, cell, &whole, &owner));
    }
    tide_encode_sites(&p->raw, image, rows, p->pack->n_sites, n);
    put_part(p, TIDE_PART_SITES);
    p->pack->n_sites += n;
  }
  free(rows);
  free(image->counts.items);
  image->counts = (struct tide_counts){0};
}

static int64_t wrapped_sum(int64_t sum, uint64_t more)
{
  return (int64_t)((uint64_t)sum + more);
}

static void add_stack(struct packing *p, uint32_t cell, const struct tide_whole_cell *whole,
                      const struct tide_owner *owner)
{
  (void)cell;
  struct tide_pack *pack = p->pack;
  if (!pack->n_stacks || pack->stacks[pack->n_stacks - 1].stack != owner->stack) {
    TIDE_GROW(pack->stacks, pack->n_stacks, p->cap_stacks);
    pack->stacks[pack->n_stacks++] = (struct tide_pack_stack){.stack = owner->stack};
  }
  struct tide_pack_stack *s = &pack->stacks[pack->n_stacks - 1];
  struct tide_share share = tide_reading_share(&p->r, whole);
  s->peak_bytes = wrapped_sum(s->peak_bytes, (uint64_t)share.bytes);
  s->peak_blocks = wrapped_sum(s->peak_blocks, (uint64_t)share.blocks);
  s->end_bytes = wrapped_sum(s->end_bytes, whole->cell.b_alloc - whole->cell.b_free);
  s->end_blocks = wrapped_sum(s->end_blocks, whole->cell.n_alloc - whole->cell.n_free);
  s->n_alloc += whole->cell.n_alloc;
  s->b_alloc += whole->cell.b_alloc;
}

static int by_stack(const void *left, const void *right)
{
  const struct tide_pack_stack *a = left, *b = right;
  return (a->stack > b->stack) - (a->stack < b->stack);
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

// Cells and stacks were mostly made in the same order, so there is seldom much to sort.
static void find_stacks(struct packing *p)
{
  walk_cells(p, add_stack);
  struct tide_pack_stack *stacks = p->pack->stacks;
  size_t n = p->pack->n_stacks, sorted = 1, kept = 0;
  while (sorted < n && stacks[sorted - 1].stack < stacks[sorted].stack)
    sorted++;
  if (sorted >= n)
    return;
  qsort(stacks, n, sizeof *stacks, by_stack);
  for (size_t i = 1; i < n; i++)
    if (stacks[i].stack == stacks[kept].stack)
      join_stacks(&stacks[kept], &stacks[i]);
    else
      stacks[++kept] = stacks[i];
  p->pack->n_stacks = kept + 1;
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

bool tide_store_pack_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image)
{
  struct packing p = {.pack = tide_alloc(sizeof *p.pack), .end_ticks = end_ticks};
  tide_store_view_map(view);
  if (!tide_store_view_is_mapped(view) || !(p.zstd = ZSTD_createCCtx())) {
    tide_pack_free(p.pack);
    return false;
  }
  tide_reading_begin(&p.r, view, clock, ret_image);
  pack_frames(&p);
  walk_cells(&p, rank);
  tide_reading_end(&p.r);
  p.pack->sums.live_blocks = (int64_t)(p.pack->sums.n_alloc - p.pack->sums.n_free);
  p.pack->sums.live_bytes = (int64_t)(p.pack->sums.b_alloc - p.pack->sums.b_free);
  if (p.r.peak_is_now)
    rank_again(&p);
  tide_ranks_sort(p.ranks, p.n_ranks, p.pack->n_frames);
  find_mixed(&p);
  pack_sites(&p);
  drop_order(&p);
  tide_store_view_use_up(view);
  find_stacks(&p);
  tide_buf_done(&p.raw);
  ZSTD_freeCCtx(p.zstd);
  ret_image->pack = p.pack;
  return true;
}
