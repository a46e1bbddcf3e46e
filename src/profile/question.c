// SPDX-License-Identifier: Apache-2.0
//
// From options to a question that has an answer, and from a moment in words to the snapshot that
// answers for it.
#include "profile/question.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/units.h"
#include "model/image_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- moments and ranges ----

static uint64_t since_start(const struct tide_image *image, uint64_t time_ns)
{
  return time_ns > image->start_ns ? time_ns - image->start_ns : 0;
}

static uint64_t ns_apart(uint64_t a, uint64_t b)
{
  return a > b ? a - b : b - a;
}

static uint64_t whole_of(const struct tide_image *image)
{
  return image->lacks & TIDE_LACK_CLOCK ? since_start(image, image->end_ns) : 0;
}

// The snapshot nearest to a moment; the start counts as one, and the peak where it may.
static struct tide_point nearest(const struct tide_image *image, uint64_t asked_ns, bool with_peak)
{
  struct tide_point best = {true, asked_ns, 0, TIDE_POINT_START, whole_of(image), NULL};
  for (size_t i = 0; i < image->n_snapshots; i++) {
    uint64_t seen_ns = since_start(image, image->snapshots[i].time_ns);
    if (!with_peak && image->snapshots[i].kind == TIDE_SNAPSHOT_PEAK)
      continue;
    if (ns_apart(seen_ns, asked_ns) <= ns_apart(best.seen_ns, asked_ns)) {
      best.seen_ns = seen_ns;
      best.snapshot = i;
    }
  }
  return best;
}

struct tide_point tide_point_of(const struct tide_image *image, size_t snapshot)
{
  struct tide_point point = {true, 0, 0, snapshot, whole_of(image), NULL};
  if (snapshot == TIDE_POINT_START)
    return point;
  enum tide_snapshot_kind kind = image->snapshots[snapshot].kind;
  point.asked_ns = point.seen_ns = since_start(image, image->snapshots[snapshot].time_ns);
  if (image->lacks & TIDE_LACK_CLOCK && kind != TIDE_SNAPSHOT_TIMED)
    point.word = kind == TIDE_SNAPSHOT_PEAK ? "peak" : "end";
  return point;
}

static bool of_kind(const struct tide_image *image, enum tide_snapshot_kind kind,
                    struct tide_point *ret_point)
{
  for (size_t i = 0; i < image->n_snapshots; i++) {
    if (image->snapshots[i].kind != kind)
      continue;
    *ret_point = tide_point_of(image, i);
    return true;
  }
  return false;
}

// Whether a moment between start and end means anything here.
static enum tide_err check_clock(const struct tide_image *image, const struct tide_moment *moment,
                                 struct tide_diag *diag)
{
  const char *source = tide_image_source(image);
  if (!(image->lacks & TIDE_LACK_CLOCK))
    return TIDE_ERR_OK;
  if (!whole_of(image))
    return tide_fail(diag, TIDE_ERR_USAGE, "%s has no clock; moments of it are start, peak and end",
                     source);
  if (moment->kind == TIDE_MOMENT_TIME)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "%s has no clock; a moment of it is a share such as 40%%, or peak or end",
                     source);
  return TIDE_ERR_OK;
}

static bool has_reset_snapshot(const struct tide_image *image)
{
  return image->is_reset && image->n_snapshots && !tide_image_is_merged(image) &&
         image->snapshots[0].kind == TIDE_SNAPSHOT_TIMED;
}

