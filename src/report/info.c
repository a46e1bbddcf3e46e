// SPDX-License-Identifier: Apache-2.0
//
// The facts as text: the capture in three lines, then each image, then its modules.
#include "report/info.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/exactness.h"
#include "model/stored_names.h"
#include "model/why_words.h"
#include "profile/profile.h"
#include "words/completeness_text.h"
#include "words/heap_words.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- modules ----
//
// Recorded objects against the files of today.

const char *tide_module_state(struct tide_symboliser *symboliser, const struct tide_module *module,
                              const char **ret_note)
{
  uint32_t id =
      tide_symboliser_add(symboliser, module->path, module->build_id, module->build_id_len);
  const struct tide_symbol_object *object = tide_symboliser_object(symboliser, id);
  *ret_note = object ? object->note : "";
  if (object && object->opened)
    return object->has_debug_info ? "lines" : "names";
  if (module->path[0] == '[')
    return "kernel";
  return access(module->path, F_OK) == 0 ? "changed" : "gone";
}

void tide_module_build_id(const struct tide_module *module, char out[65])
{
  uint32_t n = module->build_id_len < 32 ? module->build_id_len : 32;
  out[0] = 0;
  for (uint32_t i = 0; i < n; i++)
    snprintf(out + 2 * i, 3, "%02x", module->build_id[i]);
}

// ---- the text ----

static void write_line(const struct tide_screen *screen, const char *indent, const char *label,
                       const char *text)
{
  TIDE_CLEANUP_FREE char *padded = tide_sprintf("%-11s", label);
  tide_screen_paragraph(screen, TIDE_INK_PLAIN, indent, padded, text);
}

// "overhead 1.33× of processor time: 4.1 s with the recorder (1.0 s of it) and 50 ms of tidemark"
static void write_cost(const struct tide_screen *screen, const struct tide_capture *capture)
{
  char all[TIDE_UNITS_MAX], ours[TIDE_UNITS_MAX], own[TIDE_UNITS_MAX];
  const struct tide_cost *cost = &capture->cost;
  if (!capture->has_cost)
    return;
  TIDE_CLEANUP_FREE char *text =
      tide_sprintf("%s of all its processes, of which the recorder took about %s; tidemark %s",
                   tide_units_time(all, cost->cpu_ns, screen->utf8),
                   tide_units_time(ours, cost->recorder_ns, screen->utf8),
                   tide_units_time(own, cost->supervisor_ns, screen->utf8));
  write_line(screen, "  ", "CPU time", text);
}

static void write_capture(const struct tide_screen *screen, const struct tide_capture *capture,
                          const char *file, uint64_t file_bytes)
{
  char size[TIDE_UNITS_MAX], length[TIDE_UNITS_MAX], when[64] = "at an unknown time";
  time_t start = (time_t)(capture->start_realtime_ns / 1000000000);
  struct tm local;
  if (capture->start_realtime_ns && localtime_r(&start, &local))
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  size_t n = capture->n_images;
  TIDE_CLEANUP_FREE char *name = tide_utf8_clean(file, screen->utf8);
  TIDE_CLEANUP_FREE char *facts = tide_sprintf(
      "(%s): %zu %s%s",
      tide_units_bytes(size, tide_exact((int64_t)file_bytes), tide_screen_style(screen)), n,
      n == 1 ? "process image" : "process images",
      capture->cut        ? ", file damaged"
      : capture->finished ? ""
                          : ", not ended properly");
  bool fits = tide_utf8_width(name) + 1 + tide_utf8_width(facts) <= screen->width;
  tide_screen_ink(screen, TIDE_INK_STRONG, name);
  tide_sink_text(screen->sink, fits ? " " : "\n  ");
  tide_screen_wrap(screen, fits ? tide_utf8_width(name) + 1 : 2, facts);
  const char *origin = n ? capture->images[0].origin : NULL;
  const char *version = capture->tool_version ? capture->tool_version : "of unknown version";
  TIDE_CLEANUP_FREE char *recorded =
      tide_sprintf("%s, %s, by tidemark %s", when,
                   tide_units_time(length, capture->duration_ns, screen->utf8), version);
  TIDE_CLEANUP_FREE char *machine =
      tide_sprintf("%s, %s, %s", capture->hostname ? capture->hostname : "unknown",
                   tide_capture_arch(capture), capture->kernel ? capture->kernel : "unknown");
  if (origin) {
    write_line(screen, "  ", "read from", origin);
  } else {
    write_line(screen, "  ", "recorded", recorded);
    write_line(screen, "  ", "machine", machine);
  }
  write_cost(screen, capture);
  if (capture->cut)
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ",
                          "note: ", capture->cut_note ? capture->cut_note : "the file is damaged");
  if (capture->n_images_left_out) {
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("%" PRIu32 " smaller process images %s", capture->n_images_left_out,
                     tide_capture_left_out_words(capture));
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
  }
}

