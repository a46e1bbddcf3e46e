// SPDX-License-Identifier: Apache-2.0
//
// Numbers go through base/units.h as exact ones: what is not exact is told as two bounds.
#include "words/check_words.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "view/paths.h"

#include <stdlib.h>
#include <string.h>

static char *take_text(struct tide_buf *buf)
{
  char *text = tide_strdup(tide_buf_cstr(buf));
  tide_buf_done(buf);
  return text;
}

char *tide_budget_words(const struct tide_heap_budget *budget)
{
  struct tide_buf words = {0};
  tide_buf_printf(&words, "%s%s", budget->is_growth ? "growth of " : "",
                  tide_limited_rows[budget->what].word);
  if (budget->site)
    tide_buf_printf(&words, " of stacks through %s", budget->site);
  if (budget->from)
    tide_buf_printf(&words, " from %s to %s", budget->from, budget->to);
  if (budget->program)
    tide_buf_printf(&words, " in %s", budget->program);
  TIDE_CLEANUP_FREE char *text = take_text(&words);
  return tide_utf8_clean(text, true);
}

char *tide_limited_words(const struct tide_heap_budget *budget, int64_t value,
                         struct tide_style style)
{
  char number[TIDE_UNITS_MAX];
  if (tide_limited_rows[budget->what].in_bytes)
    return tide_strdup(tide_units_bytes(number, tide_exact(value), style));
  return tide_strdup(tide_units_count(number, tide_exact(value), style));
}

char *tide_judged_value(const struct tide_judged *judged, struct tide_style style)
{
  const struct tide_bounds *bounds = &judged->bounds;
  const struct tide_heap_budget *budget = judged->budget;
  bool has_least = bounds->least != TIDE_NO_LEAST, has_most = bounds->most != TIDE_NO_MOST;
  int64_t least_value = has_least && bounds->least > 0 ? bounds->least : 0;
  if (!judged->program || (!has_least && !has_most))
    return tide_strdup("unknown");
  TIDE_CLEANUP_FREE char *least = tide_limited_words(budget, least_value, style);
  TIDE_CLEANUP_FREE char *most = has_most ? tide_limited_words(budget, bounds->most, style) : NULL;
  if (has_least && bounds->least == bounds->most)
    return tide_strdup(least);
  return !has_most    ? tide_sprintf("%s or more", least)
         : !has_least ? tide_sprintf("at most %s", most)
                      : tide_sprintf("%s to %s", least, most);
}

// ---- rulings ----

