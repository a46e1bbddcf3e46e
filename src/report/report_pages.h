// SPDX-License-Identifier: Apache-2.0
//
// Words for questions about memory that the program mapped itself, by mmap, mremap and brk. All
// results are owned by the caller where they are not const.
#pragma once
#include "report/report_cells.h"

const struct tide_question_text *tide_pages_question_text(const struct tide_question *question);
// The heading of a moment or of a part of the run; any: there are rows. free().
char *tide_pages_part_words(const struct tide_question *question, const char *from, const char *to,
                            bool any);

// What the one more column holds: of maximum, end, total and mappings those that are not asked for.
char *tide_pages_extra(const struct tide_screen *screen, const struct tide_question *question,
                       const struct tide_group *group);

// "at most at once; 4.0 MiB at the end, 96.0 MiB in 7 mappings from 3 stacks in all": what stands
// behind the most that was mapped at once.
char *tide_pages_words(const struct tide_screen *screen, const struct tide_profile *profile);

// Instead of a table or tree where nothing weighs anything under the question.
const char *tide_pages_nothing(const struct tide_profile *profile);

// Says below a table which of its maxima are bounds, if any are.
void tide_pages_bounds_write(const struct tide_screen *screen, const struct tide_view *view);
