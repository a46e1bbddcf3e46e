// SPDX-License-Identifier: Apache-2.0
//
// What became of budgets: for people, and for those who read test reports. Bytes and counts alone,
// no times and no process numbers, so that the same capture gives the same text.
#pragma once
#include "check/judge.h"
#include "report/screen.h"

struct tide_check_report {
  const struct tide_judgement *judgement;
  const struct tide_check_file *files; // that it is of
  size_t n_files;
  const char *baseline; // path; NULL: none
  const char *budgets;  // absolute path of the file of budgets; NULL: they are options
  const char *root;     // source files below it are told from there: the repository; not NULL
  bool has_command;     // it was run, and ended
  int exit_status;      // with this
  int term_signal;      // or by this, if it is not 0
};

#define TIDE_CHECK_FORMAT_LIST(X)                                                                  \
  X(TEXT, "text")                                                                                  \
  X(JSON, "json")                                                                                  \
  X(GITHUB, "github")                                                                              \
  X(JUNIT, "junit")                                                                                \
  X(SARIF, "sarif")

enum tide_check_format {
#define X(name, word) TIDE_CHECK_##name,
  TIDE_CHECK_FORMAT_LIST(X)
#undef X
      TIDE_CHECK_FORMATS_N,
};

void tide_check_text_write(const struct tide_screen *screen,
                           const struct tide_check_report *report);
// Schema "tidemark-check-1": docs/json.md has its keys.
void tide_check_json_write(struct tide_sink *sink, const struct tide_check_report *report);
// Workflow commands of GitHub Actions, one annotation for each budget that is not kept.
void tide_check_github_write(struct tide_sink *sink, const struct tide_check_report *report);
// What belongs into the file of $GITHUB_STEP_SUMMARY: Markdown.
void tide_check_summary_write(struct tide_sink *sink, const struct tide_check_report *report);
void tide_check_junit_write(struct tide_sink *sink, const struct tide_check_report *report);
// SARIF 2.1.0.
void tide_check_sarif_write(struct tide_sink *sink, const struct tide_check_report *report);

// A source file as seen from the root, a tail of it; NULL: it lies elsewhere.
const char *tide_check_path(const struct tide_check_report *report, const char *file);
// The first place of a budget that lies below the root, or the first of all; NULL: it has none.
const struct tide_culprit *tide_check_place(const struct tide_check_report *report,
                                            const struct tide_judged *judged);
// Where it is annotated, as seen from the root: that place, else the budget's own line in the file
// of budgets; NULL: neither lies there. *ret_line is 0 where it is not known.
const char *tide_check_spot(const struct tide_check_report *report,
                            const struct tide_judged *judged, uint32_t *ret_line);
// The sentence, why, and its places, a line each; owned.
char *tide_check_message(const struct tide_judged *judged);
// What the budget is called where several files are judged: with the file's name; owned.
char *tide_check_name(const struct tide_check_report *report, const struct tide_judged *judged);
// "exited 3" or "was ended by signal 9"; NULL: it did what it should, or there was none. Owned.
char *tide_check_failure(const struct tide_check_report *report);
