// SPDX-License-Identifier: Apache-2.0
//
// What a run may use: one limit each, of every process by itself, of the processes of one program,
// of stacks through some code, of the time between two marks, or of what it was in another run.
// From options, or from a file (docs/check.md has its keys).
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(name, word, unit is bytes, of sites, of marks, of growth)
#define TIDE_LIMITED_LIST(X)                                                                       \
  X(PEAK, "peak", true, true, true, true)      /* most bytes live at once */                       \
  X(TOTAL, "total", true, true, true, true)    /* bytes allocated in all */                        \
  X(ALLOCS, "allocs", false, true, true, true) /* allocations */                                   \
  X(LEAKED, "leaked", true, true, true, true)  /* bytes never freed */                             \
  X(TEMP, "temp", true, true, false, false)    /* bytes freed within one further allocation */     \
  X(RSS, "rss", true, false, false, false)     /* most bytes in memory */

enum tide_limited {
#define X(name, ...) TIDE_LIMITED_##name,
  TIDE_LIMITED_LIST(X)
#undef X
      TIDE_LIMITED_N,
};

struct tide_limited_row {
  const char *word;
  bool in_bytes, of_sites, of_marks, of_growth;
};
extern const struct tide_limited_row tide_limited_rows[TIDE_LIMITED_N];

struct tide_heap_budget {
  enum tide_limited what;
  bool is_growth;  // the limit is millionths more than the baseline has
  uint64_t limit;  // bytes or blocks
  char *program;   // base name of the executable; NULL: any. All owned
  char *site;      // regular expression; NULL: all stacks
  char *from, *to; // names of marks, "start" or "end"; NULL, both: the whole run
  unsigned line;   // of the file that it is from; 0: of an option
};

struct tide_budgets { // all zero: none
  struct tide_heap_budget *items;
  size_t n, cap;
  char *path;          // of the file that some are from; NULL: none. Owned
  char *baseline;      // path; NULL: none. Owned
  uint64_t growth_ppm; // of the baseline
  bool has_growth;
};

void tide_budgets_done(struct tide_budgets *budgets);

// Adds one; takes the strings of it over.
void tide_budgets_add(struct tide_budgets *budgets, const struct tide_heap_budget *budget);

// "64MiB" or, of allocations, "10000".
enum tide_err tide_budget_limit_parse(enum tide_limited what, const char *text, uint64_t *ret_limit,
                                      struct tide_diag *diag);
// "REGEX=SIZE": what the stacks through such a function or file hold at the peak. The last "="
// counts.
enum tide_err tide_budget_site_parse(const char *text, struct tide_heap_budget *ret_budget,
                                     struct tide_diag *diag);
// "5%": each number may grow by so much.
enum tide_err tide_budgets_growth_parse(struct tide_budgets *budgets, const char *text,
                                        struct tide_diag *diag);
// Refuses a pattern that is none.
enum tide_err tide_budgets_check(const struct tide_budgets *budgets, struct tide_diag *diag);

// Adds what a file asks for that is not there already: who came before decides. Says what is wrong
// as "<path>:<line>: ...". A baseline in it is looked for from the file's directory.
enum tide_err tide_budgets_read(struct tide_budgets *budgets, const char *path,
                                struct tide_diag *diag);
enum tide_err tide_budgets_parse(struct tide_budgets *budgets, const char *name, const char *text,
                                 struct tide_diag *diag);

// Adds the growth of each number that has one, once everything is read.
void tide_budgets_add_growth(struct tide_budgets *budgets, const char *program);

// Is it about processes of that program? Not if another one says the same of that program alone.
bool tide_budget_is_about(const struct tide_budgets *budgets, const struct tide_heap_budget *budget,
                          const char *program);
