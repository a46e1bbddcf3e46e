// SPDX-License-Identifier: Apache-2.0
//
// Words for numbers, functions and places. Every measure has its own heading, unit and, where one
// number does not tell the story, one more column.
#include "report/report_cells.h"

#include "base/alloc.h"
#include "model/exactness.h"
#include "base/utf8.h"
#include "report/export_words.h"
#include "report/report_pages.h"
#include "view/paths.h"
#include "words/shorten.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tide_question_text in_bytes[TIDE_MEASURES_N] = {
    [TIDE_MEASURE_PEAK] = {"top at the peak:", "nothing was held at the peak", "at the peak", NULL},
    [TIDE_MEASURE_LIVE] = {"top at the end:", "nothing was held at the end", "at the end", NULL},
    [TIDE_MEASURE_TOTAL] = {"top by bytes allocated in all:", "nothing was allocated", "allocated",
                            NULL},
    [TIDE_MEASURE_GROWN] = {"top by growth over the run:", "nothing has grown", "grown", NULL},
    [TIDE_MEASURE_LEAK] = {"never freed (blocks, mean age at the end):", "every block was freed",
                           "never freed", "blocks, mean age"},
    [TIDE_MEASURE_TEMP] = {"temporary: freed within one further allocation (share of its bytes):",
                           "no block was temporary", "temporary", "of its bytes"},
};
static const struct tide_question_text in_blocks[TIDE_MEASURES_N] = {
    [TIDE_MEASURE_PEAK] = {"top by blocks at the peak:", "nothing was held at the peak",
                           "blocks at the peak", NULL},
    [TIDE_MEASURE_LIVE] = {"top by blocks at the end:", "nothing was held at the end",
                           "blocks at the end", NULL},
    [TIDE_MEASURE_TOTAL] = {"top by allocations:", "nothing was allocated", "allocations", NULL},
    [TIDE_MEASURE_GROWN] = {"top by growth in blocks over the run:", "nothing has grown",
                            "blocks grown", NULL},
    [TIDE_MEASURE_LEAK] = {"blocks never freed (bytes, mean age at the end):",
                           "every block was freed", "blocks never freed", "bytes, mean age"},
    [TIDE_MEASURE_TEMP] = {"temporary: freed within one further allocation (share of its blocks):",
                           "no block was temporary", "temporary blocks", "of its blocks"},
};

const struct tide_question_text *tide_question_text(const struct tide_question *question)
{
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  if (question->of_pages)
    return tide_pages_question_text(question);
  return &(bytes ? in_bytes : in_blocks)[question->measure];
}

char *tide_point_words(const struct tide_screen *screen, const struct tide_point *point)
{
  char asked[TIDE_UNITS_MAX], seen[TIDE_UNITS_MAX];
  tide_export_time(asked, point, point->asked_ns, screen->utf8);
  tide_export_time(seen, point, point->seen_ns, screen->utf8);
  if (point->snapshot == TIDE_POINT_START)
    return tide_strdup("the start");
  if (point->word)
    return tide_sprintf("the %s", point->word);
  const char *of = point->whole ? " of the run" : "";
  if (strcmp(asked, seen) == 0)
    return tide_sprintf("%s%s", asked, of);
  return tide_sprintf("%s%s (as seen at %s)", asked, of, seen);
}

static const char *in_range(const struct tide_question *question)
{
  if (question->measure != TIDE_MEASURE_GROWN)
    return "allocated";
  return question->at_least ? "grown (at least)" : "grown";
}

static const char *kept_words(const struct tide_question *question)
{
  return question->measure == TIDE_MEASURE_LEAK ? " and never freed" : "";
}

char *tide_question_heading(const struct tide_screen *screen, const struct tide_question *question,
                            bool any)
{
  const struct tide_question_text *words = tide_question_text(question);
  const struct tide_window *window = &question->window;
  if (!window->from.given && !window->to.given)
    return tide_strdup(any ? words->heading : words->nothing);
  const char *blocks = question->unit == TIDE_UNIT_BLOCKS ? " blocks" : " bytes";
  TIDE_CLEANUP_FREE char *to = tide_point_words(screen, &window->to);
  TIDE_CLEANUP_FREE char *from =
      window->from.given ? tide_point_words(screen, &window->from) : tide_strdup("the start");
  if (question->of_pages)
    return tide_pages_part_words(question, from, to, any);
  if (question->measure == TIDE_MEASURE_LIVE)
    return any ? tide_sprintf("top by live%s at %s:", blocks, to)
               : tide_sprintf("nothing was held at %s", to);
  const char *what = in_range(question), *and = kept_words(question);
  if (question->measure == TIDE_MEASURE_LEAK && !window->from.given)
    return any ? tide_sprintf("top by live%s at %s%s:", blocks, to, and)
               : tide_sprintf("nothing was held at %s%s", to, and);
  return any ? tide_sprintf("top by%s %s from %s to %s%s:", blocks, what, from, to, and)
             : tide_sprintf("nothing was %s from %s to %s%s", what, from, to, and);
}

