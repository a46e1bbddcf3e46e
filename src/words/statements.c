// SPDX-License-Identifier: Apache-2.0
//
// The order of the sentences, and which are worth saying.
#include "words/statements.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "words/completeness_text.h"
#include "words/culprit_words.h"
#include "words/heap_words.h"
#include "words/image_text.h"
#include "words/residence_words.h"

#include <stdlib.h>
#include <string.h>

const char *const tide_statement_words[TIDE_STATEMENTS_N] = {
#define X(name, word) word,
    TIDE_STATEMENT_LIST(X)
#undef X
};

struct telling { // what every part needs
  struct tide_statements *to;
  struct tide_profile *profile;
  const struct tide_image *image;
  struct tide_naming *naming;
  const struct tide_statements_options *options;
};

static struct tide_statement *add_statement(struct tide_statements *to,
                                            enum tide_statement_kind kind, char *own_text)
{
  TIDE_GROW(to->items, to->n, to->cap);
  to->items[to->n] = (struct tide_statement){.kind = kind, .text = own_text};
  return &to->items[to->n++];
}

// What begins with a name begins as that does.
static char *stopped(const char *text)
{
  size_t n = strlen(text);
  return tide_sprintf("%s%s", text, n && strchr(".!?", text[n - 1]) ? "" : ".");
}

char *tide_as_sentence(const char *text)
{
  char *sentence = stopped(text);
  if (sentence[0] >= 'a' && sentence[0] <= 'z')
    sentence[0] = (char)(sentence[0] - 'a' + 'A');
  return sentence;
}

// Takes the text; NULL: there is nothing to say.
static struct tide_statement *tell_sentence(const struct telling *t, enum tide_statement_kind kind,
                                            char *own_text)
{
  TIDE_CLEANUP_FREE char *text = own_text;
  return text ? add_statement(t->to, kind, tide_as_sentence(text)) : NULL;
}

static void lead_to(struct tide_statement *statement, enum tide_measure measure,
                    enum tide_unit unit)
{
  if (!statement)
    return;
  statement->has_question = true;
  statement->measure = measure;
  statement->unit = unit;
}

static void add_title_part(struct tide_statements *to, char *own_part)
{
  if (own_part && *own_part)
    to->title[to->n_title++] = own_part;
  else
    free(own_part);
}

// "indexer exited 0 in 8.42 s · 14.2 M allocations · overhead ≈ 1.2× and 16.1 MiB"
static void tell_title(const struct telling *t)
{
  const char *gap;
  struct tide_style style = t->options->style;
  char *end = tide_end_phrase(t->image, style, t->options->is_running, &gap);
  TIDE_CLEANUP_FREE char *before = NULL;
  TIDE_CLEANUP_FREE char *after = NULL;
  tide_title_around(t->image, style, t->options->is_running, &before, &after);
  struct tide_buf text = {0};
  t->to->program = tide_strdup(tide_image_program(t->image));
  bool has_end = *end;
  add_title_part(t->to, end);
  add_title_part(t->to, tide_allocations_words(t->profile, style));
  add_title_part(t->to, tide_overhead_words(style, t->profile, t->options->is_running));
  tide_buf_printf(&text, "%s%s%s", before, t->to->program, after);
  for (size_t i = has_end; i < t->to->n_title; i++)
    tide_buf_printf(&text, "%s%s", style.utf8 ? " · " : " - ", t->to->title[i]);
  add_statement(t->to, TIDE_STATEMENT_TITLE, tide_strdup(tide_buf_cstr(&text)));
  tide_buf_done(&text);
}

// Returns the place.
static const struct tide_named_frame *tell_culprit(const struct telling *t,
                                                   enum tide_measure measure)
{
  const struct tide_named_frame *culprit;
  char *text = tide_culprit_sentence(t->profile, t->naming, measure, t->options->style, &culprit);
  lead_to(tell_sentence(t, TIDE_STATEMENT_CULPRIT, text), measure, TIDE_UNIT_BYTES);
  return culprit;
}

static const struct tide_named_frame *tell_peak(const struct telling *t)
{
  if (!tide_measure_is_held(t->image, TIDE_MEASURE_PEAK))
    return NULL;
  lead_to(tell_sentence(t, TIDE_STATEMENT_PEAK, tide_peak_sentence(t->image, t->options->style)),
          TIDE_MEASURE_PEAK, TIDE_UNIT_BYTES);
  return tell_culprit(t, TIDE_MEASURE_PEAK);
}

static void tell_resident(const struct telling *t)
{
  tell_sentence(t, TIDE_STATEMENT_RSS, tide_rss_sentence(t->image, t->options->style));
  if (tide_resident_has_high(t->image))
    tell_sentence(t, TIDE_STATEMENT_RSS, tide_rss_high_sentence(t->image, t->options->style));
  tell_sentence(t, TIDE_STATEMENT_RSS, tide_residence_sentence(t->image, t->options->style));
}

// Only where the program maps memory itself: it is not heap, but it is in the RSS.
static void tell_pages(const struct telling *t)
{
  if (t->image->page_peak_bytes < TIDE_PAGES_LEAST)
    return;
  TIDE_CLEANUP_FREE char *what = tide_pages_sentence(t->image, t->options->style);
  TIDE_CLEANUP_FREE char *who = tide_mapper_words(t->profile, t->naming, t->options->style);
  tell_sentence(t, TIDE_STATEMENT_PAGES, tide_sprintf("%s%s", what, who));
}

