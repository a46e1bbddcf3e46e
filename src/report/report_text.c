// SPDX-License-Identifier: Apache-2.0
//
// One screen: what happened, the four numbers, who held them, how far to trust it, what next.
#include "report/report.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/capture.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "report/report_cells.h"
#include "report/screen.h"
#include "view/groups.h"
#include "words/completeness_text.h"
#include "words/finding_words.h"
#include "words/heap_words.h"
#include "words/image_text.h"
#include "words/residence_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  NOTES_MAX = 3,
  SPARK_COLUMNS = 24,
  FACT_LABEL = 10,
  FACT_NUMBER = 12,
  FACT_WORDS_LEAST = 20,
};

struct report { // what every part needs
  const struct tide_screen *screen;
  const struct tide_profile *profile;
  const struct tide_image *image;
  struct tide_naming *naming;
  struct tide_groups *groups;
  const struct tide_report_options *options;
  size_t number_columns; // of the facts: none touches its label, and all end in one column
};

// What a number is off by stands in the words beside it.
static const char *bytes_beside(const struct report *r, char out[TIDE_UNITS_MAX],
                                struct tide_amount n)
{
  return tide_units_bytes(out, n, tide_screen_cells(r->screen));
}

static const char *duration(const struct report *r, char out[TIDE_UNITS_MAX], uint64_t time_ns)
{
  return tide_units_time(out, time_ns, r->screen->utf8);
}

// Where the words of a fact begin.
static size_t fact_columns(const struct report *r)
{
  return 2 + FACT_LABEL + r->number_columns + 2;
}

static struct tide_amount pages_amount(const struct tide_image *image)
{
  return tide_image_bytes(image, TIDE_FIGURE_MAPPED, image->page_peak_bytes);
}

static size_t number_columns(const struct report *r)
{
  const struct tide_amount shown[] = {tide_image_peak(r->image), tide_kept_amount(r->profile),
                                      tide_profile_allocated(r->profile, TIDE_UNIT_BYTES),
                                      pages_amount(r->image)};
  size_t most = FACT_NUMBER;
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    char text[TIDE_UNITS_MAX];
    size_t width = 1 + tide_utf8_width(bytes_beside(r, text, shown[i]));
    most = width > most ? width : most;
  }
  return most;
}

// One part of the title after a dot, or on a line of its own where it does not fit any more.
static void write_title_part(const struct report *r, size_t *used, const char *text)
{
  size_t width = 3 + tide_utf8_width(text);
  if (*used + width > r->screen->width) {
    tide_sink_printf(r->screen->sink, "\n  %s", text);
    *used = width - 1;
    return;
  }
  tide_sink_printf(r->screen->sink, "%s%s", tide_screen_dot(r->screen), text);
  *used += width;
}

// "indexer exited 0 in 8.42 s · 14.2 M allocations · overhead ≈ 1.2× and 16.1 MiB"
static void write_title(const struct report *r)
{
  TIDE_CLEANUP_FREE char *before = NULL;
  TIDE_CLEANUP_FREE char *end = NULL;
  struct tide_style style = tide_screen_style(r->screen);
  tide_title_around(r->image, style, false, &before, &end);
  TIDE_CLEANUP_FREE char *count = tide_allocations_words(r->profile, style);
  TIDE_CLEANUP_FREE char *cost = tide_overhead_words(style, r->profile, false);
  size_t used =
      tide_utf8_width(r->options->prefix) + tide_utf8_width(before) + tide_utf8_width(end);
  size_t room = r->screen->width > used + 12 ? r->screen->width - used : 12;
  TIDE_CLEANUP_FREE char *program =
      tide_utf8_fit(tide_image_program(r->image), room, r->screen->utf8);
  used += tide_utf8_width(program);
  tide_sink_printf(r->screen->sink, "%s%s", r->options->prefix, before);
  tide_screen_ink(r->screen, TIDE_INK_STRONG, program);
  tide_sink_text(r->screen->sink, end);
  if (count)
    write_title_part(r, &used, count);
  if (cost)
    write_title_part(r, &used, cost);
  tide_sink_text(r->screen->sink, "\n");
}

