// SPDX-License-Identifier: Apache-2.0
//
// Did you mean: what other tools call it, or else the nearest word of a list by edit distance, if
// it is near enough to be a slip.
#include "cli/suggest.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
  unsigned ab = a < b ? a : b;
  return ab < c ? ab : c;
}

// Edits (insert, delete, replace, swap of neighbours) that lead from a to b.
static unsigned distance(const char *a, const char *b)
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

const char *tide_suggest(const char *word, const char *const *words, size_t n_words)
{
  const char *best = completed(word, words, n_words);
  if (best)
    return best;
  unsigned best_distance = (unsigned)strlen(word) / 3 + 2; // nearer than this: a slip
  for (size_t i = 0; i < n_words; i++) {
    unsigned d = distance(word, words[i]);
    if (d < best_distance && d < strlen(words[i])) {
      best = words[i];
      best_distance = d;
    }
  }
  return best;
}

#define RUNS "'tidemark run COMMAND' records a program"
#define VIEWS "'tidemark view FILE' shows a capture in the browser"
#define ATTACHES                                                                                   \
  "tidemark cannot attach to a running program; 'tidemark run COMMAND' records one from its start"

static const struct known {
  const char *word, *says;
} known_verbs[] = {
    {"record", RUNS},
    {"trace", RUNS},
    {"start", RUNS},
    {"exec", RUNS},
    {"profile", RUNS},
    {"serve", VIEWS},
    {"server", VIEWS},
    {"web", VIEWS},
    {"gui", VIEWS},
    {"ui", VIEWS},
    {"open", VIEWS},
    {"show", VIEWS},
    {"attach", ATTACHES},
    {"pid", ATTACHES},
    {"flame", "'tidemark export --to svg FILE' draws a flame graph"},
    {"flamegraph", "'tidemark export --to svg FILE' draws a flame graph"},
    {"top", "'tidemark report FILE' shows who held most"},
    {"print", "'tidemark report FILE' shows who held most"},
    {"stats", "'tidemark info FILE' tells the facts of a capture"},
    {"compare", "'tidemark diff BEFORE AFTER' compares two captures"},
    {"convert", "'tidemark export --to FORMAT FILE' writes other tools' formats"},
};

static const char *find_known(const struct known *known, size_t n, const char *word)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(known[i].word, word) == 0)
      return known[i].says;
  return NULL;
}

const char *tide_suggest_known(const char *verb, const char *word)
{
  static const struct known of_report[] = {
      {"format", "--json, --csv and --md print other forms, 'tidemark export --to' other formats"},
      {"output-format", "--json, --csv and --md print other forms"},
      {"pid", "--process PID shows one of several processes"},
  };
  static const struct known of_export[] = {{"format", "--to FORMAT names it"}};
  static const struct known of_run[] = {{"pid", ATTACHES}, {"attach", ATTACHES}};
  if (!verb)
    return find_known(known_verbs, sizeof known_verbs / sizeof *known_verbs, word);
  if (strcmp(verb, "export") == 0)
    return find_known(of_export, sizeof of_export / sizeof *of_export, word);
  if (strcmp(verb, "run") == 0)
    return find_known(of_run, sizeof of_run / sizeof *of_run, word);
  bool has_forms = !strcmp(verb, "report") || !strcmp(verb, "tree") || !strcmp(verb, "diff");
  return has_forms ? find_known(of_report, sizeof of_report / sizeof *of_report, word) : NULL;
}
