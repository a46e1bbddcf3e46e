// SPDX-License-Identifier: Apache-2.0
//
// Words for numbers, functions and places. Every measure has its own heading, unit and, where one
// number does not tell the story, one more column.
#include "report/report_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/image_sums.h"
#include "view/paths.h"
#include "view/terms.h"
#include "words/question_words.h"
#include "words/shorten.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- questions of pages ----
//
// A stack's own maximum is known, but not what it had when most was mapped: so shares are of the
// sum of the maxima, and that is said.

#define NOTHING "the program mapped no memory itself"
#define ALL_UNMAPPED "all that the program mapped itself was unmapped"

static const struct tide_question_text pages_in_bytes[TIDE_MEASURES_N] = {
    [TIDE_MEASURE_PEAK] =
        {"mapped by the program itself, by own maximum (at the end, in all, mappings):", NOTHING,
         "mapped by the program itself, each stack at its own maximum",
         "at the end, in all, mappings"},
    [TIDE_MEASURE_LIVE] =
        {"mapped by the program itself, at the end (own maximum, in all, mappings):", ALL_UNMAPPED,
         "mapped by the program itself at the end", "own maximum, in all, mappings"},
    [TIDE_MEASURE_TOTAL] =
        {"mapped by the program itself, in all (own maximum, at the end, mappings):", NOTHING,
         "mapped by the program itself in all", "own maximum, at the end, mappings"},
    [TIDE_MEASURE_LEAK] =
        {"mapped by the program itself, never unmapped (own maximum, in all, mappings):",
         ALL_UNMAPPED, "mapped by the program itself and never unmapped",
         "own maximum, in all, mappings"},
};
static const struct tide_question_text pages_in_blocks[TIDE_MEASURES_N] = {
    [TIDE_MEASURE_LIVE] =
        {"mappings of the program itself at the end (own maximum, at the end, in all):",
         ALL_UNMAPPED, "mappings of the program itself at the end",
         "own maximum, at the end, in all"},
    [TIDE_MEASURE_TOTAL] =
        {"mappings of the program itself, by number (own maximum, at the end, in all):", NOTHING,
         "mappings of the program itself", "own maximum, at the end, in all"},
    [TIDE_MEASURE_LEAK] =
        {"mappings never unmapped by the program (own maximum, at the end, in all):", ALL_UNMAPPED,
         "mappings never unmapped by the program", "own maximum, at the end, in all"},
};

const struct tide_question_text *tide_pages_question_text(const struct tide_question *question)
{
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  if (question->goes_on && question->measure == TIDE_MEASURE_LEAK)
    return &(bytes ? pages_in_bytes : pages_in_blocks)[TIDE_MEASURE_LIVE];
  return &(bytes ? pages_in_bytes : pages_in_blocks)[question->measure];
}

char *tide_pages_part_words(const struct tide_question *question, const char *from, const char *to,
                            bool any)
{
  const char *what = question->unit == TIDE_UNIT_BYTES ? "mapped by the program itself"
                                                       : "mappings of the program itself";
  bool is_moment = question->measure == TIDE_MEASURE_LIVE;
  if (is_moment)
    return any ? tide_sprintf("%s at %s:", what, to)
               : tide_sprintf("the program had mapped nothing itself at %s", to);
  return any ? tide_sprintf("%s from %s to %s:", what, from, to)
             : tide_sprintf("the program mapped nothing itself from %s to %s", from, to);
}

static void add_text(struct tide_buf *out, const char *text)
{
  tide_buf_printf(out, "%s%s", out->n ? ", " : "", text);
}

static void add_mapped(struct tide_buf *out, const struct tide_screen *screen,
                       const struct tide_image *image, int64_t bytes)
{
  char text[TIDE_UNITS_MAX];
  add_text(out, tide_units_bytes(text, tide_image_bytes(image, TIDE_FIGURE_MAPPED, bytes),
                                 tide_screen_style(screen)));
}

