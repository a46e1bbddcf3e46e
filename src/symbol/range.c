// SPDX-License-Identifier: Apache-2.0
//
// Sorted ranges with a running maximum of their ends, so that a search which lands behind the
// wanted range knows how far back it has to look. Cost: one binary search, plus one step per range
// that begins between the answer and the address.
#include "symbol/range.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_ranges_done(struct tide_ranges *ranges)
{
  free(ranges->items);
  *ranges = (struct tide_ranges){0};
}

void tide_ranges_add(struct tide_ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value)
{
  if (lo >= hi)
    return;
  TIDE_GROW(ranges->items, ranges->n, ranges->cap);
  ranges->items[ranges->n++] = (struct tide_range){lo, hi, hi, value};
}

static int by_start(const void *left, const void *right)
{
  const struct tide_range *a = left, *b = right;
  if (a->lo != b->lo)
    return a->lo < b->lo ? -1 : 1;
  if (a->hi != b->hi)
    return a->hi > b->hi ? -1 : 1;
  return a->value > b->value ? -1 : a->value < b->value; // the first added is found first
}

void tide_ranges_sort(struct tide_ranges *ranges)
{
  if (ranges->n == 0)
    return;
  qsort(ranges->items, ranges->n, sizeof *ranges->items, by_start);
  for (size_t i = 1; i < ranges->n; i++)
    if (ranges->items[i].reach < ranges->items[i - 1].reach)
      ranges->items[i].reach = ranges->items[i - 1].reach;
}

// How many ranges start at or before the address.
static size_t count_before(const struct tide_ranges *ranges, uint64_t addr)
{
  size_t low = 0, high = ranges->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges->items[middle].lo <= addr)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const struct tide_range *tide_ranges_find(const struct tide_ranges *ranges, uint64_t addr)
{
  for (size_t i = count_before(ranges, addr); i-- > 0 && ranges->items[i].reach > addr;)
    if (ranges->items[i].hi > addr)
      return &ranges->items[i];
  return NULL;
}

const struct tide_range *tide_ranges_before(const struct tide_ranges *ranges, uint64_t addr)
{
  size_t n = count_before(ranges, addr);
  return n ? &ranges->items[n - 1] : NULL;
}
