// SPDX-License-Identifier: Apache-2.0
//
// Numbers from people: sizes and times as they are typed. The counterpart of base/units.h. A value
// that is not understood is refused with examples of what would be, never guessed at.
#pragma once
#include "base/err.h"

#include <stdint.h>

// "4096", "64KiB", "64K" (the same), "64kB" (a thousand each), "1.5 GiB". Case does not matter;
// parts of a byte are rounded down, except that a bare number of bytes has none.
enum tide_err tide_size_parse(const char *text, uint64_t *ret_bytes, struct tide_diag *diag);

// "5%", "0.5%", "150 %" in millionths, rounded down.
enum tide_err tide_percent_parse(const char *text, uint64_t *ret_ppm, struct tide_diag *diag);

// "1.5s", "250ms", "40us", "40µs", "7ns", "2m", "2min", "1h". A bare number has no unit to be read
// in and is refused, but for 0.
enum tide_err tide_time_parse(const char *text, uint64_t *ret_time_ns, struct tide_diag *diag);

enum tide_moment_kind {
  TIDE_MOMENT_TIME,  // time_ns after the start
  TIDE_MOMENT_SHARE, // share_ppm millionths of the run
  TIDE_MOMENT_START,
  TIDE_MOMENT_PEAK,
  TIDE_MOMENT_END,
};

struct tide_moment {
  enum tide_moment_kind kind;
  uint64_t time_ns;
  uint32_t share_ppm;
};

// A point of a run: a time as above, "40%", "start", "peak" or "end".
enum tide_err tide_moment_parse(const char *text, struct tide_moment *ret_moment,
                                struct tide_diag *diag);
