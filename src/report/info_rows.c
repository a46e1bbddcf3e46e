// SPDX-License-Identifier: Apache-2.0
//
// Each row is there only where there is something to say in it.
#include "report/info.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "model/image_sums.h"
#include "profile/completeness.h"
#include "report/report_cells.h"
#include "words/heap_words.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static void add_row(struct tide_info_rows *rows, const char *label, const char *text)
{
  TIDE_GROW(rows->items, rows->n, rows->cap);
  rows->items[rows->n++] = (struct tide_info_row){label, tide_strdup(text)};
}

void tide_info_rows_done(struct tide_info_rows *rows)
{
  for (size_t i = 0; i < rows->n; i++)
    free(rows->items[i].text);
  free(rows->items);
}

// ---- the capture ----

// "4.10 s of all its processes, of which the recorder took about 1.00 s; tidemark 50.0 ms"
static void add_cost(struct tide_info_rows *rows, const struct tide_capture *capture)
{
  char all[TIDE_UNITS_MAX], ours[TIDE_UNITS_MAX], own[TIDE_UNITS_MAX];
  const struct tide_cost *cost = &capture->cost;
  if (!capture->has_cost)
    return;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s of all its processes, of which the recorder took about %s; tidemark %s",
                   tide_units_time(all, cost->cpu_ns, rows->style.utf8),
                   tide_units_time(ours, cost->recorder_ns, rows->style.utf8),
                   tide_units_time(own, cost->supervisor_ns, rows->style.utf8));
  add_row(rows, "CPU time", text);
}

static void add_recorded(struct tide_info_rows *rows, const struct tide_capture *capture)
{
  char length[TIDE_UNITS_MAX], when[64] = "at an unknown time";
  time_t start = (time_t)(capture->start_realtime_ns / 1000000000);
  struct tm local;
  if (capture->start_realtime_ns && localtime_r(&start, &local))
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &local);
  const char *version = capture->tool_version ? capture->tool_version : "of unknown version";
  TIDE_CLEANUP_FREE char *recorded =
      tide_sprintf("%s, %s, by tidemark %s", when,
                   tide_units_time(length, capture->duration_ns, rows->style.utf8), version);
  TIDE_CLEANUP_FREE char *machine =
      tide_sprintf("%s, %s, %s", capture->hostname ? capture->hostname : "unknown",
                   tide_capture_arch(capture), capture->kernel ? capture->kernel : "unknown");
  add_row(rows, "recorded", recorded);
  add_row(rows, "machine", machine);
}

void tide_info_add_capture(struct tide_info_rows *rows, const struct tide_capture *capture)
{
  const char *origin = capture->n_images ? capture->images[0].origin : NULL;
  if (origin)
    add_row(rows, "read from", origin);
  else
    add_recorded(rows, capture);
  add_cost(rows, capture);
}

// ---- an image ----

