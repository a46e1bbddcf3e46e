// SPDX-License-Identifier: Apache-2.0
//
// Budgets in words: what is limited, whether it was kept, and why that cannot be told. Made here
// alone, for text, annotations, test reports and JSON. All results are the caller's to free.
#pragma once
#include "base/units.h"
#include "check/judge.h"

// What is limited: "peak", "leaked in indexer", "peak of stacks through parse_", "total from loaded
// to served", "growth of peak".
char *tide_budget_words(const struct tide_heap_budget *budget);

// A number in the unit of the budget: "64.0 MiB", "1,204".
char *tide_limited_words(const struct tide_heap_budget *budget, int64_t value,
                         struct tide_style style);

// What was used, with how exactly that is known: "412.6 MiB", "412.6 MiB to 413.0 MiB",
// "412.6 MiB or more"; "unknown".
char *tide_judged_value(const struct tide_judged *judged, struct tide_style style);

// "indexer: peak 412.6 MiB, over its budget of 256.0 MiB by 156.6 MiB"; "... within its budget of
// ..."; "... cannot be told to be within its budget of ..."
char *tide_judged_sentence(const struct tide_judged *judged, struct tide_style style);

// Why it cannot be told, all reasons: "sed was not recorded: it is statically linked, ...; events
// were lost"; NULL: it can.
char *tide_judged_doubts(const struct tide_judged *judged, struct tide_style style);

// Whether people know the worst process by a name: other tools' files have none.
bool tide_judged_has_name(const struct tide_judged *judged);

// What else is to be said of it: that a site was met nowhere, which may be a slip; NULL: nothing.
const char *tide_judged_note(const struct tide_judged *judged);

// "broken: 1 of 3 budgets; 1 cannot be told".
char *tide_judgement_title(const struct tide_judgement *judgement);

// A place: "document_read, indexer.c:58, 2.0 MiB" or, of growth, "..., 1.0 MiB more: 3.0 MiB".
char *tide_culprit_words(const struct tide_judged *judged, const struct tide_culprit *culprit,
                         struct tide_style style);
