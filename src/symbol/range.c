// SPDX-License-Identifier: Apache-2.0
//
// Sorted ranges with a running maximum of their ends, so that a search which lands behind the
// wanted range knows how far back it has to look. Cost: one binary search, plus one step per range
// that begins between the answer and the address. Sorting is by radix: qsort() took half of the
// 2 ms it cost to open libc.
#include "symbol/elf.h"

#include "base/alloc.h"
#include "base/lookup.h"

#include <stdlib.h>

#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)

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
  ranges->items[ranges->n++] = (struct tide_address_range){lo, hi, hi, value};
}

static int longest_first(const void *left, const void *right)
{
  const struct tide_address_range *a = left, *b = right;
  return a->hi > b->hi ? -1 : a->hi < b->hi;
}

// One pass of a radix sort: stable, by DIGIT_BITS bits of lo.
static void sort_by_digit(const struct tide_address_range *from, struct tide_address_range *to,
                          size_t n, unsigned shift)
{
  size_t start[DIGITS + 1] = {0};
  for (size_t i = 0; i < n; i++)
    start[(from[i].lo >> shift & (DIGITS - 1)) + 1]++;
  for (size_t digit = 1; digit < DIGITS; digit++)
    start[digit] += start[digit - 1];
  for (size_t i = 0; i < n; i++)
    to[start[from[i].lo >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_by_lo(struct tide_ranges *ranges)
{
  uint64_t all_bits = 0;
  for (size_t i = 0; i < ranges->n; i++)
    all_bits |= ranges->items[i].lo;
  struct tide_address_range *spare = tide_alloc_array(ranges->cap, sizeof *spare);
  for (unsigned shift = 0; shift < 64 && all_bits >> shift; shift += DIGIT_BITS) {
    sort_by_digit(ranges->items, spare, ranges->n, shift);
    struct tide_address_range *sorted = spare;
    spare = ranges->items;
    ranges->items = sorted;
  }
  free(spare);
}

void tide_ranges_sort(struct tide_ranges *ranges)
{
  sort_by_lo(ranges);
  for (size_t first = 0, end; first < ranges->n; first = end) { // those that start together
    for (end = first + 1; end < ranges->n && ranges->items[end].lo == ranges->items[first].lo;)
      end++;
    if (end - first > 1)
      qsort(&ranges->items[first], end - first, sizeof *ranges->items, longest_first);
  }
  for (size_t i = 1; i < ranges->n; i++)
    if (ranges->items[i].reach < ranges->items[i - 1].reach)
      ranges->items[i].reach = ranges->items[i - 1].reach;
}

// How many ranges start at or before the address.
static size_t count_before(const struct tide_ranges *ranges, uint64_t addr)
{
  return TIDE_FIRST_ABOVE(ranges->items, ranges->n, lo, addr);
}

const struct tide_address_range *tide_ranges_find(const struct tide_ranges *ranges, uint64_t addr)
{
  for (size_t i = count_before(ranges, addr); i-- > 0 && ranges->items[i].reach > addr;)
    if (ranges->items[i].hi > addr)
      return &ranges->items[i];
  return NULL;
}

const struct tide_address_range *tide_ranges_before(const struct tide_ranges *ranges, uint64_t addr)
{
  size_t n = count_before(ranges, addr);
  return n ? &ranges->items[n - 1] : NULL;
}
