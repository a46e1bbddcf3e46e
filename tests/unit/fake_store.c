// SPDX-License-Identifier: Apache-2.0
//
// Written from store/layout.h alone, not from the recorder: what the reader is tested against must
// not share the recorder's mistakes.
#define _GNU_SOURCE
#include "fake_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define N_CELLS 2048u
#define N_CHUNKS 64u

static uint64_t take(uint64_t *at, struct tide_area *area, uint64_t n, uint64_t bytes_each)
{
  *area = (struct tide_area){*at, n};
  *at = (*at + n * bytes_each + 4095) & ~UINT64_C(4095);
  return area->offset;
}

static uint64_t clock_ns(clockid_t id)
{
  struct timespec now;
  clock_gettime(id, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fake_store_map(struct fake_store *store, int fd)
{
  char *base = mmap(NULL, FAKE_STORE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED)
    abort();
  struct tide_store_header *h = (struct tide_store_header *)base;
  uint64_t at = TIDE_STORE_HEADER_BYTES;
  *store = (struct fake_store){
      .base = base,
      .header = h,
      .slots = (void *)(base + take(&at, &h->areas.slots, 64, sizeof *store->slots)),
      .nodes = (void *)(base + take(&at, &h->areas.nodes, 4096, sizeof *store->nodes)),
      .cells = (void *)(base + take(&at, &h->areas.cells, N_CELLS, sizeof *store->cells)),
      .ends = (void *)(base + take(&at, &h->areas.ends, N_CELLS, sizeof *store->ends)),
      .hists = (void *)(base + take(&at, &h->areas.hists, N_CELLS, sizeof *store->hists)),
      .carries = (void *)(base + take(&at, &h->areas.carries, N_CELLS, sizeof *store->carries)),
      .owners = (void *)(base + take(&at, &h->areas.owners, N_CELLS, sizeof *store->owners)),
      .modules = (void *)(base + take(&at, &h->areas.modules, 64, sizeof *store->modules)),
      .pasts = (void *)(base + take(&at, &h->areas.pasts, N_CELLS, sizeof *store->pasts)),
      .touches = (void *)(base + take(&at, &h->areas.touches, N_CELLS, sizeof *store->touches)),
      .lates = (void *)(base + take(&at, &h->areas.lates, N_CHUNKS, sizeof *store->lates)),
      .ranges = (void *)(base + take(&at, &h->areas.ranges, 64, sizeof *store->ranges)),
  };
  take(&at, &h->areas.text, 65536, 1);
  take(&at, &h->areas.children, 1, sizeof(struct tide_store_children));
  take(&at, &h->areas.moments, TIDE_MOMENTS, sizeof(struct tide_store_moment));
  if (at > FAKE_STORE_BYTES)
    abort();
  h->stamp.epoch = 1;
  h->stamp.interval = TIDE_FIRST_INTERVAL;
  h->n_cells = h->n_ends = h->n_pasts = h->n_hists = h->n_touches = TIDE_FIRST_CELL;
  h->n_nodes = h->n_slots = h->n_modules = store->text_next = 1;
  fake_store_node(store, 0, 0, TIDE_FRAME_PAGES);
  fake_store_node(store, 0, 0, TIDE_FRAME_LOST);
  fake_store_node(store, 0, 0, TIDE_FRAME_CUT);
  memcpy(h->magic, TIDE_STORE_MAGIC, sizeof h->magic);
  h->version = TIDE_STORE_VERSION;
  h->arch = TIDE_ARCH_X86_64;
  h->store_bytes = FAKE_STORE_BYTES;
  h->pid = FAKE_PID;
  h->ppid = 1;
  h->start_ticks = 1000;
  h->start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
  h->n_threads = h->n_live_threads = h->max_live_threads = 1;
  h->exe = fake_store_text(store, "/bin/fake", 9);
  h->cmdline = fake_store_text(store, "fake\0one", 9);
  h->cmdline_bytes = 9;
  __atomic_store_n(&h->state, TIDE_STATE_RECORDING, __ATOMIC_RELEASE);
}

void fake_store_unmap(struct fake_store *store)
{
  munmap(store->base, FAKE_STORE_BYTES);
}

uint32_t fake_store_text(struct fake_store *store, const char *text, size_t n)
{
  uint32_t at = store->text_next;
  memcpy(store->base + store->header->areas.text.offset + at, text, n);
  store->text_next += (uint32_t)n + 1;
  return at;
}

uint32_t fake_store_module(struct fake_store *store, const char *path, uint64_t start, uint64_t end)
{
  uint32_t id = store->header->n_modules++;
  store->modules[id] = (struct tide_store_module){
      .start = start,
      .end = end,
      .bias = start,
      .path = fake_store_text(store, path, strlen(path)),
      .build_id_len = 4,
      .build_id = {1, 2, 3, 4},
  };
  return id;
}

uint32_t fake_store_node(struct fake_store *store, uint64_t frame, uint32_t parent, uint32_t flags)
{
  uint32_t id = store->header->n_nodes;
  store->nodes[id] = (struct tide_node){frame, parent, flags};
  __atomic_store_n(&store->header->n_nodes, id + 1, __ATOMIC_RELEASE);
  return id;
}

uint32_t fake_store_slot(struct fake_store *store, uint32_t tid, const char *name)
{
  uint32_t id = store->header->n_slots++;
  struct tide_thread_slot *slot = &store->slots[id];
  *slot = (struct tide_thread_slot){.id = id, .tid = tid, .n_owners = 1};
  strncpy(slot->name, name, sizeof slot->name - 1);
  return id;
}

struct tide_cell *fake_store_cell(struct fake_store *store, uint32_t stack, uint32_t slot)
{
  uint32_t id = store->header->n_cells++;
  struct tide_store_header *h = store->header;
  h->n_ends = h->n_pasts = h->n_hists = h->n_touches = id + 1;
  store->cells[id].stamp = store->header->stamp;
  store->cells[id].sizes = tide_streak_make(id, 0, 0);
  store->ends[id].lives = tide_streak_make(id, 0, 0);
  store->ends[id].past = id;
  store->owners[id].slot = slot;
  store->owners[id].hash = stack * UINT64_C(0x9E3779B97F4A7C15);
  __atomic_store_n(&store->owners[id].stack, stack, __ATOMIC_RELEASE);
  return &store->cells[id];
}

uint32_t fake_store_interval(const struct fake_store *store)
{
  return store->seen_interval ? store->seen_interval
                              : __atomic_load_n(&store->header->stamp.interval, __ATOMIC_RELAXED);
}

static void close_interval(struct fake_store *store, struct tide_cell *cell)
{
  struct tide_closing *c = store->pasts[cell - store->cells].closings;
  c[c[0].interval > c[1].interval] = (struct tide_closing){
      cell->n_alloc, cell->b_alloc, cell->n_free, cell->b_free, cell->stamp.interval, 0};
  cell->stamp.interval = fake_store_interval(store);
}

static void fold(struct fake_store *store, struct tide_cell *cell)
{
  if (cell->stamp.interval != fake_store_interval(store))
    close_interval(store, cell);
  if (cell->stamp.epoch == store->header->stamp.epoch)
    return;
  struct tide_ends *ends = &store->ends[cell - store->cells];
  ends->peak_bytes = (int64_t)(cell->b_alloc - cell->b_free);
  ends->peak_blocks = (int64_t)(cell->n_alloc - cell->n_free);
  cell->stamp.epoch = store->header->stamp.epoch;
}

void fake_store_alloc(struct fake_store *store, struct tide_cell *cell, uint64_t bytes)
{
  uint32_t slot = store->owners[cell - store->cells].slot;
  store->slots[slot].held += (int64_t)bytes;
  fold(store, cell);
  cell->n_alloc++;
  cell->b_alloc += bytes;
}

void fake_store_free(struct fake_store *store, struct tide_cell *cell, uint64_t bytes)
{
  struct tide_store_header *h = store->header;
  int64_t live = 0;
  for (uint32_t i = 1; i < h->n_slots; i++)
    live += store->slots[i].held;
  if (live > h->max_bytes) {
    h->max_bytes = live;
    h->stamp.epoch++;
  }
  store->slots[store->owners[cell - store->cells].slot].held -= (int64_t)bytes;
  fold(store, cell);
  int64_t cell_live = (int64_t)(cell->b_alloc - cell->b_free);
  struct tide_ends *ends = &store->ends[cell - store->cells];
  if (cell_live > ends->high_bytes)
    ends->high_bytes = cell_live;
  cell->n_free++;
  cell->b_free += bytes;
}

// A chunk for the present interval: the last one if it is that and has room, else the next; those
// of intervals that are over are closed.
static struct tide_late_chunk *chunk_now(struct fake_store *store)
{
  struct tide_store_header *h = store->header;
  struct tide_late_chunk *last = h->late_next ? &store->lates[h->late_next - 1] : NULL;
  uint32_t interval = fake_store_interval(store);
  if (last && last->state == TIDE_LATE_TAKEN && last->interval == interval &&
      last->n_rows < TIDE_LATE_ROWS)
    return last;
  for (uint32_t i = 0; i < h->late_end; i++)
    if (store->lates[i].state == TIDE_LATE_TAKEN && store->lates[i].interval != interval)
      store->lates[i].state = TIDE_LATE_CLOSED;
  while (h->late_next < N_CHUNKS && store->lates[h->late_next].state != TIDE_LATE_FREE)
    h->late_next++;
  if (h->late_next == N_CHUNKS)
    return NULL;
  struct tide_late_chunk *chunk = &store->lates[h->late_next++];
  if (h->late_end < h->late_next)
    h->late_end = h->late_next;
  chunk->state = TIDE_LATE_TAKEN;
  chunk->interval = interval;
  chunk->n_rows = 0;
  return chunk;
}

void fake_store_free_late(struct fake_store *store, struct tide_cell *cell, uint64_t bytes,
                          uint32_t born)
{
  fake_store_free(store, cell, bytes);
  if (born == fake_store_interval(store))
    return;
  struct tide_late_chunk *chunk = chunk_now(store);
  uint64_t key = TIDE_LATE_KEY((uint32_t)(cell - store->cells), born);
  uint32_t i = 0;
  while (chunk && i < chunk->n_rows && chunk->rows[i].key != key)
    i++;
  if (!chunk) {
    store->header->n_late_lost++;
    return;
  }
  if (i == chunk->n_rows)
    chunk->rows[chunk->n_rows++] = (struct tide_late_row){.key = key};
  chunk->rows[i].n_blocks++;
  chunk->rows[i].bytes += bytes;
}