char *tide_pages_extra(const struct tide_screen *screen, const struct tide_profile *profile,
                       const struct tide_group *group)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  const struct tide_question *question = &profile->question;
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  bool at_end = question->measure == TIDE_MEASURE_LIVE || question->measure == TIDE_MEASURE_LEAK;
  struct tide_amount maps = tide_image_blocks(image, TIDE_FIGURE_MAPPED, (int64_t)group->n_alloc);
  struct tide_buf out = {0};
  if (question->measure != TIDE_MEASURE_PEAK)
    add_mapped(&out, screen, image, group->high_bytes);
  if (!bytes || !at_end)
    add_mapped(&out, screen, image, group->live_bytes);
  if (!bytes || question->measure != TIDE_MEASURE_TOTAL)
    add_mapped(&out, screen, image, (int64_t)group->b_alloc);
  if (bytes)
    add_text(&out, tide_units_count(text, maps, tide_screen_style(screen)));
  char *cell = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return cell;
}

// Of a file that ended before all its stacks their number is not known.
static char *from_stacks(const struct tide_profile *profile)
{
  char count[TIDE_UNITS_MAX];
  uint64_t n = 0;
  for (size_t i = 0; i < profile->n_sites; i++)
    n += profile->sites[i].kind == TIDE_SITE_PAGES;
  if (profile->image->is_part)
    return tide_strdup("");
  return tide_sprintf(" from %s %s", tide_units_plain(count, n), n == 1 ? "stack" : "stacks");
}

char *tide_pages_words(struct tide_style style, const struct tide_profile *profile)
{
  char end[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX], maps[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE char *stacks = from_stacks(profile);
  return tide_sprintf("%s; %s at the end, %s in %s %s%s in all",
                      tide_image_is_merged(image) ? "the sum of what each process had at most"
                                                  : "at most at once",
                      tide_units_bytes(end, tide_exact((int64_t)image->page_live_bytes), style),
                      tide_units_bytes(all, tide_exact((int64_t)image->page_b_map), style),
                      tide_units_plain(maps, image->page_n_map),
                      image->page_n_map == 1 ? "mapping" : "mappings", stacks);
}

const char *tide_pages_nothing(const struct tide_profile *profile)
{
  if (profile->image->is_part)
    return "no stack that mapped memory is left in the file";
  return tide_pages_question_text(&profile->question)->nothing;
}

const char *tide_pages_name(const struct tide_profile *profile, const struct tide_group *group)
{
  const struct tide_image *image = profile->image;
  for (size_t i = image->n_residences; i-- > 0;) {
    const struct tide_residence_file *file =
        tide_residence_mapped_by(&image->residences[i], group->number);
    if (file)
      return file->path;
  }
  return NULL;
}

void tide_pages_bounds_write(const struct tide_screen *screen, const struct tide_view *view)
{
  char count[TIDE_UNITS_MAX];
  uint64_t n = 0;
  for (size_t i = 0; i < view->profile->n_sites; i++)
    n += tide_view_has(view, i) &&
         tide_profile_own_max_is_bound(view->profile, &view->profile->sites[i]);
  if (!n || view->profile->question.measure != TIDE_MEASURE_PEAK)
    return;
  TIDE_CLEANUP_FREE char *words =
      tide_sprintf("of %s %s, used by several threads or processes, the maximum may be lower",
                   tide_units_plain(count, n), n == 1 ? "stack" : "stacks");
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, "  ", "", words);
}

// ---- cells ----

