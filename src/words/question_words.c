// SPDX-License-Identifier: Apache-2.0
//
// Words for what is asked and compared.
#include "words/question_words.h"

#include "base/alloc.h"
#include "view/terms.h"
#include "words/completeness_text.h"
#include "words/image_text.h"

#include <stdio.h>
#include <string.h>

// ---- moments and questions ----

const char *tide_point_time(char out[TIDE_UNITS_MAX], const struct tide_point *point,
                            uint64_t time_ns, bool utf8)
{
  if (!point->whole)
    return tide_units_time(out, time_ns, utf8);
  snprintf(out, TIDE_UNITS_MAX, "%.3g %%", 100 * (double)time_ns / (double)point->whole);
  return out;
}

char *tide_point_words(const struct tide_point *point, bool utf8)
{
  char asked[TIDE_UNITS_MAX], seen[TIDE_UNITS_MAX];
  tide_point_time(asked, point, point->asked_ns, utf8);
  tide_point_time(seen, point, point->seen_ns, utf8);
  if (!point->given || point->snapshot == TIDE_POINT_START)
    return tide_strdup(tide_term(TIDE_TERM_THE_START));
  if (point->word)
    return tide_sprintf("the %s", point->word);
  const char *of = point->whole ? " of the run" : "";
  if (strcmp(asked, seen) == 0)
    return tide_sprintf("%s%s", asked, of);
  return tide_sprintf("%s%s (as seen at %s)", asked, of, seen);
}

const char *tide_question_range_word(const struct tide_question *question)
{
  if (question->measure != TIDE_MEASURE_GROWN)
    return "allocated";
  return question->at_least ? "grown (at least)" : "grown";
}

const char *tide_question_kept_words(const struct tide_question *question)
{
  if (question->measure != TIDE_MEASURE_LEAK)
    return "";
  return question->goes_on ? " and still live at the end" : " and never freed";
}

char *tide_question_part_words(const struct tide_question *question, const char *from,
                               const char *to)
{
  const char *blocks = question->unit == TIDE_UNIT_BLOCKS ? "blocks " : "";
  const char *and = tide_question_kept_words(question);
  bool is_live = question->measure == TIDE_MEASURE_LIVE ||
                 (question->measure == TIDE_MEASURE_LEAK && !question->window.from.given);
  if (is_live)
    return tide_sprintf("%slive at %s%s", blocks, to, and);
  return tide_sprintf("%s%s from %s to %s%s", blocks, tide_question_range_word(question), from, to,
                      and);
}

// ---- comparisons ----

const char *tide_diff_row_word(const struct tide_diff *diff)
{
  return diff->group == TIDE_GROUP_FUNCTION ? "place" : tide_group_words[diff->group];
}

const char *tide_diff_measure_words(const struct tide_question *question)
{
  static const char *const words[TIDE_MEASURES_N][2] = {
      [TIDE_MEASURE_PEAK] = {"held at the peak", "blocks held at the peak"},
      [TIDE_MEASURE_LIVE] = {"held at the end", "blocks held at the end"},
      [TIDE_MEASURE_TOTAL] = {"allocated in all", "allocations"},
      [TIDE_MEASURE_GROWN] = {"grown", "blocks grown"},
      [TIDE_MEASURE_LEAK] = {"never freed", "blocks never freed"},
      [TIDE_MEASURE_TEMP] = {"temporary", "temporary blocks"},
  };
  bool in_blocks = question->unit == TIDE_UNIT_BLOCKS, of_part = question->window.to.given;
  if (question->of_events)
    return in_blocks ? "events" : "weight of events";
  if (of_part && question->measure == TIDE_MEASURE_LIVE) // when is said of the sides
    return in_blocks ? "blocks held" : "held";
  if (of_part && question->measure == TIDE_MEASURE_TOTAL)
    return in_blocks ? "allocations" : "allocated";
  if (question->goes_on && question->measure == TIDE_MEASURE_LEAK)
    return in_blocks ? "blocks still live" : "still live";
  if (question->at_least)
    return in_blocks ? "blocks grown (at least)" : "grown (at least)";
  return words[question->measure][in_blocks];
}

static char *programs_note(const struct tide_image *before, const struct tide_image *after)
{
  if (!tide_image_same_program(before, after))
    return tide_sprintf("these are two programs, %s and %s: only places of the same function and "
                        "file are compared",
                        tide_image_program(before), tide_image_program(after));
  return tide_diff_same_command(before, after) ? NULL : tide_strdup("the command lines differ");
}

static char *peaks_note(const struct tide_image *before, const struct tide_image *after,
                        struct tide_style style)
{
  char text[TIDE_UNITS_MAX];
  uint64_t bound = before->peak_bound_bytes + after->peak_bound_bytes;
  if (!bound || (before->lacks | after->lacks) & TIDE_LACK_PEAK)
    return NULL;
  return tide_sprintf("the peaks are exact to %s %s together", style.utf8 ? "±" : "+/-",
                      tide_units_bytes(text, tide_exact((int64_t)bound), style));
}

size_t tide_diff_pair_notes(const struct tide_image *before, const struct tide_image *after,
                            struct tide_style style, char *ret_notes[TIDE_DIFF_PAIR_NOTES_MAX])
{
  char *notes[TIDE_DIFF_PAIR_NOTES_MAX] = {programs_note(before, after),
                                           peaks_note(before, after, style)};
  size_t n = 0;
  for (size_t i = 0; i < TIDE_DIFF_PAIR_NOTES_MAX; i++)
    if (notes[i])
      ret_notes[n++] = notes[i];
  return n;
}

char *tide_diff_side_note(const struct tide_profile *profile, struct tide_style style)
{
  const struct tide_capture *capture = profile->capture;
  const char *off = tide_image_off_words(profile->image);
  const char *why = capture->cut           ? "its file is damaged, and this is a part"
                    : !capture->finished   ? "its recording was not ended properly"
                    : off                  ? off
                    : capture->roll.n_rows ? NULL
                    : !tide_profile_is_complete(profile)
                        ? "incomplete; 'tidemark info' says what is missing"
                        : NULL;
  TIDE_CLEANUP_FREE char *summary = tide_roll_summary(&capture->roll, style);
  if (why)
    return tide_strdup(why);
  return summary ? tide_sprintf("not recorded: %s", summary) : NULL;
}