// Beside the number, or where only slips of lines would fit there, below it.
static void write_fact_words(const struct report *r, const char *words)
{
  size_t start = fact_columns(r), room = r->screen->width > start ? r->screen->width - start : 0;
  bool below = room < FACT_WORDS_LEAST && tide_utf8_width(words) > room;
  tide_sink_text(r->screen->sink, below ? "\n      " : "  ");
  tide_screen_wrap(r->screen, below ? 6 : start, words);
}

// "  peak heap    412.6 MiB  ", and then the words unless the caller writes its own.
static void write_fact(const struct report *r, const char *label, const char *number,
                       const char *words)
{
  tide_sink_text(r->screen->sink, "  ");
  tide_screen_left(r->screen, TIDE_INK_PLAIN, label, FACT_LABEL);
  tide_screen_right(r->screen, TIDE_INK_STRONG, number, r->number_columns);
  if (words)
    write_fact_words(r, words);
}

static void write_peak(const struct report *r)
{
  char a[TIDE_UNITS_MAX], b[TIDE_UNITS_MAX];
  const struct tide_image *image = r->image;
  const char *bound = tide_units_bound(b, tide_image_peak(image), tide_screen_cells(r->screen));
  write_fact(r, "peak heap", bytes_beside(r, a, tide_image_peak(image)), NULL);
  uint64_t at_ns = image->peak_ns > image->start_ns ? image->peak_ns - image->start_ns : 0;
  struct tide_buf words = {0};
  tide_buf_text(&words, bound);
  if (!(image->lacks & TIDE_LACK_CLOCK))
    tide_buf_printf(&words, "%sat %s", *bound ? " " : "", duration(r, a, at_ns));
  if (image->lacks & TIDE_LACK_BEFORE)
    tide_buf_printf(&words, "%sbeside blocks from before", words.n ? ", " : "");
  if (image->rss_at_peak_bytes)
    tide_buf_printf(
        &words, "  (RSS %s%s)",
        tide_units_bytes(b, tide_image_rss_at_peak(image), tide_screen_style(r->screen)),
        tide_resident_whose(image));
  const char *text = tide_buf_cstr(&words);
  size_t used = fact_columns(r) + tide_utf8_width(text) + 3;
  size_t room = r->screen->width > used ? r->screen->width - used : 0;
  TIDE_CLEANUP_FREE char *spark =
      tide_spark_live(image, room < SPARK_COLUMNS ? room : SPARK_COLUMNS, r->screen->utf8);
  if (used - 3 > r->screen->width) {
    write_fact_words(r, text);
    tide_buf_done(&words);
    return;
  }
  tide_sink_printf(r->screen->sink, "%s%s", *text ? "  " : "", text);
  if (spark && room >= 8) {
    tide_sink_text(r->screen->sink, "   ");
    tide_screen_ink(r->screen, TIDE_INK_CURVE, spark);
  }
  tide_sink_text(r->screen->sink, "\n");
  tide_buf_done(&words);
}

// What the peak of the heap does not tell of the memory that was in use.
static void write_resident(const struct report *r)
{
  char a[TIDE_UNITS_MAX];
  const struct tide_image *image = r->image;
  if (tide_resident_has_untouched(image)) {
    TIDE_CLEANUP_FREE char *words =
        tide_resident_untouched_words(tide_screen_style(r->screen), image);
    write_fact(r, "untouched", bytes_beside(r, a, tide_exact((int64_t)image->untouched_bytes)),
               words);
  }
  if (tide_resident_has_high(image)) {
    TIDE_CLEANUP_FREE char *words = tide_resident_high_words(tide_screen_style(r->screen), image);
    TIDE_CLEANUP_FREE char *all = tide_sprintf(
        "%s%s%s", words, *tide_resident_whose(image) ? "," : "", tide_resident_whose(image));
    write_fact(r, "max RSS", bytes_beside(r, a, tide_exact((int64_t)image->max_rss_bytes)), all);
  }
  TIDE_CLEANUP_FREE char *why = tide_residence_why_words(image, tide_screen_style(r->screen));
  if (why) {
    const struct tide_residence *most = tide_residence_highest(image);
    uint64_t own = most->sum - most->rows[TIDE_RESIDENCE_RECORDER];
    write_fact(r, "RSS", bytes_beside(r, a, tide_exact((int64_t)own)), why);
  }
}

