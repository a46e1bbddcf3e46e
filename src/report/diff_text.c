// SPDX-License-Identifier: Apache-2.0
//
// The two sides, how their main numbers compare, the places that changed, what to beware of.
#include "report/diff.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/image_sums.h"
#include "report/diff_cells.h"
#include "report/report_cells.h"
#include "view/terms.h"
#include "words/image_text.h"
#include "words/question_words.h"

#include <stdlib.h>
#include <string.h>

enum { NOTES_MAX = 3 };

struct page { // what every part needs
  const struct tide_screen *screen;
  const struct tide_diff *diff;
  const struct tide_diff_options *options;
  const struct tide_profile *before, *after;
  bool is_one_run; // two moments of it
};

static size_t room_left(size_t width, size_t used)
{
  return width > used + 12 ? width - used : 12;
}

// Of a part of two runs, below each: "from 202 ms to 404 ms (as seen at 406 ms)".
static void write_window(const struct page *p, const struct tide_question *question)
{
  const struct tide_window *window = &question->window;
  const char *until = question->measure == TIDE_MEASURE_TOTAL ? "until" : "at";
  if (p->is_one_run || !window->to.given)
    return;
  TIDE_CLEANUP_FREE char *to = tide_point_words(&window->to, p->screen->utf8);
  TIDE_CLEANUP_FREE char *from =
      window->from.given ? tide_point_words(&window->from, p->screen->utf8) : NULL;
  TIDE_CLEANUP_FREE char *words =
      from ? tide_sprintf("from %s to %s", from, to) : tide_sprintf("%s %s", until, to);
  tide_screen_paragraph(p->screen, TIDE_INK_FAINT, "        ", "", words);
}

// "before  build/before.tide  indexer 12000", or the moment of the one run.
static void write_side(const struct page *p, const char *label, const char *file,
                       const struct tide_profile *profile)
{
  const struct tide_screen *screen = p->screen;
  size_t before = tide_utf8_width(p->options->before_file);
  size_t after = tide_utf8_width(p->options->after_file);
  size_t columns = before > after ? before : after;
  if (columns > room_left(screen->width, 28))
    columns = room_left(screen->width, 28);
  TIDE_CLEANUP_FREE char *path = tide_utf8_fit(file, columns, screen->utf8);
  TIDE_CLEANUP_FREE char *words = p->is_one_run
                                      ? tide_point_words(&profile->question.window.to, screen->utf8)
                                      : tide_image_command(profile->image);
  size_t used = 8 + columns + 2;
  TIDE_CLEANUP_FREE char *rest = tide_utf8_fit(words, room_left(screen->width, used), screen->utf8);
  tide_screen_left(screen, TIDE_INK_STRONG, label, 8);
  tide_screen_left(screen, TIDE_INK_PLAIN, path, columns + 2);
  tide_screen_ink(screen, TIDE_INK_FAINT, rest);
  tide_sink_text(screen->sink, "\n");
  write_window(p, &profile->question);
}

enum { FACT_LABEL = 11, FACT_AMOUNT = 11 };

// "  peak heap     25.1 MiB  →    7.4 MiB  ▼ 17.7 MiB  (70.6 %)", on two lines where that does not
// fit.
static void write_fact(const struct page *p, const char *label, enum tide_unit unit,
                       struct tide_amount before, struct tide_amount after, size_t amount)
{
  const struct tide_screen *screen = p->screen;
  int64_t change = tide_number_change(before.value, after.value);
  int64_t size = change == INT64_MIN ? INT64_MAX : llabs(change);
  struct tide_amount by = tide_amount_of_two(change, before, after);
  char percent[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *old = tide_diff_cell_amount(screen, unit, before);
  TIDE_CLEANUP_FREE char *new = tide_diff_cell_amount(screen, unit, after);
  TIDE_CLEANUP_FREE char *sign = tide_diff_cell_change(screen, unit, by);
  TIDE_CLEANUP_FREE char *share =
      change && before.value > 0
          ? tide_sprintf("  (%s)", tide_units_share(percent, tide_amount_like(by, size),
                                                    before.value, tide_screen_cells(screen)))
          : tide_strdup("");
  const char *how = change ? sign : tide_term(TIDE_TERM_UNCHANGED),
             *arrow = tide_screen_arrow(screen);
  tide_sink_text(screen->sink, "  ");
  tide_screen_left(screen, TIDE_INK_PLAIN, label, FACT_LABEL);
  size_t columns =
      2 + FACT_LABEL + 2 * amount + 2 + tide_utf8_width(arrow) + 2 + tide_utf8_width(how);
  if (columns + tide_utf8_width(share) > screen->width) {
    tide_sink_printf(screen->sink, "  %s %s %s\n%15s", old, arrow, new, "");
    tide_screen_ink(screen, tide_diff_ink(change), how);
    tide_sink_printf(screen->sink, "%s\n", share);
    return;
  }
  tide_screen_right(screen, TIDE_INK_PLAIN, old, amount);
  tide_sink_printf(screen->sink, "  %s", arrow);
  tide_screen_right(screen, TIDE_INK_STRONG, new, amount);
  tide_sink_text(screen->sink, "  ");
  tide_screen_ink(screen, tide_diff_ink(change), how);
  tide_sink_printf(screen->sink, "%s\n", share);
}

static bool shows_peaks(const struct page *p)
{
  return !((p->before->image->lacks | p->after->image->lacks) & TIDE_LACK_PEAK);
}

// What the widest of the facts takes: no number touches its label or the arrow.
static size_t amount_columns(const struct page *p)
{
  size_t most = FACT_AMOUNT;
  for (int side = 0; side < 2; side++) {
    const struct tide_profile *of = side ? p->after : p->before;
    const struct tide_amount shown[] = {tide_image_peak(of->image),
                                        tide_profile_live(of, TIDE_UNIT_BYTES),
                                        tide_profile_allocated(of, TIDE_UNIT_BYTES)};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
      TIDE_CLEANUP_FREE char *text = tide_diff_cell_amount(p->screen, TIDE_UNIT_BYTES, shown[i]);
      size_t width = 1 + tide_utf8_width(text);
      most = width > most ? width : most;
    }
  }
  return most;
}

