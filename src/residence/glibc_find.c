// SPDX-License-Identifier: Apache-2.0
//
// The main arena is found by its shape, as nothing names it: 127 pairs of words in libc's data,
// each the two ends of a list of free chunks, and before them the top chunk. An empty list points
// to itself; another's first chunk points back. From there the arenas are a ring.
#define _GNU_SOURCE
#include "residence/glibc.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "base/proc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// An arena (struct malloc_state), in words from its top chunk on: the same since 2.27.
enum {
  TOP_AT = 0,
  BINS_AT = 2,
  BINS = 127,
  NEXT_AT = 258,
  WORDS_FROM_TOP = 263,
  LIKE_BINS = 100, // of 127: a few may change as we look
  SOME_BINS = 16,  // where an arena is known to be
};
// What is before it has changed: 2.43 has no fast bins.
enum { MAX_FAST_BINS = 10, MAX_WORDS_TO_TOP = 12 };
static const struct arena_head {
  unsigned words_to_top, fast_bins_at, n_fast_bins;
} arena_heads[] = {{12, 2, MAX_FAST_BINS}, {1, 0, 0}};

enum { MAX_ARENAS = 4096, MAX_DATA_BYTES = 16 << 20 };
#define HEAP_BYTES (UINT64_C(64) << 20) // of address space, and aligned to that
#define HEAP_INFO_BYTES 48u
#define MAX_BRK_BYTES (UINT64_C(1) << 40) // other mappings are farther away

void tide_addresses_add(struct tide_addresses *addresses, uint64_t address)
{
  TIDE_GROW(addresses->items, addresses->n, addresses->cap);
  addresses->items[addresses->n++] = address;
}