static enum tide_err bind(const struct tide_image *image, const struct tide_moment *moment,
                          const char *text, struct tide_point *ret_point, struct tide_diag *diag)
{
  uint64_t run_ns = since_start(image, image->end_ns);
  if (moment->kind == TIDE_MOMENT_START) {
    // With a reset something was there, which the first snapshot has.
    *ret_point = tide_point_of(image, has_reset_snapshot(image) ? 0 : TIDE_POINT_START);
    return TIDE_ERR_OK;
  }
  enum tide_snapshot_kind kind =
      moment->kind == TIDE_MOMENT_PEAK ? TIDE_SNAPSHOT_PEAK : TIDE_SNAPSHOT_END;
  if (moment->kind == TIDE_MOMENT_PEAK || moment->kind == TIDE_MOMENT_END) {
    if (of_kind(image, kind, ret_point))
      return TIDE_ERR_OK;
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, TIDE_NO_SNAPSHOT,
                     kind == TIDE_SNAPSHOT_PEAK ? "the peak" : "the end");
  }
  if (image->n_snapshots == 0)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "the capture holds no snapshots to look at");
  enum tide_err err = check_clock(image, moment, diag);
  if (err)
    return err;
  char length[TIDE_UNITS_MAX];
  uint64_t asked_ns = moment->time_ns;
  if (moment->kind == TIDE_MOMENT_SHARE)
    asked_ns = (uint64_t)((unsigned __int128)run_ns * moment->share_ppm / 1000000);
  if (asked_ns > run_ns)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s lies after the end; the process ran for %s", text,
                     tide_units_time(length, run_ns, false));
  *ret_point = nearest(image, asked_ns, true);
  return TIDE_ERR_OK;
}

// A mark is found by its name; of several of one name, the first.
static const struct tide_mark *find_mark(const struct tide_image *image, const char *name)
{
  for (size_t i = 0; i < image->n_marks; i++)
    if (strcmp(image->marks[i].name, name) == 0)
      return &image->marks[i];
  return NULL;
}

enum tide_err tide_point_parse(const struct tide_image *image, const char *text,
                               struct tide_point *ret_point, struct tide_diag *diag)
{
  const struct tide_mark *mark = find_mark(image, text);
  if (mark) {
    *ret_point = nearest(image, since_start(image, mark->time_ns), true);
    return TIDE_ERR_OK;
  }
  struct tide_moment moment;
  enum tide_err err = tide_moment_parse(text, &moment, diag);
  return err ? err : bind(image, &moment, text, ret_point, diag);
}

static enum tide_err nobody_looked(const char *range, const struct tide_point *point,
                                   struct tide_diag *diag)
{
  char seen[TIDE_UNITS_MAX];
  if (point->whole)
    snprintf(seen, sizeof seen, "%.1f %%", 100 * (double)point->seen_ns / (double)point->whole);
  else
    tide_units_time(seen, point->seen_ns, false);
  return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                   TIDE_NOBODY_LOOKED ": the moment nearest to both is %s; try a longer range",
                   range, seen);
}

enum tide_err tide_range_parse(const struct tide_image *image, const char *text,
                               struct tide_window *ret_window, struct tide_diag *diag)
{
  const char *dots = strstr(text, "..");
  if (!dots)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "\"%s\" is no range; write it as 2s..6.1s, start..peak or 40%%..", text);
  TIDE_CLEANUP_FREE char *from = tide_strndup(text, (size_t)(dots - text));
  const char *to = dots + 2;
  struct tide_window window = {0};
  enum tide_err err = tide_point_parse(image, *from ? from : "start", &window.from, diag);
  if (!err)
    err = tide_point_parse(image, *to ? to : "end", &window.to, diag);
  if (!err && window.from.asked_ns > window.to.asked_ns)
    err = tide_fail(diag, TIDE_ERR_USAGE, "the range %s ends before it begins", text);
  if (!err && window.from.snapshot == window.to.snapshot)
    err = nobody_looked(text, &window.to, diag);
  if (!err)
    *ret_window = window;
  return err;
}

// For questions that nobody who looks at the peak can answer: the next best snapshots in its place.
// range is what the window was made of.
static enum tide_err window_leave_peak(const struct tide_image *image, const char *range,
                                       struct tide_window *window, struct tide_diag *diag)
{
  struct tide_point *ends[] = {&window->from, &window->to};
  for (size_t i = 0; i < 2; i++) {
    struct tide_point *end = ends[i];
    bool at_peak = end->given && end->snapshot != TIDE_POINT_START &&
                   image->snapshots[end->snapshot].kind == TIDE_SNAPSHOT_PEAK;
    if (at_peak)
      *end = nearest(image, end->asked_ns, false);
  }
  bool empty = window->from.given && window->from.snapshot == window->to.snapshot;
  return empty ? nobody_looked(range, &window->to, diag) : TIDE_ERR_OK;
}

