// SPDX-License-Identifier: Apache-2.0
//
// One screen: a row per budget, worst first below each other as they were given; below a broken one
// its places, below one that cannot be told why. And what all formats have in common.
#include "report/check.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "profile/completeness.h"
#include "words/check_words.h"

#include <stdlib.h>
#include <string.h>

// ---- in common ----

// Builds that map their directory away leave relative paths, which are from the root.
const char *tide_check_path(const struct tide_check_report *report, const char *file)
{
  size_t n = strlen(report->root);
  const char *tail = file;
  if (!file || !*file)
    return NULL;
  if (*file == '/') {
    if (!n || strncmp(file, report->root, n) != 0)
      return NULL;
    tail = file + n;
    if (report->root[n - 1] != '/' && *tail++ != '/')
      return NULL;
  }
  while (strncmp(tail, "./", 2) == 0)
    tail += 2;
  bool leads_out = strncmp(tail, "../", 3) == 0 || strstr(tail, "/../");
  return leads_out || !*tail ? NULL : tail;
}

const struct tide_culprit *tide_check_place(const struct tide_check_report *report,
                                            const struct tide_judged *judged)
{
  for (size_t i = 0; i < judged->n_culprits; i++)
    if (tide_check_path(report, judged->culprits[i].file) && judged->culprits[i].line)
      return &judged->culprits[i];
  return judged->n_culprits ? &judged->culprits[0] : NULL;
}

const char *tide_check_spot(const struct tide_check_report *report,
                            const struct tide_judged *judged, uint32_t *ret_line)
{
  const struct tide_culprit *place = tide_check_place(report, judged);
  const char *path = place ? tide_check_path(report, place->file) : NULL;
  *ret_line = path ? place->line : judged->budget->line;
  return path || !judged->budget->line ? path : tide_check_path(report, report->budgets);
}

char *tide_check_message(const struct tide_judged *judged)
{
  const struct tide_style style = {.utf8 = true};
  TIDE_CLEANUP_FREE char *sentence = tide_judged_sentence(judged, style);
  TIDE_CLEANUP_FREE char *doubts = tide_judged_doubts(judged, style);
  struct tide_buf text = {0};
  tide_buf_text(&text, sentence);
  if (doubts)
    tide_buf_printf(&text, ": %s", doubts);
  if (judged->ruling == TIDE_RULING_BROKEN && tide_judged_note(judged))
    tide_buf_printf(&text, ": %s", tide_judged_note(judged));
  for (size_t i = 0; i < judged->n_culprits; i++) {
    TIDE_CLEANUP_FREE char *place = tide_culprit_words(judged, &judged->culprits[i], style);
    tide_buf_printf(&text, "\n%s", place);
  }
  if (judged->n_more)
    tide_buf_printf(&text, "\nand %zu more places", judged->n_more);
  char *message = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return message;
}

char *tide_check_name(const struct tide_check_report *report, const struct tide_judged *judged)
{
  TIDE_CLEANUP_FREE char *words = tide_budget_words(judged->budget);
  return report->n_files == 1 ? tide_strdup(words)
                              : tide_sprintf("%s: %s", report->files[judged->file_idx].path, words);
}

char *tide_check_failure(const struct tide_check_report *report)
{
  if (!report->has_command || (!report->exit_status && !report->term_signal))
    return NULL;
  return report->term_signal ? tide_sprintf("was ended by signal %d", report->term_signal)
                             : tide_sprintf("exited %d", report->exit_status);
}

// ---- text ----

enum { RULING_COLUMNS = 9 };

static enum tide_ink ink_of(enum tide_ruling ruling)
{
  return ruling == TIDE_RULING_KEPT ? TIDE_INK_PLAIN : TIDE_INK_WARN;
}