static void tell_end(const struct telling *t, const struct tide_named_frame *culprit)
{
  if (!tide_profile_has_end(t->profile))
    return;
  bool is_left = tide_profile_kept(t->profile, TIDE_UNIT_BYTES) ||
                 tide_profile_kept(t->profile, TIDE_UNIT_BLOCKS);
  TIDE_CLEANUP_FREE char *what =
      tide_end_sentence(t->profile, t->options->style, t->options->is_running);
  TIDE_CLEANUP_FREE char *who =
      is_left ? tide_leaking_words(t->profile, t->naming, culprit, t->options->style)
              : tide_strdup("");
  lead_to(tell_sentence(t, is_left ? TIDE_STATEMENT_LEAK : TIDE_STATEMENT_END,
                        tide_sprintf("%s%s", what, who)),
          TIDE_MEASURE_LEAK, TIDE_UNIT_BYTES);
  if (is_left && !tide_measure_is_held(t->image, TIDE_MEASURE_PEAK)) // nobody is named yet
    tell_culprit(t, TIDE_MEASURE_LEAK);
}

static void tell_churn(const struct telling *t)
{
  if (!tide_profile_has_total(t->profile))
    return;
  bool temporary = tide_measure_is_held(t->image, TIDE_MEASURE_TEMP) &&
                   !(t->image->lacks & TIDE_LACK_BLOCKS) && t->profile->totals.n_temp;
  lead_to(
      tell_sentence(t, TIDE_STATEMENT_CHURN, tide_churn_sentence(t->profile, t->options->style)),
      temporary ? TIDE_MEASURE_TEMP : TIDE_MEASURE_TOTAL,
      temporary ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES);
}

static void tell_heap(const struct telling *t)
{
  bool has_heap = tide_profile_has_heap(t->profile);
  const struct tide_named_frame *culprit = NULL;
  if (has_heap)
    culprit = tell_peak(t);
  else
    tell_sentence(t, TIDE_STATEMENT_PEAK, tide_strdup(tide_no_heap_words(t->profile)));
  tell_resident(t);
  tell_pages(t);
  if (has_heap) {
    tell_end(t, culprit);
    tell_churn(t);
    tell_sentence(t, TIDE_STATEMENT_ALLOCATORS,
                  tide_allocators_sentence(t->image, t->options->style));
  }
}

static void tell_complete(const struct telling *t)
{
  if (t->options->is_running)
    return;
  struct tide_completeness_text how = tide_completeness_text(t->profile, t->options->style);
  const char *colon = t->image->origin ? "" : ":"; // "Read from heaptrack, 12 stacks."
  struct tide_statement *statement = tell_sentence(
      t, TIDE_STATEMENT_COMPLETE, tide_sprintf("%s%s %s", how.label, colon, how.text));
  statement->is_warning = how.is_warning;
  free(how.text);
}

// All of them, unless the lead has said it.
static void tell_unrecorded(const struct telling *t, bool has_lead)
{
  const struct tide_roll *roll = &t->profile->capture->roll;
  TIDE_CLEANUP_FREE char *summary = tide_roll_summary(roll, t->options->style);
  if (summary && !(has_lead && roll->n_rows == 1))
    tell_sentence(t, TIDE_STATEMENT_UNRECORDED, tide_sprintf("not recorded: %s", summary))
        ->is_warning = true;
}

static void tell_note(void *context, const char *text)
{
  tide_statements_add_note(context, text);
}

static void tell_module_note(void *context, const char *text)
{
  struct tide_statement *note = add_statement(context, TIDE_STATEMENT_NOTE, stopped(text));
  note->is_warning = true;
  note->is_of_names = true;
}

static void tell_notes(const struct telling *t, bool has_lead)
{
  if (!has_lead)
    tide_profile_hollow_note(t->profile, tell_note, t->to);
  tide_profile_notes(t->profile, t->options->is_running, tell_note, t->to);
  if (t->options->module_notes)
    tide_naming_notes(t->profile, t->naming, tell_module_note, t->to);
}

struct tide_statements *tide_statements_new(struct tide_profile *profile,
                                            struct tide_naming *naming,
                                            const struct tide_statements_options *options)
{
  const struct tide_question question = profile->question;
  struct tide_statements *statements = tide_alloc(sizeof *statements);
  const struct telling t = {statements, profile, profile->image, naming, options};
  TIDE_CLEANUP_FREE char *lead = tide_roll_lead(profile, options->style, NULL);
  tell_title(&t);
  if (lead)
    add_statement(statements, TIDE_STATEMENT_UNRECORDED, stopped(lead))->is_warning = true;
  if (tide_image_is_unrecorded(profile->image))
    tell_resident(&t);
  else
    tell_heap(&t);
  tell_complete(&t);
  tell_unrecorded(&t, lead);
  tell_notes(&t, lead);
  tide_profile_ask(profile, &question);
  return statements;
}

void tide_statements_add_note(struct tide_statements *statements, const char *text)
{
  add_statement(statements, TIDE_STATEMENT_NOTE, tide_as_sentence(text))->is_warning = true;
}

void tide_statements_drop_last(struct tide_statements *statements)
{
  free(statements->items[--statements->n].text);
}

void tide_statements_free(struct tide_statements *statements)
{
  if (!statements)
    return;
  for (size_t i = 0; i < statements->n; i++)
    free(statements->items[i].text);
  for (size_t i = 0; i < statements->n_title; i++)
    free(statements->title[i]);
  free(statements->program);
  free(statements->items);
  free(statements);
}
