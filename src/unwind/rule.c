// SPDX-License-Identifier: Apache-2.0
//
// The table of rules. Growing: fill a larger table, publish its address; readers of the old one
// find what it has and come here for the rest, so old tables are simply left behind (together at
// most as large as the newest). Two threads may add the same key: harmless.
//
// Shape 0 with key 0 would be an empty entry; keys are code addresses and never 0.
#include "unwind/rule.h"

#include "rt/cost.h"
#include "rt/sys.h"

struct tide_rule_table *tide_rules;
struct tide_rule tide_rule_shapes[TIDE_RULE_SHAPES] TIDE_BULKY;
static uint32_t n_shapes;
static uint32_t n_used; // slots of the newest table
static struct tide_lock lock;

enum { FIRST_LOG2 = 9, PAGE_BYTES = 4096 };

// Its slots are a page: a fork child that adds a rule gets a copy of no more than that.
static struct {
  char before[PAGE_BYTES - sizeof(struct tide_rule_table)];
  struct tide_rule_table table;
  uint64_t slots[1 << FIRST_LOG2];
} first_table TIDE_BULKY __attribute__((aligned(PAGE_BYTES)));

static struct tide_rule_table *table_new(uint32_t log2)
{
  struct tide_rule_table *t = tide_sys_map_kept(sizeof *t + (8ull << log2));
  if (t)
    t->shift = 64 - log2;
  return t;
}

static void put_rule(struct tide_rule_table *t, uint64_t key, uint64_t entry)
{
  uint32_t mask = (uint32_t)(1ull << (64 - t->shift)) - 1;
  uint32_t i = (uint32_t)(tide_mix64(key) >> t->shift);
  while (t->slot[i])
    i = (i + 1) & mask;
  tide_store_release(&t->slot[i], entry);
}

static uint64_t entry_key(uint64_t e)
{
  return e >> 16 | (e >> TIDE_RULE_SHAPE_BITS & 1) << 63;
}

static bool same(const struct tide_rule *a, const struct tide_rule *b)
{
  return a->cfa == b->cfa && a->ra == b->ra && a->fp == b->fp && a->kind == b->kind &&
         a->ra_in_lr == b->ra_in_lr;
}

// A linear search over a few hundred shapes, once per call site. Gives TIDE_RULE_SHAPES when full.
static uint32_t shape_of(const struct tide_rule *r)
{
  for (uint32_t i = 0; i < n_shapes; i++)
    if (same(&tide_rule_shapes[i], r))
      return i;
  if (n_shapes == TIDE_RULE_SHAPES)
    return TIDE_RULE_SHAPES;
  tide_rule_shapes[n_shapes] = *r;
  return n_shapes++;
}

// The table to add to, with room. NULL: no memory; the old table then stays, full as it is.
static struct tide_rule_table *with_room(struct tide_rule_table *t)
{
  uint32_t slots = (uint32_t)(1ull << (64 - t->shift));
  if (n_used * 8ull < slots * 5ull)
    return t;
  struct tide_rule_table *bigger = table_new(64 - t->shift + 1);
  if (!bigger)
    return n_used + 1 < slots ? t : NULL;
  for (uint32_t i = 0; i < slots; i++)
    if (t->slot[i])
      put_rule(bigger, entry_key(t->slot[i]), t->slot[i]);
  tide_store_release(&tide_rules, bigger);
  return bigger;
}

TIDE_COLD const struct tide_rule *tide_rule_make(uint64_t key, struct tide_rule *scratch)
{
  uint64_t from = tide_cycles();
  tide_cfi_rule(key, scratch);
  tide_lock_take(&lock);
  uint32_t shape = shape_of(scratch);
  struct tide_rule_table *t = shape < TIDE_RULE_SHAPES ? with_room(tide_rules) : NULL;
  if (t) {
    put_rule(t, key, tide_rule_entry(key) | shape);
    n_used++;
  }
  tide_lock_drop(&lock);
  tide_cold_add(from);
  return scratch;
}

void tide_rules_init(void)
{
  first_table.table.shift = 64 - FIRST_LOG2;
  tide_store_release(&tide_rules, &first_table.table);
}

// Emptied in place: whoever is looking something up at this moment finds it or comes to make it.
void tide_rules_forget(void)
{
  tide_lock_take(&lock);
  struct tide_rule_table *t = tide_rules;
  for (uint64_t i = 0; i < 1ull << (64 - t->shift); i++)
    tide_store_relaxed(&t->slot[i], 0);
  n_used = 0;
  tide_lock_drop(&lock);
}

// Every entry is written whole, so the table is as good as it was in the parent. One rule may be
// there that is not counted; a table that was being filled is left behind.
void tide_rules_after_fork(void)
{
  lock.held = 0;
}
