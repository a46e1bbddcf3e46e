// SPDX-License-Identifier: Apache-2.0
//
// Cells whose annexes are made in every order. Each stack lives through a sequence of steps: blocks
// come and go there, are resized, outlive an interval or a peak, are freed by another thread. What
// the reader finds at the end is compared with a plain count of the same events, and what the store
// takes for stacks that are met once with what it is said to. Then tables beyond their first
// elements (layout.h), and within.
//
//   annexes [STEPS]     of a sequence
#include "observe/intervals.h"
#include "observe/store_view.h"
#include "rt/sys.h"
#include "store/pairs.h"
#include "test_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_STEPS = 7, LENGTH = 4, MANY = 100000, ONCE_BYTES = 128, ACROSS = 900 };
enum step { ALLOC, ALLOC_LARGE, FREE, RESIZE, NEXT_INTERVAL, FOREIGN_FREE, OTHER_ALLOC };

#define STACK_HASH tide_mix64(1)

static struct tide_writer writers[2];
static uint64_t next_address = 0x10000000, now = 1 << 20;
static int n_bad, length = LENGTH;

static struct truth {
  uint64_t n_alloc, b_alloc, n_free, b_free, n_temp, n_foreign, n_resize, life_sum;
  uint64_t sizes[TIDE_SIZE_BUCKETS], n_lives;
  int64_t high;
} truth;

static void expect(uint64_t got, uint64_t want, const char *what, uint64_t sequence)
{
  if (got != want && n_bad++ < 20)
    printf("sequence %llo: %s is %llu, should be %llu\n", (unsigned long long)sequence, what,
           (unsigned long long)got, (unsigned long long)want);
}

static int open_store(uint64_t limit)
{
  int fd = test_store_open_shared(limit);
  for (uint32_t i = 0; i < 2; i++) {
    writers[i] = (struct tide_writer){0};
    test_writer_open(&writers[i]);
    tide_total_join(&writers[i], i + 1, 0);
  }
  return fd;
}

static void close_store(int fd)
{
  tide_live_after_fork(false); // no block is known any more, nor any thread
  munmap(tide_store.base, tide_store.header->store_bytes);
  close(fd);
}

static struct tide_cell *cell_new(struct tide_writer *w, uint64_t frame)
{
  tide_node_begin();
  uint32_t node = tide_node_get(TIDE_NODE_ROOT_NONE, frame, 0);
  tide_node_end();
  return tide_writer_cell_new(w, tide_mix64(frame), node);
}

// ---- one stack through a sequence of steps

static struct block {
  uint64_t address, size, birth;
  const struct tide_writer *by;
} blocks[LENGTH + 1];
static int n_blocks;

static void came(uint64_t size)
{
  truth.n_alloc++;
  truth.b_alloc += size;
  truth.sizes[tide_size_bucket(size)]++;
}

static void allocate(struct tide_writer *w, struct tide_cell *c, uint64_t size)
{
  blocks[n_blocks++] = (struct block){next_address, size, now, w};
  if (!tide_pairs_alloc(w, c, next_address, size, now))
    abort();
  next_address += 64;
  came(size);
}

static struct block leave(void)
{
  struct block b = blocks[--n_blocks];
  int64_t live = (int64_t)(truth.b_alloc - truth.b_free);
  truth.high = live > truth.high ? live : truth.high;
  truth.n_free++;
  truth.b_free += b.size;
  return b;
}

// As tide_resize_done() does it, the block moving.
static void resize(struct tide_cell *c)
{
  struct tide_writer *w = &writers[0];
  tide_pairs_settle(w);
  struct block b = leave();
  struct tide_block block;
  if (!tide_live_take(&w->station, b.address, &block))
    abort();
  struct tide_end end = tide_end_of(&block, now);
  bool foreign = tide_book_is_foreign(w, block.cell, end.birth);
  struct tide_cell *from = tide_book_cell_of(w, block.cell);
  tide_book_leave(w, from, tide_ends_of(w, from), &end, now);
  if (foreign)
    tide_past_of(w, from)->n_foreign++;
  if (!tide_book_alloc(w, c, next_address, b.size + 1000, b.birth, now))
    abort();
  tide_past_of(w, c)->n_resize++;
  blocks[n_blocks++] = (struct block){next_address, b.size + 1000, b.birth, w};
  next_address += 64;
  came(b.size + 1000);
  truth.n_resize++;
  truth.n_foreign += b.by != w;
}

