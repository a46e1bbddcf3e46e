// SPDX-License-Identifier: Apache-2.0
//
// What the live map does seldom: chunks, new keys, and rebuilding tables.
//
// A rebuild waits for whoever is in the region. A thread that stays there for long was stopped, or
// killed, or a signal handler of it never returned: then its table is left to it for good, what it
// still does there is lost, and the loss is counted. A table that stays closed for long is given
// up: what is allocated there is counted as lost, what is freed as unknown.
#include "store/live.h"

#include "rt/lock.h"
#include "rt/sys.h"
#include "store/store.h"
#include "store/tables.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>

enum {
  MAX_PROBE = 8, // lines from a key's home on in which it may lie
  TIGHT_PROBE = 2,
  DIRECT_LINES = TIDE_LIVE_DIRECT_SLOTS / TIDE_LIVE_LANES,
  DIRECT_BYTES = 36 << 20, // of tables that have more slots than they need
  MORE_THAN_A_FEW = 4,     // lines
  PATIENCE = 8000,         // naps
  SHORT_PATIENCE = 20,
};

struct tide_live_map tide_live_map;

static struct tide_station *stations; // pushed, never popped
static uint32_t n_stations;

static struct tide_live_large large TIDE_BULKY;
static uint32_t n_large; // ever
static struct tide_lock large_lock;

#define ROOT_BYTES (sizeof(uint64_t *) << TIDE_LIVE_ROOT_BITS)

static void fences_set(enum tide_fences fences)
{
  __atomic_store_n(&tide_live_map.fences, fences, __ATOMIC_SEQ_CST);
}