static int address_order(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

void tide_addresses_sort(struct tide_addresses *addresses)
{
  if (addresses->n)
    qsort(addresses->items, addresses->n, sizeof *addresses->items, address_order);
}

struct address {
  uint64_t value;
};

size_t tide_addresses_from(const struct tide_addresses *addresses, uint64_t address)
{
  const struct address *items = (const struct address *)addresses->items;
  return TIDE_FIRST_NOT_BELOW(items, addresses->n, value, address);
}

// ---- the main arena ----

static bool read_word(struct tide_space *space, uint64_t at, uint64_t *ret_word)
{
  return at % sizeof *ret_word == 0 && tide_space_read(space, at, ret_word, sizeof *ret_word);
}

static bool is_bin(struct tide_space *space, const uint64_t *ends, uint64_t self)
{
  uint64_t back;
  if (ends[0] == self)
    return ends[1] == self;
  return ends[0] % 16 == 0 && read_word(space, ends[0] + 24, &back) && back == self;
}

// Whether enough pairs begin with what may be an address of a chunk. Of most data they do not, and
// is_bin() would read the process word by word to say so.
static bool may_be_bins(const uint64_t *words, int least)
{
  int n = 0;
  for (int i = 0; i < BINS && n + BINS - i > least; i++)
    n += words[BINS_AT + 2 * i] && words[BINS_AT + 2 * i] % 8 == 0;
  return n > least;
}

static int count_bins(struct tide_space *space, const uint64_t *words, uint64_t at, int least)
{
  int n = 0;
  if (!may_be_bins(words, least))
    return 0;
  for (int i = 0; i < BINS && n + BINS - i > least; i++)
    n += is_bin(space, &words[BINS_AT + 2 * i], at + 16ull * (unsigned)i);
  return n;
}

// Of a process that goes on, it may have come since the pages were looked at.
static bool read_newest(struct tide_space *space, uint64_t at, uint64_t *words, size_t n)
{
  return tide_space_read(space, at, words, n) ||
         (!tide_space_swapped(space, at, at + n) && tide_space_fetch(space, at, words, n));
}

// The main arena leads to the next one, or to itself: from there, where is the top? NULL: nowhere.
static const struct arena_head *find_head(struct tide_space *space, uint64_t main_top,
                                          uint64_t next)
{
  uint64_t words[WORDS_FROM_TOP];
  for (size_t i = 0; i < sizeof arena_heads / sizeof *arena_heads; i++) {
    uint64_t top = next + 8ull * arena_heads[i].words_to_top;
    if (top == main_top ||
        (next % HEAP_BYTES == HEAP_INFO_BYTES && read_newest(space, top, words, sizeof words) &&
         count_bins(space, words, top, SOME_BINS) > SOME_BINS))
      return &arena_heads[i];
  }
  return NULL;
}

// Where the main arena has its top. 0: it is not in this data. Two words on, its lists look like
// those of another one, but lead nowhere.
static uint64_t find_in_data(struct tide_space *space, uint64_t lo, uint64_t hi,
                             const struct arena_head **ret_head)
{
  size_t n = (size_t)(hi - lo) / 8;
  TIDE_CLEANUP_FREE uint64_t *words = tide_alloc_array(n, sizeof *words);
  if (!tide_space_read(space, lo, words, n * sizeof *words))
    return 0;
  for (size_t i = 0; i + WORDS_FROM_TOP <= n; i++) {
    uint64_t at = lo + i * 8;
    if (count_bins(space, &words[i], at, LIKE_BINS) > LIKE_BINS &&
        (*ret_head = find_head(space, at, words[i + NEXT_AT])))
      return at;
  }
  return 0;
}

static bool is_libc(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && (strncmp(slash, "/libc.so.6", 10) == 0 || strncmp(slash, "/libc-2.", 8) == 0);
}

// In libc's data or, of a static program, in its own. Only pages in memory are looked at.
static uint64_t find_main_top(struct tide_space *space, bool in_libc,
                              const struct arena_head **ret_head)
{
  char program[PATH_MAX] = "";
  tide_proc_exe(space->pid, program, sizeof program);
  for (size_t i = 0; i < space->n_mappings; i++) {
    const struct tide_space_mapping *m = &space->mappings[i];
    if (!m->writable || m->shared ||
        !(in_libc ? is_libc(m->path) : *program && strcmp(m->path, program) == 0))
      continue;
    uint64_t hi = m->hi - m->lo < MAX_DATA_BYTES ? m->hi : m->lo + MAX_DATA_BYTES;
    for (size_t k = tide_space_run_at(space, m->lo); k < space->n_runs && space->runs[k].lo < hi;
         k++) {
      uint64_t from = space->runs[k].lo > m->lo ? space->runs[k].lo : m->lo, to = space->runs[k].hi;
      while (k + 1 < space->n_runs && space->runs[k + 1].lo == to)
        to = space->runs[++k].hi;
      uint64_t found = find_in_data(space, from, to < hi ? to : hi, ret_head);
      if (found)
        return found;
    }
  }
  return 0;
}

// ---- heaps ----

static struct tide_glibc_heap *add_heap(struct tide_glibc *glibc, struct tide_residence *table,
                                        struct tide_glibc_heap heap)
{
  TIDE_GROW(glibc->heaps, glibc->n_heaps, glibc->cap_heaps);
  glibc->heaps[glibc->n_heaps] = heap;
  table->arenas[heap.arena].n_heaps++;
  table->arenas[heap.arena].size += heap.hi - heap.lo;
  return &glibc->heaps[glibc->n_heaps++];
}

// Advice cuts it into several mappings.
static void add_main_heap(struct tide_space *space, struct tide_residence *table, size_t arena,
                          uint64_t top, struct tide_glibc *glibc)
{
  struct tide_glibc_heap heap = {.arena = arena};
  for (size_t i = 0; i < space->n_mappings; i++) {
    const struct tide_space_mapping *m = &space->mappings[i];
    if (strcmp(m->path, "[heap]") != 0)
      continue;
    heap.lo = heap.lo ? heap.lo : m->lo;
    heap.hi = m->hi;
  }
  if (top < heap.lo || top - heap.lo > MAX_BRK_BYTES)
    return; // it is not grown by brk
  heap.first = heap.lo;
  heap.top = top < heap.hi ? top : 0; // it has grown since
  add_heap(glibc, table, heap);
}

// A heap may begin with its arena, and chunks behind that.
static uint64_t first_chunk(uint64_t heap, uint64_t arena, const struct arena_head *head)
{
  uint64_t bytes = HEAP_INFO_BYTES;
  if (arena == heap + HEAP_INFO_BYTES)
    bytes += (head->words_to_top + WORDS_FROM_TOP) * sizeof(uint64_t);
  return heap + (bytes + 15) / 16 * 16;
}

static void add_heaps(struct tide_space *space, struct tide_residence *table, size_t arena,
                      uint64_t at, const struct arena_head *head, uint64_t top,
                      struct tide_glibc *glibc)
{
  uint64_t heap = top / HEAP_BYTES * HEAP_BYTES, info[4]; // arena, the one before, size, mapped
  for (bool is_newest = true; heap; heap = info[1], is_newest = false) {
    if (!tide_space_read(space, heap, info, sizeof info) || info[0] != at || info[2] > HEAP_BYTES ||
        info[2] < HEAP_INFO_BYTES || table->arenas[arena].n_heaps > MAX_ARENAS ||
        info[1] % HEAP_BYTES)
      return;
    add_heap(glibc, table,
             (struct tide_glibc_heap){heap, heap + info[2], first_chunk(heap, at, head),
                                      is_newest ? top : 0, arena});
  }
}

// ---- arenas ----

static int heap_order(const void *a, const void *b)
{
  const struct tide_glibc_heap *x = a, *y = b;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

// In the order of their addresses, and none over another, whatever the links of a damaged or
// changing ring say: what two heaps have would be told twice.
static void settle_heaps(struct tide_glibc *glibc)
{
  size_t n = 0;
  if (glibc->n_heaps)
    qsort(glibc->heaps, glibc->n_heaps, sizeof *glibc->heaps, heap_order);
  for (size_t i = 0; i < glibc->n_heaps; i++)
    if (!n || glibc->heaps[i].lo >= glibc->heaps[n - 1].hi)
      glibc->heaps[n++] = glibc->heaps[i];
  glibc->n_heaps = n;
}

static bool read_arena(struct tide_space *space, const struct arena_head *head, uint64_t at,
                       uint64_t words[MAX_WORDS_TO_TOP + WORDS_FROM_TOP])
{
  return tide_space_read(space, at, words, (head->words_to_top + WORDS_FROM_TOP) * sizeof *words);
}

bool tide_glibc_find(struct tide_space *space, struct tide_residence *table,
                     struct tide_glibc *ret_glibc)
{
  struct tide_glibc glibc = {.trims_huge =
                                 tide_proc_environment_holds(space->pid, "glibc.malloc.hugetlb=1")};
  const struct arena_head *head = NULL;
  uint64_t words[MAX_WORDS_TO_TOP + WORDS_FROM_TOP], main_top = find_main_top(space, true, &head);
  if (!main_top)
    main_top = find_main_top(space, false, &head);
  uint64_t main = head ? main_top - head->words_to_top * 8ull : 0, at = main;
  while (at && table->n_arenas < MAX_ARENAS && read_arena(space, head, at, words)) {
    size_t arena = table->n_arenas;
    const uint64_t *from_top = &words[head->words_to_top];
    TIDE_GROW(table->arenas, table->n_arenas, table->cap_arenas);
    table->arenas[table->n_arenas++] = (struct tide_residence_arena){.is_main = at == main};
    tide_fast_bins_read(space, &words[head->fast_bins_at], head->n_fast_bins, &glibc.fast);
    if (at == main)
      add_main_heap(space, table, arena, from_top[TOP_AT], &glibc);
    else
      add_heaps(space, table, arena, at, head, from_top[TOP_AT], &glibc);
    at = from_top[NEXT_AT] != main ? from_top[NEXT_AT] : 0;
  }
  settle_heaps(&glibc);
  *ret_glibc = glibc;
  return main != 0;
}

void tide_glibc_done(struct tide_glibc *glibc)
{
  free(glibc->heaps);
  tide_marks_done(&glibc->fast);
  *glibc = (struct tide_glibc){0};
}
