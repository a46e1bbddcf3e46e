// SPDX-License-Identifier: Apache-2.0
//
// The table of live samples, by address: open addressing, at most half full, nothing left behind by
// what was taken out.
#include "store/samples.h"

#include "store/book.h"
#include "store/weight.h"

#include <string.h>

static const uint8_t unknown[] = {1};
#define AT_ONE (unknown - TIDE_FILTER_ALL)
struct tide_samples tide_samples = {.filter = AT_ONE, .ones = TIDE_FILTER_ALL};

enum { FIRST_ENTRIES = 128 };
enum { COUNT_MOST = UINT8_MAX }; // stays for good: then every free there is looked up
enum { CROWDED = 32 };           // counts for each sample

static uint32_t n_counts(uint32_t level)
{
  return 1u << (TIDE_FILTER_FIRST_BITS + level * TIDE_FILTER_STEP_BITS);
}

static uint32_t ones_of(uint32_t level)
{
  return ((level + 1) << TIDE_FILTER_BITS) - n_counts(level);
}

// From the first count of the smallest table to the last of the largest.
static uint32_t n_bytes(void)
{
  return (TIDE_FILTER_LEVELS << TIDE_FILTER_BITS) - ones_of(0);
}

static uint8_t *counts_of(uint32_t level)
{
  return tide_samples.counts + ones_of(level) - ones_of(0);
}

bool tide_samples_init(uint32_t bits, uint64_t seed)
{
  tide_samples.counts = tide_sys_map_private(n_bytes());
  if (!tide_samples.counts)
    return false;
  tide_samples.random =
      tide_weight_scramble(seed ? seed : tide_cycles() ^ (uint64_t)tide_samples.counts);
  tide_store_release(&tide_samples.filter, tide_samples.counts - ones_of(0));
  tide_store_release(&tide_samples.ones, ones_of(0));
  tide_samples.bits = bits;
  return true;
}

// A child does not go on with its parent's draws: each of the two would stand for the other.
void tide_samples_after_fork(bool wiped)
{
  if (!tide_samples.bits)
    return;
  for (uint32_t level = 0; !wiped && level < TIDE_FILTER_LEVELS; level++)
    memset(counts_of(level), 0, n_counts(level));
  tide_samples.lock.held = tide_samples.turn = 0;
  tide_samples.table = NULL;
  tide_samples.n_live = 0;
  tide_samples.random ^= tide_weight_scramble(tide_sys_pid());
  tide_store_relaxed(&tide_samples.ones, ones_of(0));
}

uint64_t tide_samples_random(void)
{
  return tide_weight_scramble(tide_add_relaxed(&tide_samples.random, 0x9e3779b97f4a7c15ull));
}

// ---- the filter ----

static void filter_count(uint64_t addr, int change)
{
  for (uint32_t level = 0; level < TIDE_FILTER_LEVELS; level++) {
    uint8_t *count = &counts_of(level)[tide_samples_hash(addr) & (n_counts(level) - 1)];
    if (*count != COUNT_MOST)
      tide_store_relaxed(count, (uint8_t)(*count + change));
  }
}

// Larger only: what the smaller ones could not count stays there.
static void filter_widen(void)
{
  uint32_t level = tide_samples.ones >> TIDE_FILTER_BITS;
  if (level + 1 < TIDE_FILTER_LEVELS && tide_samples.n_live * CROWDED > n_counts(level))
    tide_store_release(&tide_samples.ones, ones_of(level + 1));
}

// ---- the table ----

static void change_begin(void)
{
  tide_store_relaxed(&tide_samples.turn, tide_samples.turn + 1);
}

static void change_end(void)
{
  tide_store_release(&tide_samples.turn, tide_samples.turn + 1);
}

// Without the lock: what is found there may be changing, but is memory.
static bool is_in(struct tide_sample_table *table, uint64_t addr)
{
  uint64_t found, mask = table->mask, i = tide_weight_scramble(addr) & mask;
  while ((found = tide_load_acquire(&table->entries[i].addr)) && found != addr)
    i = (i + 1) & mask;
  return found;
}

