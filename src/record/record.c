// SPDX-License-Identifier: Apache-2.0
//
// The rarer events: resizes and refusals.
#include "record/record.h"

void tide_record_failed(void)
{
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_failed, 1);
}

__attribute__((noinline)) bool tide_record_free_any(struct tide_thread *t, void *p, uint64_t now)
{
  uint64_t addr = (uint64_t)p;
  struct tide_live *live = tide_live_find(addr);
  if (TIDE_LIKELY(live && tide_live_cell(live) && tide_live_aligned(addr))) {
    tide_book_free(&t->writer, tide_live_take(live), addr, now);
    return true;
  }
  if (!tide_real_pool_holds(p))
    tide_add_relaxed(&tide_store.header->n_unknown_free, 1);
  return false;
}

struct tide_resize tide_resize_begin(void *old)
{
  struct tide_resize resize = {0};
  if (!old || !tide_boot_ready())
    return resize;
  struct tide_live *slot = tide_live_find((uint64_t)old);
  if (slot && tide_live_cell(slot) && tide_live_aligned((uint64_t)old))
    resize = (struct tide_resize){slot, tide_live_take(slot)};
  return resize;
}

void tide_resize_failed(struct tide_resize resize)
{
  if (resize.slot)
    *resize.slot = resize.block;
  tide_record_failed();
}

// A block from before we came, or from before the fork.
static void unknown_resized(void *old)
{
  if (old && tide_boot_ready() && !tide_real_pool_holds(old))
    tide_add_relaxed(&tide_store.header->n_unknown_free, 1);
}

// The address may be another thread's by now, so the map is left alone.
void tide_resize_freed(struct tide_resize resize, void *old)
{
  struct tide_thread *t = tide_enter();
  if (!t)
    return;
  if (resize.slot)
    tide_book_free(&t->writer, resize.block, (uint64_t)old, tide_clock_now(&t->clock));
  else
    unknown_resized(old);
  tide_leave(t);
}

// The old block lives on as the new one: its birth goes along, and its end is no end of a life.
void tide_resize_done(struct tide_resize resize, void *old, void *p, size_t size,
                      struct tide_regs r)
{
  if (!resize.slot) {
    tide_record_alloc(p, size, r); // first: a fork child may have to boot
    unknown_resized(old);
    return;
  }
  struct tide_thread *t = tide_enter();
  if (!t)
    return;
  uint64_t now = tide_clock_now(&t->clock), birth = tide_live_birth(&resize.block);
  uint64_t old_size = tide_live_size(&resize.block);
  bool foreign;
  struct tide_cell *from = tide_book_cell_of(&t->writer, &resize.block, &foreign);
  if (from) {
    uint32_t interval = tide_book_leave(&t->writer, from, &resize.block, now);
    from->n_foreign += foreign;
    tide_book_left(&t->writer, from, &resize.block, interval);
  } else {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  }
  struct tide_cell *to = tide_record_in(t, (uint64_t)p, size, r, birth, now);
  if (to) {
    to->n_resize++;
    to->b_resize_old += old_size;
    to->b_resize_new += size;
    if (old != p) {
      tide_store.pasts[to - tide_store.cells].n_moved++;
      tide_store.hists[to - tide_store.cells].b_moved += old_size;
    }
  }
  tide_clock_event_done(&t->clock, t->writer.slot);
  tide_leave(t);
}