static void write_roll(const struct tide_screen *screen, const struct tide_roll *roll)
{
  if (!roll->is_known)
    return;
  TIDE_CLEANUP_FREE char *count = tide_roll_count(roll);
  write_line(screen, "  ", "run", count);
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, tide_screen_style(screen));
    TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, tide_screen_style(screen));
    TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
    TIDE_CLEANUP_FREE char *pid =
        row->pid ? tide_sprintf(" (%" PRIu32 ")", row->pid) : tide_strdup("");
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("%s%s %s%s%s", name, pid, reason, way_out ? "; " : "", way_out ? way_out : "");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "not recorded: ", text);
    if (*row->exe)
      write_line(screen, "      ", "program", row->exe);
    if (*row->parent)
      write_line(screen, "      ", "started by", row->parent);
  }
  if (roll->n_refused) {
    TIDE_CLEANUP_FREE char *text = tide_sprintf(
        "%" PRIu64 " other %s knocked and %s refused: not known to be of this run", roll->n_refused,
        roll->n_refused == 1 ? "process" : "processes", roll->n_refused == 1 ? "was" : "were");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
  }
}

static void write_ran(const struct tide_screen *screen, const struct tide_image *image)
{
  char from[TIDE_UNITS_MAX], length[TIDE_UNITS_MAX];
  TIDE_CLEANUP_FREE char *end = tide_image_end_words(image);
  struct tide_buf text = {0};
  tide_units_time(length, image->end_ns - image->start_ns, screen->utf8);
  if (tide_image_is_merged(image))
    tide_buf_printf(&text, "several processes, for %s at most, %s", length, end);
  else
    tide_buf_printf(&text, "from %s for %s, %s",
                    tide_units_time(from, image->start_ns, screen->utf8), length, end);
  if (image->parent_image)
    tide_buf_printf(&text, "; %s #%" PRIu32, image->by_fork ? "forked from" : "came of",
                    image->parent_image - 1);
  write_line(screen, "      ", "ran", tide_buf_cstr(&text));
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

// "peak 412.6 MiB, 14.2 M allocations, 9.7 GiB in all", as far as the image holds it.
static void write_heap(const struct tide_screen *screen, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  char number[TIDE_UNITS_MAX];
  struct tide_style style = tide_screen_style(screen);
  struct tide_amount allocations =
      tide_image_blocks(image, TIDE_FIGURE_ALLOCATED, (int64_t)profile->totals.n_alloc);
  struct tide_buf text = {0};
  if (!(image->lacks & TIDE_LACK_PEAK))
    tide_buf_printf(&text, "peak %s", tide_units_bytes(number, tide_image_peak(image), style));
  if (!(image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS)))
    put_amount(&text, text.n ? ", " : "", allocations, style, "allocation");
  if (!(image->lacks & TIDE_LACK_TOTAL))
    tide_buf_printf(&text, "%s%s in all", text.n ? ", " : "",
                    tide_units_bytes(number,
                                     tide_image_bytes(image, TIDE_FIGURE_ALLOCATED,
                                                      (int64_t)profile->totals.b_alloc),
                                     style));
  if (image->origin && !(image->lacks & TIDE_LACK_LIVE))
    tide_buf_printf(
        &text, "%s%s live at the end", text.n ? ", " : "",
        tide_units_bytes(
            number, tide_image_bytes(image, TIDE_FIGURE_LIVE, profile->totals.live_bytes), style));
  if (text.n)
    write_line(screen, "      ", "heap", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

// "RSS 151.3 MiB at the peak of the heap; 160.0 MiB at 2.10 s, when the heap held 13.0 MiB"
static void write_resident(const struct tide_screen *screen, const struct tide_image *image)
{
  char number[TIDE_UNITS_MAX];
  struct tide_buf text = {0};
  if (image->rss_at_peak_bytes)
    tide_buf_printf(
        &text, "%s at the peak of the heap",
        tide_units_bytes(number, tide_image_rss_at_peak(image), tide_screen_style(screen)));
  if (image->max_rss_bytes) {
    TIDE_CLEANUP_FREE char *words = tide_resident_high_words(tide_screen_style(screen), image);
    tide_buf_printf(&text, "%shighest %s%s %s", text.n ? "; " : "",
                    tide_units_bytes(number, tide_exact((int64_t)image->max_rss_bytes),
                                     tide_screen_style(screen)),
                    tide_image_is_merged(image) ? ":" : "", words);
  }
  if (text.n && *tide_resident_whose(image))
    tide_buf_printf(&text, ",%s", tide_resident_whose(image));
  if (text.n)
    write_line(screen, "      ", "RSS", tide_buf_cstr(&text));
  text.n = 0;
  if (tide_resident_has_untouched(image)) {
    TIDE_CLEANUP_FREE char *words = tide_resident_untouched_words(tide_screen_style(screen), image);
    tide_buf_printf(&text, "%s %s",
                    tide_units_bytes(number, tide_exact((int64_t)image->untouched_bytes),
                                     tide_screen_style(screen)),
                    words);
    write_line(screen, "      ", "untouched", tide_buf_cstr(&text));
  }
  text.n = 0;
  if (image->recorder_rss_bytes) {
    tide_buf_printf(&text, "%s of memory beside the program's own, in none of its numbers",
                    tide_units_bytes(number, tide_exact((int64_t)image->recorder_rss_bytes),
                                     tide_screen_style(screen)));
    write_line(screen, "      ", "recorder", tide_buf_cstr(&text));
  }
  tide_buf_done(&text);
}

static void write_held(const struct tide_screen *screen, const struct tide_profile *profile)
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
  write_line(screen, "      ", "holds", tide_buf_cstr(&text));
  tide_buf_done(&text);
}

static void write_numbers(const struct tide_screen *screen, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  char a[TIDE_UNITS_MAX];
  write_heap(screen, profile);
  write_resident(screen, image);
  write_held(screen, profile);
  struct tide_buf timeline = {0};
  put_count(&timeline, "", image->n_ticks, "point");
  put_count(&timeline, ", ", image->n_snapshots, "snapshot");
  write_line(screen, "      ", "timeline", tide_buf_cstr(&timeline));
  tide_buf_done(&timeline);
  if (image->names.n_places) {
    TIDE_CLEANUP_FREE char *names =
        tide_sprintf("stored for %s %s", tide_units_digits(a, image->names.n_places),
                     image->names.n_places == 1 ? "address" : "addresses");
    write_line(screen, "      ", "names", names);
  }
  if (image->allocator && *image->allocator)
    write_line(screen, "      ", "allocator", image->allocator);
}

static void write_losses(const struct tide_screen *screen, const struct tide_image *image)
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
      {image->loss.n_unknown_free, "frees of blocks from before"},
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
  write_line(screen, "      ", "losses", text.n ? tide_buf_cstr(&text) : "none");
  tide_buf_done(&text);
}

