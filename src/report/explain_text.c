// SPDX-License-Identifier: Apache-2.0
//
// One paragraph per finding: its rule and what it would save, what it is, and what to do.
#include "report/explain.h"

#include "base/alloc.h"
#include "findings/compare.h"
#include "words/finding_words.h"
#include "words/image_text.h"

#include <stdlib.h>

// since: what became of it from one run to another; NULL: there is one run.
static void write_finding(const struct tide_screen *screen,
                          const struct tide_explanation *explanation, size_t i, const char *since)
{
  const struct tide_finding *finding = &explanation->findings->items[i];
  struct tide_style style = tide_screen_style(screen);
  TIDE_CLEANUP_FREE char *text = tide_finding_sentence(finding, explanation->naming, style);
  TIDE_CLEANUP_FREE char *head = tide_finding_heading(finding, style);
  TIDE_CLEANUP_FREE char *label = tide_sprintf("%zu. ", i + 1);
  tide_sink_text(screen->sink, "\n");
  tide_screen_paragraph(screen, TIDE_INK_STRONG, "  ", label, head);
  if (since)
    tide_screen_paragraph(screen, TIDE_INK_FAINT, "     ", "", since);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "     ", "", text);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "     ", "", tide_finding_advice(finding));
}

static void write_next(const struct tide_screen *screen, const struct tide_explanation *explanation)
{
  const struct tide_findings *findings = explanation->findings;
  enum tide_hint hint = explanation->pid ? TIDE_HINT_SEE_MAPS
                        : findings->n    ? tide_rule_rows[findings->items[0].rule].hint
                                         : TIDE_HINT_SEE_REPORT;
  const char *words = tide_screen_hint(screen, hint);
  if (words)
    tide_sink_printf(screen->sink, "\n  next:  %s %s\n", words, explanation->file);
}

static void write_title(const struct tide_screen *screen,
                        const struct tide_explanation *explanation)
{
  TIDE_CLEANUP_FREE char *title =
      tide_findings_title(explanation->findings, tide_image_program(explanation->profile->image));
  tide_screen_paragraph(screen, TIDE_INK_STRONG, "", "", title);
}

void tide_explain_text_write(const struct tide_screen *screen,
                             const struct tide_explanation *explanation)
{
  const struct tide_findings *findings = explanation->findings;
  write_title(screen, explanation);
  for (size_t i = 0; i < findings->n && i < explanation->n_most; i++)
    write_finding(screen, explanation, i, NULL);
  if (findings->n > explanation->n_most)
    tide_sink_printf(screen->sink, "\n  and %zu more\n", findings->n - explanation->n_most);
  TIDE_CLEANUP_FREE char *unjudged = explanation->pid
                                         ? tide_findings_living_words(explanation->profile->image)
                                         : tide_findings_unjudged_words(findings);
  if (unjudged) {
    tide_sink_text(screen->sink, "\n");
    tide_screen_paragraph(screen, TIDE_INK_FAINT, "  ", "not judged:  ", unjudged);
  }
  write_next(screen, explanation);
}

// ---- two runs ----

enum { CHANGES_TOLD = 3 };

static void write_changes(const struct tide_screen *screen, const struct tide_diff *diff)
{
  struct tide_style style = tide_screen_style(screen);
  TIDE_CLEANUP_FREE char *all = tide_changes_sentence(diff, style);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", all);
  for (size_t i = 0; i < diff->n && i < CHANGES_TOLD; i++) {
    TIDE_CLEANUP_FREE char *text = tide_change_sentence(diff, &diff->places[i], style);
    if (text)
      tide_screen_paragraph(screen, TIDE_INK_PLAIN, "    ", "", text);
  }
}

static void write_gone(const struct tide_screen *screen, const struct tide_comparison *comparison,
                       const size_t *matches)
{
  const struct tide_findings *before = comparison->before.findings;
  size_t n_after = comparison->after.findings->n;
  for (size_t i = 0; i < before->n && i < comparison->before.n_most; i++) {
    size_t k = 0;
    while (k < n_after && matches[k] != i)
      k++;
    if (k < n_after)
      continue;
    TIDE_CLEANUP_FREE char *text = tide_finding_sentence(
        &before->items[i], comparison->before.naming, tide_screen_style(screen));
    tide_sink_text(screen->sink, "\n");
    TIDE_CLEANUP_FREE char *label =
        tide_sprintf("gone: %s. ", tide_rule_rows[before->items[i].rule].word);
    tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", label, text);
  }
}

void tide_explain_two_text_write(const struct tide_screen *screen,
                                 const struct tide_comparison *comparison)
{
  const struct tide_explanation *after = &comparison->after;
  const struct tide_findings *findings = after->findings;
  TIDE_CLEANUP_FREE size_t *matches = tide_alloc_array(findings->n + 1, sizeof *matches);
  tide_findings_match(comparison->before.findings, findings, matches);
  write_title(screen, after);
  write_changes(screen, comparison->diff);
  for (size_t i = 0; i < findings->n && i < after->n_most; i++) {
    const struct tide_finding *then =
        matches[i] == TIDE_FINDING_NONE ? NULL : &comparison->before.findings->items[matches[i]];
    TIDE_CLEANUP_FREE char *since = tide_finding_since_words(then, tide_screen_style(screen));
    write_finding(screen, after, i, since);
  }
  write_gone(screen, comparison, matches);
  const char *words = tide_screen_hint(screen, TIDE_HINT_SEE_DIFF_OF);
  if (words)
    tide_sink_printf(screen->sink, "\n  next:  %s %s %s\n", words, comparison->before.file,
                     after->file);
}
