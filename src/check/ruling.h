// SPDX-License-Identifier: Apache-2.0
//
// What the judge is given and what becomes of one budget: for itself and for whoever looks for the
// places that broke it.
#pragma once
#include "check/bounds.h"
#include "check/budgets.h"

enum tide_ruling { TIDE_RULING_KEPT, TIDE_RULING_BROKEN, TIDE_RULING_UNKNOWN, TIDE_RULINGS_N };
extern const char *const tide_ruling_words[TIDE_RULINGS_N]; // "kept", "broken", "unknown"

struct tide_culprit {    // a place that holds a part of what broke a budget
  char *function, *file; // owned; NULL: unknown
  uint32_t line;         // 0: unknown
  char *module;          // base name; owned; NULL: none
  int64_t value;         // in the unit of the budget
  int64_t before;        // of growth: what it was
};

enum { TIDE_CULPRITS_MAX = 5 };

struct tide_judged {                     // a budget, of one capture
  const struct tide_heap_budget *budget; // of the input
  size_t file_idx;
  enum tide_ruling ruling;
  // The worst process; without one NULL and all zero.
  char *program;    // owned
  size_t image_idx; // in its capture
  struct tide_bounds bounds;
  int64_t limit;                           // in the unit: of growth, what the baseline allows
  struct tide_bounds before;               // of growth
  size_t n_processes, n_broken, n_unknown; // that it is about
  bool has_match;                          // of a site: it was met in one of them
  // Of growth: the baseline's own code has no names here, so places are told as they are.
  bool is_unmatched;
  uint32_t doubts; // why it cannot be told; bits of enum tide_doubt
  char *who;       // of a process that was not recorded: its program, owned; NULL: there is none
  char *why;       // and why, as words to follow its name; owned
  struct tide_culprit culprits[TIDE_CULPRITS_MAX];
  size_t n_culprits;
  size_t n_more; // further places with a share
};

struct tide_check_file {
  const char *path;
  const struct tide_capture *capture;
};

struct tide_check_input {
  const struct tide_budgets *budgets;
  const struct tide_check_file *files;
  size_t n_files;
  const struct tide_capture *baseline; // NULL: none
  bool command_failed;                 // then nothing is kept
  // Names for an image, which the judge frees.
  struct tide_naming *(*name)(void *context, const struct tide_image *image);
  void *context;
};

// Base name of the executable; "?" when it is not known. Of the image.
const char *tide_check_program(const struct tide_image *image);
// A path without its directory: a tail of it.
const char *tide_check_base_name(const char *path);