static const char *module_words(const char *state)
{
  if (strcmp(state, "lines") == 0)
    return "names and lines";
  return strcmp(state, "names") == 0 ? "names, no lines" : state;
}

enum { MODULE_HANG = 17, MODULE_FACTS = 2 + 12 + 2 + 15, PATH_LEAST = 20 }; // columns

// On a narrow screen the build id and the state stand below the path.
static void write_module(const struct tide_screen *screen, const char *label, const char *path,
                         const char *id, enum tide_ink ink, const char *state)
{
  bool beside = screen->width >= MODULE_HANG + PATH_LEAST + MODULE_FACTS;
  size_t room = screen->width - MODULE_HANG - (beside ? MODULE_FACTS : 0);
  TIDE_CLEANUP_FREE char *shown = tide_utf8_fit(path, room, screen->utf8);
  tide_sink_printf(screen->sink, "      %-11s", label);
  tide_screen_left(screen, TIDE_INK_PLAIN, shown, beside ? room : 0);
  if (beside) {
    tide_sink_printf(screen->sink, "  %-12.12s  ", id);
    tide_screen_ink(screen, ink, state);
    tide_sink_text(screen->sink, "\n");
    return;
  }
  TIDE_CLEANUP_FREE char *facts = tide_sprintf("%.12s %s", id, state);
  tide_sink_text(screen->sink, "\n");
  tide_sink_repeat(screen->sink, ' ', MODULE_HANG);
  tide_screen_wrap(screen, MODULE_HANG, facts);
}