static void end_block(struct tide_writer *w)
{
  if (!n_blocks)
    return;
  struct block b = leave();
  truth.n_temp += b.by == w && (w->last == b.address || w->prev == b.address);
  truth.n_foreign += b.by != w;
  truth.life_sum += now - b.birth;
  truth.n_lives++;
  if (!tide_pairs_free_waiting(w, b.address) && !tide_pairs_free_booked(w, b.address, now))
    abort();
}

static void live_through(struct tide_cell *c, uint64_t sequence)
{
  struct tide_writer *w = &writers[0], *other = &writers[1];
  struct tide_cell *others = NULL;
  truth = (struct truth){0};
  n_blocks = 0;
  allocate(w, c, 10);
  for (int i = 0; i < length; i++, sequence /= N_STEPS) {
    now += 1 << 16; // the live map knows births less exactly
    tide_pairs_retime(&writers[0], now);
    switch ((enum step)(sequence % N_STEPS)) {
    case ALLOC: allocate(w, c, 10); break;
    case ALLOC_LARGE: allocate(w, c, 70000); break; // no streak has it
    case FREE: end_block(w); break;
    case RESIZE:
      if (n_blocks)
        resize(c);
      break;
    case NEXT_INTERVAL: tide_store.header->stamp.interval++; break;
    case FOREIGN_FREE: end_block(other); break;
    case OTHER_ALLOC:
      others = tide_writer_find(other, STACK_HASH);
      allocate(other, others ? others : cell_new(other, 1), 30);
      break;
    }
  }
}

// ---- what the reader finds of it, over the cells of both threads

struct reading {
  struct tide_store_view *view;
  struct truth found;
};

static void add_whole(struct truth *found, const struct tide_whole_cell *w)
{
  found->n_alloc += w->cell.n_alloc;
  found->b_alloc += w->cell.b_alloc;
  found->n_free += w->cell.n_free;
  found->b_free += w->cell.b_free;
  found->n_temp += w->ends.n_temp;
  found->n_foreign += w->past.n_foreign;
  found->n_resize += w->past.n_resize;
  found->life_sum += w->ends.life_sum;
  found->sizes[tide_streak_bucket(w->cell.sizes) % TIDE_SIZE_BUCKETS] +=
      tide_streak_count(w->cell.sizes);
  found->n_lives += tide_streak_count(w->ends.lives);
  for (int i = 0; w->has_hist && i < TIDE_SIZE_BUCKETS; i++)
    found->sizes[i] += w->hist.size[i];
  for (int i = 0; w->has_hist && i < TIDE_LIFE_BUCKETS; i++)
    found->n_lives += w->hist.life[i];
}

static void read_block(void *context, const struct tide_cell_block *block)
{
  struct reading *r = context;
  struct tide_whole_cell whole;
  for (uint32_t i = 0; i < block->n; i++)
    if (block->owners[i].stack >= TIDE_NODE_FIRST) {
      tide_whole_cell_read(r->view, block, i, false, &whole);
      add_whole(&r->found, &whole);
    }
}

static void tally_up(void *context, uint32_t cell, uint32_t stack, uint32_t interval,
                     const struct tide_tally *more)
{
  struct tide_tally *sum = context;
  sum->n_alloc += more->n_alloc;
  sum->b_alloc += more->b_alloc;
  sum->n_free += more->n_free;
  sum->b_free += more->b_free;
}

