// SPDX-License-Identifier: Apache-2.0
//
// What a profile's totals say: as a fact, beside its number in a column of the report, and as a
// sentence of its own. All results are the caller's to free.
#pragma once
#include "base/units.h"
#include "profile/profile.h"

// Was there anything on the heap? Where allocations are not counted, sites tell.
bool tide_profile_has_heap(const struct tide_profile *profile);
// Where it has none: that nothing was allocated, or that nobody could see it.
const char *tide_no_heap_words(const struct tide_profile *profile);

// Whether what was held at the end, or allocated in all, can be told. Of a file that ends before
// the first stack, none means that nothing is known.
bool tide_profile_has_end(const struct tide_profile *profile);
bool tide_profile_has_total(const struct tide_profile *profile);

// What follows the program's name: "exited 0 in 8.42 s", "several processes merged, 8.42 s at
// most"; of a foreign capture as much as it tells, "" if that is nothing. *ret_gap: what stands
// between the two.
char *tide_end_phrase(const struct tide_image *image, struct tide_style style, bool is_running,
                      const char **ret_gap);

// What stands around the program's name in a title: nothing and the above or, of a process that was
// let go, "recorded 30.0 s of " and " (pid 4711), then let go". Both are the caller's.
void tide_title_around(const struct tide_image *image, struct tide_style style, bool is_running,
                       char **ret_before, char **ret_after);

// "14.2 M allocations"; NULL: they are not counted.
char *tide_allocations_words(const struct tide_profile *profile, struct tide_style style);

// "at exit", "at the end"; "never freed", "still live", "not freed yet", "not freed".
const char *tide_image_last_words(const struct tide_image *image);
const char *tide_image_kept_words(const struct tide_image *image);

// Beside a number: "in 752 blocks never freed"; "allocated in all; 98 % of blocks temporary"; "at
// most, mapped beside the heap; 1.0 MiB at the end".
// What was never freed, as it is told beside the fact; of an image that was reset, of what was
// allocated since.
struct tide_amount tide_kept_amount(const struct tide_profile *profile);
char *tide_end_fact(const struct tide_profile *profile, struct tide_style style);
char *tide_churn_fact(const struct tide_profile *profile, struct tide_style style);
char *tide_pages_fact(const struct tide_image *image, struct tide_style style);

// "counted by the program, with a weight of 3,007 in all", and where to see more: way, if not NULL.
char *tide_events_fact(const struct tide_image *image, const char *way);

// Memory that the program mapped itself is worth a word from here on.
enum { TIDE_PAGES_LEAST = 1 << 20 };

// Each without its full stop.
char *tide_peak_sentence(const struct tide_image *image, struct tide_style style);
char *tide_rss_sentence(const struct tide_image *image, struct tide_style style); // NULL: unknown
char *tide_rss_high_sentence(const struct tide_image *image, struct tide_style style);
char *tide_end_sentence(const struct tide_profile *profile, struct tide_style style,
                        bool is_running);
// "jemalloc 93.1 % of the peak, libc's malloc 6.9 %; by the agent". NULL: not known. free().
char *tide_allocators_words(const struct tide_image *image, struct tide_style style);
// The same, and NULL too for what is usual: libc's malloc, preloaded.
char *tide_allocators_fact(const struct tide_image *image, struct tide_style style);
char *tide_allocators_sentence(const struct tide_image *image, struct tide_style style);
// One of them with its numbers, for who asks. free().
char *tide_allocator_words(const struct tide_image *image, const struct tide_allocator *allocator,
                           struct tide_style style);

char *tide_churn_sentence(const struct tide_profile *profile, struct tide_style style);
char *tide_pages_sentence(const struct tide_image *image, struct tide_style style);

// ---- memory in use ----
//
// What is said of the memory a program really used, and of what recording cost.

// The highest RSS is worth a line of its own when it was at another moment than the heap's peak, or
// when nobody looked then. "at 2.10 s, when the heap held 13.0 MiB"
bool tide_resident_has_high(const struct tide_image *image);
char *tide_resident_high_words(struct tide_style style, const struct tide_image *image);

// Heap that was never in memory is worth one when it was a good part of the peak.
bool tide_resident_has_untouched(const struct tide_image *image);
char *tide_resident_untouched_words(struct tide_style style, const struct tide_image *image);

// "never touched, or swapped out (5.0 MiB at most)"
char *tide_resident_untouched_why(const struct tide_image *image, struct tide_style style);

// " with the recorder", or "" where the RSS is the program's own. What a cut file has lost is not
// said: there it is "perhaps".
const char *tide_resident_whose(const struct tide_image *image);

// "overhead ≈ 1.2× and 16.1 MiB", as far as it is known; NULL: nothing is. Of a program that mostly
// waits it is "overhead ≈ 2 % of a core". Of a program that runs
// it is "overhead in the program": tidemark's own time joins it at the end, and may be most of it.
char *tide_overhead_words(struct tide_style style, const struct tide_profile *profile,
                          bool is_running);