static void add_ran(struct tide_info_rows *rows, const struct tide_image *image)
{
  char from[TIDE_UNITS_MAX], length[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *end = tide_image_end_words(image);
  struct tide_buf text = {0};
  tide_units_time(length, image->end_ns - image->start_ns, rows->style.utf8);
  if (tide_image_is_merged(image))
    tide_buf_printf(&text, "several processes, for %s at most, %s", length, end);
  else if (image->end_kind == TIDE_END_DETACHED)
    tide_buf_printf(&text, "before and after; recorded for %s, then let go", length);
  else
    tide_buf_printf(&text, "from %s for %s, %s",
                    tide_units_time(from, image->start_ns, rows->style.utf8), length, end);
  if (image->parent_image)
    tide_buf_printf(&text, "; %s #%" PRIu32, image->by_fork ? "forked from" : "came of",
                    image->parent_image - 1);
  add_row(rows, "ran", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// "1 stack", "1,204 stacks"
static void put_amount(struct tide_buf *text, const char *before, struct tide_amount n,
                       struct tide_style style, const char *noun)
{
  char number[TIDE_UNITS_MAX];
  tide_buf_printf(text, "%s%s %s%s", before, tide_units_count(number, n, style), noun,
                  n.value == 1 ? "" : "s");
}

static void put_count(struct tide_buf *text, const char *before, uint64_t n, const char *noun)
{
  put_amount(text, before, tide_exact((int64_t)n), TIDE_STYLE_PLAIN, noun);
}

static struct tide_amount allocated_bytes(const struct tide_image *image, uint64_t bytes)
{
  return tide_image_bytes(image, TIDE_FIGURE_ALLOCATED, (int64_t)bytes);
}

static struct tide_amount allocated_blocks(const struct tide_image *image, uint64_t blocks)
{
  return tide_image_blocks(image, TIDE_FIGURE_ALLOCATED, (int64_t)blocks);
}

// "peak 412.6 MiB, 14.2 M allocations, 9.7 GiB in all", as far as the image holds it.
static void add_heap(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  char number[TIDE_UNITS_MAX];
  struct tide_style style = rows->style;
  struct tide_buf text = {0};
  if (!(image->lacks & TIDE_LACK_PEAK))
    tide_buf_printf(&text, "peak %s", tide_units_bytes(number, tide_image_peak(image), style));
  if (!(image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS)))
    put_amount(&text, text.n ? ", " : "", tide_profile_allocated(profile, TIDE_UNIT_BLOCKS), style,
               "allocation");
  if (!(image->lacks & TIDE_LACK_TOTAL))
    tide_buf_printf(
        &text, "%s%s in all", text.n ? ", " : "",
        tide_units_bytes(number, tide_profile_allocated(profile, TIDE_UNIT_BYTES), style));
  if (tide_profile_has_end(profile)) {
    const char *when = image->origin || (profile->capture->finished && !profile->capture->taken)
                           ? "at the end"
                           : "when last seen";
    struct tide_amount live = tide_profile_live(profile, TIDE_UNIT_BYTES);
    tide_buf_printf(&text, "%s%s live %s", text.n ? ", " : "",
                    tide_units_bytes(number, live, style), when);
  }
  if (text.n)
    add_row(rows, "heap", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// "RSS 151.3 MiB at the peak of the heap; 160.0 MiB at 2.10 s, when the heap held 13.0 MiB"
static void add_resident(struct tide_info_rows *rows, const struct tide_image *image)
{
  char number[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  if (image->rss_at_peak_bytes)
    tide_buf_printf(&text, "%s at the peak of the heap",
                    tide_units_bytes(number, tide_image_rss_at_peak(image), rows->style));
  if (image->max_rss_bytes) {
    TIDE_CLEANUP_FREE char *words = tide_resident_high_words(rows->style, image);
    tide_buf_printf(
        &text, "%shighest %s%s %s", text.n ? "; " : "",
        tide_units_bytes(number, tide_exact((int64_t)image->max_rss_bytes), rows->style),
        tide_image_is_merged(image) ? ":" : "", words);
  }
  if (text.n && *tide_resident_whose(image))
    tide_buf_printf(&text, ",%s", tide_resident_whose(image));
  if (text.n)
    add_row(rows, "RSS", tide_buf_cstr(&text));
  text.n = 0;
  if (tide_resident_has_untouched(image)) {
    TIDE_CLEANUP_FREE char *words = tide_resident_untouched_words(rows->style, image);
    tide_buf_printf(
        &text, "%s %s",
        tide_units_bytes(number, tide_exact((int64_t)image->untouched_bytes), rows->style), words);
    add_row(rows, "untouched", tide_buf_cstr(&text));
  }
  text.n = 0;
  if (image->recorder_rss_bytes) {
    tide_buf_printf(
        &text, "%s of memory beside the program's own, in none of its numbers",
        tide_units_bytes(number, tide_exact((int64_t)image->recorder_rss_bytes), rows->style));
    add_row(rows, "recorder", tide_buf_cstr(&text));
  }
  tide_buf_done(&text);
}

// "14.2 M of 9.6 GiB, 12 of them by another thread"
static void add_frees(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  char n[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  if (image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_LIVE | TIDE_LACK_BLOCKS) ||
      !profile->totals.n_free)
    return;
  tide_buf_printf(
      &text, "%s of %s",
      tide_units_count(n, allocated_blocks(image, profile->totals.n_free), rows->style),
      tide_units_bytes(size, allocated_bytes(image, profile->totals.b_free), rows->style));
  if (!(image->lacks & TIDE_LACK_THREADS) && profile->totals.n_foreign)
    tide_buf_printf(
        &text, ", %s of them by another thread",
        tide_units_count(n, allocated_blocks(image, profile->totals.n_foreign), rows->style));
  add_row(rows, "frees", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// "12,000, of which 300 moved", "2.1 M blocks of 12.0 MiB"
static void add_deeds(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  const struct tide_numbers *totals = &profile->totals;
  char n[TIDE_UNITS_MAX], other[TIDE_UNITS_MAX];
  add_frees(rows, profile);
  if (!(image->lacks & TIDE_LACK_RESIZES) && totals->n_resize) {
    TIDE_CLEANUP_FREE char *text = tide_sprintf(
        "%s, of which %s moved",
        tide_units_count(n, allocated_blocks(image, totals->n_resize), rows->style),
        tide_units_count(other, allocated_blocks(image, totals->n_moved), rows->style));
    add_row(rows, "resizes", text);
  }
  if (!(image->lacks & (TIDE_LACK_TEMP | TIDE_LACK_BLOCKS)) && totals->n_temp) {
    struct tide_buf text = {0};
    put_amount(&text, "", allocated_blocks(image, totals->n_temp), rows->style, "block");
    if (image->has_temp_bytes)
      tide_buf_printf(&text, " of %s",
                      tide_units_bytes(other, allocated_bytes(image, totals->b_temp), rows->style));
    add_row(rows, "temporary", tide_buf_cstr(&text));
    tide_buf_done(&text);
  }
}

static void add_pages(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  char most[TIDE_UNITS_MAX];
  const struct tide_image *image = profile->image;
  if (!image->page_n_map)
    return;
  TIDE_CLEANUP_FREE char *words = tide_pages_words(rows->style, profile);
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "%s %s", tide_units_bytes(most, tide_exact((int64_t)image->page_peak_bytes), rows->style),
      words);
  add_row(rows, "own pages", text);
}

static void add_held(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  struct tide_buf text = {0};
  put_count(&text, "", profile->n_stacks, "stack");
  put_count(&text, " of ", image->n_frames ? image->n_frames - 1 : 0, "frame");
  if (!(image->lacks & TIDE_LACK_THREADS)) {
    put_count(&text, ", ", image->n_sites, "row");
    put_count(&text, ", ", image->n_threads, "thread");
    tide_buf_printf(&text, " (%" PRIu32 " at once)", image->max_live_threads);
  }
  add_row(rows, "holds", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// How far snapshots are apart, and what part of the run that is where it is much.
static void add_timeline(struct tide_info_rows *rows, const struct tide_image *image)
{
  struct tide_buf text = {0};
  char a[TIDE_UNITS_MAX];
  uint64_t gap_ns = tide_image_widest_gap_ns(image), run_ns = image->end_ns - image->start_ns;
  put_count(&text, "", image->n_ticks, "point");
  put_count(&text, ", ", image->n_snapshots, "snapshot");
  if (image->n_snapshots > 1 && !(image->lacks & TIDE_LACK_CLOCK)) {
    tide_buf_printf(&text, ", at most %s apart", tide_units_time(a, gap_ns, rows->style.utf8));
    if (gap_ns > run_ns / TIDE_GAP_PER_RUN)
      tide_buf_printf(&text, ", %.1f %% of the run", 100 * (double)gap_ns / (double)run_ns);
  }
  add_row(rows, "timeline", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void add_numbers(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  char a[TIDE_UNITS_MAX];
  add_heap(rows, profile);
  add_deeds(rows, profile);
  add_pages(rows, profile);
  add_resident(rows, image);
  add_held(rows, profile);
  add_timeline(rows, image);
  if (image->names.n_places) {
    TIDE_CLEANUP_FREE char *names =
        tide_sprintf("stored for %s %s", tide_units_digits(a, image->names.n_places),
                     image->names.n_places == 1 ? "address" : "addresses");
    add_row(rows, "names", names);
  }
  TIDE_CLEANUP_FREE char *allocators = tide_allocators_words(image, rows->style);
  if (allocators)
    add_row(rows, "allocator", allocators);
  for (size_t i = 0; image->n_allocators > 1 && i < image->n_allocators; i++) {
    TIDE_CLEANUP_FREE char *words = tide_allocator_words(image, &image->allocators[i], rows->style);
    add_row(rows, "", words);
  }
  if (image->allocator && *image->allocator)
    add_row(rows, "malloc of", image->allocator);
}

static void add_losses(struct tide_info_rows *rows, const struct tide_image *image)
{
  const struct {
    uint64_t n;
    const char *words;
  } losses[] = {
      {image->loss.n_lost_busy, "events met while the recorder was busy"},
      {image->loss.n_lost_full, "events whose stack found no room"},
      {image->loss.n_cut, "stacks cut by the depth limit"},
      {image->loss.n_broken, "stacks that end early"},
      {image->loss.n_guessed, "stacks partly found by frame pointers"},
      {tide_image_unseen(image), "frees of blocks not seen allocated"},
      {image->loss.n_unknown_free - tide_image_unseen(image), "frees of blocks from before"},
      {image->loss.n_fork_lost, "child processes not recorded"},
      {image->loss.n_failed, "allocations refused by the allocator"},
  };
  struct tide_buf text = {0};
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
    char count[TIDE_UNITS_MAX];
    if (losses[i].n)
      tide_buf_printf(&text, "%s%s: %s", text.n ? "; " : "", losses[i].words,
                      tide_units_plain(count, losses[i].n));
  }
  if (tide_image_off_words(image))
    tide_buf_printf(&text, "%sthe recorder stepped aside: %s", text.n ? "; " : "",
                    tide_image_off_words(image));
  char off[TIDE_UNITS_MAX];
  if (image->n_pauses)
    tide_buf_printf(&text, "%srecording was off for %s", text.n ? "; " : "",
                    tide_units_time(off, image->paused_ns, rows->style.utf8));
  if (image->is_reset)
    tide_buf_printf(&text, "%snumbers are since a reset at %s", text.n ? "; " : "",
                    tide_units_time(off, image->start_ns, rows->style.utf8));
  add_row(rows, "losses", text.n ? tide_buf_cstr(&text) : "none");
  tide_buf_done(&text);
}

static void add_marks(struct tide_info_rows *rows, const struct tide_image *image)
{
  for (size_t i = 0; i < image->n_marks; i++) {
    char when[TIDE_UNITS_MAX];
    const struct tide_mark *mark = &image->marks[i];
    tide_units_time(when, mark->time_ns - image->start_ns, rows->style.utf8);
    TIDE_CLEANUP_FREE char *text = tide_sprintf("%s: %s", when, mark->name ? mark->name : "");
    add_row(rows, i ? "" : "marks", text);
  }
}

// What only its tool knows is not told of another tool's file; and what that does not hold, of none
// of ours.
void tide_info_add_image(struct tide_info_rows *rows, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  bool is_unrecorded = tide_image_is_unrecorded(image);
  if (image->exe && *image->exe)
    add_row(rows, "program", image->exe);
  if (!(image->lacks & TIDE_LACK_CLOCK))
    add_ran(rows, image);
  if (is_unrecorded) {
    add_resident(rows, image);
    add_row(rows, "holds", "nothing: it was not recorded");
    return;
  }
  add_numbers(rows, profile);
  add_marks(rows, image);
  if (!image->origin)
    add_losses(rows, image);
  TIDE_CLEANUP_FREE char *untold = tide_image_untold_words(image);
  if (untold)
    add_row(rows, "not told", untold);
}
