// SPDX-License-Identifier: Apache-2.0
//
// What the heap held at its peak and never had in memory, as far as that was seen.
//
// A look tells that of what is live some is not resident. The program may fill it later, so that
// is final only once the blocks are freed; and what came into memory between the last look at them
// and that moment nobody saw. Two things bound it: the kernel's high water mark, read afterwards,
// and what all processors could fill in that time. What they leave open is taken off.
//
// A stay is a time in which the heap holds no less than three quarters of the most it held since
// the stay began. Looks are about its top: when it rises by a sixty-fourth, earlier ones are
// forgotten. Of stays as high as the highest, the one that says least counts.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_untouched_stay {
  int64_t high_bytes;    // the most the heap held; 0: there is none
  int64_t missing_bytes; // of that, in memory at no look; TIDE_UNTOUCHED_UNSEEN: there was none
  uint64_t since_ns;     // since when it has been as high
};
#define TIDE_UNTOUCHED_UNSEEN INT64_MAX

struct tide_untouched {
  struct tide_untouched_stay now, highest; // the second: of those that are over
  uint64_t last_ns, last_all_bytes;        // of the last look in `now`
};

struct tide_untouched_look {
  uint64_t time_ns;
  int64_t before_bytes, after_bytes; // live, right before and after the RSS was read
  uint64_t all_bytes;                // the RSS; 0: not known
  uint64_t recorder_bytes;           // of it the recorder's, at least
};

// Whether the stay is over with this look: if so, tide_untouched_leave() comes first.
bool tide_untouched_is_over(const struct tide_untouched *untouched,
                            const struct tide_untouched_look *look);

// The stay is over, at the latest at time_ns; high_bytes: the kernel's mark, read after that
// (0: not known).
void tide_untouched_leave(struct tide_untouched *untouched, uint64_t time_ns, uint64_t high_bytes);

void tide_untouched_take(struct tide_untouched *untouched, const struct tide_untouched_look *look);

// What was taken to be the recorder's at the looks so far may have been the program's.
void tide_untouched_doubt(struct tide_untouched *untouched, uint64_t bytes);

// Of the heap at its peak, at least. A stay that goes on counts from some time on: what was
// allocated just now may be about to be filled.
uint64_t tide_untouched_bytes(const struct tide_untouched *untouched, int64_t peak_bytes);