// A path, the start of its build id, and what of it could be read today.
static void write_modules(const struct tide_screen *screen, const struct tide_image *image,
                          struct tide_symboliser *symboliser)
{
  for (size_t i = 1; i < image->n_modules; i++) {
    const struct tide_module *module = &image->modules[i];
    char id[65];
    const char *note, *state = tide_module_state(symboliser, module, &note);
    tide_module_build_id(module, id);
    bool lost = strcmp(state, "changed") == 0 || strcmp(state, "gone") == 0;
    bool stored = lost && tide_stored_names_has_module(&image->names, (uint32_t)i);
    write_module(screen, i == 1 ? "modules" : "", module->path, *id ? id : "no build id",
                 lost && !stored ? TIDE_INK_WARN : TIDE_INK_FAINT,
                 stored ? "names stored" : module_words(state));
  }
}

void tide_info_write(const struct tide_screen *screen, const struct tide_capture *capture,
                     const char *file, uint64_t file_bytes,
                     const struct tide_symbol_sources *sources)
{
  struct tide_symboliser *symboliser = tide_symboliser_new();
  tide_symboliser_set_sources(symboliser, sources);
  write_capture(screen, capture, file, file_bytes);
  write_roll(screen, &capture->roll);
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    struct tide_profile *profile = tide_profile_new(capture, i);
    TIDE_CLEANUP_FREE char *command = tide_image_command(image);
    TIDE_CLEANUP_FREE char *label = tide_image_is_merged(image)
                                        ? tide_sprintf("#%zu merged ", i)
                                        : tide_sprintf("#%zu %" PRIu32 " ", i, image->pid);
    tide_screen_paragraph(screen, TIDE_INK_STRONG, "  ", label, command);
    if (image->exe && *image->exe)
      write_line(screen, "      ", "program", image->exe);
    if (!(image->lacks & TIDE_LACK_CLOCK))
      write_ran(screen, image);
    if (tide_image_is_unrecorded(image)) {
      write_resident(screen, image);
      write_line(screen, "      ", "holds", "nothing: it was not recorded");
    } else {
      write_numbers(screen, profile);
    }
    if (!image->origin && !tide_image_is_unrecorded(image)) // its tool alone knows
      write_losses(screen, image);
    write_modules(screen, image, symboliser);
    tide_profile_free(profile);
  }
  tide_symboliser_free(symboliser);
}
