// SPDX-License-Identifier: Apache-2.0
//
// Findings in words: what is wrong, with its numbers, what it would save and what to do about it.
// Made here alone, for the text, for JSON and for the page. All results are the caller's to free.
#pragma once
#include "findings/finding.h"
#include "view/diff.h"

// "document_read, indexer/indexer.c:58, makes more than is used up: up to 24,512 blocks (23.6 MiB,
// 93 % of the peak) waited at once, each for 412 ms in the mean, until another thread freed it."
char *tide_finding_sentence(const struct tide_finding *finding, const struct tide_naming *naming,
                            struct tide_style style);

// "Give the queue a limit, so that its maker waits."
const char *tide_finding_advice(const struct tide_finding *finding);

// What stands above a sentence: "backlog · saves up to 23.6 MiB of memory · confidence high", or
// "each · 66.4 KiB of memory · a note: nothing wrong by itself".
char *tide_finding_heading(const struct tide_finding *finding, struct tide_style style);

// What stands above all of them: "indexer: 3 findings, 1 note".
char *tide_findings_title(const struct tide_findings *findings, const char *program);

// "23.6 MiB at the peak", "3.9 M calls of the allocator", "1.2 GiB of copying".
char *tide_finding_saving_words(const struct tide_finding *finding, struct tide_style style);

// What became of a finding from one run to another: "new", "there before, too: 1.0 MiB then".
char *tide_finding_since_words(const struct tide_finding *before, struct tide_style style);

// A place that changed between two runs, and by what: "document_read, indexer/indexer.c:58, held
// 23.4 MiB less at the peak: 64 blocks instead of 11,800, of 2.0 KiB each instead of 2.0 KiB."
char *tide_change_sentence(const struct tide_diff *diff, const struct tide_diff_place *place,
                           struct tide_style style);
// All of it: "17.8 MiB less was held at the peak: 7.4 MiB instead of 25.2 MiB."
char *tide_changes_sentence(const struct tide_diff *diff, struct tide_style style);

// Why something was not judged: "leak, backlog: too few looks at the run to tell what came and
// went"; NULL: everything was.
char *tide_findings_unjudged_words(const struct tide_findings *findings);
// The same of a process that runs: what its recorder cannot tell, or that it has none.
char *tide_findings_living_words(const struct tide_image *image);
