// SPDX-License-Identifier: Apache-2.0
//
// See site_order.h.
#include "tide/site_order.h"

#include "base/alloc.h"
#include "tide/format.h"

#include <stdlib.h>
#include <string.h>

#define FEW 4096u // not worth the tables
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)
#define SIGN (UINT64_C(1) << 63)

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
static void weigh(struct tide_rank *ranks, size_t n, size_t n_frames)
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

enum key { PEAK, TOTAL, STACK };

// Ranks come by falling key.
static uint64_t key_of(const struct tide_rank *rank, enum key key)
{
  return key == PEAK    ? (uint64_t)rank->peak_bytes ^ SIGN
         : key == TOTAL ? rank->b_alloc
                        : UINT32_MAX - rank->stack;
}

// One digit of the key, falling; ranks with the same one stay in order.
static void sort_by_digit(const struct tide_rank *from, struct tide_rank *to, size_t n,
                          enum key key, uint64_t most, unsigned shift)
{
  size_t starts[DIGITS + 1] = {0};
  for (size_t i = 0; i < n; i++)
    starts[((most - key_of(&from[i], key)) >> shift) % DIGITS + 1]++;
  for (size_t i = 1; i < DIGITS; i++)
    starts[i] += starts[i - 1];
  for (size_t i = 0; i < n; i++)
    to[starts[((most - key_of(&from[i], key)) >> shift) % DIGITS]++] = from[i];
}

// By falling key, digit by digit from the lowest: sorting a million by comparisons takes a third of
// the time that all the rest of writing them does. The ranks are in *ranks then, or were swapped.
static void sort_by_key(struct tide_rank **ranks, struct tide_rank **spare, size_t n, enum key key)
{
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t value = key_of(&(*ranks)[i], key);
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
    sort_by_digit(*ranks, *spare, n, key, most, shift);
    struct tide_rank *sorted = *spare;
    *spare = *ranks;
    *ranks = sorted;
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

void tide_ranks_sort(struct tide_rank **ranks, size_t n, size_t n_frames)
{
  weigh(*ranks, n, n_frames);
  if (n < FEW) {
    sort_few(*ranks, n);
    return;
  }
  if (!is_sorted_by_stack(*ranks, n)) // as cells mostly are
    qsort(*ranks, n, sizeof **ranks, by_stack_only);
  struct tide_rank *spare = tide_alloc_array(n, sizeof *spare);
  sort_by_key(ranks, &spare, n, TOTAL);
  sort_by_key(ranks, &spare, n, PEAK);
  size_t n_heavy = n_heavy_of(*ranks, n);
  struct tide_rank *rest = *ranks + n_heavy, *rest_spare = spare + n_heavy;
  qsort(*ranks, n_heavy, sizeof **ranks, by_stack_only);
  sort_by_key(&rest, &rest_spare, n - n_heavy, STACK);
  if (rest != *ranks + n_heavy)
    memcpy(*ranks + n_heavy, rest, (n - n_heavy) * sizeof *rest);
  free(spare);
}

size_t *tide_sites_in_file_order(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE struct tide_rank *ranks = tide_alloc_array(image->n_sites, sizeof *ranks);
  size_t *order = tide_alloc_array(image->n_sites, sizeof *order);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site *site = &image->sites[i];
    ranks[i] = (struct tide_rank){site->peak_bytes, site->b_alloc, site->stack, (uint32_t)i};
  }
  tide_ranks_sort(&ranks, image->n_sites, image->n_frames);
  for (size_t i = 0; i < image->n_sites; i++)
    order[i] = ranks[i].row;
  return order;
}
