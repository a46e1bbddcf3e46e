// SPDX-License-Identifier: Apache-2.0
//
// The rarer events: resizes and refusals.
#include "record/record.h"

void tide_record_failed(void)
{
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_failed, 1);
}

// A block from before we came, or from before the fork.
void tide_record_unknown(const void *p)
{
  if (!tide_real_pool_holds(p))
    tide_add_relaxed(&tide_store.header->n_unknown_free, 1);
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

static void unknown_resized(void *old)
{
  if (old && tide_boot_ready())
    tide_record_unknown(old);
}

// The address may be another thread's by now, so the map is left alone.
void tide_resize_freed(struct tide_resize resize, void *old)
{
  struct tide_thread *t = tide_enter();
  if (!t)
    return;
  tide_run_settle(&t->writer);
  if (resize.slot)
    tide_book_free(&t->writer, resize.block, (uint64_t)old, t->clock.now);
  else
    unknown_resized(old);
  tide_leave(t);
}

// The old block lives on as the new one: its birth goes along, and its end is no end of a life.
void tide_resize_done(struct tide_resize resize, void *old, void *p, size_t size,
                      struct tide_regs r)
{
  if (!resize.slot) {
    struct tide_thread *t = tide_enter(); // first: a fork child may have to boot
    if (t)
      tide_record_block(t, p, size, r);
    unknown_resized(old);
    return;
  }
  struct tide_thread *t = tide_enter();
  if (!t)
    return;
  uint64_t now = t->clock.now, birth = tide_live_birth(&resize.block);
  uint64_t old_size = tide_live_size(&resize.block);
  bool foreign;
  tide_run_settle(&t->writer);
  struct tide_cell *from = tide_book_cell_of(&t->writer, &resize.block, &foreign);
  if (from) {
    tide_book_leave(&t->writer, from, tide_ends_of(&t->writer, from), &resize.block, now);
    if (foreign)
      tide_past_of(&t->writer, from)->n_foreign++;
  } else {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  }
  struct tide_cell *to = tide_capture(&t->unwind, r);
  if (TIDE_UNLIKELY(!to)) {
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  } else if (TIDE_UNLIKELY(!tide_book_alloc(&t->writer, to, (uint64_t)p, size, birth, now))) {
    tide_boot_off(TIDE_OFF_NO_MEMORY);
  } else {
    struct tide_past *past = tide_past_of(&t->writer, to);
    past->n_resize++;
    past->b_resize_old += old_size;
    past->b_resize_new += size;
    if (old != p) {
      past->n_moved++;
      past->b_moved += old_size;
    }
  }
  tide_leave(t);
}