// Nothing that changes meanwhile is believed to be none: what is released after the turn was made
// odd shows it.
bool tide_samples_hold(uint64_t addr)
{
  uint32_t turn = tide_load_acquire(&tide_samples.turn);
  struct tide_sample_table *table = tide_load_acquire(&tide_samples.table);
  return turn & 1 || (table && is_in(table, addr)) || tide_load_acquire(&tide_samples.turn) != turn;
}

static struct tide_sample *entry_of(struct tide_sample_table *table, uint64_t addr)
{
  uint64_t i = tide_weight_scramble(addr) & table->mask;
  while (table->entries[i].addr && table->entries[i].addr != addr)
    i = (i + 1) & table->mask;
  return &table->entries[i];
}

static void fill(struct tide_sample *entry, const struct tide_sample *with)
{
  entry->size = with->size;
  entry->when = with->when;
  entry->cell = with->cell;
  entry->n_blocks = with->n_blocks;
  tide_store_release(&entry->addr, with->addr);
}

static size_t table_bytes(uint64_t n)
{
  return sizeof(struct tide_sample_table) + n * sizeof(struct tide_sample);
}

// Somebody may still look into the former one: its memory goes, the place stays.
static bool table_grow(void)
{
  struct tide_sample_table *old = tide_samples.table;
  uint64_t n_old = old ? old->mask + 1 : 0, n = old ? n_old * 2 : FIRST_ENTRIES;
  struct tide_sample_table *table = tide_sys_map_table(table_bytes(n));
  if (!table)
    return false;
  table->mask = n - 1;
  for (uint64_t i = 0; i < n_old; i++)
    if (old->entries[i].addr)
      fill(entry_of(table, old->entries[i].addr), &old->entries[i]);
  tide_store_release(&tide_samples.table, table);
  if (old)
    tide_sys_empty(old, table_bytes(n_old));
  return true;
}

bool tide_samples_put(const struct tide_sample *sample)
{
  struct tide_sample_table *table = tide_samples.table;
  change_begin();
  bool has_room = (table && tide_samples.n_live * 2 <= table->mask) || table_grow();
  if (has_room) {
    fill(entry_of(tide_samples.table, sample->addr), sample);
    tide_samples.n_live++;
    filter_count(sample->addr, 1);
    filter_widen();
  }
  change_end();
  return has_room;
}

// Whatever follows and could be nearer to its home moves up.
static void close_gap(struct tide_sample_table *table, uint64_t gap)
{
  struct tide_sample *entries = table->entries;
  uint64_t mask = table->mask;
  for (uint64_t i = (gap + 1) & mask; entries[i].addr; i = (i + 1) & mask) {
    uint64_t home = tide_weight_scramble(entries[i].addr) & mask;
    if (((i - home) & mask) >= ((i - gap) & mask)) {
      fill(&entries[gap], &entries[i]);
      gap = i;
    }
  }
  fill(&entries[gap], &(struct tide_sample){0});
}

bool tide_samples_take(uint64_t addr, struct tide_sample *ret)
{
  struct tide_sample_table *table = tide_samples.table;
  struct tide_sample *entry = table ? entry_of(table, addr) : NULL;
  if (!entry || !entry->addr)
    return false;
  *ret = *entry;
  change_begin();
  close_gap(table, (uint64_t)(entry - table->entries));
  tide_samples.n_live--;
  filter_count(addr, -1);
  change_end();
  return true;
}

// ---- booking ----

static void add_spread(uint64_t *sum, uint64_t spread)
{
  if (__builtin_add_overflow(*sum, spread, sum))
    *sum = UINT64_MAX;
}

static void take_spread(uint64_t *sum, uint64_t spread)
{
  *sum = *sum == UINT64_MAX ? *sum : *sum > spread ? *sum - spread : 0;
}

// As tide_cell_fold(); its share of the peak has spreads, too.
static uint32_t fold(struct tide_writer *w, struct tide_cell *c)
{
  if (c->stamp.epoch != tide_load_relaxed(&tide_store.header->stamp.epoch)) {
    struct tide_ends *ends = tide_ends_of(w, c);
    const struct tide_spreads *spreads = &tide_past_of(w, c)->spreads;
    ends->peak_blocks_spread = spreads->live_blocks;
    ends->peak_bytes_spread = spreads->live_bytes;
  }
  return tide_cell_fold(w, c);
}

static void count(uint32_t *sum, uint32_t n)
{
  if (__builtin_add_overflow(*sum, n, sum))
    tide_book_carry(sum);
}