static void write_end(const struct report *r)
{
  char a[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *words = tide_end_fact(r->profile, tide_screen_style(r->screen));
  write_fact(r, tide_image_last_words(r->image), bytes_beside(r, a, tide_kept_amount(r->profile)),
             words);
}

static void write_churn(const struct report *r)
{
  char a[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *words = tide_churn_fact(r->profile, tide_screen_style(r->screen));
  write_fact(r, "churn", bytes_beside(r, a, tide_profile_allocated(r->profile, TIDE_UNIT_BYTES)),
             words);
}

static void write_allocators(const struct report *r)
{
  char n[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *words = tide_allocators_fact(r->image, tide_screen_style(r->screen));
  if (words)
    write_fact(r, r->image->n_allocators > 1 ? "allocators" : "allocator",
               tide_units_digits(n, r->image->n_allocators), words);
}

// Only where the program maps memory itself: it is not heap, but it is in the RSS.
static void write_pages(const struct report *r)
{
  char a[TIDE_UNITS_MAX];
  bool asked = r->profile->question.of_pages;
  if (asked ? !r->image->page_n_map : r->image->page_peak_bytes < TIDE_PAGES_LEAST)
    return;
  TIDE_CLEANUP_FREE char *words = asked ? tide_pages_words(tide_screen_style(r->screen), r->profile)
                                        : tide_pages_fact(r->image, tide_screen_style(r->screen));
  write_fact(r, "own pages", bytes_beside(r, a, pages_amount(r->image)), words);
}

// Only where the program counts something.
static void write_events(const struct report *r)
{
  char n[TIDE_UNITS_MAX];
  if (!r->image->n_events)
    return;
  const char *way = r->image->of_events ? NULL : tide_screen_hint(r->screen, TIDE_HINT_SEE_EVENTS);
  TIDE_CLEANUP_FREE char *words = tide_events_fact(r->image, way);
  write_fact(r, "events", tide_units_plain(n, tide_image_event_sum(r->image).n), words);
}

// What of it can be said, and the way out.
static void write_lead(const struct report *r)
{
  const struct tide_unrecorded *row;
  TIDE_CLEANUP_FREE char *text = tide_roll_lead(r->profile, tide_screen_style(r->screen), &row);
  if (!text)
    return;
  TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
  tide_screen_paragraph(r->screen, TIDE_INK_WARN, "", r->options->prefix, text);
  if (way_out)
    tide_screen_paragraph(r->screen, TIDE_INK_PLAIN, "  ", "way out: ", way_out);
  bool is_shown = tide_image_on_roll(r->profile->capture, r->image) == row;
  if (!is_shown && !tide_image_is_unrecorded(r->image))
    tide_screen_paragraph(r->screen, TIDE_INK_PLAIN, "  ", "", "the largest that was recorded:");
}

// "not recorded: 33 × rustc (jemalloc linked in, 212.0 MiB RSS); tidemark info says more"
static void write_unrecorded(const struct report *r)
{
  TIDE_CLEANUP_FREE char *summary =
      tide_roll_summary(&r->profile->capture->roll, tide_screen_style(r->screen));
  TIDE_CLEANUP_FREE char *lead = tide_roll_lead(r->profile, tide_screen_style(r->screen), NULL);
  if (!summary || (r->profile->capture->roll.n_rows == 1 && lead))
    return;
  TIDE_CLEANUP_FREE char *text = tide_sprintf("%s; tidemark info says more", summary);
  tide_screen_paragraph(r->screen, TIDE_INK_WARN, "  ", "not recorded: ", text);
}

// "complete: every event, 16,204 stacks, none cut, peak exact"
static void write_complete(const struct report *r)
{
  struct tide_completeness_text how =
      tide_completeness_text(r->profile, tide_screen_style(r->screen));
  TIDE_CLEANUP_FREE char *label = tide_sprintf("%s: ", how.label);
  tide_screen_paragraph(r->screen, how.is_warning ? TIDE_INK_WARN : TIDE_INK_PLAIN, "  ", label,
                        how.text);
  free(how.text);
}

// "also: sh (412.0 KiB), cc1 (2.1 MiB), 14 more; --process PID shows one"
static void write_others(const struct report *r)
{
  const struct tide_capture *capture = r->profile->capture;
  const char *way = tide_screen_hint(r->screen, TIDE_HINT_PROCESS);
  TIDE_CLEANUP_FREE char *tail = tide_sprintf("%s%s", way ? "; " : "", way ? way : "");
  struct tide_buf out = {0};
  size_t n_named = 0, n_others = capture->n_images - 1;
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *other = &capture->images[i];
    char text[TIDE_UNITS_MAX];
    if (i == r->profile->image_idx)
      continue;
    TIDE_CLEANUP_FREE char *which = other->pid ? tide_sprintf("%" PRIu32, other->pid)
                                               : tide_sprintf("#%zu", i); // merged: it has none
    TIDE_CLEANUP_FREE char *item = tide_sprintf(
        "%s%s %s (%s)", n_named ? ", " : "", tide_image_program(other), which,
        tide_image_is_unrecorded(other)
            ? "not recorded"
            : tide_units_bytes(text, tide_image_peak(other), tide_screen_style(r->screen)));
    if (8 + out.n + strlen(item) + strlen(", 1234 more") + strlen(tail) > r->screen->width)
      break;
    tide_buf_text(&out, item);
    n_named++;
  }
  if (n_named < n_others)
    tide_buf_printf(&out, "%s%zu %s", n_named ? ", " : "", n_others - n_named,
                    n_named         ? "more"
                    : n_others == 1 ? "other process"
                                    : "other processes");
  tide_buf_text(&out, tail);
  if (capture->n_images_left_out)
    tide_buf_printf(&out, "; %" PRIu32 " smaller ones %s", capture->n_images_left_out,
                    tide_capture_left_out_words(capture));
  if (n_others)
    tide_screen_paragraph(r->screen, TIDE_INK_PLAIN, "  ", "also: ", tide_buf_cstr(&out));
  tide_buf_done(&out);
}

static void write_note(const struct report *r, const char *text)
{
  tide_screen_paragraph(r->screen, TIDE_INK_WARN, "  ", "note: ", text);
}

// Why the rows shown lack names or lines: each module once, the weightiest first. Runtime libraries
// and rows of less than a hundredth are not worth a word.
static void write_naming_notes(const struct report *r)
{
  const char *said[NOTES_MAX];
  size_t n_said = 0;
  int64_t least = r->profile->whole / 100;
  for (size_t i = 0; i < r->groups->n && i < r->options->n_rows && n_said < NOTES_MAX; i++) {
    const struct tide_named_frame *frame = r->groups->items[i].frame;
    bool matters = frame && !frame->file && r->groups->items[i].measure >= least &&
                   !tide_layer_is_folded(frame->layer);
    const char *note = matters ? tide_naming_note(r->naming, frame) : NULL;
    for (size_t k = 0; k < n_said && note; k++)
      note = strcmp(said[k], note) == 0 ? NULL : note;
    if (!note)
      continue;
    said[n_said++] = note;
    write_note(r, note);
  }
}

static void tell_note(void *context, const char *text)
{
  write_note(context, text);
}

static void write_notes(const struct report *r)
{
  TIDE_CLEANUP_FREE char *lead = tide_roll_lead(r->profile, tide_screen_style(r->screen), NULL);
  if (!lead)
    tide_profile_hollow_note(r->profile, tell_note, (void *)r);
  tide_profile_notes(r->profile, false, tell_note, (void *)r);
  write_naming_notes(r);
}

// The first finding, if it says that something should be changed.
static bool has_answer(const struct report *r)
{
  const struct tide_findings *findings = r->options->findings;
  return findings && findings->n && findings->items[0].confidence > TIDE_CONFIDENCE_LOW;
}

static void write_answer(const struct report *r)
{
  if (!has_answer(r))
    return;
  const struct tide_finding *first = &r->options->findings->items[0];
  TIDE_CLEANUP_FREE char *text =
      tide_finding_sentence(first, r->naming, tide_screen_style(r->screen));
  TIDE_CLEANUP_FREE char *all = tide_sprintf("%s %s", text, tide_finding_advice(first));
  tide_screen_paragraph(r->screen, TIDE_INK_PLAIN, "  ", "finding: ", all);
}

static void write_saved(const struct report *r)
{
  char text[TIDE_UNITS_MAX];
  if (!r->options->saved)
    return;
  TIDE_CLEANUP_FREE char *path = tide_utf8_clean(r->options->saved, r->screen->utf8);
  tide_sink_printf(r->screen->sink, "  saved %s (%s)\n", path,
                   bytes_beside(r, text, tide_exact((int64_t)r->options->saved_bytes)));
}

// As many commands as fit on the line.
static void write_commands(const struct report *r, const enum tide_hint *hints, size_t n_hints)
{
  if (!r->screen->hints)
    return;
  const char *argument = r->options->argument ? r->options->argument : "";
  size_t used = strlen("  next: ");
  tide_sink_text(r->screen->sink, "  next: ");
  for (size_t i = 0, n = 0; i < n_hints; i++) {
    const char *command = tide_screen_hint(r->screen, hints[i]);
    if (!command)
      continue;
    size_t width = 2 + strlen(command) + (*argument ? 1 + tide_utf8_width(argument) : 0);
    if (n && used + 2 + width > r->screen->width)
      continue;
    const char *gap = n ? "    " : used + width > r->screen->width ? "\n  " : " ";
    tide_sink_printf(r->screen->sink, "%s%s%s%s", gap, command, *argument ? " " : "", argument);
    used += width + (n ? 2 : 0);
    n++;
  }
  tide_sink_text(r->screen->sink, "\n");
}

static void write_pages_next(const struct report *r)
{
  const enum tide_hint hints[] = {
      r->image->page_n_map ? TIDE_HINT_SEE_TREE_OF_PAGES : TIDE_HINT_NONE,
      TIDE_HINT_SEE_REPORT,
      TIDE_HINT_SEE_INFO,
  };
  write_commands(r, hints, sizeof hints / sizeof *hints);
}

static void write_events_next(const struct report *r)
{
  static const enum tide_hint hints[] = {TIDE_HINT_SEE_TREE_OF_EVENTS, TIDE_HINT_SEE_REPORT,
                                         TIDE_HINT_SEE_EXPORT_OF_EVENTS, TIDE_HINT_SEE_INFO};
  write_commands(r, hints, sizeof hints / sizeof *hints);
}

// The questions this capture raises first.
static void write_next(const struct report *r)
{
  const struct tide_numbers *totals = &r->profile->totals;
  const struct tide_question *question = &r->profile->question;
  enum tide_measure measure = question->measure;
  bool whole_run = !question->window.from.given && !question->window.to.given;
  int64_t kept = tide_profile_kept(r->profile, TIDE_UNIT_BYTES);
  bool leaky = kept > 0 && kept >= r->image->peak_bytes / 20 &&
               tide_measure_is_held(r->image, TIDE_MEASURE_LEAK);
  bool churning = totals->n_temp && totals->n_temp * 5 >= totals->n_alloc &&
                  tide_measure_is_held(r->image, TIDE_MEASURE_TEMP);
  bool any = totals->n_alloc > 0;
  bool more_pages = r->image->page_peak_bytes >= TIDE_PAGES_LEAST &&
                    r->image->page_peak_bytes > r->image->peak_bytes;
  bool is_all = whole_run && measure == TIDE_MEASURE_TOTAL;
  enum tide_hint none = TIDE_HINT_NONE, tree = TIDE_HINT_SEE_TREE + measure;
  enum tide_hint diff = r->options->argument ? TIDE_HINT_SEE_DIFF_WITH : TIDE_HINT_SEE_DIFF;
  const struct tide_findings *findings = r->options->findings;
  const enum tide_hint hints[] = {
      has_answer(r) && findings->n > 1 ? TIDE_HINT_SEE_FINDINGS : none,
      more_pages ? TIDE_HINT_SEE_PAGES : none,
      r->options->has_page ? TIDE_HINT_SEE_PAGE : none,
      measure != TIDE_MEASURE_PEAK ? TIDE_HINT_SEE_REPORT : none,
      leaky && measure != TIDE_MEASURE_LEAK ? TIDE_HINT_SEE_LEAKS : none,
      churning && measure != TIDE_MEASURE_TEMP ? TIDE_HINT_SEE_TEMPORARY : none,
      any && whole_run ? tree : none,
      any ? diff : none,
      any && !is_all ? TIDE_HINT_SEE_TOTAL : none,
      TIDE_HINT_SEE_INFO,
      TIDE_HINT_SEE_EXPORT,
  };
  write_commands(r, hints, sizeof hints / sizeof *hints);
}

static void write_heap(const struct report *r, struct tide_view *view)
{
  if (tide_profile_has_heap(r->profile)) {
    if (tide_measure_is_held(r->image, TIDE_MEASURE_PEAK))
      write_peak(r);
    write_resident(r);
    if (tide_measure_is_held(r->image, TIDE_MEASURE_LIVE))
      write_end(r);
    if (tide_measure_is_held(r->image, TIDE_MEASURE_TOTAL) && !r->image->of_events)
      write_churn(r);
  } else {
    tide_sink_printf(r->screen->sink, "  %s\n", tide_no_heap_words(r->profile));
  }
  write_pages(r);
  write_events(r);
  if (tide_profile_has_heap(r->profile))
    write_allocators(r);
  if (tide_profile_has_heap(r->profile) && (!r->image->is_part || r->profile->n_sites))
    tide_report_table_write(r->screen, view, r->groups, r->options);
  write_complete(r);
}

// What is said of a complete recording is said of the heap's events.
static void write_own_pages(const struct report *r, struct tide_view *view)
{
  write_pages(r);
  if (r->profile->whole)
    tide_report_table_write(r->screen, view, r->groups, r->options);
  else
    tide_screen_paragraph(r->screen, TIDE_INK_PLAIN, "  ", "", tide_pages_nothing(r->profile));
  if (!tide_profile_is_complete(r->profile))
    write_complete(r);
}

void tide_report_write(const struct tide_screen *screen, struct tide_view *view,
                       const struct tide_report_options *options)
{
  const struct tide_profile *profile = view->profile;
  struct tide_groups *groups = tide_groups_new(view, options->group);
  if (options->details || profile->question.measure == TIDE_MEASURE_LEAK)
    tide_groups_tell_fates(groups, profile->image, groups->n);
  struct report r = {screen, profile, profile->image, view->naming, groups, options, 0};
  r.number_columns = number_columns(&r);
  write_lead(&r);
  write_title(&r);
  if (tide_image_is_unrecorded(r.image))
    write_complete(&r); // it is about what was not recorded
  else if (profile->question.of_pages)
    write_own_pages(&r, view);
  else
    write_heap(&r, view);
  write_unrecorded(&r);
  write_others(&r);
  write_notes(&r);
  write_answer(&r);
  write_saved(&r);
  if (profile->question.of_pages)
    write_pages_next(&r);
  else if (r.image->of_events)
    write_events_next(&r);
  else if (!tide_image_is_unrecorded(r.image))
    write_next(&r);
  tide_groups_free(groups);
}