// " of 64.0 MiB, 80.6 %"
static char *limit_words(const struct tide_judged *judged, struct tide_style style)
{
  char share[TIDE_UNITS_MAX];
  bool has_limit = !judged->budget->is_growth || judged->before.least != TIDE_NO_LEAST;
  int64_t value = judged->budget->is_growth ? judged->limit : (int64_t)judged->budget->limit;
  if (!has_limit)
    return tide_strdup("");
  TIDE_CLEANUP_FREE char *limit = tide_limited_words(judged->budget, value, style);
  bool has_share = judged->program && value > 0 && judged->bounds.least == judged->bounds.most;
  return has_share
             ? tide_sprintf(" of %s, %s", limit,
                            tide_units_share(share, tide_exact(judged->bounds.value), value, style))
             : tide_sprintf(" of %s", limit);
}

static char *details(const struct tide_judged *judged, struct tide_style style)
{
  char share[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  if (judged->ruling == TIDE_RULING_BROKEN) {
    TIDE_CLEANUP_FREE char *over =
        tide_limited_words(judged->budget, judged->bounds.least - judged->limit, style);
    tide_buf_printf(&text, "over by %s%s",
                    judged->bounds.least == judged->bounds.most ? "" : "at least ", over);
  }
  if (judged->budget->is_growth && judged->before.least != TIDE_NO_LEAST) {
    TIDE_CLEANUP_FREE char *before =
        tide_limited_words(judged->budget, judged->before.value, style);
    tide_buf_printf(
        &text, "%sthe baseline has %s, and %s more is allowed", text.n ? "; " : "", before,
        tide_units_share(share, tide_exact((int64_t)judged->budget->limit), 1000000, style));
  }
  if (tide_judged_has_name(judged) && !judged->budget->program)
    tide_buf_printf(&text, "%sin %s", text.n ? "; " : "", judged->program);
  if (judged->n_processes > 1 && judged->n_broken)
    tide_buf_printf(&text, ", broken in %zu of %zu %s", judged->n_broken, judged->n_processes,
                    judged->budget->is_growth ? "programs" : "processes");
  else if (judged->n_processes > 1)
    tide_buf_printf(&text, ", the most of %zu %s", judged->n_processes,
                    judged->budget->is_growth ? "programs" : "processes");
  if (tide_judged_note(judged))
    tide_buf_printf(&text, "%s%s", text.n ? "; " : "", tide_judged_note(judged));
  char *words = tide_strdup(tide_buf_cstr(&text));
  tide_buf_done(&text);
  return words;
}

static void write_row(const struct tide_screen *screen, const struct tide_check_report *report,
                      const struct tide_judged *judged)
{
  const struct tide_style style = tide_screen_style(screen);
  TIDE_CLEANUP_FREE char *name = tide_check_name(report, judged);
  TIDE_CLEANUP_FREE char *value = tide_judged_value(judged, style);
  TIDE_CLEANUP_FREE char *limit = limit_words(judged, style);
  TIDE_CLEANUP_FREE char *more = details(judged, style);
  TIDE_CLEANUP_FREE char *doubts = tide_judged_doubts(judged, style);
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s: %s%s%s%s%s", name, value, limit, *more ? " (" : "", more, *more ? ")" : "");
  tide_sink_text(screen->sink, "  ");
  tide_screen_left(screen, ink_of(judged->ruling), tide_ruling_words[judged->ruling],
                   RULING_COLUMNS);
  tide_screen_wrap(screen, 2 + RULING_COLUMNS, text);
  if (doubts)
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "           ", "", doubts);
  for (size_t i = 0; i < judged->n_culprits; i++) {
    TIDE_CLEANUP_FREE char *place = tide_culprit_words(judged, &judged->culprits[i], style);
    tide_screen_paragraph(screen, TIDE_INK_FAINT, "             ", "", place);
  }
  if (judged->n_more)
    tide_sink_printf(screen->sink, "             and %zu more places\n", judged->n_more);
}

// ---- what to look at next ----

