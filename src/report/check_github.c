// SPDX-License-Identifier: Apache-2.0
//
// GitHub reads commands from the lines of a step's output: "::error file=a.c,line=5::text". In the
// text % and line ends are escaped, in properties also : and , that would end one. No line of ours
// can be anything else: every budget is one.
#include "report/check.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "report/markup.h"
#include "words/check_words.h"

#include <string.h>

static void write_escaped(struct tide_sink *sink, const char *text, bool is_property)
{
  struct tide_buf scratch = {0};
  for (const char *c = tide_utf8_mend(text, &scratch); *c; c++) {
    if (*c == '%' || *c == '\r' || *c == '\n' || (is_property && (*c == ':' || *c == ',')))
      tide_sink_printf(sink, "%%%02X", (unsigned)(unsigned char)*c);
    else
      tide_sink_bytes(sink, c, 1);
  }
  tide_buf_done(&scratch);
}

static void write_annotation(struct tide_sink *sink, const struct tide_check_report *report,
                             const struct tide_judged *judged)
{
  uint32_t line;
  const char *path = tide_check_spot(report, judged, &line);
  TIDE_CLEANUP_FREE char *name = tide_check_name(report, judged);
  TIDE_CLEANUP_FREE char *message = tide_check_message(judged);
  tide_sink_printf(sink, "::%s ", judged->ruling == TIDE_RULING_BROKEN ? "error" : "warning");
  if (path) {
    tide_sink_text(sink, "file=");
    write_escaped(sink, path, true);
    if (line)
      tide_sink_printf(sink, ",line=%u", line);
    tide_sink_text(sink, ",");
  }
  tide_sink_printf(sink, "title=heap budget %s%%3A ", tide_ruling_words[judged->ruling]);
  write_escaped(sink, name, true);
  tide_sink_text(sink, "::");
  write_escaped(sink, message, false);
  tide_sink_text(sink, "\n");
}

void tide_check_github_write(struct tide_sink *sink, const struct tide_check_report *report)
{
  const struct tide_judgement *judgement = report->judgement;
  TIDE_CLEANUP_FREE char *title = tide_judgement_title(judgement);
  TIDE_CLEANUP_FREE char *failure = tide_check_failure(report);
  for (size_t i = 0; i < judgement->n; i++)
    if (judgement->items[i].ruling != TIDE_RULING_KEPT)
      write_annotation(sink, report, &judgement->items[i]);
  if (failure)
    tide_sink_printf(sink, "::error title=heap budgets::the command %s\n", failure);
  tide_sink_printf(sink, "heap budgets: %s\n", title);
}

// ---- the summary of the step ----

static void write_row(struct tide_sink *sink, const struct tide_check_report *report,
                      const struct tide_judged *judged)
{
  static const char *const signs[TIDE_RULINGS_N] = {"✅ kept", "❌ broken", "❓ could not tell"};
  const struct tide_style style = {.utf8 = true};
  bool has_limit = !judged->budget->is_growth || judged->before.least != TIDE_NO_LEAST;
  int64_t limit_value = judged->budget->is_growth ? judged->limit : (int64_t)judged->budget->limit;
  TIDE_CLEANUP_FREE char *name = tide_check_name(report, judged);
  TIDE_CLEANUP_FREE char *value = tide_judged_value(judged, style);
  TIDE_CLEANUP_FREE char *limit =
      has_limit ? tide_limited_words(judged->budget, limit_value, style) : tide_strdup("unknown");
  tide_sink_printf(sink, "| %s | ", signs[judged->ruling]);
  tide_markdown_code(sink, name);
  tide_sink_text(sink, " | ");
  tide_markdown_code(sink, tide_judged_has_name(judged) ? judged->program : "");
  tide_sink_printf(sink, " | %s | %s |\n", value, limit);
}

static void write_list(struct tide_sink *sink, const struct tide_check_report *report,
                       const struct tide_judged *judged)
{
  const struct tide_style style = {.utf8 = true};
  TIDE_CLEANUP_FREE char *sentence = tide_judged_sentence(judged, style);
  TIDE_CLEANUP_FREE char *doubts = tide_judged_doubts(judged, style);
  tide_sink_text(sink, "\n");
  tide_markdown_code(sink, sentence);
  tide_sink_text(sink, "\n\n");
  if (doubts) {
    tide_sink_text(sink, "- ");
    tide_markdown_code(sink, doubts);
    tide_sink_text(sink, "\n");
  }
  for (size_t i = 0; i < judged->n_culprits; i++) {
    TIDE_CLEANUP_FREE char *place = tide_culprit_words(judged, &judged->culprits[i], style);
    tide_sink_text(sink, "- ");
    tide_markdown_code(sink, place);
    tide_sink_text(sink, "\n");
  }
  if (judged->n_more)
    tide_sink_printf(sink, "- and %zu more places\n", judged->n_more);
}

void tide_check_summary_write(struct tide_sink *sink, const struct tide_check_report *report)
{
  const struct tide_judgement *judgement = report->judgement;
  TIDE_CLEANUP_FREE char *title = tide_judgement_title(judgement);
  TIDE_CLEANUP_FREE char *failure = tide_check_failure(report);
  tide_sink_printf(sink, "### Heap budgets: %s\n\n", title);
  if (failure)
    tide_sink_printf(sink, "The command %s.\n\n", failure);
  tide_sink_text(sink, "| | Budget | Program | Used | Limit |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < judgement->n; i++)
    write_row(sink, report, &judgement->items[i]);
  for (size_t i = 0; i < judgement->n; i++)
    if (judgement->items[i].ruling != TIDE_RULING_KEPT)
      write_list(sink, report, &judgement->items[i]);
}
