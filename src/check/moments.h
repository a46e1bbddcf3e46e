// SPDX-License-Identifier: Apache-2.0
//
// What was used between two marks. What stacks hold is known at the snapshots, and a mark lies
// between two of them, so there are two answers: of the snapshots inside of the range, which is at
// least what was used, and of those around it, which is at most. That holds for what only grows
// with time: bytes allocated, allocations, and what was allocated until then and never freed.
//
//        snapshot       mark    snapshot   snapshot      mark   snapshot
//   ─────────┴───────────┼─────────┴──────────┴───────────┼────────┴─────
//            │           from      └── at least ──┘       to       │
//            └─────────────────── at most ─────────────────────────┘
//
// The most that was live in a range is not less than what any look in it saw, and the peak of the
// run if that lies in it.
#pragma once
#include "check/budgets.h"
#include "profile/profile.h"

struct tide_mark_span {
  int64_t value, least, most;
  struct tide_question question; // of the snapshots inside; of a peak, that of the whole run
};

// False: the image does not tell. Asks the profile other questions. The question says what is
// measured, of the whole run.
bool tide_span_find(struct tide_profile *profile, const struct tide_heap_budget *budget,
                    const struct tide_question *question, struct tide_mark_span *ret_span);

// Whether the process has the marks that the budget is about, in their order.
bool tide_span_has_marks(const struct tide_image *image, const struct tide_heap_budget *budget);
