// SPDX-License-Identifier: Apache-2.0
//
// What the table of resident memory says, in sentences. All results are the caller's to free; NULL:
// there is nothing to say.
#pragma once
#include "base/units.h"
#include "model/model.h"

// The table of an image with the most memory, of several like it the last: what was freed meanwhile
// is still in memory then. NULL: there is none.
const struct tide_residence *tide_residence_highest(const struct tide_image *image);

// The table of an image that was taken nearest to a time. NULL: there is none.
const struct tide_residence *tide_residence_nearest(const struct tide_image *image,
                                                    uint64_t time_ns);

// Why an image has no table, and what to do about it.
char *tide_residence_none_words(const struct tide_image *image);

// "at 1.20 s" since the image began.
char *tide_residence_when_words(const struct tide_image *image,
                                const struct tide_residence *residence, struct tide_style style);

// Why RSS was so much more than the heap: "at 1.20 s: live blocks 13.0 MiB; 210 MiB freed but kept
// by malloc (a trim would give back 180 MiB); files 3.2 MiB". NULL: it was not, or nobody looked.
char *tide_residence_why_words(const struct tide_image *image, struct tide_style style);
char *tide_residence_sentence(const struct tide_image *image, struct tide_style style);

// One line of its bands: "live blocks 13.0 MiB, files and shared memory 3.2 MiB".
char *tide_residence_bands_words(const struct tide_image *image,
                                 const struct tide_residence *residence, struct tide_style style);

// How the sum stands to what the kernel counts: "exactly what the kernel counts", or within which
// bounds.
char *tide_residence_sum_words(const struct tide_residence *residence, struct tide_style style);

// What of the free memory can be given back, and what keeps the rest.
char *tide_residence_free_words(const struct tide_residence *residence, struct tide_style style);

// Beside how many bytes were asked for and are not in memory: of how many, and why.
char *tide_residence_untouched_words(const struct tide_residence *residence,
                                     struct tide_style style);

// What of the rows came in huge pages.
char *tide_residence_huge_words(const struct tide_residence *residence, struct tide_style style);

// What lies beside the table: swap, huge pages of the pool, zeros.
char *tide_residence_beside_words(const struct tide_residence *residence, struct tide_style style);

// That most was in memory at another moment than that of the table. own_bytes: what is not the
// recorder's in it.
char *tide_residence_missed_words(const struct tide_image *image, uint64_t own_bytes,
                                  struct tide_style style);

// What could not be told, and why.
char *tide_residence_limit_words(const struct tide_residence *residence, struct tide_style style);

// "the main arena", "thread arena 3".
char *tide_residence_arena_words(const struct tide_residence *residence, size_t arena);