static char *growth_words(const struct tide_judged *judged, struct tide_style style)
{
  char percent[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *before = tide_limited_words(judged->budget, judged->before.value, style);
  return tide_sprintf(
      " (%s more than the %s of the baseline)",
      tide_units_share(percent, tide_exact((int64_t)judged->budget->limit), 1000000, style),
      before);
}

char *tide_judged_sentence(const struct tide_judged *judged, struct tide_style style)
{
  const struct tide_heap_budget *budget = judged->budget;
  TIDE_CLEANUP_FREE char *what = tide_budget_words(budget);
  TIDE_CLEANUP_FREE char *value = tide_judged_value(judged, style);
  bool has_limit = !budget->is_growth || judged->before.least != TIDE_NO_LEAST;
  int64_t limit_value = budget->is_growth ? judged->limit : (int64_t)budget->limit;
  TIDE_CLEANUP_FREE char *limit =
      has_limit ? tide_limited_words(budget, limit_value, style) : tide_strdup("unknown");
  TIDE_CLEANUP_FREE char *growth =
      budget->is_growth && has_limit ? growth_words(judged, style) : tide_strdup("");
  TIDE_CLEANUP_FREE char *head = tide_judged_has_name(judged) && !budget->program
                                     ? tide_sprintf("%s: %s %s", judged->program, what, value)
                                     : tide_sprintf("%s %s", what, value);
  if (judged->ruling == TIDE_RULING_KEPT)
    return tide_sprintf("%s, within its budget of %s%s%s%s", head, limit, growth,
                        tide_judged_note(judged) ? ": " : "",
                        tide_judged_note(judged) ? tide_judged_note(judged) : "");
  if (judged->ruling == TIDE_RULING_UNKNOWN)
    return tide_sprintf("%s, cannot be told to be within its budget of %s%s", head, limit, growth);
  TIDE_CLEANUP_FREE char *over =
      tide_limited_words(budget, judged->bounds.least - judged->limit, style);
  return tide_sprintf("%s, over its budget of %s%s by %s%s", head, limit, growth,
                      judged->bounds.least == judged->bounds.most ? "" : "at least ", over);
}

// ---- doubts ----

static const char *doubt_words(enum tide_doubt doubt)
{
  switch (doubt) {
  case TIDE_DOUBT_UNRECORDED: return "a process of the run was not recorded";
  case TIDE_DOUBT_LEFT_OUT: return "small processes of the run are not kept one by one";
  case TIDE_DOUBT_NOBODY: return "no process of that program was recorded";
  case TIDE_DOUBT_DAMAGED: return "the file is damaged";
  case TIDE_DOUBT_UNFINISHED: return "the recording ended before the process did";
  case TIDE_DOUBT_STEPPED_ASIDE: return "the recorder stepped aside";
  case TIDE_DOUBT_PAUSED: return "recording was off for a part of it";
  case TIDE_DOUBT_LOST: return "events were not recorded";
  case TIDE_DOUBT_RESET: return "its numbers were reset: what it did before is not told";
  case TIDE_DOUBT_BEFORE: return "what came before it was attached to is not known";
  case TIDE_DOUBT_UNHOOKED: return "an allocator of it was not seen, or not as a whole";
  case TIDE_DOUBT_LACKING: return "the capture does not hold this number";
  case TIDE_DOUBT_SAMPLED: return "it was sampled, and the limit is within three standard errors";
  case TIDE_DOUBT_BOUND: return "the peak is known to a bound, and the limit is within it";
  case TIDE_DOUBT_RSS: return "the recorder's own memory is part of it";
  case TIDE_DOUBT_CUT: return "stacks were cut that may belong to it";
  case TIDE_DOUBT_NO_STACK: return "events without a stack may belong to it";
  case TIDE_DOUBT_NO_NAME: return "frames of the program's own code have no names (build with -g)";
  case TIDE_DOUBT_NO_MARK: return "no recorded process has these marks, in this order";
  case TIDE_DOUBT_BETWEEN: return "nobody looked at the very moment of the marks";
  case TIDE_DOUBT_BASELINE: return "the baseline has no such process, or is in doubt itself";
  case TIDE_DOUBT_COMMAND: return "the command failed";
  case TIDE_DOUBTS_N: break;
  }
  return "";
}

static void add_doubt(struct tide_buf *words, const struct tide_judged *judged,
                      enum tide_doubt doubt)
{
  if (words->n)
    tide_buf_text(words, "; ");
  if (doubt == TIDE_DOUBT_UNRECORDED && judged->who)
    tide_buf_printf(words, "%s was not recorded%s%s", judged->who, judged->why ? ": it " : "",
                    judged->why ? judged->why : "");
  else
    tide_buf_text(words, doubt_words(doubt));
}

char *tide_judged_doubts(const struct tide_judged *judged, struct tide_style style)
{
  struct tide_buf words = {0};
  if (judged->ruling != TIDE_RULING_UNKNOWN)
    return NULL;
  for (int i = 0; i < TIDE_DOUBTS_N; i++)
    if (judged->doubts & tide_doubt_bit((enum tide_doubt)i))
      add_doubt(&words, judged, (enum tide_doubt)i);
  TIDE_CLEANUP_FREE char *text = take_text(&words);
  return tide_utf8_clean(text, style.utf8);
}

bool tide_judged_has_name(const struct tide_judged *judged)
{
  return judged->program && strcmp(judged->program, "?") != 0;
}

const char *tide_judged_note(const struct tide_judged *judged)
{
  bool is_nowhere = judged->budget->site && judged->n_processes && !judged->has_match;
  if (judged->is_unmatched)
    return "the baseline's code has no names here, so places are told without what they were: "
           "'tidemark symbolize' keeps names where it was recorded";
  return is_nowhere && judged->ruling == TIDE_RULING_KEPT
             ? "no stack has such a function or source file"
             : NULL;
}

char *tide_judgement_title(const struct tide_judgement *judgement)
{
  const size_t n_broken = judgement->counts[TIDE_RULING_BROKEN];
  const size_t n_unknown = judgement->counts[TIDE_RULING_UNKNOWN];
  const char *noun = tide_units_plural(judgement->n, "budget", "budgets");
  TIDE_CLEANUP_FREE char *open =
      n_unknown ? tide_sprintf("%zu cannot be told", n_unknown) : tide_strdup("");
  if (n_broken)
    return tide_sprintf("broken: %zu of %zu %s%s%s", n_broken, judgement->n, noun,
                        n_unknown ? "; " : "", open);
  if (n_unknown)
    return tide_sprintf("could not tell: %zu of %zu %s", n_unknown, judgement->n, noun);
  return judgement->n == 1 ? tide_strdup("kept: the budget")
                           : tide_sprintf("kept: all %zu budgets", judgement->n);
}

// ---- places ----

char *tide_culprit_words(const struct tide_judged *judged, const struct tide_culprit *culprit,
                         struct tide_style style)
{
  const struct tide_heap_budget *budget = judged->budget;
  TIDE_CLEANUP_FREE char *value = tide_limited_words(budget, culprit->value, style);
  TIDE_CLEANUP_FREE char *more =
      tide_limited_words(budget, culprit->value - culprit->before, style);
  struct tide_buf words = {0};
  if (culprit->function)
    tide_buf_text(&words, culprit->function);
  else
    tide_buf_printf(&words, "in %s", culprit->module ? culprit->module : "unknown code");
  if (culprit->file && culprit->line)
    tide_buf_printf(&words, ", %s:%u", tide_shorten_path(culprit->file), culprit->line);
  else if (culprit->file)
    tide_buf_printf(&words, ", %s", tide_shorten_path(culprit->file));
  if (budget->is_growth && !judged->is_unmatched)
    tide_buf_printf(&words, ", %s more: %s", more, value);
  else
    tide_buf_printf(&words, ", %s", value);
  if (budget->what == TIDE_LIMITED_ALLOCS)
    tide_buf_printf(&words, " allocation%s", culprit->value == 1 ? "" : "s");
  TIDE_CLEANUP_FREE char *text = take_text(&words);
  return tide_utf8_clean(text, style.utf8);
}