static enum tide_hint hint_of(const struct tide_judged *judged)
{
  if (judged->ruling == TIDE_RULING_UNKNOWN)
    return TIDE_HINT_SEE_INFO;
  switch (judged->budget->what) {
  case TIDE_LIMITED_TOTAL: return TIDE_HINT_SEE_TOTAL;
  case TIDE_LIMITED_ALLOCS: return TIDE_HINT_SEE_COUNT;
  case TIDE_LIMITED_LEAKED: return TIDE_HINT_SEE_LEAKS;
  case TIDE_LIMITED_TEMP: return TIDE_HINT_SEE_TEMPORARY;
  case TIDE_LIMITED_RSS: return TIDE_HINT_SEE_MAPS;
  default: return TIDE_HINT_SEE_REPORT;
  }
}

static const struct tide_judged *first_of(const struct tide_judgement *judgement,
                                          enum tide_ruling ruling)
{
  for (size_t i = 0; i < judgement->n; i++)
    if (judgement->items[i].ruling == ruling)
      return &judgement->items[i];
  return NULL;
}

// The process that every verb shows by itself need not be named.
static bool leads(const struct tide_capture *capture, size_t image_idx)
{
  struct tide_lead lead;
  if (!capture->n_images)
    return true;
  tide_lead_find(capture, &lead);
  return lead.image_idx == image_idx;
}

static void write_next(const struct tide_screen *screen, const struct tide_check_report *report)
{
  const struct tide_judged *judged = first_of(report->judgement, TIDE_RULING_BROKEN);
  judged = judged ? judged : first_of(report->judgement, TIDE_RULING_UNKNOWN);
  if (!judged)
    return;
  const struct tide_check_file *file = &report->files[judged->file_idx];
  bool is_diff = judged->budget->is_growth && judged->ruling == TIDE_RULING_BROKEN;
  const char *words = tide_screen_hint(screen, is_diff ? TIDE_HINT_SEE_DIFF_OF : hint_of(judged));
  const char *process = tide_screen_hint(screen, TIDE_HINT_OF_PROCESS);
  if (!words)
    return;
  tide_sink_printf(screen->sink, "\n  next:  %s", words);
  if (is_diff)
    tide_sink_printf(screen->sink, " %s", report->baseline);
  else if (judged->program && hint_of(judged) != TIDE_HINT_SEE_INFO &&
           !leads(file->capture, judged->image_idx))
    tide_sink_printf(screen->sink, " %s '#%zu'", process, judged->image_idx);
  tide_sink_printf(screen->sink, " %s\n", file->path);
}

// Of a command: the recording ended before a process of it did, whether or not it had begun.
static bool has_left_something(const struct tide_check_report *report)
{
  bool has_left = false;
  if (!report->has_command)
    return false;
  for (size_t i = 0; i < report->judgement->n; i++)
    has_left |= report->judgement->items[i].doubts & tide_doubt_bit(TIDE_DOUBT_UNFINISHED);
  const struct tide_roll *roll = &report->files[0].capture->roll;
  for (size_t i = 0; i < roll->n_rows; i++)
    has_left |= roll->rows[i].why == TIDE_WHY_LEFT_BEHIND;
  return has_left;
}

void tide_check_text_write(const struct tide_screen *screen, const struct tide_check_report *report)
{
  const struct tide_judgement *judgement = report->judgement;
  TIDE_CLEANUP_FREE char *title = tide_judgement_title(judgement);
  TIDE_CLEANUP_FREE char *failure = tide_check_failure(report);
  TIDE_CLEANUP_FREE char *note =
      failure ? tide_sprintf("the command %s: its status is passed on", failure) : NULL;
  tide_screen_paragraph(screen,
                        judgement->ruling == TIDE_RULING_KEPT ? TIDE_INK_STRONG : TIDE_INK_WARN, "",
                        "", title);
  if (note)
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "", note);
  if (has_left_something(report)) {
    const char *way = tide_screen_hint(screen, TIDE_HINT_WAIT_FOR_ALL);
    TIDE_CLEANUP_FREE char *left =
        tide_sprintf("the command left processes behind%s%s", way ? ": " : "", way ? way : "");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "", left);
  }
  for (size_t i = 0; i < judgement->n; i++)
    write_row(screen, report, &judgement->items[i]);
  write_next(screen, report);
}