// An end that nobody told of, if there is one: the address is another block's now.
static void end_stale(struct tide_writer *w, uint64_t addr, uint64_t now)
{
  struct tide_sample stale;
  if (tide_samples_may_hold(addr) && tide_samples_take(addr, &stale))
    tide_samples_end(w, &stale, now);
}

// key: of its when.
static struct tide_weight weight_again(uint32_t key, uint32_t n_blocks, uint64_t size)
{
  return key & TIDE_SAMPLE_WENT_ON ? tide_weight_kept(n_blocks, size)
                                   : tide_weight_of(key, size, 0);
}

static bool add_weighted(struct tide_writer *w, struct tide_cell *c, struct tide_sample sample,
                         const struct tide_weight *drawn, uint64_t now)
{
  struct tide_weight weight = *drawn;
  uint64_t size = sample.size;
  uint32_t n = sample.n_blocks;
  if (tide_total_is_asked())
    tide_total_turn(w);
  end_stale(w, sample.addr, now);
  uint32_t interval = fold(w, c);
  sample.when |= tide_live_when(interval, now);
  if (!tide_samples_put(&sample))
    return false;
  tide_total_add(w, n * size);
  struct tide_spreads *spreads = &tide_past_of(w, c)->spreads;
  spreads->n_samples++;
  add_spread(&spreads->alloc_blocks, weight.spread);
  add_spread(&spreads->alloc_bytes, weight.byte_spread);
  add_spread(&spreads->live_blocks, weight.spread);
  add_spread(&spreads->live_bytes, weight.byte_spread);
  c->n_alloc += n;
  c->b_alloc += n * size;
  c->birth_live_sum += n * now;
  c->t_last = now;
  count(&tide_hist_of(w, tide_ends_of(w, c))->size[tide_size_bucket(size)], n);
  return true;
}

bool tide_samples_add(struct tide_writer *w, struct tide_cell *c, uint32_t bits, uint64_t addr,
                      uint64_t size, uint64_t now)
{
  struct tide_weight weight = tide_weight_of(bits, size, tide_samples_random());
  struct tide_sample sample = {addr, size, bits, (uint32_t)tide_cell_index(c), weight.n_blocks};
  return add_weighted(w, c, sample, &weight, now);
}

bool tide_samples_go_on(struct tide_writer *w, const struct tide_sample *sample, uint64_t addr,
                        uint64_t size, uint64_t now)
{
  uint32_t key = (uint32_t)tide_when_key(sample->when) | TIDE_SAMPLE_WENT_ON;
  struct tide_weight weight = weight_again(key, sample->n_blocks, size);
  struct tide_sample next = {addr, size, key, sample->cell, sample->n_blocks};
  return add_weighted(w, &tide_store.cells[sample->cell], next, &weight, now);
}

void tide_samples_end(struct tide_writer *w, const struct tide_sample *sample, uint64_t now)
{
  uint32_t key = (uint32_t)tide_when_key(sample->when), n = sample->n_blocks;
  struct tide_weight weight = weight_again(key, n, sample->size);
  struct tide_block block = {sample->cell, sample->size, sample->when};
  struct tide_end end = tide_end_of(&block, now);
  struct tide_cell *c = &tide_store.cells[sample->cell];
  struct tide_ends *ends = tide_ends_of(w, c);
  if (tide_total_is_asked())
    tide_total_turn(w);
  tide_total_sub(w, n * end.size, now);
  uint32_t interval = fold(w, c);
  struct tide_late_row *late =
      end.born != interval ? tide_late_row(&w->lates, sample->cell, end.born, interval) : NULL;
  int64_t live = tide_cell_live(c);
  if (live > ends->high_bytes)
    ends->high_bytes = live;
  struct tide_spreads *spreads = &tide_past_of(w, c)->spreads;
  take_spread(&spreads->live_blocks, weight.spread);
  take_spread(&spreads->live_bytes, weight.byte_spread);
  c->n_free += n;
  c->b_free += n * end.size;
  c->birth_live_sum -= n * end.birth;
  if (late) {
    late->n_blocks += n;
    late->bytes += n * end.size;
  }
  ends->life_sum += n * end.life;
  count(&tide_hist_of(w, ends)->life[tide_life_bucket(end.life)], n);
}
