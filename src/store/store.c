// SPDX-License-Identifier: Apache-2.0
//
// The append-only tables of a store but that of nodes. Locks for what is appended: these are the
// moments a stack, module or thread is seen for the first time. How much of a table was handed out
// is known here; the header is told.
#include "store/store.h"

#include "rt/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct tide_store tide_store;
static struct tide_lock slot_lock, table_lock;
static struct tide_store_header turned_away TIDE_BULKY;

// Touching a page of a file that finds no room on its disk would kill the program; asking first
// does not. A kernel that cannot be asked (before 5.14), or may not be, is trusted.
bool tide_store_back(const void *at, uint64_t bytes)
{
  if (!tide_store.on_disk || tide_sys_sandboxed())
    return true;
  uint64_t first = (uint64_t)at & ~(tide_sys_page_bytes - 1);
  uint64_t n = tide_sys_whole_pages((uint64_t)at + bytes - first);
  long ret = TIDE_SYS(SYS_madvise, first, n, MADV_POPULATE_WRITE);
  return !tide_sys_failed(ret) || ret == -EINVAL;
}

void tide_store_forget(void)
{
  slot_lock.held = table_lock.held = 0;
  tide_store = (struct tide_store){0}; // another mapping may be there by now
}

// The generation is raised before the header's, which everybody compares: whoever sees that one
// differ finds this one raised, sooner or later.
void tide_store_code_changed(void)
{
  uint32_t next = tide_add_acq_rel(&tide_store.code_gen, 1) + 1;
  tide_store_relaxed(&tide_store.header->pulse.code_gen, next);
}

// Events that are under way go on with the one or the other.
void tide_store_turn_away(void)
{
  turned_away.pulse.code_gen = tide_load_relaxed(&tide_store.code_gen);
  tide_store_release(&tide_store.header, &turned_away);
}

int64_t tide_store_live_bytes(void)
{
  int64_t live = 0;
  uint32_t n = tide_load_acquire(&tide_store.n_slots);
  for (uint32_t i = 1; i < n; i++) {
    const struct tide_thread_slot *slot = tide_slot_at(i);
    uint64_t open = tide_load_relaxed(&slot->pairs.open); // a block that waits is in no cell yet
    live += tide_load_relaxed(&slot->held) + (int64_t)(open ? open - 1 : 0);
  }
  return live;
}

uint32_t tide_store_text(const char *text, size_t n)
{
  const struct tide_area *area = &tide_store.areas.text;
  tide_lock_take(&table_lock);
  uint32_t at = tide_store.n_text;
  if (at < area->n_near && n + 1 > area->n_near - at)
    at = area->n_near; // a text lies in one place
  char *to = tide_store.base + (at < area->n_near ? area->near_offset : area->offset) + at;
  bool fits = n < area->capacity && at + n + 1 <= area->capacity && tide_store_back(to, n + 1);
  if (fits) {
    memcpy(to, text, n);
    tide_store.n_text = at + (uint32_t)n + 1;
  }
  tide_lock_drop(&table_lock);
  return fits ? at : 0;
}

uint32_t tide_store_module_add(const struct tide_store_module *module)
{
  uint32_t id = tide_store.n_modules;
  if (id == tide_store.areas.modules.capacity ||
      !tide_store_back(tide_module_at(id), sizeof *module))
    return 0;
  *tide_module_at(id) = *module;
  tide_store.n_modules = id + 1;
  tide_store_release(&tide_store.header->n_modules, id + 1);
  return id;
}

uint32_t tide_slot_new(void)
{
  tide_lock_take(&slot_lock);
  uint32_t id = tide_store.n_slots;
  bool fits = id < tide_store.areas.slots.capacity &&
              tide_store_back(tide_slot_at(id), sizeof(struct tide_thread_slot));
  if (fits) {
    tide_slot_at(id)->id = id;
    tide_store_release(&tide_store.n_slots, id + 1);
    tide_store_release(&tide_store.header->n_slots, id + 1);
  }
  tide_lock_drop(&slot_lock);
  return fits ? id : 0;
}

void tide_slot_count_owner(struct tide_thread_slot *slot)
{
  slot->n_owners++;
  tide_add_relaxed(&tide_store.header->n_threads, 1);
}

// The first elements of a table are backed with the header.
static bool back_elements(const struct tide_area *area, uint64_t bytes_each, uint32_t at,
                          uint32_t n)
{
  return at + n <= area->n_near ||
         tide_store_back(tide_store.base + area->offset + at * bytes_each, n * bytes_each);
}

// Cells come in chunks per thread, so that two threads never share a line or (mostly) a page.
uint32_t tide_cell_chunk(uint32_t n)
{
  tide_lock_take(&table_lock);
  uint32_t at = tide_store.n_cells;
  bool fits = n <= tide_store.areas.cells.capacity - at;
  if (fits) {
    tide_store.n_cells = at + n;
    tide_store_relaxed(&tide_store.header->n_cells, at + n);
  }
  tide_lock_drop(&table_lock);
  if (!fits || !tide_store_back(&tide_store.cells[at], n * sizeof *tide_store.cells) ||
      !back_elements(&tide_store.areas.owners, sizeof(struct tide_owner), at, n))
    return 0;
  return at;
}

struct annex_table {
  const struct tide_area *area;
  uint64_t bytes_each;
  uint32_t *told; // in the header
};

static struct annex_table annex_table(enum tide_annex_kind kind)
{
  struct tide_store_header *h = tide_store.header;
  const struct tide_store_areas *a = &tide_store.areas;
  switch (kind) {
  case TIDE_ENDS: return (struct annex_table){&a->ends, sizeof(struct tide_ends), &h->n_ends};
  case TIDE_PAST: return (struct annex_table){&a->pasts, sizeof(struct tide_past), &h->n_pasts};
  case TIDE_TOUCHES:
    return (struct annex_table){&a->touches, sizeof(struct tide_touches), &h->n_touches};
  default: return (struct annex_table){&a->hists, sizeof(struct tide_hist), &h->n_hists};
  }
}

uint32_t tide_annex_chunk(enum tide_annex_kind kind, uint32_t n)
{
  struct annex_table table = annex_table(kind);
  tide_lock_take(&table_lock);
  uint32_t at = tide_store.n_annexes[kind];
  bool fits = n <= tide_store.areas.ends.capacity - at;
  if (fits) {
    tide_store.n_annexes[kind] = at + n;
    tide_store_relaxed(table.told, at + n);
  }
  tide_lock_drop(&table_lock);
  return fits && back_elements(table.area, table.bytes_each, at, n) ? at : 0;
}
