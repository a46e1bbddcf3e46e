// SPDX-License-Identifier: Apache-2.0
//
// What the table of resident memory says, in sentences. All results are the caller's to free; NULL:
// there is nothing to say.
#pragma once
#include "base/units.h"
#include "residence/table.h"

// How the sum stands to what the kernel counts: "exactly what the kernel counts", or within which
// bounds.
char *tide_residence_sum_words(const struct tide_residence *residence, struct tide_style style);

// What of the free memory can be given back, and what keeps the rest.
char *tide_residence_free_words(const struct tide_residence *residence, struct tide_style style);

// Blocks that were asked for and never touched.
char *tide_residence_untouched_words(const struct tide_residence *residence,
                                     struct tide_style style);

// What lies beside the table: swap, large pages, zeros.
char *tide_residence_beside_words(const struct tide_residence *residence, struct tide_style style);

// What could not be told, and why.
char *tide_residence_limit_words(const struct tide_residence *residence, struct tide_style style);

// "the main arena", "thread arena 3".
char *tide_residence_arena_words(const struct tide_residence *residence, size_t arena);
