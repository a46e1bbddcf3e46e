// SPDX-License-Identifier: Apache-2.0
//
// A sorted array, searched by halves.
#include "import/segments.h"

#include "base/alloc.h"

#include <stdlib.h>

void tide_segments_done(struct tide_segments *segments)
{
  free(segments->items);
  *segments = (struct tide_segments){0};
}

void tide_segments_clear(struct tide_segments *segments)
{
  segments->n = 0;
}

void tide_segments_add(struct tide_segments *s, struct tide_segment segment)
{
  TIDE_GROW(s->items, s->n, s->cap);
  s->items[s->n++] = segment;
  s->sorted = false;
}

static int by_start(const void *left, const void *right)
{
  const struct tide_segment *a = left, *b = right;
  return (a->start > b->start) - (a->start < b->start);
}

uint16_t tide_segments_find(struct tide_segments *s, uint64_t addr)
{
  if (!s->sorted && s->n)
    qsort(s->items, s->n, sizeof *s->items, by_start);
  s->sorted = true;
  size_t low = 0, high = s->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->items[middle].start <= addr)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && addr < s->items[low - 1].end ? s->items[low - 1].module : 0;
}