void tide_window_snapshots(const struct tide_image *image, const struct tide_window *window,
                           size_t *ret_first, size_t *ret_past)
{
  const struct tide_point *from = &window->from, *to = &window->to;
  *ret_first = from->given && from->snapshot != TIDE_POINT_START ? from->snapshot + 1 : 0;
  *ret_past = !to->given                         ? image->n_snapshots
              : to->snapshot == TIDE_POINT_START ? 0
                                                 : to->snapshot + 1;
}

// ---- questions ----

bool tide_measure_is_held(const struct tide_image *image, enum tide_measure measure)
{
  static const uint32_t needs[TIDE_MEASURES_N] = {
      [TIDE_MEASURE_PEAK] = TIDE_LACK_PEAK,   [TIDE_MEASURE_LIVE] = TIDE_LACK_LIVE,
      [TIDE_MEASURE_TOTAL] = TIDE_LACK_TOTAL, [TIDE_MEASURE_GROWN] = TIDE_LACK_LIVE,
      [TIDE_MEASURE_LEAK] = TIDE_LACK_LIVE,   [TIDE_MEASURE_TEMP] = TIDE_LACK_TEMP,
  };
  return !(image->lacks & needs[measure]);
}

// What a foreign capture holds is its tool's business; say which it is, and what else to ask.
static enum tide_err check_held(const struct tide_image *image,
                                const struct tide_question *question, bool of_part,
                                struct tide_diag *diag)
{
  const char *source = tide_image_source(image);
  if (question->unit == TIDE_UNIT_BLOCKS && image->lacks & TIDE_LACK_BLOCKS)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_IN_BYTES, "%s holds no numbers of blocks",
                          source);
  if (of_part || tide_measure_is_held(image, question->measure) ||
      tide_image_is_unrecorded(image)) // whatever is asked, the answer is why there is none
    return TIDE_ERR_OK;
  struct tide_buf held = {0};
  for (int i = 0; i < TIDE_MEASURES_N; i++)
    if (tide_measure_is_held(image, (enum tide_measure)i))
      tide_buf_printf(&held, "%s%s", held.n ? ", " : "", tide_measure_words[i]);
  enum tide_err err =
      tide_fail(diag, TIDE_ERR_USAGE, "%s does not hold \"%s\"; it holds: %s", source,
                tide_measure_words[question->measure], tide_buf_cstr(&held));
  if (!held.n)
    err = tide_fail(diag, TIDE_ERR_USAGE, "%s holds no stacks; 'tidemark info' tells what it does",
                    source);
  tide_buf_done(&held);
  return err;
}

static enum tide_measure default_measure(const struct tide_image *image)
{
  static const enum tide_measure order[] = {TIDE_MEASURE_PEAK, TIDE_MEASURE_LIVE,
                                            TIDE_MEASURE_TOTAL};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (tide_measure_is_held(image, order[i]))
      return order[i];
  return TIDE_MEASURE_PEAK;
}

// Heap profiles are of one moment, which is their end.
static bool is_only_moment(const struct tide_image *image, const char *at)
{
  return strcmp(at, "end") == 0 && !image->n_snapshots && !(image->lacks & TIDE_LACK_LIVE);
}

static enum tide_err read_window(const struct tide_image *image, const struct tide_wish *wish,
                                 struct tide_window *ret_window, struct tide_diag *diag)
{
  *ret_window = (struct tide_window){0};
  if (wish->at && wish->range)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_ONE_TIME,
                          "either a moment or a range can be asked for");
  if (wish->at && is_only_moment(image, wish->at))
    return TIDE_ERR_OK;
  if (wish->at)
    return tide_point_parse(image, wish->at, &ret_window->to, diag);
  if (wish->range)
    return tide_range_parse(image, wish->range, ret_window, diag);
  return TIDE_ERR_OK;
}

