// SPDX-License-Identifier: Apache-2.0
//
// The map of the heap: buckets by address, of as many bytes each as keep them few.
#include "residence/ledger.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <string.h>

static void add_up(struct tide_residence_bucket *to, const struct tide_residence_bucket *more)
{
  to->live += more->live;
  to->free += more->free;
  to->pinned += more->pinned;
}

// Two neighbours become one, until there is room.
static void coarsen(struct tide_residence *table)
{
  while (table->n_map == TIDE_RESIDENCE_BUCKETS) {
    size_t n = 0;
    table->bucket_bytes *= 2;
    for (size_t i = 0; i < table->n_map; i++) {
      struct tide_residence_bucket bucket = table->map[i];
      bucket.at /= 2;
      if (n && table->map[n - 1].at == bucket.at)
        add_up(&table->map[n - 1], &bucket);
      else
        table->map[n++] = bucket;
    }
    table->n_map = n;
  }
}

static bool is_at(const struct tide_residence *table, size_t i, uint64_t at)
{
  return i < table->n_map && table->map[i].at == at;
}

static struct tide_residence_bucket *bucket_of(struct tide_ledger *ledger, uint64_t address)
{
  struct tide_residence *table = ledger->to;
  if (is_at(table, ledger->bucket, address / table->bucket_bytes))
    return &table->map[ledger->bucket];
  size_t i = TIDE_FIRST_NOT_BELOW(table->map, table->n_map, at, address / table->bucket_bytes);
  if (!is_at(table, i, address / table->bucket_bytes)) {
    coarsen(table);
    uint64_t at = address / table->bucket_bytes;
    i = TIDE_FIRST_NOT_BELOW(table->map, table->n_map, at, at);
    if (!is_at(table, i, at)) {
      memmove(&table->map[i + 1], &table->map[i], (table->n_map - i) * sizeof *table->map);
      table->map[i] = (struct tide_residence_bucket){.at = at};
      table->n_map++;
    }
  }
  ledger->bucket = i;
  return &table->map[i];
}

void tide_ledger_map_add(struct tide_ledger *ledger, uint64_t address, uint64_t live,
                         uint64_t free_bytes, uint64_t pinned)
{
  struct tide_residence *table = ledger->to;
  const struct tide_residence_bucket more = {0, live, free_bytes, pinned};
  if (!live && !free_bytes)
    return;
  if (!table->map) {
    table->map = tide_alloc_array(TIDE_RESIDENCE_BUCKETS, sizeof *table->map);
    table->bucket_bytes = ledger->space->page_bytes;
  }
  add_up(bucket_of(ledger, address), &more);
}

// Only what is in memory is looked at: address space may be reserved by the terabyte.
void tide_ledger_map_add_pages(struct tide_ledger *ledger, uint64_t lo, uint64_t hi, bool is_idle)
{
  struct tide_space *space = ledger->space;
  for (size_t i = tide_space_run_at(space, lo); i < space->n_runs && space->runs[i].lo < hi; i++) {
    uint64_t from = space->runs[i].lo > lo ? space->runs[i].lo : lo;
    uint64_t end = space->runs[i].hi < hi ? space->runs[i].hi : hi;
    while (from < end) {
      uint64_t unit = ledger->to->map ? ledger->to->bucket_bytes : space->page_bytes;
      uint64_t behind = (from / unit + 1) * unit < end ? (from / unit + 1) * unit : end;
      tide_ledger_map_add(ledger, from, is_idle ? 0 : behind - from, is_idle ? behind - from : 0,
                          0);
      from = behind;
    }
  }
}