static void write_facts(const struct page *p)
{
  if (p->is_one_run)
    return;
  uint32_t lacks = p->before->image->lacks | p->after->image->lacks;
  size_t amount = amount_columns(p);
  bool of_events = p->after->image->of_events;
  if (shows_peaks(p))
    write_fact(p, "peak heap", TIDE_UNIT_BYTES, tide_image_peak(p->before->image),
               tide_image_peak(p->after->image), amount);
  if (!(lacks & TIDE_LACK_LIVE))
    write_fact(p, "at the end", TIDE_UNIT_BYTES, tide_profile_live(p->before, TIDE_UNIT_BYTES),
               tide_profile_live(p->after, TIDE_UNIT_BYTES), amount);
  if (!(lacks & TIDE_LACK_TOTAL))
    write_fact(p, of_events ? "weight" : "allocated", TIDE_UNIT_BYTES,
               tide_profile_allocated(p->before, TIDE_UNIT_BYTES),
               tide_profile_allocated(p->after, TIDE_UNIT_BYTES), amount);
  if (!(lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS)))
    write_fact(p, of_events ? "events" : "allocations", TIDE_UNIT_BLOCKS,
               tide_profile_allocated(p->before, TIDE_UNIT_BLOCKS),
               tide_profile_allocated(p->after, TIDE_UNIT_BLOCKS), amount);
}

// "2 added (▲ 1.2 MiB), 1 gone (▼ 64 B), 6 unchanged"
static void write_tally(const struct page *p)
{
  enum tide_unit unit = p->after->question.unit;
  struct tide_buf out = {0};
  for (int kind = 0; kind < TIDE_CHANGE_NONE; kind++) {
    char count[TIDE_UNITS_MAX];
    if (!p->diff->counts[kind])
      continue;
    TIDE_CLEANUP_FREE char *change = tide_diff_cell_change(
        p->screen, unit, tide_diff_change_amount(p->diff, unit, p->diff->sums[kind]));
    tide_buf_printf(&out, "%s%s %s (%s)", out.n ? ", " : "",
                    tide_units_plain(count, p->diff->counts[kind]), tide_change_words[kind],
                    change);
  }
  TIDE_CLEANUP_FREE char *label = tide_sprintf("%ss: ", tide_diff_row_word(p->diff));
  if (out.n)
    tide_screen_paragraph(p->screen, TIDE_INK_PLAIN, "  ", label, tide_buf_cstr(&out));
  tide_buf_done(&out);
}

static void write_note(const struct page *p, const char *text)
{
  tide_screen_paragraph(p->screen, TIDE_INK_WARN, "  ", "note: ", text);
}

static void write_pair_notes(const struct page *p)
{
  char *notes[TIDE_DIFF_PAIR_NOTES_MAX];
  size_t n =
      tide_diff_pair_notes(p->before->image, p->after->image, tide_screen_style(p->screen), notes);
  for (size_t i = 0; i < n; i++) {
    write_note(p, notes[i]);
    free(notes[i]);
  }
}

static void write_completeness_note(const struct page *p, const char *side,
                                    const struct tide_profile *profile)
{
  TIDE_CLEANUP_FREE char *note = tide_diff_side_note(profile, tide_screen_style(p->screen));
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s: %s", side, note ? note : "");
  if (note)
    write_note(p, text);
}

// Why places shown lack names or lines, each reason once. A side that lost its names matches
// nothing, and the reader should know why.
static void write_naming_notes(const struct page *p, size_t n_shown)
{
  const char *said[NOTES_MAX];
  size_t n_said = 0;
  for (size_t i = 0; i < 2 * n_shown && n_said < NOTES_MAX; i++) {
    const struct tide_diff_place *place = &p->diff->places[i / 2];
    const struct tide_named_frame *frame = i % 2 ? place->after_frame : place->before_frame;
    bool matters = frame && !frame->file && !tide_layer_is_folded(frame->layer);
    struct tide_naming *naming = i % 2 ? p->diff->after->naming : p->diff->before->naming;
    const char *note = matters ? tide_naming_note(naming, frame) : NULL;
    for (size_t k = 0; k < n_said && note; k++)
      note = strcmp(said[k], note) == 0 ? NULL : note;
    if (!note)
      continue;
    said[n_said++] = note;
    TIDE_CLEANUP_FREE char *text = tide_sprintf("%s: %s", i % 2 ? "after" : "before", note);
    write_note(p, text);
  }
}

void tide_diff_text_write(const struct tide_screen *screen, const struct tide_diff *diff,
                          const struct tide_diff_options *options)
{
  const struct page page = {
      .screen = screen,
      .diff = diff,
      .options = options,
      .before = diff->before->profile,
      .after = diff->after->profile,
      .is_one_run = tide_diff_is_one_run(diff),
  };
  write_side(&page, "before", options->before_file, page.before);
  write_side(&page, "after", options->after_file, page.after);
  write_facts(&page);
  tide_diff_table_write(screen, diff, options);
  write_tally(&page);
  if (page.is_one_run) {
    write_completeness_note(&page, "the run", page.after);
  } else {
    write_pair_notes(&page);
    write_completeness_note(&page, "before", page.before);
    write_completeness_note(&page, "after", page.after);
  }
  write_naming_notes(&page, tide_diff_rows(diff, options));
}
