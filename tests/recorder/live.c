// SPDX-License-Identifier: Apache-2.0
//
// The live map against a plain model. Threads make and take blocks at random, each other's too, 8
// bytes to a megabyte apart, evenly and crowded; what is taken must be what was put there, and a
// walk through the map, by this process and by another, must list what is left. Then: a heap that
// grows, packed tables and what they have no room for, fork, a thread that never leaves a region, a
// table that is never opened again, no membarrier, blocks of terabytes, and births.
//
//   live [STEPS]
#include "rt/sys.h"
#include "store/live.h"
#include "store/live_inside.h"
#include "store/live_walk.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PLACES = 6000, STATIONS = 64, RARELY = 10000 };
enum state { NONE, BUSY, LIVE };

static struct {
  atomic_int state;
  uint64_t addr, what, when;
} places[PLACES];

static struct tide_station stations[STATIONS]; // never freed
static int n_stations, n_bad;
static uint64_t n_kinds; // of blocks; 0: each is of its own
static uint64_t n_wide_births = RARELY;
static long n_steps = 60000;
static struct tide_store_header header;
static char *canary; // not 0 in the parent

static void bad(const char *what, uint64_t got, uint64_t want)
{
  if (n_bad++ < 10)
    printf("%s: %llx, should be %llx\n", what, (unsigned long long)got, (unsigned long long)want);
}

static struct tide_station *station_new(void)
{
  if (n_stations == STATIONS)
    abort();
  tide_live_station_add(&stations[n_stations]);
  return &stations[n_stations++];
}

static void forget_all(bool wiped)
{
  tide_live_after_fork(wiped);
  n_stations = 0;
  memset(places, 0, sizeof places);
}

static void put(struct tide_station *s, int i, uint64_t random)
{
  struct tide_place p;
  uint64_t kind = n_kinds ? (random >> 8) % n_kinds * 0x9e3779b97f4a7c15ull : random;
  places[i].what = tide_live_what((uint32_t)(kind >> 8) % 0xfffffff + 1, kind >> 30);
  // Births are near each other, but for one in so many.
  uint64_t birth = (1ull << 51) + (random >> 20 & 0xffffffff);
  if (n_wide_births && (random >> 40) % n_wide_births == 0)
    birth = random >> 20 << 20;
  places[i].when = tide_live_when((uint32_t)random % 4095 + 1, birth);
  struct tide_live words = {places[i].what, places[i].when | tide_live_key(places[i].addr)};
  if (!tide_live_make(s, places[i].addr, words, &p)) {
    bad("a place", 0, places[i].addr);
    return;
  }
  tide_live_put_at(&p, words);
  tide_live_leave(s);
  // Often it is wanted again at once, by its place.
  if (random % 4)
    return;
  if (!p.region && tide_load_relaxed(&p.slot->what) != places[i].what)
    bad("a place in a direct table", p.slot->what, places[i].what);
  if (p.region && tide_live_again(s, &p, &words)) {
    if (!(p.table & TIDE_TABLE_PACKED) && tide_load_relaxed(p.word) != words.what)
      bad("a place remembered", *p.word, places[i].what);
    tide_live_leave(s);
  }
  words.when ^= 1ull << 40;
  if (p.region && tide_live_again(s, &p, &words))
    bad("another block's place", *p.word, 0);
}

static void take(struct tide_station *s, int i)
{
  struct tide_block block;
  struct tide_block want = tide_live_block(places[i].what, places[i].when);
  if (!tide_live_take(s, places[i].addr, &block))
    bad("a block", 0, places[i].addr);
  else if (block.cell != want.cell || block.size != want.size ||
           block.when != (want.when | tide_live_key(places[i].addr)))
    bad("what is known of a block", block.size, want.size);
  if (tide_live_take(s, places[i].addr, &block))
    bad("a block taken twice", block.size, 0);
}

