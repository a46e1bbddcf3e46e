// SPDX-License-Identifier: Apache-2.0
//
// New cells, and the index that finds them again.
#include "store/writer.h"

#include "rt/sys.h"
#include "store/live.h"

enum { FIRST_ENTRIES = 128, AHEAD = 16 };
#define LOST_HASH 0x6c6f73746c6f7374ull

bool tide_writer_init(struct tide_writer *w)
{
  w->index = tide_sys_map_private(FIRST_ENTRIES * sizeof *w->index);
  w->index_mask = FIRST_ENTRIES - 1;
  w->index_used = 0;
  if (w->index)
    tide_live_station_add(&w->station);
  return w->index;
}

static void index_put(uint64_t *index, uint32_t mask, uint64_t hash, uint32_t cell)
{
  uint32_t i = (uint32_t)hash & mask;
  while (index[i])
    i = (i + 1) & mask;
  index[i] = (hash & ~0xffffffffull) | cell;
}

static bool index_room(struct tide_writer *w)
{
  uint64_t n = w->index_mask + 1ull;
  if ((w->index_used + 1) * 8ull <= n * 5)
    return true;
  uint64_t *bigger = tide_sys_map_table(n * 2 * sizeof *bigger);
  if (!bigger)
    return w->index_used + 1 < n;
  for (uint64_t i = 0; i < n; i++) {
    if (i + AHEAD < n)
      __builtin_prefetch(&tide_owner_at((uint32_t)w->index[i + AHEAD])->hash);
    if (w->index[i])
      index_put(bigger, (uint32_t)(n * 2 - 1), tide_owner_at((uint32_t)w->index[i])->hash,
                (uint32_t)w->index[i]);
  }
  tide_sys_unmap(w->index, n * sizeof *w->index);
  w->index = bigger;
  w->index_mask = (uint32_t)(n * 2 - 1);
  return true;
}

static struct tide_cell *cell_add(struct tide_writer *w, uint64_t hash, uint32_t stack)
{
  uint32_t i = w->cell_next++;
  struct tide_cell *c = &tide_store.cells[i];
  c->stamp.both = tide_load_relaxed(&tide_store.header->stamp.both);
  struct tide_owner *o = tide_owner_at(i);
  o->slot = w->slot_id;
  o->hash = hash;
  tide_store_release(&o->stack, stack); // a reader skips cells without a stack
  index_put(w->index, w->index_mask, hash, i);
  w->index_used++;
  return c;
}

static bool chunk_room(struct tide_writer *w)
{
  uint32_t n = w->cell_end ? 32 : 8, at = tide_cell_chunk(n);
  if (!at)
    return false;
  w->cell_next = at;
  w->cell_end = at + n;
  return true;
}

// Room for one more cell and its place in the index. A slot's very first cell is the one for events
// whose stack finds no room: when that day comes, there are no cells left to make it of.
static bool cell_room(struct tide_writer *w)
{
  bool first = !w->cell_end;
  if (!index_room(w) || (w->cell_next == w->cell_end && !chunk_room(w)))
    return false;
  if (first)
    cell_add(w, LOST_HASH, TIDE_NODE_ROOT_LOST);
  return true;
}

TIDE_COLD struct tide_cell *tide_writer_cell_new(struct tide_writer *w, uint64_t hash,
                                                 uint32_t stack)
{
  if (cell_room(w) && stack)
    return cell_add(w, hash, stack);
  return tide_writer_find(w, LOST_HASH);
}
