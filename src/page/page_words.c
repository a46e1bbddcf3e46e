// SPDX-License-Identifier: Apache-2.0
//
// What the page says of whatever its reader selects: what each measure is called, what is asked, of
// which moment, and why there is no answer. Which of it is said depends on the selection, and where
// that is not of this list, on moments that fill the gaps of a text.
#include "page/page_data.h"
#include "page/page_sites.h"

#include "base/alloc.h"
#include "model/call_words.h"
#include "view/groups.h"
#include "view/terms.h"
#include "words/question_words.h"

#define GAP_FROM "{from}"
#define GAP_TO "{to}"

// What to do about a refusal, for those who point and do not type.
static const char *hint_words(enum tide_hint hint)
{
  switch (hint) {
  case TIDE_HINT_LIVE: return "“live” takes a time";
  case TIDE_HINT_GROWN: return "“grown” takes a range";
  case TIDE_HINT_SEE_INFO: return "About says why, and what to do";
  default: return NULL;
  }
}

static void write_refusal(struct tide_json *json, const char *key, const struct tide_image *image,
                          const struct tide_diag *diag)
{
  const char *hint = hint_words(diag->hint);
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s%s%s", diag->text, hint ? "; " : "", hint ? hint : "");
  // What begins with another tool's name begins as that does.
  TIDE_CLEANUP_FREE char *sentence =
      image->origin ? tide_sprintf("%s.", text) : tide_as_sentence(text);
  tide_json_put_text(json, key, sentence);
}

static void write_refused(struct tide_json *json, const char *key, const struct tide_image *image,
                          const struct tide_question *question, bool of_part)
{
  struct tide_diag diag = {0};
  enum tide_err err = tide_question_check(image, question, of_part, &diag);
  if (!err && !of_part && !tide_measure_is_held(image, question->measure))
    err = tide_fail_hint(&diag, TIDE_ERR_EMPTY, TIDE_HINT_SEE_INFO, "nothing was recorded");
  if (err)
    write_refusal(json, key, image, &diag);
  else
    tide_json_put_text(json, key, NULL);
}

// What is asked of a part of the run; null where nobody can be told.
static void write_asked(struct tide_json *json, const char *key,
                        const struct tide_question *question, bool is_range)
{
  struct tide_question of_part = *question;
  of_part.window.to.given = true;
  of_part.window.from.given = is_range;
  TIDE_CLEANUP_FREE char *words = tide_question_part_words(
      &of_part, is_range ? GAP_FROM : tide_term(TIDE_TERM_THE_START), GAP_TO);
  tide_json_put_text(json, key, words);
}

static void write_question(struct tide_json *json, const char *key, const struct tide_image *image,
                           struct tide_question question)
{
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_text(json, "whole", tide_measure_term(&question)->whole[question.unit]);
  tide_json_put_text(json, "part", tide_measure_term(&question)->part[question.unit]);
  write_asked(json, "moment", &question, false);
  write_asked(json, "range", &question, true);
  question.at_least = true;
  write_asked(json, "range_at_least", &question, true);
  write_refused(json, "refused", image, &question, false);
  write_refused(json, "part_refused", image, &question, true);
  tide_json_close_object(json);
}

static void write_measures(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "measures");
  tide_json_open_object(json);
  for (int measure = 0; measure < TIDE_MEASURES_N; measure++) {
    struct tide_question question = {.measure = (enum tide_measure)measure,
                                     .goes_on = image->end_kind == TIDE_END_DETACHED};
    const struct tide_measure_term *term = tide_measure_term(&question);
    tide_json_key(json, tide_measure_words[measure]);
    tide_json_open_object(json);
    tide_json_put_text(json, "name", term->name);
    tide_json_put_text(json, "hint", term->hint);
    tide_json_put_text(json, "nothing", term->nothing);
    write_question(json, "bytes", image, question);
    question.unit = TIDE_UNIT_BLOCKS;
    write_question(json, "blocks", image, question);
    tide_json_close_object(json);
  }
  tide_json_close_object(json);
}

static void write_groups(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "groups_refused");
  tide_json_open_object(json);
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++) {
    struct tide_diag diag = {0};
    if (tide_groups_check((enum tide_group_kind)kind, image, &diag))
      write_refusal(json, tide_group_words[kind], image, &diag);
  }
  tide_json_close_object(json);
}

// By number. Gathered stacks may be of several.
static void write_calls(struct tide_json *json)
{
  tide_json_key(json, "calls");
  tide_json_open_array(json);
  for (int call = 0; call < TIDE_PAGE_CALLS; call++)
    tide_json_text(json, tide_call_word((enum tide_call)call));
  tide_json_text(json, "several calls");
  tide_json_close_array(json);
}

static void write_moments(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "moments");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_snapshots; i++) {
    struct tide_point point = tide_point_of(image, i);
    TIDE_CLEANUP_FREE char *words = tide_point_words(&point, true);
    tide_json_text(json, words);
  }
  tide_json_close_array(json);
}

static void write_sentence(struct tide_json *json, const char *key, char *own_text)
{
  TIDE_CLEANUP_FREE char *text = own_text;
  TIDE_CLEANUP_FREE char *sentence = tide_as_sentence(text);
  tide_json_put_text(json, key, sentence);
}

void tide_page_words_write(struct tide_json *json, const struct tide_image *image)
{
  bool goes_on = image->end_kind == TIDE_END_DETACHED;
  tide_json_key(json, "words");
  tide_json_open_object(json);
  write_measures(json, image);
  write_groups(json, image);
  write_calls(json);
  write_moments(json, image);
  write_sentence(json, "no_moment", tide_sprintf(TIDE_NO_SNAPSHOT, "that time"));
  write_sentence(json, "no_range", tide_sprintf(TIDE_NOBODY_LOOKED, "the range"));
  write_sentence(json, "no_peak",
                 tide_sprintf("%s; %s", tide_term(TIDE_TERM_PEAK_UNSEEN),
                              tide_term_hint(TIDE_TERM_PEAK_UNSEEN)));
  // Of a process that was let go and went on, what it held then is no leak.
  tide_json_put_text(json, "kept", goes_on ? "still live" : "leaks");
  tide_json_put_text(json, "kept_class",
                     tide_term(goes_on ? TIDE_TERM_STILL_LIVE : TIDE_TERM_NEVER_FREED));
  tide_json_close_object(json);
}