static uint64_t next_random(uint64_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

// Phases of growing and of shrinking, in a part of the places that moves.
static void *work(void *arg)
{
  struct tide_station *s = arg;
  uint64_t x = (uint64_t)(s - stations) * 77777 + 12345;
  for (long step = 0; step < n_steps; step++) {
    uint64_t random = next_random(&x);
    int part = (int)(step * 8 / n_steps) * PLACES / 16;
    int i = (int)((random >> 32) % (PLACES / 2)) + part;
    bool grow = step * 4 / n_steps % 2 == 0;
    int state = atomic_load(&places[i].state);
    if (state == BUSY || (random % 8 && (state == NONE) != grow) ||
        !atomic_compare_exchange_strong(&places[i].state, &state, BUSY))
      continue;
    if (state == NONE)
      put(s, i, random);
    else
      take(s, i);
    atomic_store(&places[i].state, state == NONE ? LIVE : NONE);
  }
  return NULL;
}

// Addresses evenly apart or, for 0, crowded at random: eights of 8 to 4096 bytes.
static void lay_out(uint64_t spacing)
{
  uint64_t addr = 0x7000deadull << 16, x = 99;
  for (int i = 0; i < PLACES; i++) {
    places[i].addr = addr;
    addr += spacing ? spacing : 8ull << next_random(&x) % 10;
  }
}

static void run_threads(int n)
{
  pthread_t threads[THREADS];
  for (int i = 0; i < n; i++)
    if (pthread_create(&threads[i], NULL, work, station_new()))
      abort();
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
}

static bool read_own(void *context, uint64_t addr, void *to, size_t bytes)
{
  memcpy(to, (void *)addr, bytes);
  return true;
}

static bool read_parent(void *context, uint64_t addr, void *to, size_t bytes)
{
  struct iovec here = {to, bytes}, there = {(void *)addr, bytes};
  return process_vm_readv(getppid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static int place_of(uint64_t addr)
{
  int low = 0, high = PLACES; // in the order of addresses
  while (low < high) {
    int middle = (low + high) / 2;
    if (places[middle].addr < addr)
      low = middle + 1;
    else
      high = middle;
  }
  return low < PLACES && places[low].addr == addr ? low : -1;
}

static void found(void *context, const struct tide_walk_block *block)
{
  int i = place_of(block->addr);
  if (i < 0 || places[i].state != LIVE) {
    bad("a walk", block->addr, 0);
    return;
  }
  struct tide_block want = tide_live_block(places[i].what, places[i].when);
  if (block->cell != want.cell || block->size != want.size ||
      block->interval != tide_when_interval(want.when))
    bad("a block of a walk", block->size, want.size);
}

static void walk_in_pieces(struct tide_live_walk walk, uint64_t n)
{
  uint64_t n_found = 0, n_pieces = 0;
  for (walk.enough = 100; walk.from != UINT64_MAX; n_pieces++) {
    struct tide_walk_result piece = {0};
    if (!tide_live_walk(&walk, &piece) || piece.end <= walk.from)
      break;
    if (piece.end != UINT64_MAX && piece.n_blocks < walk.enough)
      bad("a piece of a walk", piece.n_blocks, walk.enough);
    n_found += piece.n_blocks;
    walk.from = piece.end;
  }
  if (n_found != n || walk.from != UINT64_MAX)
    bad("blocks of a walk in pieces", n_found, n);
  if (n > 4096 && n_pieces < 2) // a region has 2,048 at the most
    bad("pieces of a walk", n_pieces, 2);
}

static void walk(bool (*read)(void *, uint64_t, void *, size_t))
{
  struct tide_walk_result result = {0};
  uint64_t n = 0;
  struct tide_live_walk all = {(uint64_t)&tide_live_map, read, found, NULL};
  for (int i = 0; i < PLACES; i++)
    n += places[i].state == LIVE;
  if (!tide_live_walk(&all, &result) || result.n_unread || result.n_blocks != n)
    bad("blocks of a walk", result.n_blocks, n);
  walk_in_pieces(all, n);
}

static int wait_for(pid_t pid)
{
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// The child has a map of its own, empty, and reads its parent's.
static void fork_once(void)
{
  char word;
  pid_t pid = fork();
  if (pid == 0) {
    n_bad = 0;
    if (read_parent(NULL, (uint64_t)&word, &word, 1)) // not where an emulator is between
      walk(read_parent);
    tide_live_after_fork(!*canary); // an emulator may not wipe what it is asked to
    n_stations = 0;
    struct tide_station *s = station_new();
    struct tide_block block;
    for (int i = 0; i < PLACES; i++)
      if (tide_live_take(s, places[i].addr, &block))
        bad("a parent's block", places[i].addr, 0);
    memset(places, 0, sizeof places);
    lay_out(48);
    n_steps /= 10;
    work(s);
    walk(read_own);
    _exit(n_bad != 0);
  }
  if (wait_for(pid))
    bad("a fork child", 1, 0);
}

static void take_all(void)
{
  struct tide_station *s = station_new();
  for (int i = 0; i < PLACES; i++)
    if (places[i].state == LIVE) {
      take(s, i);
      places[i].state = NONE;
    }
  walk(read_own);
}

static void spacing_is(uint64_t spacing, int threads, uint64_t kinds)
{
  forget_all(false);
  n_kinds = kinds;
  tide_live_map.direct_left = !kinds ? 1 << 20 : 0;
  tide_live_map.apart = spacing >= 32;
  lay_out(spacing);
  run_threads(threads);
  walk(read_own);
  fork_once();
  take_all();
}

// One thread and an empty map, with so much room for direct tables and places so far apart.
static struct tide_station *map_anew(int64_t direct_left, bool apart, uint64_t spacing)
{
  forget_all(false);
  n_kinds = 0;
  tide_live_map.direct_left = direct_left;
  tide_live_map.apart = apart;
  lay_out(spacing);
  return station_new();
}

// Blocks of glibc that follow one another in the same memory, with their beginnings 16 bytes apart:
// each has the slot of the one before, and no table is rebuilt for them.
static void in_turn(void)
{
  struct tide_station *s = map_anew(1 << 20, true, 48);
  uint64_t tables[PLACES];
  for (int turn = 0; turn < 4; turn++)
    for (int i = 0; i < PLACES; i++) {
      places[i].addr ^= 16;
      put(s, i, (uint64_t)(turn * PLACES + i) << 20);
      uint64_t table = *tide_live_region(places[i].addr);
      if (!(table & TIDE_TABLE_DIRECT) || (turn > 1 && table != tables[i]))
        bad("a direct table", table, tables[i]);
      tables[i] = turn ? table : tables[i];
      take(s, i);
    }
  // Nor where one finds it only at the second look, or would have had a hashed one rebuilt.
  struct tide_place p;
  uint64_t *region = tide_live_region(places[0].addr), table = *region;
  if (!tide_live_make_slowly(s, places[0].addr ^ 16, (struct tide_live){1, 0}, &p) || p.region ||
      s->at || p.slot != tide_live_direct_slot(places[0].addr >> 3))
    bad("a slot of a direct table", (uint64_t)p.slot, places[0].addr);
  struct tide_newcomer more = {tide_live_key(places[0].addr), 1, 0};
  if (!tide_live_rebuild(s, region, &more) || *region != table)
    bad("a direct table rebuilt", *region, table);
  tide_live_map.apart = false;
}

static uint64_t table_at(int i)
{
  return *tide_live_region(places[i].addr);
}

// A thread begins at the end of a region, where a heap happened to end: its second region has a
// direct table at once, which stays. What the second had use for is what the third one gets.
static void entered_late(void)
{
  const uint64_t region_bytes = 1u << TIDE_LIVE_REGION_BITS;
  struct tide_station *s = map_anew(TIDE_LIVE_DIRECT_BYTES, true, 64);
  int n = (int)(region_bytes / 64), first = n - 1;
  put(s, first, 1);
  put(s, n, 2);
  uint64_t table = table_at(n);
  if (!tide_table_is_direct(table_at(first)) || !tide_table_is_direct(table))
    bad("the second region's table", table, TIDE_TABLE_DIRECT_OPEN);
  for (int i = n; i < n + 3; i++)
    put(s, i, (uint64_t)i);
  if (table_at(n) != table)
    bad("a table replaced", table_at(n), table);
  put(s, 2 * n, 3);
  if (tide_table_is_direct(table_at(2 * n)))
    bad("a direct table for a few", table_at(2 * n), 0);
}

// Another thread was first with each region that a thread came to: it has opened none.
static void always_second(void)
{
  struct tide_station *other = map_anew(TIDE_LIVE_DIRECT_BYTES, true, 64), *s = station_new();
  put(other, 0, 1);
  uint64_t *region = tide_live_region(places[0].addr), table = *region;
  for (int i = 0; i < 3; i++)
    if (!tide_live_table_first(s, region) || *region != table || s->opened)
      bad("a table of somebody else's", *region, table);
}

static void keep(struct tide_station *s, int i, uint64_t random)
{
  put(s, i, random);
  places[i].state = LIVE;
}

// Blocks that may begin 16 bytes apart: while a program is small, each has a slot of its own in a
// table that stays, also after the next region was opened. Blocks of 8 bytes between them have
// tables of their own.
static void fine(void)
{
  struct tide_station *s = map_anew(TIDE_LIVE_DIRECT_BYTES, false, 16);
  uint64_t x = 3;
  for (int i = 0; i < PLACES; i += 2)
    keep(s, i, next_random(&x));
  uint64_t before = table_at(0);
  for (int i = 1; i < PLACES; i += 2) {
    places[i].addr = places[i - 1].addr + 8;
    keep(s, i, next_random(&x));
  }
  for (int i = 0; i < PLACES; i++) {
    uint64_t number = places[i].addr >> 3;
    const struct tide_live *slot = tide_live_direct_slot(number), *odd = tide_live_odd_slot(number);
    if (!slot == !odd)
      bad("one slot", (uint64_t)slot, (uint64_t)odd);
    slot = slot ? slot : odd;
    if (!slot || tide_load_relaxed(&slot->what) != places[i].what)
      bad("a slot of a fine table", places[i].addr, 0);
  }
  struct tide_place p;
  if (table_at(0) != before || table_at(1) == before ||
      !tide_live_make_slowly(s, places[0].addr, (struct tide_live){1, 0}, &p) || p.region || s->at)
    bad("a fine table", table_at(0), before);
  tide_store_relaxed(&p.slot->what, places[0].what);
  walk(read_own);
  fork_once();
  take_all();
}

// An allocator that came later puts blocks 16 bytes apart where they were said to be at least 32: a
// table that holds such is not made a direct one, however much room there is.
static void crowded(void)
{
  struct tide_station *s = map_anew(0, true, 16);
  uint64_t x = 3;
  for (int i = 0; i < 900; i++) {
    keep(s, i, next_random(&x));
    if (i == 8)
      tide_live_map.direct_left = TIDE_LIVE_DIRECT_BYTES;
    if (table_at(i) == table_at(0) && table_at(0) & TIDE_TABLE_DIRECT)
      bad("a direct table of crowded blocks", table_at(i), 0);
  }
  for (int i = 0; i < 900; i++) {
    take(s, i);
    places[i].state = NONE;
  }
  tide_live_map.apart = false;
}

// A few addresses that come back again and again, of which one is live at a time: their table is
// not made anew forever, whether it may be roomy or not.
static void coming_back(int64_t direct_left, int n)
{
  forget_all(false);
  tide_live_map.direct_left = direct_left;
  lay_out(48);
  struct tide_station *s = station_new();
  s->opened = NULL;
  s->lines = 1; // the region before had use for no more
  uint64_t x = 3, table = 0, n_made = 0;
  for (int i = 0; i < 200 * n; i++) {
    keep(s, i % n, next_random(&x));
    take(s, i % n);
    n_made += table_at(0) != table;
    table = table_at(0);
  }
  if (n_made > 6)
    bad("tables for addresses that come back", n_made, 6);
}

// A heap that grows, of blocks of many sizes, beyond the direct tables: while a region fills up its
// table is not replaced, and when the next one is opened it takes no more than its blocks ask for.
// (The first regions show what there is.)
static void growing(bool apart)
{
  struct tide_station *s = map_anew(0, apart, 32);
  uint64_t x = 7, table = 0, n_replaced = 0, bytes = 0, *region = NULL;
  int n_regions = 0, first = 0, last = 0; // blocks of the regions that are looked at
  for (int i = 0; i < PLACES; i++) {
    // Crowded in every other 4 KiB, far apart between them.
    uint64_t before = places[i ? i - 1 : 0].addr, most = before >> 12 & 1 ? 4 : 16;
    places[i].addr = before + (i ? 32 + 16 * (next_random(&x) % most) : 0);
    keep(s, i, next_random(&x));
    if (tide_live_region(places[i].addr) == region) {
      n_replaced += n_regions > 3 && *region != table;
    } else {
      if (n_regions++ > 3)
        bytes += tide_table_n_lines(*region) * TIDE_TABLE_LINE;
      else
        first = i;
      last = i;
    }
    region = tide_live_region(places[i].addr);
    table = *region;
  }
  if (n_replaced)
    bad("tables replaced while their regions fill up", n_replaced, 0);
  if (n_regions < 10 || bytes > (uint64_t)(last - first) * 22)
    bad("bytes of tables", bytes, (uint64_t)(last - first) * 22);
  walk(read_own);
  fork_once();
  take_all();
  tide_live_map.apart = false;
}

// Field by field: what lies between them is nobody's.
static bool is_same(const struct tide_block *a, const struct tide_block *b)
{
  return a->cell == b->cell && a->size == b->size && a->when == b->when;
}

// Bytes of table for a block, in tenths, in regions that are full: neither the first one nor the
// last.
static uint64_t tenths_each(void)
{
  uint64_t bytes = 0, n = 0;
  for (int i = 1; i < PLACES; i++) {
    uint64_t *region = tide_live_region(places[i].addr);
    bool is_first = region == tide_live_region(places[0].addr);
    if (is_first || tide_table_n_lines(*region) == tide_table_n_lines(table_at(PLACES - 1)))
      continue;
    n++;
    if (region != tide_live_region(places[i - 1].addr))
      bytes += tide_table_n_lines(*region) * TIDE_TABLE_LINE;
  }
  return n ? bytes * 10 / n : 0;
}

// A block as it was: without an end that was seen, looked at, and taken by a guest. And one that is
// about to be written, which is not there yet.
static void packed_block(struct tide_station *s, int i, uint64_t *x)
{
  struct tide_block block, want;
  keep(s, i, next_random(x));
  want = tide_live_block(places[i].what, places[i].when | tide_live_key(places[i].addr));
  if (!tide_live_look(s, places[i].addr, &block) || !is_same(&block, &want) ||
      !tide_live_take_as_guest(places[i].addr, &block) || !is_same(&block, &want) ||
      tide_live_take_as_guest(places[i].addr, &block))
    bad("a packed block", block.size, want.size);
  places[i].state = NONE;
  struct tide_place p;
  if (tide_live_make(s, places[i].addr, (struct tide_live){want.cell, want.when}, &p))
    tide_live_leave(s);
  walk(read_own);
  keep(s, i, next_random(x));
}

// One after the other, each with something that the last one had not. The table is another then.
static void replace(struct tide_station *s, int first, int n, uint64_t *x, const char *what)
{
  uint64_t before = table_at(first + n / 3);
  for (int turn = 0; turn < 3; turn++)
    for (int i = first; i < first + n; i++) {
      take(s, i);
      keep(s, i, next_random(x));
    }
  if (table_at(first + n / 3) == before)
    bad(what, before, 0);
}

// Beyond the direct tables, crowded blocks of few kinds take 8 to 9 bytes of table each; what a
// packed table has no room for makes it another one, and nothing is lost. spacing 0: 32 to 80 bytes
// apart.
static void packed(uint64_t spacing, uint64_t kinds, uint64_t most_tenths)
{
  struct tide_station *s = map_anew(0, !spacing || spacing >= 32, spacing);
  uint64_t x = spacing + 1, n_packed = 0;
  n_kinds = kinds;
  n_wide_births = 0;
  for (int i = 1; i < PLACES && !spacing; i++)
    places[i].addr = places[i - 1].addr + 32 + 16 * (next_random(&x) % 4);
  for (int i = 0; i < PLACES; i++)
    keep(s, i, next_random(&x));
  for (int i = 0; i < PLACES; i++)
    n_packed += (table_at(i) & TIDE_TABLE_PACKED) != 0;
  if (n_packed < PLACES * 3 / 5)
    bad("packed blocks", n_packed, PLACES);
  if (!tenths_each() || tenths_each() > most_tenths)
    bad("tenths of bytes for each block", tenths_each(), most_tenths);
  walk(read_own);
  packed_block(s, PLACES / 2, &x);
  // Births of all times, then more kinds than there is room for.
  n_wide_births = 1;
  if (kinds > 10) // else they have room for all of 41 bits
    replace(s, PLACES / 2, 60, &x, "a table with many births");
  n_wide_births = 0;
  n_kinds = 0;
  replace(s, PLACES / 3, 300, &x, "a table with many kinds");
  walk(read_own);
  fork_once();
  take_all();
  n_wide_births = RARELY;
  tide_live_map.apart = false;
}

// Blocks of two sizes by turns where they were packed: a table whose lines are too full for what
// comes gets a few more, and is not made anew forever.
static void packed_anew(void)
{
  struct tide_station *s = map_anew(0, true, 64);
  uint64_t x = 5, n_made = 0, table = 0;
  n_kinds = 3;
  n_wide_births = 0;
  for (int i = 0; i < PLACES; i++)
    keep(s, i, next_random(&x));
  for (int turn = 0; turn < 20000; turn++) {
    int i = PLACES / 2 + (int)(next_random(&x) % 200);
    take(s, i);
    places[i].addr ^= next_random(&x) % 2 << 5;
    keep(s, i, next_random(&x));
    n_made += table_at(PLACES / 2) != table;
    table = table_at(PLACES / 2);
  }
  if (n_made > 8)
    bad("packed tables made anew", n_made, 8);
  walk(read_own);
  take_all();
  n_wide_births = RARELY;
  tide_live_map.apart = false;
}

// Unknown addresses, and such as nobody has.
static void nonsense(void)
{
  struct tide_station *s = station_new();
  struct tide_block block;
  const uint64_t some[] = {0, 1, 8, 0x7000deadull << 16, places[1].addr + 4, 1ull << 50, ~7ull};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (tide_live_take(s, some[i], &block) || tide_live_take_as_guest(some[i], &block))
      bad("nonsense", some[i], 0);
}

// A thread that stays in a region: its table is rebuilt all the same, and that is counted.
static void held_up(void)
{
  forget_all(false);
  tide_live_map.direct_left = 0;
  lay_out(64);
  struct tide_station *s = station_new(), *stuck = station_new();
  put(s, 0, 1 << 20);
  places[0].state = LIVE;
  tide_live_enter(stuck, tide_live_region(places[0].addr));
  uint64_t lost = header.n_lost_busy;
  for (int i = 1; i < 100; i++) {
    put(s, i, (uint64_t)i << 20);
    places[i].state = LIVE;
  }
  if (header.n_lost_busy == lost)
    bad("a thread held up", 0, 1);
  walk(read_own);
  // A guest takes what it is asked for.
  struct tide_block block;
  if (!tide_live_take_as_guest(places[5].addr, &block) ||
      tide_live_take_as_guest(places[5].addr, &block))
    bad("a guest", 0, 1);
  places[5].state = NONE;
  tide_live_leave(stuck);
  // Nobody opens it again: it is waited for once.
  uint64_t *region = tide_live_region(places[0].addr);
  *region &= ~TIDE_TABLE_OPEN;
  struct tide_place p;
  for (int i = 0; i < 100; i++)
    if (tide_live_make(s, places[0].addr, (struct tide_live){1, 0}, &p) ||
        tide_live_take(s, places[0].addr, &block))
      bad("a closed table", 1, 0);
  if (tide_live_map.refused)
    bad("no memory", 1, 0);
}

static void large_blocks(void)
{
  forget_all(false);
  lay_out(1ull << 30);
  struct tide_station *s = station_new();
  for (int i = 0; i < 200; i++) {
    put(s, i, (uint64_t)i << 20);
    struct tide_place p;
    uint64_t what = tide_live_what(7, TIDE_LIVE_LARGE);
    struct tide_live words = {what, 1 << 11 | tide_live_key(places[i].addr)};
    tide_live_make(s, places[i].addr, words, &p);
    tide_live_put_at(&p, words);
    tide_live_leave(s);
    tide_live_large_put(places[i].addr, (1ull << 40) + (uint64_t)i);
  }
  uint64_t lost = header.n_lost_full;
  for (uint64_t i = 200; i < TIDE_LIVE_MAX_LARGE + 3; i++)
    tide_live_large_put(i, TIDE_LIVE_LARGE);
  if (header.n_lost_full != lost + 3)
    bad("large blocks without room", header.n_lost_full, lost + 3);
  for (uint64_t i = 200; i < TIDE_LIVE_MAX_LARGE; i++)
    tide_live_large_take(i);
  struct tide_block block = {0};
  for (int i = 199; i >= 0; i--)
    if (!tide_live_take(s, places[i].addr, &block) || block.size != (1ull << 40) + (uint64_t)i)
      bad("a large block", block.size, (1ull << 40) + (uint64_t)i);
}

// Births of blocks that live for up to three weeks, also where the clock's 52 bits end.
static void births(void)
{
  uint64_t unit = 1ull << tide_live_unit_bits(), x = 5;
  for (int i = 0; i < 100000; i++) {
    uint64_t birth = tide_live_time(next_random(&x));
    uint64_t age = (next_random(&x) >> (23 + next_random(&x) % 40)) * unit;
    age = age > (1ull << 40) * unit ? (1ull << 40) * unit : age;
    uint64_t now = (birth + age) & TIDE_LIVE_TICK_MASK;
    struct tide_block block = {.when = tide_live_when(7, birth) | 5};
    if (tide_block_birth(&block, now) != birth || tide_block_age(&block, now) != (int64_t)age)
      bad("a birth", tide_block_birth(&block, now), birth);
    now = (birth - 1000 * unit) & TIDE_LIVE_TICK_MASK;
    if (tide_block_age(&block, now) != -1000 * (int64_t)unit ||
        tide_block_birth(&block, now) != birth)
      bad("a birth to come", (uint64_t)tide_block_age(&block, now), 0);
  }
}

int main(int argc, char **argv)
{
  if (argc > 1)
    n_steps = atol(argv[1]);
  tide_store.header = &header;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  canary = tide_sys_map_private(1);
  if (!canary)
    return 2;
  tide_live_init(false);
  *canary = 1;
  const uint64_t spacings[] = {8, 16, 24, 32, 48, 80, 208, 1008, 8016, 20000, 1 << 20, 0};
  for (size_t i = 0; i < sizeof spacings / sizeof *spacings; i++)
    for (int threads = 1; threads <= THREADS; threads += 3) {
      spacing_is(spacings[i], threads, 0);
      spacing_is(spacings[i], threads, threads % 2 ? 200 : 12);
    }
  in_turn();
  entered_late();
  always_second();
  fine();
  crowded();
  growing(true);
  growing(false);
  coming_back(TIDE_LIVE_DIRECT_BYTES, 5);
  coming_back(TIDE_LIVE_DIRECT_BYTES, 40);
  coming_back(0, 5);
  coming_back(0, 12);
  packed(16, 3, 90);
  packed(32, 3, 90);
  packed(48, 3, 90);
  packed(80, 3, 95);
  packed(144, 3, 100);
  packed(0, 3, 110);
  packed(0, 40, 140);
  packed_anew();
  nonsense();
  large_blocks();
  births();
  tide_live_confine(); // from here on without membarrier
  spacing_is(0, THREADS, 0);
  spacing_is(16, THREADS, 0);
  spacing_is(16, THREADS, 5);
  held_up();
  printf("%d wrong\n", n_bad);
  return n_bad != 0;
}