static const char *heading_of(const struct tide_question *question)
{
  static const char *const headings[TIDE_MEASURES_N][2] = {
      [TIDE_MEASURE_PEAK] = {"top at the peak:", "top by blocks at the peak:"},
      [TIDE_MEASURE_LIVE] = {"top at the end:", "top by blocks at the end:"},
      [TIDE_MEASURE_TOTAL] = {"top by bytes allocated in all:", "top by allocations:"},
      [TIDE_MEASURE_GROWN] = {"top by growth over the run:",
                              "top by growth in blocks over the run:"},
      [TIDE_MEASURE_LEAK] = {"never freed (blocks, mean age at the end):",
                             "blocks never freed (bytes, mean age at the end):"},
      [TIDE_MEASURE_TEMP] = {"temporary: freed within one further allocation (share of its bytes):",
                             "temporary: freed within one further allocation (share of its "
                             "blocks):"},
  };
  if (question->of_events)
    return question->unit == TIDE_UNIT_BYTES ? "top by weight:" : "top by number of events:";
  if (question->goes_on && question->measure == TIDE_MEASURE_LEAK)
    return question->unit == TIDE_UNIT_BYTES ? "still live (blocks, mean age at the end):"
                                             : "blocks still live (bytes, mean age at the end):";
  return headings[question->measure][question->unit];
}

static const char *extra_of(const struct tide_question *question)
{
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  if (question->measure == TIDE_MEASURE_LEAK)
    return bytes ? "blocks, mean age" : "bytes, mean age";
  if (question->measure == TIDE_MEASURE_TEMP)
    return tide_term(bytes ? TIDE_TERM_OF_ITS_BYTES : TIDE_TERM_OF_ITS_BLOCKS);
  return NULL;
}

struct tide_question_text tide_question_text(const struct tide_question *question)
{
  const struct tide_measure_term *term = tide_measure_term(question);
  if (question->of_pages)
    return *tide_pages_question_text(question);
  return (struct tide_question_text){heading_of(question), term->nothing,
                                     term->whole[question->unit], extra_of(question)};
}

char *tide_question_heading(const struct tide_screen *screen, const struct tide_question *question,
                            bool any)
{
  const struct tide_question_text words = tide_question_text(question);
  const struct tide_window *window = &question->window;
  if (!window->from.given && !window->to.given)
    return tide_strdup(any ? words.heading : words.nothing);
  const char *blocks = question->unit == TIDE_UNIT_BLOCKS ? " blocks" : " bytes";
  TIDE_CLEANUP_FREE char *to = tide_point_words(&window->to, screen->utf8);
  TIDE_CLEANUP_FREE char *from = tide_point_words(&window->from, screen->utf8);
  if (question->of_pages)
    return tide_pages_part_words(question, from, to, any);
  if (question->measure == TIDE_MEASURE_LIVE)
    return any ? tide_sprintf("top by live%s at %s:", blocks, to)
               : tide_sprintf("nothing was held at %s", to);
  const char *what = tide_question_range_word(question);
  const char *and = tide_question_kept_words(question);
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
    return tide_strdup(tide_question_text(question).measure);
  TIDE_CLEANUP_FREE char *to = tide_point_words(&window->to, screen->utf8);
  TIDE_CLEANUP_FREE char *from = tide_point_words(&window->from, screen->utf8);
  if (question->of_pages) {
    char *words = tide_pages_part_words(question, from, to, true);
    words[strlen(words) - 1] = 0; // the colon
    return words;
  }
  return tide_question_part_words(question, from, to);
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
  return tide_group_kind_is_classes(kind) || of_part ? NULL : tide_question_text(question).extra;
}

char *tide_cell_extra(const struct tide_screen *screen, const struct tide_profile *profile,
                      enum tide_group_kind kind, const struct tide_group *group)
{
  char text[TIDE_UNITS_MAX];
  const struct tide_question *question = &profile->question;
  if (!tide_extra_title(question, kind))
    return tide_strdup("");
  if (question->of_pages)
    return tide_pages_extra(screen, profile, group);
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
    return tide_utf8_fit(tide_term(TIDE_TERM_STACK_LOST), width, screen->utf8);
  if (frame->function)
    return tide_shorten_function(frame->function, width, screen->utf8);
  if (!frame->pc)
    return tide_utf8_fit(tide_term(TIDE_TERM_NO_FRAME), width, screen->utf8);
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
  if (frame->flags & TIDE_FRAME_SCOPE)
    return tide_strdup("scope");
  return tide_sprintf("in %s", tide_naming_module(naming, frame));
}
