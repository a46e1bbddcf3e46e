// SPDX-License-Identifier: Apache-2.0
//
// By edit distance, if it is near enough to be a slip.
#include "base/suggest.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
  unsigned ab = a < b ? a : b;
  return ab < c ? ab : c;
}

// Edits (insert, delete, replace, swap of neighbours) that lead from a to b.
static unsigned edits_apart(const char *a, const char *b)
{
  size_t n = strlen(a), m = strlen(b), stride = m + 1;
  TIDE_CLEANUP_FREE unsigned *cost = tide_alloc_array((n + 1) * stride, sizeof *cost);
  for (size_t i = 0; i <= n; i++)
    cost[i * stride] = (unsigned)i;
  for (size_t j = 0; j <= m; j++)
    cost[j] = (unsigned)j;
  for (size_t i = 1; i <= n; i++) {
    for (size_t j = 1; j <= m; j++) {
      unsigned *at = &cost[i * stride + j];
      *at = min3(at[-1] + 1, *(at - stride) + 1, *(at - stride - 1) + (a[i - 1] != b[j - 1]));
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && *(at - 2 * stride - 2) + 1 < *at)
        *at = *(at - 2 * stride - 2) + 1;
    }
  }
  return cost[n * stride + m];
}

// The only word that starts with the given one, or NULL.
static const char *completed(const char *word, const char *const *words, size_t n_words)
{
  const char *found = NULL;
  for (size_t i = 0; i < n_words && strlen(word) >= 2; i++) {
    if (strncmp(word, words[i], strlen(word)) != 0)
      continue;
    if (found)
      return NULL;
    found = words[i];
  }
  return found;
}

const char *tide_suggest_nearest(const char *word, const char *const *words, size_t n_words)
{
  const char *best = completed(word, words, n_words);
  if (best)
    return best;
  unsigned best_distance = (unsigned)strlen(word) / 3 + 2; // nearer than this: a slip
  for (size_t i = 0; i < n_words; i++) {
    unsigned d = edits_apart(word, words[i]);
    if (d < best_distance && d < strlen(words[i])) {
      best = words[i];
      best_distance = d;
    }
  }
  return best;
}