char *tide_question_words(const struct tide_screen *screen, const struct tide_question *question)
{
  const struct tide_window *window = &question->window;
  if (!window->from.given && !window->to.given)
    return tide_strdup(tide_question_text(question)->measure);
  const char *blocks = question->unit == TIDE_UNIT_BLOCKS ? "blocks " : "";
  TIDE_CLEANUP_FREE char *to = tide_point_words(screen, &window->to);
  TIDE_CLEANUP_FREE char *from =
      window->from.given ? tide_point_words(screen, &window->from) : tide_strdup("the start");
  if (question->of_pages) {
    char *words = tide_pages_part_words(question, from, to, true);
    words[strlen(words) - 1] = 0; // the colon
    return words;
  }
  if (question->measure == TIDE_MEASURE_LIVE)
    return tide_sprintf("%slive at %s", blocks, to);
  const char *what = in_range(question), *and = kept_words(question);
  if (question->measure == TIDE_MEASURE_LEAK && !window->from.given)
    return tide_sprintf("%slive at %s%s", blocks, to, and);
  return tide_sprintf("%s%s from %s to %s%s", blocks, what, from, to, and);
}

char *tide_cell_measure(const struct tide_screen *screen, const struct tide_question *question,
                        struct tide_amount measure)
{
  char text[TIDE_UNITS_MAX];
  struct tide_style style = tide_screen_cells(screen);
  if (question->at_least) // the heading says it
    measure.exactness = TIDE_EXACT;
  return tide_strdup(question->unit == TIDE_UNIT_BYTES ? tide_units_bytes(text, measure, style)
                                                       : tide_units_count(text, measure, style));
}

// "214, 2.1 s": how many there are, and how old they are in the mean.
static char *survivors(const struct tide_screen *screen, const struct tide_profile *profile,
                       const struct tide_group *group)
{
  char count[TIDE_UNITS_MAX], age[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  struct tide_style style = tide_screen_cells(screen);
  if (group->live_blocks <= 0)
    return tide_strdup("");
  if (profile->question.unit == TIDE_UNIT_BYTES)
    tide_units_count(count, tide_image_blocks(image, TIDE_FIGURE_LIVE, group->live_blocks), style);
  else
    tide_units_bytes(count, tide_image_bytes(image, TIDE_FIGURE_LIVE, group->live_bytes), style);
  const char *fate = group->fate == TIDE_FATE_GROWING ? ", growing"
                     : group->fate == TIDE_FATE_NONE  ? ""
                                                      : ", held";
  if (!group->age_ns)
    return tide_sprintf("%s%s", count, fate);
  uint64_t mean_ns = tide_mean_age_ns(group->age_ns, group->live_blocks);
  return tide_sprintf("%s, %s%s", count, tide_units_time(age, mean_ns, screen->utf8), fate);
}

const char *tide_extra_title(const struct tide_question *question, enum tide_group_kind kind)
{
  bool of_part = question->window.to.given; // the column is of the whole run
  return tide_group_kind_is_classes(kind) || of_part ? NULL : tide_question_text(question)->extra;
}

char *tide_cell_extra(const struct tide_screen *screen, const struct tide_profile *profile,
                      enum tide_group_kind kind, const struct tide_group *group)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_question *question = &profile->question;
  if (!tide_extra_title(question, kind))
    return tide_strdup("");
  if (question->of_pages)
    return tide_pages_extra(screen, question, group);
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  if (question->measure == TIDE_MEASURE_TEMP)
    return tide_strdup(tide_units_percent(text, tide_profile_amount(profile, group->measure),
                                          bytes ? group->b_alloc : group->n_alloc,
                                          tide_screen_cells(screen)));
  if (question->measure == TIDE_MEASURE_LEAK)
    return survivors(screen, profile, group);
  return tide_strdup("");
}

char *tide_cell_name(const struct tide_screen *screen, const struct tide_naming *naming,
                     const struct tide_named_frame *frame, size_t width)
{
  if (!frame)
    return tide_utf8_fit("(stack not recorded)", width, screen->utf8);
  if (frame->function)
    return tide_shorten_function(frame->function, width, screen->utf8);
  if (!frame->pc)
    return tide_utf8_fit("(no frame)", width, screen->utf8);
  TIDE_CLEANUP_FREE char *address =
      tide_sprintf("0x%" PRIx64, tide_naming_elf_address(naming, frame));
  return tide_utf8_fit(address, width, screen->utf8);
}

char *tide_cell_location(const struct tide_naming *naming, const struct tide_named_frame *frame)
{
  if (!frame)
    return tide_strdup("");
  if (frame->file && frame->line)
    return tide_sprintf("%s:%" PRIu32, tide_shorten_path(frame->file), frame->line);
  if (frame->file)
    return tide_strdup(tide_shorten_path(frame->file));
  return tide_sprintf("in %s", tide_naming_module(naming, frame));
}
