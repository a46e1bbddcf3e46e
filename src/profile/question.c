// SPDX-License-Identifier: Apache-2.0
//
// From options to a question that has an answer.
#include "profile/question.h"

static enum tide_err read_window(const struct tide_image *image, const struct tide_wish *wish,
                                 struct tide_window *ret_window, struct tide_diag *diag)
{
  *ret_window = (struct tide_window){0};
  if (wish->at && wish->range)
    return tide_fail(diag, TIDE_ERR_USAGE, "one of --at and --range at a time");
  if (wish->at)
    return tide_point_parse(image, wish->at, &ret_window->to, diag);
  if (wish->range)
    return tide_range_parse(image, wish->range, ret_window, diag);
  return TIDE_ERR_OK;
}

static enum tide_err check(const struct tide_image *image, const struct tide_question *question,
                           const struct tide_wish *wish, struct tide_diag *diag)
{
  if (question->measure == TIDE_MEASURE_TEMP && question->unit == TIDE_UNIT_BYTES &&
      !image->has_temp_bytes)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "the capture counts what was freed at once in blocks only");
  if (!wish->at && !wish->range)
    return TIDE_ERR_OK;
  if (question->measure == TIDE_MEASURE_PEAK)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "the peak is a moment of its own; --sort live takes a time");
  if (question->measure == TIDE_MEASURE_TOTAL && !image->has_counts)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "the capture does not say when what was allocated; --sort live takes a time");
  if (question->measure == TIDE_MEASURE_TEMP)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "what was freed at once is known for the whole run only");
  if (question->measure == TIDE_MEASURE_LEAK)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "what was never freed is known at the end only; try --sort grown");
  return TIDE_ERR_OK;
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
  if (counts && wish->by == TIDE_BY_BYTES)
    return tide_fail(diag, TIDE_ERR_USAGE, "--sort count counts blocks; --sort total has bytes");
  bool in_blocks = counts || question.measure == TIDE_MEASURE_TEMP;
  if (wish->by != TIDE_BY_DEFAULT)
    in_blocks = wish->by == TIDE_BY_BLOCKS;
  question.unit = in_blocks ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
  enum tide_err err = check(image, &question, wish, diag);
  if (!err)
    err = read_window(image, wish, &question.window, diag);
  if (!err)
    *ret_question = question;
  return err;
}
