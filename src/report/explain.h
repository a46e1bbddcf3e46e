// SPDX-License-Identifier: Apache-2.0
//
// Findings for people, and for programs as JSON of schema "tidemark-explain-1".
#pragma once
#include "base/json.h"
#include "findings/finding.h"
#include "profile/profile.h"
#include "report/screen.h"
#include "view/diff.h"

struct tide_explanation {
  const struct tide_findings *findings;
  const struct tide_profile *profile;
  const struct tide_naming *naming;
  const char *file; // as the user named it
  uint32_t pid;     // of a process that runs; 0: a capture
  size_t n_most;    // findings shown
};

struct tide_comparison { // the same of two runs, and what changed between them
  struct tide_explanation before, after;
  const struct tide_diff *diff;
};

void tide_explain_text_write(const struct tide_screen *screen,
                             const struct tide_explanation *explanation);
void tide_explain_json_write(struct tide_sink *sink, const struct tide_explanation *explanation);

// "key": [...], for other documents.
void tide_findings_json(struct tide_json *json, const char *key,
                        const struct tide_findings *findings, const struct tide_naming *naming,
                        size_t n_most);

void tide_explain_two_text_write(const struct tide_screen *screen,
                                 const struct tide_comparison *comparison);
void tide_explain_two_json_write(struct tide_sink *sink, const struct tide_comparison *comparison);