static enum tide_err check_part(const struct tide_image *image,
                                const struct tide_question *question, bool of_part,
                                struct tide_diag *diag)
{
  if (question->measure == TIDE_MEASURE_TEMP && question->unit == TIDE_UNIT_BYTES &&
      !image->has_temp_bytes && tide_measure_is_held(image, TIDE_MEASURE_TEMP))
    return tide_fail(diag, TIDE_ERR_USAGE, "the capture counts temporary blocks, not their bytes");
  if (!of_part)
    return TIDE_ERR_OK;
  if (question->measure == TIDE_MEASURE_PEAK)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_LIVE, "the peak is a moment of its own");
  if (question->measure == TIDE_MEASURE_TOTAL && !image->has_counts)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_LIVE,
                          "the capture does not say when what was allocated");
  if (question->measure == TIDE_MEASURE_TEMP)
    return tide_fail(diag, TIDE_ERR_USAGE, "temporary blocks are known for the whole run only");
  if (question->measure == TIDE_MEASURE_LEAK && !image->has_late_frees)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_GROWN,
                          "the capture does not say when what was never freed was allocated");
  return TIDE_ERR_OK;
}

enum tide_err tide_question_check(const struct tide_image *image,
                                  const struct tide_question *question, bool of_part,
                                  struct tide_diag *diag)
{
  enum tide_err err = check_part(image, question, of_part, diag);
  return err ? err : check_held(image, question, of_part, diag);
}

// What was mapped is known by stack, as of every look at the run. Which of it went when is not.
static enum tide_err check_pages(const struct tide_image *image,
                                 const struct tide_question *question, const struct tide_wish *wish,
                                 struct tide_diag *diag)
{
  if (image->origin && !image->page_n_map)
    return tide_fail(diag, TIDE_ERR_USAGE, "%s holds nothing of memory the program mapped itself",
                     tide_image_source(image));
  if ((wish->at && question->measure != TIDE_MEASURE_LIVE) ||
      (wish->range && question->measure != TIDE_MEASURE_TOTAL))
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_PAGES_AT_TIMES,
                          "\"%s\" of mapped memory is not known of a part of the run",
                          tide_measure_words[question->measure]);
  if (wish->range && !image->has_counts)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_MOMENT,
                          "the capture does not say when what was mapped");
  if (question->measure == TIDE_MEASURE_GROWN || question->measure == TIDE_MEASURE_TEMP)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "of mapped memory \"%s\" is not known; peak (each stack's own maximum), live, "
                     "total, leak and count are",
                     tide_measure_words[question->measure]);
  if (question->measure == TIDE_MEASURE_PEAK && question->unit == TIDE_UNIT_BLOCKS)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_COUNT,
                          "of pages the most bytes at once are known, not the most mappings");
  return TIDE_ERR_OK;
}

static bool at_peak(const struct tide_image *image, const struct tide_point *point)
{
  return point->snapshot != TIDE_POINT_START &&
         image->snapshots[point->snapshot].kind == TIDE_SNAPSHOT_PEAK;
}

static enum tide_figure figure_of(const struct tide_question *question)
{
  static const enum tide_figure figures[TIDE_MEASURES_N] = {
      [TIDE_MEASURE_PEAK] = TIDE_FIGURE_PEAK,       [TIDE_MEASURE_LIVE] = TIDE_FIGURE_LIVE,
      [TIDE_MEASURE_TOTAL] = TIDE_FIGURE_ALLOCATED, [TIDE_MEASURE_GROWN] = TIDE_FIGURE_LIVE,
      [TIDE_MEASURE_LEAK] = TIDE_FIGURE_LIVE,       [TIDE_MEASURE_TEMP] = TIDE_FIGURE_ALLOCATED,
  };
  return question->of_pages ? TIDE_FIGURE_MAPPED : figures[question->measure];
}