static bool barrier_register(void)
{
  return !tide_sys_failed(
      TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

bool tide_live_init(bool apart)
{
  tide_live_map.apart = apart;
  tide_live_map.direct_left = DIRECT_BYTES;
  tide_live_map.large = &large;
  tide_live_map.unit_bits = tide_bits(tide_ticks_per_second() / 1000000);
  if (!barrier_register())
    fences_set(TIDE_FENCES_ENOUGH);
  return (tide_live_map.root = tide_sys_map_kept(ROOT_BYTES));
}

// What was registered is inherited by fork children, or by those of some kernels.
static bool membarrier(void)
{
  long ret = TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  if (ret == -EPERM && barrier_register())
    ret = TIDE_SYS(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  return !tide_sys_failed(ret);
}

// A barrier in every thread that runs. False: the kernel has none to give.
static bool barrier(void)
{
  if (tide_load_acquire(&tide_live_map.fences) != TIDE_FENCES_ENOUGH)
    return membarrier();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return true;
}

// Whoever begins after the barrier has a fence of its own; whoever began before has had this one.
void tide_live_confine(void)
{
  if (tide_load_relaxed(&tide_live_map.fences))
    return;
  fences_set(TIDE_FENCES_TOO);
  membarrier();
  fences_set(TIDE_FENCES_ENOUGH);
}

void tide_live_after_fork(bool wiped)
{
  stations = NULL;
  n_stations = 0;
  tide_live_map.direct_left = DIRECT_BYTES;
  large_lock.held = 0;
  if (n_large)
    memset(&large, 0, sizeof large);
  n_large = 0;
  for (uint64_t i = 0; i < 1u << TIDE_LIVE_ROOT_BITS && !wiped; i++)
    if (tide_live_map.root[i])
      TIDE_SYS(SYS_madvise, tide_live_map.root[i], TIDE_LIVE_CHUNK_BYTES, MADV_DONTNEED);
  tide_tables_after_fork(wiped);
}

void tide_live_station_add(struct tide_station *s)
{
  *s = (struct tide_station){.next = tide_load_relaxed(&stations), .lines = MORE_THAN_A_FEW};
  while (!__atomic_compare_exchange_n(&stations, &s->next, s, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED))
    ;
  __atomic_fetch_add(&n_stations, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST); // a rebuild that did not see us is seen by us
}

// One step of a wait that may be long. When no system call may be made, time has to pass otherwise.
static void nap(uint32_t turn)
{
  long ns[2] = {0, 100000};
  if (turn < 64)
    tide_cpu_relax();
  else if (turn < 96)
    TIDE_SYS(SYS_sched_yield, 0);
  else if (tide_sys_failed(TIDE_SYS(SYS_nanosleep, ns, 0)))
    for (int i = 0; i < 2000; i++)
      tide_cpu_relax();
}

// Waits until a table is open again, or gone. False: it stays closed.
static bool wait_for_table(uint64_t *region)
{
  uint64_t table = 0;
  for (uint32_t turn = 0; turn < 96 + PATIENCE; turn++) {
    table = tide_load_acquire(region);
    if ((table & TIDE_TABLE_OPEN) || !table)
      return true;
    if (table & TIDE_TABLE_GIVEN_UP)
      return false;
    nap(turn);
  }
  __atomic_compare_exchange_n(region, &table, table | TIDE_TABLE_GIVEN_UP, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  return false;
}

// Waits until a thread has left a region whose table is closed. False: it stays there.
static bool wait_for_station(struct tide_station *s, const uint64_t *region)
{
  uint32_t patience = tide_load_relaxed(&s->held_up) ? SHORT_PATIENCE : PATIENCE;
  for (uint32_t turn = 0; turn < 96 + patience; turn++) {
    if (tide_load_acquire(&s->at) != region) {
      tide_store_relaxed(&s->held_up, 0);
      return true;
    }
    nap(turn);
  }
  tide_store_relaxed(&s->held_up, 1);
  return false;
}

enum quiet { QUIET, HELD_UP, BLIND };

static enum quiet quieten(const struct tide_station *self, const uint64_t *region)
{
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&n_stations, __ATOMIC_SEQ_CST) <= 1)
    return QUIET;
  if (!barrier()) { // forbidden without our knowing: by the next time everybody has fences
    fences_set(TIDE_FENCES_ENOUGH);
    return BLIND;
  }
  enum quiet all = QUIET;
  for (struct tide_station *s = tide_load_acquire(&stations); s; s = s->next)
    if (s != self && !wait_for_station(s, region))
      all = HELD_UP;
  return all;
}

// The lines in which a key may lie, in turn.
struct probe {
  uint32_t line, n_lines, left;
};

static struct probe probe_from(uint64_t table, uint64_t key)
{
  uint32_t n = TIDE_TABLE_SLOTS(table) / TIDE_LIVE_LANES;
  uint32_t line = (uint32_t)tide_live_home_index(table, key) / TIDE_LIVE_LANES;
  return (struct probe){line, n, n < MAX_PROBE ? n : MAX_PROBE};
}

static bool probe_next(struct probe *p)
{
  p->line = p->line + 1 == p->n_lines ? 0 : p->line + 1;
  return --p->left;
}

// Lines fill up in this order and never lose keys: behind one with an empty slot there is nothing.
static struct tide_live *slot_of_key(uint64_t table, uint64_t key)
{
  struct probe p = probe_from(table, key);
  do {
    struct tide_live *line = TIDE_TABLE_ADDRESS(table) + (uint64_t)p.line * TIDE_LIVE_LANES;
    bool room = false;
    for (int i = 0; i < TIDE_LIVE_LANES; i++) {
      uint64_t when = tide_load_relaxed(&line[i].when);
      if (tide_when_is_of(when, key))
        return &line[i];
      room |= !when;
    }
    if (room)
      break;
  } while (probe_next(&p));
  return NULL;
}

// Of a key that is not at home, or of a table that was not open.
__attribute__((noinline)) struct tide_live *tide_live_find_slowly(struct tide_station *s,
                                                                  uint64_t *region, uint64_t key)
{
  uint64_t table;
  while (!((table = tide_live_enter(s, region)) & TIDE_TABLE_OPEN)) {
    tide_live_leave(s);
    if (!table || !wait_for_table(region))
      return NULL;
  }
  struct tide_live *slot = slot_of_key(table, key);
  if (!slot)
    tide_live_leave(s);
  return slot;
}

static bool claim_slot(struct tide_live *slot, uint64_t key)
{
  uint64_t none = 0, when = tide_live_when(TIDE_FIRST_INTERVAL, 0) | key;
  return !tide_load_relaxed(&slot->when) &&
         __atomic_compare_exchange_n(&slot->when, &none, when, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

// A slot for a key that is not in the table; NULL: there is none near its home.
static struct tide_live *claim(uint64_t table, uint64_t key)
{
  struct tide_live *home = tide_live_home(table, key);
  if (claim_slot(home, key))
    return home;
  struct probe p = probe_from(table, key);
  do {
    struct tide_live *line = TIDE_TABLE_ADDRESS(table) + (uint64_t)p.line * TIDE_LIVE_LANES;
    for (int i = 0; i < TIDE_LIVE_LANES; i++)
      if (claim_slot(&line[i], key))
        return &line[i];
  } while (probe_next(&p));
  return NULL;
}

// What lives in a table, and where.
struct census {
  uint32_t n;           // and one more: the key that found no room
  uint64_t first, last; // keys
};

static void census_add(struct census *c, uint64_t key)
{
  c->first = c->n && c->first < key ? c->first : key;
  c->last = c->n && c->last > key ? c->last : key;
  c->n++;
}

static bool lives(const struct tide_live *slot)
{
  return tide_load_relaxed(&slot->what);
}

static struct census take_census(uint64_t table, uint64_t more)
{
  struct census c = {0};
  const struct tide_live *slots = TIDE_TABLE_ADDRESS(table);
  if (more < TIDE_LIVE_KEYS)
    census_add(&c, more);
  for (uint32_t i = 0; i < TIDE_TABLE_SLOTS(table); i++)
    if (lives(&slots[i]))
      census_add(&c, tide_when_key(slots[i].when));
  return c;
}

// A slot for each and an eighth more: nearly all are at home then.
static uint32_t lines_for(uint64_t n_blocks)
{
  uint64_t slots = n_blocks + n_blocks / 8;
  uint64_t lines = (slots + TIDE_LIVE_LANES - 1) / TIDE_LIVE_LANES;
  return lines < 1 ? 1 : lines < TIDE_TABLE_MAX_LINES ? (uint32_t)lines : TIDE_TABLE_MAX_LINES;
}

// A heap that grows upwards: the rest of the region will look like what there is of it. Not taken
// for granted: the table grows threefold at most.
static uint32_t lines_wanted(const struct census *c)
{
  uint64_t span = c->last - c->first + 1, rest = TIDE_LIVE_KEYS - 1 - c->last;
  uint64_t n = c->n;
  if (n >= TIDE_LIVE_LANES && c->last > c->first)
    n += rest * (n - 1) / span;
  uint64_t most = c->n * 3ull + TIDE_LIVE_LANES;
  return lines_for(n < most ? n : most);
}

// A slot for every 32 bytes, where that costs hardly more or, while there are few such tables,
// where there are more than a few blocks.
static uint32_t lines_given(uint32_t lines)
{
  enum { NEARLY_DIRECT = DIRECT_LINES * 13 / 16 };
  const int64_t bytes = DIRECT_LINES * TIDE_TABLE_LINE;
  if (lines > DIRECT_LINES || lines < MORE_THAN_A_FEW)
    return lines;
  if (lines >= NEARLY_DIRECT)
    return DIRECT_LINES;
  if (tide_load_relaxed(&tide_live_map.direct_left) < bytes)
    return lines;
  __atomic_fetch_sub(&tide_live_map.direct_left, bytes, __ATOMIC_RELAXED);
  return DIRECT_LINES;
}

// Would all that lives in a table find room in another, in so many lines from home on?
static bool fits(uint64_t from, uint64_t more, uint64_t to, uint32_t n_lines)
{
  uint8_t fill[TIDE_TABLE_MAX_LINES] = {0};
  const struct tide_live *slots = TIDE_TABLE_ADDRESS(from);
  uint32_t n = TIDE_TABLE_SLOTS(from);
  for (uint32_t i = 0; i <= n; i++) {
    uint64_t key = i < n ? tide_when_key(slots[i].when) : more;
    if (i < n ? !lives(&slots[i]) : more >= TIDE_LIVE_KEYS)
      continue;
    struct probe p = probe_from(to, key);
    bool room;
    p.left = p.left < n_lines ? p.left : n_lines;
    while (!(room = fill[p.line] < TIDE_LIVE_LANES) && probe_next(&p))
      ;
    if (!room)
      return false;
    fill[p.line]++;
  }
  return true;
}

static uint64_t table_word(const void *address, uint32_t lines, uint64_t how)
{
  if (lines == DIRECT_LINES && tide_live_map.apart && !(how & TIDE_TABLE_SCATTERED))
    how |= TIDE_TABLE_DIRECT;
  return (uint64_t)address << 16 | (uint64_t)lines * TIDE_LIVE_LANES | how;
}

// The shape of a table for what lives in `from`: its size, and whether it is scattered. The largest
// has a slot for every key, so there always is one.
static uint64_t shape_for(uint64_t from, uint64_t more, uint32_t lines)
{
  uint32_t least_loose = lines + lines / 8; // with less, only if nearly all are at home
  for (;; lines++) {
    lines = tide_table_lines(lines);
    for (int scattered = 0; scattered <= 1; scattered++) {
      uint64_t shape = table_word(NULL, lines, scattered ? TIDE_TABLE_SCATTERED : 0);
      bool loose = lines >= least_loose;
      if ((loose || !scattered) && fits(from, more, shape, loose ? MAX_PROBE : TIGHT_PROBE))
        return shape;
      if (lines == TIDE_TABLE_MAX_LINES)
        return shape;
    }
  }
}

static void copy_all(uint64_t from, uint64_t to)
{
  const struct tide_live *slots = TIDE_TABLE_ADDRESS(from);
  for (uint32_t i = 0; i < TIDE_TABLE_SLOTS(from); i++)
    if (lives(&slots[i])) {
      struct tide_live *slot = claim(to, tide_when_key(slots[i].when));
      if (!slot)
        continue; // a thread that was held up has just put it there
      tide_store_relaxed(&slot->when, slots[i].when);
      tide_store_relaxed(&slot->what, slots[i].what);
    }
}

static void note_refusal(const void *memory)
{
  if (!memory)
    tide_store_relaxed(&tide_live_map.refused, true);
}

// Replaces a table by one that fits what lives in it and one key more (none: TIDE_LIVE_KEYS). The
// caller is in no region. False: it cannot be done.
static bool rebuild(struct tide_station *self, uint64_t *region, uint64_t more)
{
  uint64_t old = tide_load_acquire(region);
  if (!(old & TIDE_TABLE_OPEN))
    return wait_for_table(region); // another thread does it
  if (!__atomic_compare_exchange_n(region, &old, old & ~TIDE_TABLE_OPEN, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_RELAXED))
    return true;
  enum quiet quiet = quieten(self, region);
  void *memory = NULL;
  uint64_t shape = 0;
  if (quiet != BLIND) {
    struct census c = take_census(old, more);
    uint32_t lines = more < TIDE_LIVE_KEYS ? lines_given(lines_wanted(&c)) : lines_for(c.n);
    shape = shape_for(old, more, lines);
    memory = tide_table_new(TIDE_TABLE_SLOTS(shape) / TIDE_LIVE_LANES);
    note_refusal(memory);
  }
  if (!memory) {
    tide_store_release(region, old);
    return false;
  }
  uint64_t new = shape | (uint64_t)memory << 16;
  copy_all(old, new);
  tide_store_release(region, new | TIDE_TABLE_OPEN);
  if (quiet == QUIET)
    tide_table_free(TIDE_TABLE_ADDRESS(old), TIDE_TABLE_SLOTS(old) / TIDE_LIVE_LANES);
  else
    tide_add_relaxed(&tide_store.header->n_lost_busy, 1);
  return true;
}

static bool chunk_new(uint64_t addr)
{
  uint64_t *fresh = tide_sys_map_once(TIDE_LIVE_CHUNK_BYTES), *old = NULL;
  uint64_t **entry =
      &tide_live_map.root[addr >> TIDE_LIVE_CHUNK_BITS & ((1u << TIDE_LIVE_ROOT_BITS) - 1)];
  note_refusal(fresh);
  if (fresh &&
      !__atomic_compare_exchange_n(entry, &old, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    tide_sys_unmap(fresh, TIDE_LIVE_CHUNK_BYTES); // another thread was first
  return fresh;
}

// The region that this thread opened last has shown by now how much it had use for. One that was
// given much more is made smaller: only the latest of each thread may be too large.
static uint32_t look_back(struct tide_station *s)
{
  if (!s->opened)
    return s->lines;
  uint64_t table = tide_live_enter(s, s->opened);
  uint32_t n = 0, lines = TIDE_TABLE_SLOTS(table) / TIDE_LIVE_LANES;
  if (table & TIDE_TABLE_OPEN)
    for (uint32_t i = 0; i < TIDE_TABLE_SLOTS(table); i++)
      n += tide_load_relaxed(&TIDE_TABLE_ADDRESS(table)[i].when) != 0;
  tide_live_leave(s);
  if (!(table & TIDE_TABLE_OPEN))
    return s->lines;
  if (lines_for(n) * 4 < lines * 3 && !(table & TIDE_TABLE_DIRECT))
    rebuild(s, s->opened, TIDE_LIVE_KEYS);
  return lines_for(n);
}

// The first table of a region: as much as the last one had use for.
static bool table_first(struct tide_station *s, uint64_t *region)
{
  s->lines = look_back(s);
  uint32_t lines = tide_table_lines(lines_given(s->lines));
  void *memory = tide_table_new(lines);
  uint64_t none = 0;
  note_refusal(memory);
  if (memory &&
      !__atomic_compare_exchange_n(region, &none, table_word(memory, lines, TIDE_TABLE_OPEN), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    tide_table_free(memory, lines); // another thread was first
  else
    s->opened = region;
  return memory;
}

__attribute__((noinline)) bool tide_live_make_slowly(struct tide_station *s, uint64_t addr,
                                                     struct tide_place *ret_place)
{
  uint64_t *region, key = tide_live_key(addr);
  while (!(region = tide_live_region(addr)))
    if (!chunk_new(addr))
      return false;
  for (;;) {
    uint64_t table = tide_live_enter(s, region);
    if (table & TIDE_TABLE_OPEN) {
      struct tide_live *slot = tide_live_home(table, key);
      // A home that is empty was never asked for: its key is nowhere else.
      if (claim_slot(slot, key) || (slot = slot_of_key(table, key)) || (slot = claim(table, key))) {
        *ret_place = (struct tide_place){slot, region, table};
        return true;
      }
    }
    tide_live_leave(s);
    bool again = !table                    ? table_first(s, region)
                 : table & TIDE_TABLE_OPEN ? rebuild(s, region, key)
                                           : wait_for_table(region);
    if (!again)
      return false;
  }
}

// A guest closes the table for a moment: so it is not rebuilt, and whoever is there may go on.
bool tide_live_take_as_guest(uint64_t addr, struct tide_block *ret_block)
{
  uint64_t *region = tide_live_plausible(addr) ? tide_live_region(addr) : NULL;
  uint64_t table = region ? tide_load_acquire(region) : 0, key = tide_live_key(addr);
  for (int i = 0; i < 256 && table && !(table & TIDE_TABLE_OPEN); i++) {
    tide_cpu_relax();
    table = tide_load_acquire(region);
  }
  if (!(table & TIDE_TABLE_OPEN) ||
      !__atomic_compare_exchange_n(region, &table, table & ~TIDE_TABLE_OPEN, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return false;
  struct tide_live *slot = slot_of_key(table, key);
  struct tide_station nowhere = {0};
  bool known = slot && tide_live_take_at(&nowhere, slot, addr, ret_block);
  tide_store_release(region, table);
  return known;
}

// What finds no room will end as a smaller block than it was: that is a loss, and counted.
void tide_live_large_put(uint64_t addr, uint64_t size)
{
  int i = 0;
  tide_lock_take(&large_lock);
  while (i < TIDE_LIVE_MAX_LARGE && large.blocks[i].size)
    i++;
  if (i < TIDE_LIVE_MAX_LARGE) {
    n_large++;
    large.blocks[i].addr = addr;
    large.blocks[i].size = size;
  }
  tide_lock_drop(&large_lock);
  if (i == TIDE_LIVE_MAX_LARGE)
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
}

uint64_t tide_live_large_take(uint64_t addr)
{
  uint64_t size = TIDE_LIVE_LARGE;
  tide_lock_take(&large_lock);
  for (int i = 0; i < TIDE_LIVE_MAX_LARGE; i++)
    if (large.blocks[i].addr == addr && large.blocks[i].size) {
      size = large.blocks[i].size;
      large.blocks[i].size = 0;
    }
  tide_lock_drop(&large_lock);
  return size;
}
