// SPDX-License-Identifier: Apache-2.0
//
// What of a large block was in memory when it ended: blocks that lie in a mapping of this test, a
// known part of which is touched, through every way of a free.
#include "store/touch.h"

#include "expect.h"
#include "rt/sys.h"
#include "store/pairs.h"
#include "test_store.h"

#include <string.h>

enum { SPACE = 64 << 20, BLOCK = 256 << 10 };

static struct tide_writer w, other;
static struct tide_cell *cell;
static char *space;
static uint64_t page, now = 1;

// As touch.c takes it.
static uint64_t ticks_per_second(void)
{
  uint64_t known = tide_ticks_per_second();
  return known ? known : 4000000000;
}

// Whatever was asked for before is paid for.
static void much_later(void)
{
  now += 10 * ticks_per_second();
}

static struct tide_cell *cell_new(struct tide_writer *of, uint64_t hash)
{
  tide_node_begin();
  uint32_t node = tide_node_get(TIDE_NODE_ROOT_NONE, 1, 0);
  tide_node_end();
  return tide_writer_cell_new(of, hash, node);
}

static struct tide_touches touches_of(struct tide_writer *of, struct tide_cell *c)
{
  return *tide_touches_of(of, c);
}

static void begin(char *at, uint64_t size)
{
  EXPECT(tide_pairs_alloc(&w, cell, (uint64_t)at, size, now));
}

static void end(char *at)
{
  EXPECT(tide_pairs_free_booked(&w, (uint64_t)at, now));
}

// One block, and how much more of what was looked at there is by its end.
static struct tide_touches ended(char *at, uint64_t size)
{
  struct tide_touches before = touches_of(&w, cell), after;
  begin(at, size);
  end(at);
  after = touches_of(&w, cell);
  return (struct tide_touches){after.n_looked - before.n_looked, after.b_looked - before.b_looked,
                               after.b_touched - before.b_touched, 0};
}

static void nothing_is_touched_from_here(char *at)
{
  if (madvise(at, BLOCK * 4, MADV_DONTNEED))
    abort();
}

static bool is(struct tide_touches got, uint64_t n, uint64_t looked, uint64_t touched)
{
  return got.n_looked == n && got.b_looked == looked && got.b_touched == touched;
}

static void what_is_touched_is_counted(void)
{
  char *at = space + BLOCK;
  nothing_is_touched_from_here(space);
  EXPECT(is(ended(at, BLOCK), 1, BLOCK, 0));
  at[5 * page] = 1;
  EXPECT(is(ended(at, BLOCK), 1, BLOCK, page));
  memset(at, 1, BLOCK);
  EXPECT(is(ended(at, BLOCK), 1, BLOCK, BLOCK));
}

// The block's own bytes on pages that it shares, whoever touched those.
static void edges_are_cut(void)
{
  char *at = space + BLOCK;
  nothing_is_touched_from_here(space);
  at[0] = 1;
  EXPECT(is(ended(at + 16, BLOCK), 1, BLOCK, page - 16));
  at[BLOCK + 100] = 1;
  EXPECT(is(ended(at + 16, BLOCK), 1, BLOCK, page));
}

static void smaller_ones_are_left_alone(void)
{
  memset(space, 1, BLOCK);
  EXPECT(is(ended(space, TIDE_LARGE_BYTES - 1), 0, 0, 0));
  EXPECT(is(ended(space, TIDE_LARGE_BYTES), 1, TIDE_LARGE_BYTES, TIDE_LARGE_BYTES));
}

// Alone, again and again, among small ones, and as the latest but one.
static void every_way_of_a_free_looks(void)
{
  struct tide_touches before = touches_of(&w, cell);
  for (int i = 0; i < 10; i++)
    ended(space, BLOCK);
  for (int i = 0; i < 10; i++) {
    begin(space + 2 * BLOCK, 32);
    begin(space, BLOCK);
    begin(space + 3 * BLOCK, 48);
    end(space + 3 * BLOCK);
    end(space);
    end(space + 2 * BLOCK);
  }
  for (int i = 0; i < 10; i++) {
    begin(space, BLOCK);
    begin(space + 2 * BLOCK, BLOCK);
    end(space);
    end(space + 2 * BLOCK);
  }
  EXPECT(touches_of(&w, cell).n_looked - before.n_looked == 40);
}

static void another_thread_counts_in_its_own_cell(void)
{
  struct tide_touches before = touches_of(&w, cell);
  begin(space, BLOCK);
  EXPECT(tide_pairs_free_booked(&other, (uint64_t)space, now));
  struct tide_cell *others = tide_writer_find(&other, 1);
  EXPECT(others && touches_of(&other, others).n_looked == 1);
  EXPECT(touches_of(&w, cell).n_looked == before.n_looked);
}

// A block larger than a call asks for, that begins and ends within a page.
static void pieces_are_put_together(void)
{
  char *at = space + 5 * page + 16;
  uint64_t size = SPACE / 2 + 100;
  if (madvise(space, SPACE, MADV_DONTNEED))
    abort();
  uint64_t touched = 0;
  for (uint64_t i = 0; i < size; i += 300 * page) {
    at[i] = 1;
    touched += i ? page : page - 16;
  }
  EXPECT(is(ended(at, size), 1, size, touched));
}

static void what_is_not_mapped_is_not_counted(void)
{
  if (munmap(space + SPACE - BLOCK, BLOCK))
    abort();
  EXPECT(is(ended(space + SPACE - BLOCK, BLOCK), 0, 0, 0));
  EXPECT(is(ended(space, BLOCK), 1, BLOCK, page));
}

// 10 ms of looks at once, of a microsecond and a half each or more, and a 32nd of the time later.
static void looks_have_a_budget(void)
{
  struct tide_touches before = touches_of(&w, cell), after;
  for (int i = 0; i < 20000; i++)
    ended(space, TIDE_LARGE_BYTES);
  after = touches_of(&w, cell);
  EXPECT(after.n_looked - before.n_looked >= 1000 && after.n_looked - before.n_looked <= 10000);
  now += ticks_per_second() / 1000; // a 32nd of which is 31 µs
  for (int i = 0; i < 20000; i++)
    ended(space, TIDE_LARGE_BYTES);
  uint64_t more = touches_of(&w, cell).n_looked - after.n_looked;
  EXPECT(more >= 10 && more <= 32);
  EXPECT(!ended(space, 48 << 20).n_looked);
}

// Last: there is no way back.
static void nobody_is_asked_under_a_filter(void)
{
  tide_sys_keep_still();
  EXPECT(!ended(space, BLOCK).n_looked);
  tide_sys_release();
  EXPECT(!ended(space, BLOCK).n_looked);
}

int main(void)
{
  test_live_init();
  test_store_open();
  page = tide_sys_page_bytes;
  space = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED || madvise(space, SPACE, MADV_NOHUGEPAGE))
    abort();
  test_writer_open(&w);
  tide_total_join(&w, 1, 0);
  test_writer_open(&other);
  tide_total_join(&other, 2, 0);
  tide_store.header->multi = 1;
  cell = cell_new(&w, 1);
  void (*const tests[])(void) = {
      what_is_touched_is_counted,
      edges_are_cut,
      smaller_ones_are_left_alone,
      every_way_of_a_free_looks,
      pieces_are_put_together,
      what_is_not_mapped_is_not_counted,
      another_thread_counts_in_its_own_cell,
      looks_have_a_budget,
      nobody_is_asked_under_a_filter,
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    much_later();
    tests[i]();
  }
  return n_bad != 0;
}