struct tide_amount tide_question_amount(const struct tide_image *image,
                                        const struct tide_question *question, int64_t value)
{
  struct tide_amount amount = question->unit == TIDE_UNIT_BYTES
                                  ? tide_image_bytes(image, figure_of(question), value)
                                  : tide_image_blocks(image, figure_of(question), value);
  if (amount.exactness == TIDE_EXACT && question->at_least)
    amount.exactness = TIDE_AT_LEAST;
  return amount;
}

// Of a whole recording and of its peak; of other moments an error is known that it is not above.
struct tide_amount tide_question_estimate(const struct tide_image *image,
                                          const struct tide_question *question, int64_t value,
                                          const struct tide_numbers *numbers)
{
  struct tide_amount amount = tide_question_amount(image, question, value);
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  const uint64_t spreads[][2] = {
      [TIDE_FIGURE_ALLOCATED] = {numbers->alloc_blocks_spread, numbers->alloc_bytes_spread},
      [TIDE_FIGURE_LIVE] = {numbers->live_blocks_spread, numbers->live_bytes_spread},
      [TIDE_FIGURE_PEAK] = {numbers->peak_blocks_spread, numbers->peak_bytes_spread},
  };
  enum tide_figure figure = figure_of(question);
  bool is_part = question->window.from.given || question->window.to.given;
  if (is_part || figure >= sizeof spreads / sizeof *spreads)
    return amount;
  uint64_t spread = spreads[figure][in_bytes];
  return tide_with_error(amount, image,
                         in_bytes ? tide_error_of_bytes(spread) : tide_error_of_blocks(spread));
}

// From the start on everything is new. Between two snapshots the late frees tell; at the peak
// nobody looked.
bool tide_reset_is_told(const struct tide_image *image)
{
  return image->has_late_frees && image->n_snapshots && !tide_image_is_merged(image);
}

bool tide_question_is_bound(const struct tide_image *image, const struct tide_question *question)
{
  const struct tide_point *from = &question->window.from, *to = &question->window.to;
  if (image->is_reset && !from->given && !to->given && tide_measure_is_of_new(question->measure))
    return !tide_reset_is_told(image);
  if (question->measure != TIDE_MEASURE_GROWN || !from->given || from->snapshot == TIDE_POINT_START)
    return false;
  return !image->has_late_frees || at_peak(image, from) || at_peak(image, to);
}

enum tide_err tide_question_make(const struct tide_image *image, const struct tide_wish *wish,
                                 struct tide_question *ret_question, struct tide_diag *diag)
{
  struct tide_question question = {0};
  bool counts = wish->sort == TIDE_SORT_COUNT;
  if (wish->sort >= 0)
    question.measure = counts ? TIDE_MEASURE_TOTAL : (enum tide_measure)wish->sort;
  else if (wish->range)
    question.measure = TIDE_MEASURE_GROWN;
  else if (wish->at)
    question.measure = TIDE_MEASURE_LIVE;
  else
    question.measure = wish->of_pages ? TIDE_MEASURE_PEAK : default_measure(image);
  if (counts && wish->by == TIDE_BY_BYTES)
    return tide_fail(diag, TIDE_ERR_USAGE, "\"count\" counts blocks; \"total\" has bytes");
  bool in_blocks = counts || question.measure == TIDE_MEASURE_TEMP;
  if (wish->by != TIDE_BY_DEFAULT)
    in_blocks = wish->by == TIDE_BY_BLOCKS;
  question.unit = in_blocks ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
  question.of_pages = wish->of_pages;
  question.of_events = image->of_events;
  question.goes_on = image->end_kind == TIDE_END_DETACHED;
  enum tide_err err = question.of_pages
                          ? check_pages(image, &question, wish, diag)
                          : check_part(image, &question, wish->at || wish->range, diag);
  if (!err)
    err = read_window(image, wish, &question.window, diag);
  if (!err && question.measure == TIDE_MEASURE_LEAK) // nobody looked at the peak to tell
    err = window_leave_peak(image, wish->range, &question.window, diag);
  if (!err)
    err = check_held(image, &question, question.window.to.given, diag);
  if (!err) {
    question.at_least = tide_question_is_bound(image, &question);
    *ret_question = question;
  }
  return err;
}
