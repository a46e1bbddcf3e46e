// SPDX-License-Identifier: Apache-2.0
//
// Headings of columns, and what stands in their cells instead of a number or a name: each said
// once, in terms.def, for the command and the page.
#pragma once
#include "profile/question.h"

#include <stdbool.h>

enum tide_term {
#define TIDE_TERM(id, text, hint) TIDE_TERM_##id,
#include "view/terms.def"
  TIDE_TERMS_N,
};

const char *tide_term(enum tide_term term);

// Without the characters that not every terminal has.
const char *tide_term_in(enum tide_term term, bool utf8);

// What it means, for those who ask.
const char *tide_term_hint(enum tide_term term);

struct tide_measure_term {
  const char *name, *hint;
  const char *nothing;            // instead of a table of a whole run
  const char *whole[2], *part[2]; // what heads a column of it, by enum tide_unit
};
const struct tide_measure_term *tide_measure_term(const struct tide_question *question);
