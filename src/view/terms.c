// SPDX-License-Identifier: Apache-2.0
//
// The list of terms as tables; and the words of the command line for whom to blame.
#include "view/terms.h"

#include "view/groups.h"

static const struct {
  const char *text, *hint;
} terms[TIDE_TERMS_N] = {
#define TIDE_TERM(id, text, hint) [TIDE_TERM_##id] = {text, hint},
#include "view/terms.def"
};

const char *tide_term(enum tide_term term)
{
  return terms[term].text;
}

const char *tide_term_in(enum tide_term term, bool utf8)
{
  bool is_less = term == TIDE_TERM_LESS || term == TIDE_TERM_NOTHING;
  if (utf8 || (term != TIDE_TERM_MORE && !is_less))
    return tide_term(term);
  return is_less ? "-" : "+";
}

const char *tide_term_hint(enum tide_term term)
{
  return terms[term].hint;
}

const struct tide_measure_term *tide_measure_term(const struct tide_question *question)
{
  static const struct tide_measure_term measures[TIDE_MEASURES_N] = {
#define TIDE_MEASURE_TERM(measure, name, hint, nothing, bytes, blocks, part_bytes, part_blocks)    \
  [TIDE_MEASURE_##measure] = {name, hint, nothing, {bytes, blocks}, {part_bytes, part_blocks}},
#include "view/terms.def"
  };
  static const struct tide_measure_term let_go[TIDE_MEASURES_N] = {
#define TIDE_LET_GO_TERM(measure, name, hint, nothing, bytes, blocks, part_bytes, part_blocks)     \
  [TIDE_MEASURE_##measure] = {name, hint, nothing, {bytes, blocks}, {part_bytes, part_blocks}},
#include "view/terms.def"
  };
  bool is_own = question->goes_on && let_go[question->measure].name;
  return &(is_own ? let_go : measures)[question->measure];
}

const char *const tide_group_words[TIDE_GROUPS_N] = {
#define TIDE_GROUP_TERM(kind, word, one, many) [TIDE_GROUP_##kind] = word,
#include "view/terms.def"
};

const char *tide_group_noun(enum tide_group_kind kind, uint64_t n)
{
  static const struct {
    const char *one, *many;
  } nouns[TIDE_GROUPS_N] = {
#define TIDE_GROUP_TERM(kind, word, one, many) [TIDE_GROUP_##kind] = {one, many},
#include "view/terms.def"
  };
  return n == 1 ? nouns[kind].one : nouns[kind].many;
}

const char *const tide_blamed_words[TIDE_BLAMED_N] = {"own", "library"};
