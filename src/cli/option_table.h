// SPDX-License-Identifier: Apache-2.0
//
// The tables behind arguments.h.
#pragma once
#include "cli/arguments.h"

enum tide_operand { // what a verb's own words are, for completion
  TIDE_OPERAND_NONE,
  TIDE_OPERAND_COMMAND,
  TIDE_OPERAND_CAPTURE,
  TIDE_OPERAND_VERB,
};

struct tide_verb_row {
  const char *name, *operands, *summary;
  const char *more; // paragraphs for its own help page; lines end in \n
  enum tide_operand operand;
};

enum tide_option_kind {
  TIDE_OPTION_FLAG,   // bool
  TIDE_OPTION_TEXT,   // const char *
  TIDE_OPTION_PATHS,  // char *, owned: may be given again, separated by colons
  TIDE_OPTION_NUMBER, // uint64_t, at least 1
  TIDE_OPTION_COUNT,  // the same, its value optional: --name is 1, --name=N is N
  TIDE_OPTION_SIZE,   // uint64_t, in bytes
  TIDE_OPTION_CHOICE, // int, index in words
};

struct tide_option_row {
  unsigned verbs; // bit per verb
  char letter;    // 0: none
  const char *name;
  const char *value; // what its value is called in help, FILE for a path; NULL for flags
  enum tide_option_kind kind;
  size_t offset;            // in struct tide_arguments
  const char *const *words; // of a choice
  size_t n_words;
  const char *help;
};

extern const struct tide_verb_row tide_verb_rows[TIDE_VERBS_N];
extern const struct tide_option_row tide_option_rows[];
extern const size_t tide_option_rows_n;