static void compare(struct tide_store_view *view, uint64_t sequence)
{
  struct reading r = {.view = view};
  struct tide_intervals intervals = {0};
  struct tide_tally taken = {0};
  if (tide_store_view_refresh(view, NULL))
    abort();
  tide_store_view_nodes(view);
  tide_store_view_cells(view, read_block, &r);
  tide_intervals_collect(&intervals, view, UINT32_MAX, tally_up, &taken);
  tide_intervals_done(&intervals);
  expect(r.found.n_alloc, truth.n_alloc, "n_alloc", sequence);
  expect(r.found.b_alloc, truth.b_alloc, "b_alloc", sequence);
  expect(r.found.n_free, truth.n_free, "n_free", sequence);
  expect(r.found.b_free, truth.b_free, "b_free", sequence);
  expect(r.found.n_temp, truth.n_temp, "n_temp", sequence);
  expect(r.found.n_foreign, truth.n_foreign, "n_foreign", sequence);
  expect(r.found.n_resize, truth.n_resize, "n_resize", sequence);
  expect(r.found.life_sum, truth.life_sum, "life_sum", sequence);
  expect(r.found.n_lives, truth.n_lives, "lifetimes", sequence);
  expect(memcmp(r.found.sizes, truth.sizes, sizeof truth.sizes), 0, "sizes differ", sequence);
  expect(taken.n_alloc, truth.n_alloc, "n_alloc over all intervals", sequence);
  expect(taken.b_free, truth.b_free, "b_free over all intervals", sequence);
}

// Each sequence in a store of its own, so that all of what is found is of it.
static void every_order(void)
{
  uint64_t n = 1;
  for (int i = 0; i < length; i++)
    n *= N_STEPS;
  for (uint64_t sequence = 0; sequence < n; sequence++) {
    int fd = open_store(0); // the smallest
    struct tide_store_view view;
    live_through(cell_new(&writers[0], 1), sequence);
    if (tide_store_view_open(&view, dup(fd), NULL))
      abort();
    compare(&view, sequence);
    tide_store_view_close(&view);
    for (int i = 0; i < 2; i++)
      tide_sys_unmap(writers[i].index, (writers[i].index_mask + 1ull) * 8);
    close_store(fd);
  }
  printf("%llu sequences\n", (unsigned long long)n);
}

// ---- stacks that are met once

static uint64_t store_bytes_in_use(int fd)
{
  struct stat st;
  if (fstat(fd, &st))
    abort();
  return (uint64_t)st.st_blocks * 512;
}

// Half of them free their block; none needs an annex.
static void many_stacks_met_once(void)
{
  int fd = open_store(1ull << 34);
  uint64_t before = store_bytes_in_use(fd);
  for (uint64_t i = 0; i < MANY; i++) {
    if (!tide_pairs_alloc(&writers[0], cell_new(&writers[0], 1 + i), next_address, 24, now += 2))
      abort();
    if (i % 2)
      tide_pairs_free_booked(&writers[0], next_address, now += 2);
    next_address += 64;
  }
  uint64_t each = (store_bytes_in_use(fd) - before) / MANY;
  printf("%llu bytes of the store for a stack\n", (unsigned long long)each);
  expect(tide_store.header->n_nodes, TIDE_NODE_FIRST + MANY, "nodes", 0);
  const struct tide_store_header *h = tide_store.header;
  expect(h->n_ends + h->n_pasts + h->n_hists + h->n_touches, 4, "annexes", 0);
  expect(each < ONCE_BYTES, 1, "a stack within its bound", 0);
  close_store(fd);
}

// ---- first elements of tables, and the others

static struct truth wanted[ACROSS];

// Every stack with all of its annexes, and a cell of the other thread, which frees a block.
static void fill_across(void)
{
  for (uint64_t i = 0; i < ACROSS; i++) {
    struct tide_cell *c = cell_new(&writers[0], 1 + i);
    truth = (struct truth){0};
    n_blocks = 0;
    now += 1 << 16;
    allocate(&writers[0], c, 10 + i);
    allocate(&writers[0], c, 5000);
    for (uint64_t k = 0; k <= i % 3; k++)
      resize(c);
    end_block(&writers[1]);
    wanted[i] = truth;
  }
}

static struct truth found[ACROSS];

static void read_across(void *context, const struct tide_cell_block *block)
{
  struct tide_whole_cell whole;
  for (uint32_t i = 0; i < block->n; i++) {
    uint64_t stack = block->owners[i].stack - (uint64_t)TIDE_NODE_FIRST;
    if (stack >= ACROSS)
      continue;
    tide_whole_cell_read(context, block, i, true, &whole);
    add_whole(&found[stack], &whole);
  }
}

