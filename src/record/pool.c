// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a program's own pools (tidemark.h), as it tells of them. They are blocks of the heap as
// those of any allocator: booked at the teller's stack, in cells of their own (TIDE_FAMILY_POOLS,
// by the tag of the pc), with a life, in scopes, regions and peaks. Only where they are kept while
// they live is another place (store/pools.h).
//
// What the pool itself asks of malloc is not to be counted beside them. Either the gate is held
// meanwhile (preload/pools.c), so that nothing is known of it, or the pool's blocks are refused: if
// a known block lies around one, its bytes are counted already. That is looked for when the first
// block of 16 KiB is told. While blocks of a pool live there it needs no second look: memory is not
// both a pool's and free for malloc. Where all of them have ended and one begins anew, as of a pool
// that has one in use at a time, it is looked nearby as a rule, and far now and then.
//
// The addresses by which blocks of pools are known beside those of malloc (as a thread's latest, or
// as samples) are the complements of theirs: no block of malloc's has such a one.
#include "record/pool.h"

#include "store/pools.h"

#include <errno.h>

enum { LOOK_BACK = 4096, LOOK_NEAR = 16 }; // regions: 64 MiB, 256 KiB

// The block in which the latest one that was refused lay: a pool's chunk may be larger than is
// looked back. Guarded by the lock of pools.
static struct tide_below refused;

void tide_pool_after_fork(void)
{
  refused = (struct tide_below){0};
  tide_pools_after_fork();
}

static bool is_in(const struct tide_below *block, uint64_t addr)
{
  return addr - block->addr < block->size;
}

static bool is_still_refused(struct tide_thread *t, uint64_t addr)
{
  struct tide_block block;
  return is_in(&refused, addr) && tide_live_look(&t->writer.station, refused.addr, &block) &&
         block.size == refused.size;
}

// Does a known block lie around this address? Blocks of a pool that are known below it were looked
// at themselves: whatever begins before them ends before them.
static bool is_counted(struct tide_thread *t, uint64_t addr)
{
  const uint64_t region_bytes = 1ull << TIDE_POOL_REGION_BITS;
  uint64_t start = addr & -region_bytes;
  uint64_t most = tide_pools_were_near(addr) ? LOOK_NEAR : LOOK_BACK;
  struct tide_below block;
  if (is_still_refused(t, addr))
    return true;
  for (uint64_t i = 0; i < most && start; i++, start -= region_bytes) {
    if (tide_live_below(&t->writer.station, start, addr, &block)) {
      refused = is_in(&block, addr) ? block : refused;
      return is_in(&block, addr);
    }
    if (tide_pools_are_near(start))
      return false;
  }
  return false;
}

// Writes in the book all but the live map: see tide_book_alloc().
static void book_block(struct tide_thread *t, struct tide_cell *c, struct tide_pool_block *block)
{
  const struct tide_place nowhere = {.region = &tide_live_nowhere, .table = ~0ull};
  struct tide_writer *w = &t->writer;
  uint64_t now = t->clock.now;
  tide_pairs_settle(w);
  tide_total_add(w, block->size);
  uint32_t interval = tide_cell_fold(w, c);
  c->n_alloc++;
  c->b_alloc += block->size;
  c->birth_live_sum += now;
  c->t_last = now;
  tide_sizes_add(w, c, tide_size_bucket(block->size));
  block->when = tide_live_when(interval, now);
  tide_book_latest(w, &nowhere, c, ~block->addr, (struct tide_live){0}, now);
}

static void book_end(struct tide_thread *t, const struct tide_pool_block *block)
{
  struct tide_block ended = {block->cell, block->size, block->when};
  tide_pairs_settle(&t->writer);
  tide_book_free(&t->writer, ended, ~block->addr, t->clock.now);
}

// A block that is told again has ended: its memory is handed out anew.
static void end_older(struct tide_thread *t, uint64_t addr)
{
  struct tide_pool_block older;
  if (tide_pools_take(addr, &older))
    book_end(t, &older);
}

static long record_pool_block(struct tide_thread *t, uint64_t addr, uint64_t size,
                              struct tide_regs r)
{
  if (!tide_pools_are_near(addr) && is_counted(t, addr))
    return -EEXIST;
  r.pc |= (uint64_t)TIDE_FAMILY_POOLS << TIDE_PC_TAG_SHIFT;
  struct tide_cell *c = tide_capture(&t->unwind, r);
  struct tide_pool_block block = {.addr = addr, .size = size};
  if (c) {
    end_older(t, addr);
    block.cell = (uint32_t)tide_cell_index(c);
    book_block(t, c, &block);
  }
  if (c && tide_pools_put(&block))
    return 0;
  if (c)
    book_end(t, &block);
  tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  return -ENOMEM;
}

static long sample_pool_block(struct tide_seat *seat, uint64_t addr, uint64_t size,
                              struct tide_regs r)
{
  void *key = (void *)~addr;
  tide_sample_free(seat, key);
  r.pc |= (uint64_t)TIDE_FAMILY_POOLS << TIDE_PC_TAG_SHIFT;
  if (!tide_sample_passes(seat, size))
    tide_sample_block(seat, key, size, r);
  return 0;
}

long tide_pool_alloc(struct tide_seat *seat, uint64_t addr, uint64_t size, struct tide_regs r)
{
  if (tide_samples.bits)
    return sample_pool_block(seat, addr, size, r);
  struct tide_thread *t = tide_enter_alloc(seat);
  if (!t)
    return -ENODATA;
  tide_pools_lock();
  long error = record_pool_block(t, addr, size, r);
  tide_pools_unlock();
  tide_leave_after(t, error ? TIDE_EVENT_NONE : TIDE_EVENT_ALLOC, (const void *)addr);
  return error;
}

// The first in [from, to), if there is one.
static bool end_first_in(struct tide_seat *seat, uint64_t from, uint64_t to, uint64_t *ret_addr)
{
  struct tide_pool_block block = {0};
  struct tide_thread *t = tide_enter(seat);
  if (!t)
    return false;
  tide_pools_lock();
  bool is_known = to ? tide_pools_take_in(from, to, &block) : tide_pools_take(from, &block);
  tide_pools_unlock();
  if (is_known)
    book_end(t, &block);
  tide_leave_after(t, is_known ? TIDE_EVENT_FREE : TIDE_EVENT_NONE, (const void *)block.addr);
  *ret_addr = block.addr;
  return is_known;
}

bool tide_pool_free(struct tide_seat *seat, uint64_t addr)
{
  uint64_t found;
  return tide_samples.bits ? tide_sample_free(seat, (const void *)~addr)
                           : end_first_in(seat, addr, 0, &found);
}

uint64_t tide_pool_free_all(struct tide_seat *seat, uint64_t from, uint64_t to)
{
  uint64_t n = 0;
  if (tide_samples.bits) // from the complement of the last byte on
    return to > from ? tide_sample_free_all(seat, ~(to - 1), ~from) : 0;
  while (from < to && end_first_in(seat, from, to, &from))
    n++, from++;
  return n;
}
