// SPDX-License-Identifier: Apache-2.0
//
// Words for changes. A change is told by a sign; colour only repeats it.
#include "report/diff_cells.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "report/report_cells.h"
#include "view/terms.h"

#include <stdlib.h>

size_t tide_diff_rows(const struct tide_diff *diff, const struct tide_diff_options *options)
{
  return options->all ? diff->n : tide_diff_shown(diff, options->n_places, options->min_change);
}

static const char *size_text(char out[TIDE_UNITS_MAX], const struct tide_screen *screen,
                             enum tide_unit unit, struct tide_amount amount)
{
  int64_t value = amount.value;
  amount.value = value == INT64_MIN ? INT64_MAX : llabs(value);
  return unit == TIDE_UNIT_BLOCKS ? tide_units_count(out, amount, tide_screen_cells(screen))
                                  : tide_units_bytes(out, amount, tide_screen_cells(screen));
}

static char *with_sign(const struct tide_screen *screen, enum tide_unit unit,
                       struct tide_amount change, const char *more, const char *less)
{
  char text[TIDE_UNITS_MAX];
  bool is_known = change.exactness != TIDE_UNKNOWN;
  const char *sign = is_known && change.value > 0 ? more : is_known && change.value < 0 ? less : "";
  return tide_sprintf("%s%s", sign, size_text(text, screen, unit, change));
}

char *tide_diff_cell_change(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount change)
{
  return with_sign(screen, unit, change, tide_term_in(TIDE_TERM_MORE, screen->utf8),
                   tide_term_in(TIDE_TERM_LESS, screen->utf8));
}

char *tide_diff_cell_signed(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount change)
{
  return with_sign(screen, unit, change, "+", "-");
}

char *tide_diff_cell_amount(const struct tide_screen *screen, enum tide_unit unit,
                            struct tide_amount amount)
{
  return with_sign(screen, unit, amount, "", "-");
}

char *tide_diff_cell_side(const struct tide_screen *screen, const struct tide_view *side,
                          enum tide_unit unit, int64_t value)
{
  struct tide_amount amount = tide_diff_side_amount(side, unit, value);
  if (!value && amount.exactness != TIDE_UNKNOWN)
    return tide_strdup(tide_term_in(TIDE_TERM_NOTHING, screen->utf8));
  return tide_diff_cell_amount(screen, unit, amount);
}

struct tide_amount tide_diff_side_amount(const struct tide_view *side, enum tide_unit unit,
                                         int64_t value)
{
  struct tide_question question = side->profile->question;
  question.unit = unit;
  question.at_least = false; // what is compared says it
  return tide_question_amount(side->profile->image, &question, value);
}

struct tide_amount tide_diff_change_amount(const struct tide_diff *diff, enum tide_unit unit,
                                           int64_t change)
{
  return tide_amount_of_two(change, tide_diff_side_amount(diff->before, unit, 0),
                            tide_diff_side_amount(diff->after, unit, 0));
}

char *tide_diff_cell_name(const struct tide_screen *screen, const struct tide_diff *diff,
                          const struct tide_diff_place *place, size_t width)
{
  const struct tide_naming *naming;
  const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
  const struct tide_style style = tide_screen_style(screen);
  if (tide_group_kind_is_classes(diff->group) && !place->row.several) {
    TIDE_CLEANUP_FREE char *label =
        tide_group_label(diff->after->profile, diff->group, &place->row, style);
    return tide_utf8_fit(label, width, screen->utf8);
  }
  if (place->label)
    return tide_utf8_fit(place->label, width, screen->utf8);
  if (place->is_module)
    return tide_utf8_fit(tide_term(TIDE_TERM_NO_NAMES), width, screen->utf8);
  if (place->kind == TIDE_DIFF_NOWHERE)
    return tide_utf8_fit(tide_term(TIDE_TERM_NO_FRAME), width, screen->utf8);
  return tide_cell_name(screen, naming, frame, width);
}

char *tide_diff_cell_location(const struct tide_diff *diff, const struct tide_diff_place *place)
{
  const struct tide_naming *naming;
  const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
  return place->label ? tide_strdup("") : tide_cell_location(naming, frame);
}

char *tide_diff_cell_rest(const struct tide_screen *screen, const struct tide_diff *diff,
                          size_t n_shown, int64_t min_change)
{
  char count[TIDE_UNITS_MAX], least[TIDE_UNITS_MAX];
  size_t n_same = diff->counts[TIDE_CHANGE_NONE], n_more = diff->n - n_same - n_shown;
  if (!n_more)
    return tide_sprintf("in %s unchanged %s%s", tide_units_plain(count, n_same),
                        tide_diff_row_word(diff), n_same == 1 ? "" : "s");
  bool small = min_change > 0 && tide_diff_shown(diff, n_shown + 1, min_change) == n_shown;
  struct tide_buf out = {0};
  tide_buf_printf(&out, "in %s ", tide_units_plain(count, n_more));
  if (small)
    tide_buf_printf(
        &out, "below %s",
        tide_units_bytes(least, tide_exact((int64_t)min_change), tide_screen_style(screen)));
  else
    tide_buf_text(&out, "more");
  if (n_same)
    tide_buf_printf(&out, ", %s unchanged", tide_units_plain(count, n_same));
  else
    tide_buf_printf(&out, " %s%s", tide_diff_row_word(diff), n_more == 1 ? "" : "s");
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

bool tide_diff_has_open(const struct tide_diff *diff)
{
  return diff->open.before.bytes || diff->open.after.bytes;
}

const char *tide_diff_open_words(const struct tide_diff *diff)
{
  bool is_part = diff->before->profile->image->is_part || diff->after->profile->image->is_part;
  return is_part ? "no longer in the file" : "between threads, at the peak";
}
