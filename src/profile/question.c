// SPDX-License-Identifier: Apache-2.0
//
// From options to a question that has an answer.
#include "profile/question.h"

#include "base/buf.h"

#include <string.h>

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
                                const struct tide_question *question, struct tide_diag *diag)
{
  const char *source = tide_image_source(image);
  if (question->unit == TIDE_UNIT_BLOCKS && image->lacks & TIDE_LACK_BLOCKS)
    return tide_fail_hint(diag, TIDE_ERR_USAGE, TIDE_HINT_IN_BYTES, "%s holds no numbers of blocks",
                          source);
  if (question->window.to.given || tide_measure_is_held(image, question->measure) ||
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

static enum tide_err check_question(const struct tide_image *image,
                                    const struct tide_question *question,
                                    const struct tide_wish *wish, struct tide_diag *diag)
{
  if (question->measure == TIDE_MEASURE_TEMP && question->unit == TIDE_UNIT_BYTES &&
      !image->has_temp_bytes)
    return tide_fail(diag, TIDE_ERR_USAGE, "the capture counts temporary blocks, not their bytes");
  if (!wish->at && !wish->range)
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

// From the start on everything is new. Between two snapshots the late frees tell; at the peak
// nobody looked.
bool tide_question_is_bound(const struct tide_image *image, const struct tide_question *question)
{
  const struct tide_point *from = &question->window.from, *to = &question->window.to;
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
  enum tide_err err = question.of_pages ? check_pages(image, &question, wish, diag)
                                        : check_question(image, &question, wish, diag);
  if (!err)
    err = read_window(image, wish, &question.window, diag);
  if (!err && question.measure == TIDE_MEASURE_LEAK) // nobody looked at the peak to tell
    err = tide_window_leave_peak(image, wish->range, &question.window, diag);
  if (!err)
    err = check_held(image, &question, diag);
  if (!err) {
    question.at_least = tide_question_is_bound(image, &question);
    *ret_question = question;
  }
  return err;
}
