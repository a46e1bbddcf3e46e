// SPDX-License-Identifier: Apache-2.0
//
// Words for what is compared.
#include "words/diff_words.h"

#include "base/alloc.h"
#include "words/completeness_text.h"
#include "words/image_text.h"

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
