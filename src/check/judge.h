// SPDX-License-Identifier: Apache-2.0
//
// Captures and budgets in, rulings out. A budget is judged for each process that it is about, and
// told of the worst of them. It is broken if it is broken for one; else it cannot be told if it
// cannot be for one, or if the run had a process that was not recorded; else it is kept.
//
// Knows nothing of files, formats and options. What it gives is its own and outlives what it was
// given.
#pragma once
#include "check/ruling.h"

struct tide_judgement {
  struct tide_judged *items; // by file, then in the order of the budgets
  size_t n, cap;
  size_t counts[TIDE_RULINGS_N];
  enum tide_ruling ruling; // broken if any is; else unknown if any is
};

struct tide_judgement *tide_check_judge(const struct tide_check_input *input);
void tide_judgement_free(struct tide_judgement *judgement); // NULL is fine