static void compare_across(struct tide_store_view *view)
{
  struct tide_node nodes[ACROSS];
  memset(found, 0, sizeof found);
  tide_store_view_cells(view, read_across, view);
  tide_store_view_node_rows(view, TIDE_NODE_FIRST, nodes, ACROSS);
  for (uint64_t i = 0; i < ACROSS; i++) {
    expect(nodes[i].frame, 1 + i, "a frame", i);
    expect(found[i].n_alloc, wanted[i].n_alloc, "n_alloc", i);
    expect(found[i].b_alloc, wanted[i].b_alloc, "b_alloc", i);
    expect(found[i].b_free, wanted[i].b_free, "b_free", i);
    expect(found[i].n_resize, wanted[i].n_resize, "n_resize", i);
    expect(found[i].n_foreign, wanted[i].n_foreign, "n_foreign", i);
    expect(memcmp(found[i].sizes, wanted[i].sizes, sizeof found[i].sizes), 0, "sizes differ", i);
  }
}

static void tables_across_their_borders(void)
{
  int fd = open_store(1ull << 34);
  struct tide_store_view view;
  fill_across();
  const struct tide_store_header *h = tide_store.header;
  expect(h->n_nodes > TIDE_NEAR_NODES && h->n_cells > TIDE_NEAR_OWNERS &&
             h->n_ends > TIDE_NEAR_ENDS && h->n_pasts > TIDE_NEAR_PASTS &&
             h->n_hists > TIDE_NEAR_HISTS,
         1, "every table has elements of both kinds", 0);
  if (tide_store_view_open(&view, dup(fd), NULL) || tide_store_view_refresh(&view, NULL))
    abort();
  tide_store_view_nodes(&view);
  expect(view.cells_map.items != NULL, 0, "read by copying", 0);
  compare_across(&view);
  tide_store_view_map(&view);
  expect(view.cells_map.items != NULL, 1, "read in place", 0);
  compare_across(&view);
  tide_store_view_close(&view);
  close_store(fd);
}

// A text that finds no room among the first is behind them, whole.
static void texts_across_the_border(void)
{
  int fd = open_store(0);
  struct tide_store_view view;
  char text[100];
  uint32_t at[20];
  for (int i = 0; i < 20; i++) {
    memset(text, 'a' + i, sizeof text);
    at[i] = tide_store_text(text, sizeof text);
  }
  expect(at[0] < TIDE_NEAR_TEXT && at[19] > TIDE_NEAR_TEXT, 1, "texts of both kinds", 0);
  if (tide_store_view_open(&view, dup(fd), NULL) || tide_store_view_refresh(&view, NULL))
    abort();
  for (int i = 0; i < 20; i++) {
    char *read = tide_store_view_text(&view, at[i], 1000);
    memset(text, 'a' + i, sizeof text);
    expect(strlen(read) == sizeof text && !memcmp(read, text, sizeof text), 1, "a text",
           (uint64_t)i);
    free(read);
  }
  tide_store_view_close(&view);
  close_store(fd);
}

// What a short process needs of the largest store is a few pages, all near its beginning.
static void few_stacks_lie_together(void)
{
  enum { PAGE = 4096 };
  int fd = open_store(~0ull);
  n_blocks = 0;
  for (uint64_t i = 0; i < 4; i++) {
    struct tide_cell *c = cell_new(&writers[0], 1 + i);
    allocate(&writers[0], c, 10);
    allocate(&writers[0], c, 5000);
    end_block(&writers[0]);
  }
  tide_store_text("/bin/true", 9);
  struct tide_store_module module = {.start = 4096, .end = 8192};
  tide_store_module_add(&module);
  uint64_t n_pages = store_bytes_in_use(fd) / PAGE;
  printf("%llu pages of the store for a short process\n", (unsigned long long)n_pages);
  expect(n_pages <= 6, 1, "few pages", 0);
  expect(lseek(fd, TIDE_CELLS_AT + 2 * PAGE, SEEK_DATA) < 0, 1, "nothing far away", 0);
  close_store(fd);
}

int main(int argc, char **argv)
{
  length = argc > 1 ? atoi(argv[1]) : LENGTH;
  if (length < 1 || length > LENGTH)
    return 2;
  test_live_init();
  few_stacks_lie_together();
  every_order();
  many_stacks_met_once();
  tables_across_their_borders();
  texts_across_the_border();
  return n_bad != 0;
}
