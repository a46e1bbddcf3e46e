// SPDX-License-Identifier: Apache-2.0
//
// See site_order.h.
#include "tide/site_order.h"

#include "base/alloc.h"
#include "model/rows.h"
#include "tide/format.h"

#include <stdlib.h>
#include <string.h>

#define FEW 4096u // more than TIDE_ROWS_SITES

static int by_stack(const struct tide_rank *a, const struct tide_rank *b)
{
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

static int by_stack_only(const void *left, const void *right)
{
  return by_stack(left, right);
}

static int by_weight(const void *left, const void *right)
{
  const struct tide_rank *a = left, *b = right;
  if (a->peak_bytes != b->peak_bytes)
    return a->peak_bytes > b->peak_bytes ? -1 : 1;
  if (a->b_alloc != b->b_alloc)
    return a->b_alloc > b->b_alloc ? -1 : 1;
  return by_stack(a, b);
}

// The first site of a stack gathers its weight.
static void weigh_stacks(struct tide_rank *ranks, size_t n, size_t n_frames)
{
  TIDE_CLEANUP_FREE uint32_t *first =
      tide_alloc_array(n_frames ? n_frames : 1, sizeof *first); // index + 1
  for (size_t i = 0; i < n; i++) {
    uint32_t *at = &first[ranks[i].stack];
    if (!*at) {
      *at = (uint32_t)i + 1;
      continue;
    }
    struct tide_rank *sum = &ranks[*at - 1];
    sum->peak_bytes = (int64_t)((uint64_t)sum->peak_bytes + (uint64_t)ranks[i].peak_bytes);
    sum->b_alloc += ranks[i].b_alloc;
  }
  for (size_t i = 0; i < n; i++) {
    const struct tide_rank *sum = &ranks[first[ranks[i].stack] - 1];
    ranks[i].peak_bytes = sum->peak_bytes;
    ranks[i].b_alloc = sum->b_alloc;
  }
}

static bool is_sorted_by_stack(const struct tide_rank *ranks, size_t n)
{
  size_t i = 1;
  while (i < n && by_stack(&ranks[i - 1], &ranks[i]) < 0)
    i++;
  return i >= n;
}

// How many of the ranks, which come by weight, go first: about a part, and whole stacks.
static size_t n_heavy_of(const struct tide_rank *ranks, size_t n)
{
  size_t n_heavy = n < TIDE_ROWS_SITES ? n : TIDE_ROWS_SITES;
  while (n_heavy && n_heavy < n && ranks[n_heavy].stack == ranks[n_heavy - 1].stack)
    n_heavy++;
  return n_heavy;
}

static void sort_few(struct tide_rank *ranks, size_t n)
{
  if (!n)
    return;
  qsort(ranks, n, sizeof *ranks, by_weight);
  size_t n_heavy = n_heavy_of(ranks, n);
  qsort(ranks, n_heavy, sizeof *ranks, by_stack_only);
  if (n_heavy < n)
    qsort(ranks + n_heavy, n - n_heavy, sizeof *ranks, by_stack_only);
}

// The heaviest so far, the lightest of them on top.
static void heap_sink(const struct tide_rank **heap, size_t n, size_t at)
{
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    child += child + 1 < n && by_weight(heap[child], heap[child + 1]) < 0;
    if (by_weight(heap[at], heap[child]) >= 0)
      return;
    const struct tide_rank *up = heap[child];
    heap[child] = heap[at];
    heap[at] = up;
  }
}

// The last of those that would go first by weight, of n > TIDE_ROWS_SITES: one pass, where sorting
// all by weight and then by stack again takes eight.
static struct tide_rank lightest_heavy(const struct tide_rank *ranks, size_t n)
{
  const struct tide_rank *heap[TIDE_ROWS_SITES];
  for (size_t i = 0; i < TIDE_ROWS_SITES; i++)
    heap[i] = &ranks[i];
  for (size_t i = TIDE_ROWS_SITES / 2; i-- > 0;)
    heap_sink(heap, TIDE_ROWS_SITES, i);
  for (size_t i = TIDE_ROWS_SITES; i < n; i++)
    if (by_weight(&ranks[i], heap[0]) < 0) {
      heap[0] = &ranks[i];
      heap_sink(heap, TIDE_ROWS_SITES, 0);
    }
  return *heap[0];
}

static bool is_heavy(const struct tide_rank *rank, const struct tide_rank *lightest)
{
  return rank->stack == lightest->stack || by_weight(rank, lightest) < 0;
}

// Ranks by stack: the heavy ones before the others, each still by stack.
static void put_heavy_first(struct tide_rank *ranks, size_t n)
{
  struct tide_rank lightest = lightest_heavy(ranks, n);
  size_t n_heavy = 0, to = n, k = 0;
  for (size_t i = 0; i < n; i++)
    n_heavy += is_heavy(&ranks[i], &lightest);
  TIDE_CLEANUP_FREE struct tide_rank *heavy = tide_alloc_array(n_heavy, sizeof *heavy);
  for (size_t i = 0; i < n; i++)
    if (is_heavy(&ranks[i], &lightest))
      heavy[k++] = ranks[i];
  for (size_t i = n; i-- > 0;)
    if (!is_heavy(&ranks[i], &lightest))
      ranks[--to] = ranks[i];
  memcpy(ranks, heavy, n_heavy * sizeof *heavy);
}

void tide_ranks_sort(struct tide_rank *ranks, size_t n, size_t n_frames)
{
  weigh_stacks(ranks, n, n_frames);
  if (n < FEW) {
    sort_few(ranks, n);
    return;
  }
  if (!is_sorted_by_stack(ranks, n)) // as cells mostly are
    qsort(ranks, n, sizeof *ranks, by_stack_only);
  put_heavy_first(ranks, n);
}

size_t *tide_sites_in_file_order(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE struct tide_rank *ranks = tide_alloc_array(image->n_sites, sizeof *ranks);
  size_t *order = tide_alloc_array(image->n_sites, sizeof *order);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    ranks[i] = (struct tide_rank){site.peak_bytes, site.b_alloc, site.stack, (uint32_t)i};
  }
  tide_ranks_sort(ranks, image->n_sites, image->n_frames);
  for (size_t i = 0; i < image->n_sites; i++)
    order[i] = ranks[i].row;
  return order;
}
