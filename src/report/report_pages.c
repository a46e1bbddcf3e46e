// SPDX-License-Identifier: Apache-2.0
//
// A stack's own maximum is known, but not what it had when most was mapped: so shares are of the
// sum of the maxima, and that is said.
#include "report/report_pages.h"

#include "base/alloc.h"

#define NOTHING "the program mapped no memory itself"
#define ALL_UNMAPPED "all that the program mapped itself was unmapped"

static const struct tide_question_text in_bytes[TIDE_MEASURES_N] = {
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
static const struct tide_question_text in_blocks[TIDE_MEASURES_N] = {
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
  return &(bytes ? in_bytes : in_blocks)[question->measure];
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

char *tide_pages_extra(const struct tide_screen *screen, const struct tide_question *question,
                       const struct tide_group *group)
{
  char text[TIDE_UNITS_MAX];
  bool bytes = question->unit == TIDE_UNIT_BYTES;
  bool at_end = question->measure == TIDE_MEASURE_LIVE || question->measure == TIDE_MEASURE_LEAK;
  struct tide_buf out = {0};
  if (question->measure != TIDE_MEASURE_PEAK)
    add_text(&out, tide_units_bytes(text, tide_exact((int64_t)group->high_bytes),
                                    tide_screen_style(screen)));
  if (!bytes || !at_end)
    add_text(&out, tide_units_bytes(text, tide_exact((int64_t)group->live_bytes),
                                    tide_screen_style(screen)));
  if (!bytes || question->measure != TIDE_MEASURE_TOTAL)
    add_text(&out, tide_units_bytes(text, tide_exact((int64_t)group->b_alloc),
                                    tide_screen_style(screen)));
  if (bytes)
    add_text(&out, tide_units_plain(text, group->n_alloc));
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

char *tide_pages_words(const struct tide_screen *screen, const struct tide_profile *profile)
{
  char end[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX], maps[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE char *stacks = from_stacks(profile);
  return tide_sprintf(
      "%s; %s at the end, %s in %s %s%s in all",
      tide_image_is_merged(image) ? "the sum of what each process had at most" : "at most at once",
      tide_units_bytes(end, tide_exact((int64_t)image->page_live_bytes), tide_screen_style(screen)),
      tide_units_bytes(all, tide_exact((int64_t)image->page_b_map), tide_screen_style(screen)),
      tide_units_plain(maps, image->page_n_map), image->page_n_map == 1 ? "mapping" : "mappings",
      stacks);
}

const char *tide_pages_nothing(const struct tide_profile *profile)
{
  if (profile->image->is_part)
    return "no stack that mapped memory is left in the file";
  return tide_pages_question_text(&profile->question)->nothing;
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
