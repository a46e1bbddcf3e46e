// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a profile: one of six measures, in bytes or blocks, of a run or a part of it.
// It is asked of the heap or, of a whole run, of the memory that the program mapped itself.
//
//   peak   live at the peak                     live   live at a time, else at the end
//   total  allocated                            grown  allocated in a range and live at its end
//   leak   never freed; allocated in a range    temp   freed within one further allocation
//          or live at a time, and never freed
//
// Nobody looked at mappings when most was mapped: their peak is each stack's own maximum.
#pragma once
#include "base/err.h"
#include "base/units.h"
#include "model/model.h"

// ---- moments and ranges ----
//
// Live bytes per stack are known at the snapshots, those of the peak and the end among them; a
// moment in between is answered by the nearest one, and says which.

#define TIDE_POINT_START SIZE_MAX // snapshot index of the start: nothing was there

struct tide_point {
  bool given;
  uint64_t asked_ns; // since the image's start
  uint64_t seen_ns;  // of the snapshot that answers, likewise
  size_t snapshot;   // index in the image's snapshots, or TIDE_POINT_START
  uint64_t whole;    // 0: the times are that. Without a clock they are parts of this
  const char *word;  // without a clock: "peak", "end"; otherwise NULL
};

struct tide_window { // all zero: the whole run
  struct tide_point from, to;
};

// A snapshot as a moment of the run; TIDE_POINT_START is one.
struct tide_point tide_point_of(const struct tide_image *image, size_t snapshot);

// Why a moment or a range has no answer, which the page says, too.
#define TIDE_NO_SNAPSHOT "the capture holds no snapshot of %s"
#define TIDE_NOBODY_LOOKED "nobody looked between the ends of %s"

// "6.1s", "40%", "start", "peak", "end" or the name of a mark. Without a clock (TIDE_LACK_CLOCK) a
// time is refused, and so is a share of a run that nobody looked at in between.
enum tide_err tide_point_parse(const struct tide_image *image, const char *text,
                               struct tide_point *ret_point, struct tide_diag *diag);

// "A..B" with either side left out meaning start or end.
enum tide_err tide_range_parse(const struct tide_image *image, const char *text,
                               struct tide_window *ret_window, struct tide_diag *diag);

// The snapshots a window's counts are summed over: [first, past). A whole run has all.
void tide_window_snapshots(const struct tide_image *image, const struct tide_window *window,
                           size_t *ret_first, size_t *ret_past);

// ---- questions ----

enum tide_measure {
  TIDE_MEASURE_PEAK,
  TIDE_MEASURE_LIVE,
  TIDE_MEASURE_TOTAL,
  TIDE_MEASURE_GROWN,
  TIDE_MEASURE_LEAK,
  TIDE_MEASURE_TEMP,
  TIDE_MEASURES_N,
};
extern const char *const tide_measure_words[TIDE_MEASURES_N]; // "peak", "live", …

enum tide_unit { TIDE_UNIT_BYTES, TIDE_UNIT_BLOCKS };

struct tide_question { // all zero: bytes at the peak
  enum tide_measure measure;
  enum tide_unit unit;
  struct tide_window window;
  bool at_least;  // the answer is a lower bound: the image does not tell what in a range was new
  bool of_pages;  // of what the program mapped itself, and a block is a mapping
  bool of_events; // of what it counted: a block is an event, and bytes are weights
  bool goes_on;   // the process went on when it was let go: what it held then is live, no leak
};

// What a user may sort by: the measures, and "count" for allocations.
enum { TIDE_SORT_COUNT = TIDE_MEASURES_N, TIDE_SORTS_N };
extern const char *const tide_sort_words[TIDE_SORTS_N];

enum tide_by { TIDE_BY_DEFAULT, TIDE_BY_BYTES, TIDE_BY_BLOCKS, TIDE_BYS_N };
extern const char *const tide_by_words[TIDE_BYS_N]; // "auto", "bytes", "blocks"

struct tide_wish { // as it stands on the command line
  int sort;        // < 0: not said, and the times decide
  enum tide_by by;
  const char *at, *range; // NULL: not said
  bool of_pages;
};

// Whether an image holds a measure of the whole run at all.
bool tide_measure_is_held(const struct tide_image *image, enum tide_measure measure);

// What is asked of new blocks alone: of an image that was reset, of those since then.
static inline bool tide_measure_is_of_new(enum tide_measure measure)
{
  return measure == TIDE_MEASURE_GROWN || measure == TIDE_MEASURE_LEAK;
}

// Of an image that was reset: is it told which of the blocks from before were freed since?
bool tide_reset_is_told(const struct tide_image *image);

// Whether the answer is a lower bound.
bool tide_question_is_bound(const struct tide_image *image, const struct tide_question *question);

// A number that answers a question, or is a part of an answer, with how exact it is.
struct tide_amount tide_question_amount(const struct tide_image *image,
                                        const struct tide_question *question, int64_t value);
// The same of what these numbers are of: if it is estimated, with its standard error.
struct tide_amount tide_question_estimate(const struct tide_image *image,
                                          const struct tide_question *question, int64_t value,
                                          const struct tide_numbers *numbers);

// Refuses what an image cannot answer, of its whole run or of a part of it, whichever that is.
enum tide_err tide_question_check(const struct tide_image *image,
                                  const struct tide_question *question, bool of_part,
                                  struct tide_diag *diag);

// Refuses what cannot be answered: what the image does not hold, two kinds of times, the peak of
// another time, temporaries of a part of the run, moments the image does not have. Without --sort
// and times the question is the first that the image can answer of peak, live and total.
enum tide_err tide_question_make(const struct tide_image *image, const struct tide_wish *wish,
                                 struct tide_question *ret_question, struct tide_diag *diag);
