// SPDX-License-Identifier: Apache-2.0
//
// Numbers with how exactly they are known, in words for people, and those that people type.
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// ---- amounts ----
//
// A number together with how exactly it is known. Whatever words a number for people takes one of
// these, so whoever has a bare number must say which it is: tide_exact() for what is
// counted here and now, model/image_sums.h for what an image tells.

enum tide_exactness {
  TIDE_EXACT,
  TIDE_WITHIN,    // off by the bound at most, up or down; bound 0: nobody knows by how much
  TIDE_AT_MOST,   // not more than that; less by the bound at most (0: nobody knows)
  TIDE_AT_LEAST,  // not less than that
  TIDE_ESTIMATED, // from samples; the bound is the standard error (0: nobody knows it)
  TIDE_UNKNOWN,
};

struct tide_amount {
  int64_t value;
  enum tide_exactness exactness;
  uint64_t bound; // in the unit of the value
};

static inline struct tide_amount tide_exact(int64_t value)
{
  return (struct tide_amount){.value = value};
}

// Another number of the same origin: a share of it, a row below it.
static inline struct tide_amount tide_amount_like(struct tide_amount amount, int64_t value)
{
  return (struct tide_amount){value, amount.exactness, amount.bound};
}

// What two of them have between them, their sum or difference: as the less exact of the two, and
// bounds add up.
struct tide_amount tide_amount_of_two(int64_t value, struct tide_amount a, struct tide_amount b);

// ---- for people ----
//
// Each function writes into the caller's array and returns it, so that a call can stand in a
// printf. A value never shows as a rounder one than it is: 1023.96 KiB is not "1024.0 KiB" but
// "1.0 MiB". And none as more exact: "≈ 412.6 MiB" is an estimate, "412.6 MiB ± 1.2 MiB" has a
// bound, "≥ 412.6 MiB" is a part of what there was.

enum { TIDE_UNITS_MAX = 96 };
// WEIGHT: what stands for bytes is the weight of events, told as counts are.
enum tide_units { TIDE_UNITS_IEC, TIDE_UNITS_SI, TIDE_UNITS_BYTES, TIDE_UNITS_WEIGHT };

struct tide_style { // of a sentence for people
  enum tide_units units;
  bool utf8;          // else "~" for "≈" and the like
  bool bounds_beside; // what is above or beside the number says its bound
};
#define TIDE_STYLE_PLAIN ((struct tide_style){0})

// "17 B", "412.6 MiB"; SI: "432.6 MB"; BYTES: "432,640,001 B". Negative values keep their sign.
// What is not exact says so, unless the number as it is rounded is right all the same; what is not
// known is "unknown".
const char *tide_units_bytes(char out[TIDE_UNITS_MAX], struct tide_amount bytes,
                             struct tide_style style);

// "16,204" up to a million, then "14.2 M", "3.1 G", "2.0 T".
const char *tide_units_count(char out[TIDE_UNITS_MAX], struct tide_amount n,
                             struct tide_style style);

// The same of what is counted here and now: rows, files, stacks.
static inline const char *tide_units_plain(char out[TIDE_UNITS_MAX], uint64_t n)
{
  return tide_units_count(out, tide_exact((int64_t)n), TIDE_STYLE_PLAIN);
}

static inline const char *tide_units_plural(uint64_t n, const char *one, const char *many)
{
  return n == 1 ? one : many;
}

// "± 206.0 KiB", "too high by 1.2 MiB at most": what a number is off by, for the text beside it;
// "": it has no bound or, with bounds_beside, none that shows in the number as it is rounded.
const char *tide_units_bound(char out[TIDE_UNITS_MAX], struct tide_amount bytes,
                             struct tide_style style);

// "16,204,118": every digit, of what is counted here and now.
const char *tide_units_digits(char out[TIDE_UNITS_MAX], uint64_t n);

// "830 ns", "12.4 µs", "3.71 ms", "8.42 s", "2 min 05 s", "3 h 10 min". Without utf8 µ is u.
const char *tide_units_time(char out[TIDE_UNITS_MAX], uint64_t time_ns, int utf8);

// "46.2 %"; a share above 0 that rounds to 0 is "<0.1 %". whole 0 gives "0 %". The share of an
// estimate is one.
const char *tide_units_share(char out[TIDE_UNITS_MAX], struct tide_amount part, int64_t whole,
                             struct tide_style style);

// "61 %" with the same care at both ends: only everything is "100 %", only nothing is "0 %".
const char *tide_units_percent(char out[TIDE_UNITS_MAX], struct tide_amount part, uint64_t whole,
                               struct tide_style style);

// ---- from people ----
//
// Sizes and times as they are typed. A value that is not understood is refused with examples of
// what would be, never guessed at.

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
