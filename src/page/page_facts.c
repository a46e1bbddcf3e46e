// SPDX-License-Identifier: Apache-2.0
//
// Most of the facts are those of the report for machines, written by the same code.
#include "page/page_facts.h"

#include "base/alloc.h"
#include "capture/why_words.h"
#include "format/groups_json.h"
#include "format/lacking.h"
#include "format/profile_json.h"
#include "format/profile_notes.h"
#include "format/roll_text.h"
#include "view/blame.h"

#include <stdlib.h>
#include <string.h>

static void write_host(struct tide_json *json, const struct tide_capture *capture)
{
  tide_json_key(json, "host");
  tide_json_open_object(json);
  tide_json_put_text(json, "name", capture->hostname ? capture->hostname : "");
  tide_json_put_text(json, "kernel", capture->kernel ? capture->kernel : "");
  tide_json_put_u64(json, "start_realtime_ns", capture->start_realtime_ns);
  tide_json_close_object(json);
}

static void write_threads(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "threads");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_threads_known; i++) {
    const struct tide_thread *thread = &image->threads[i];
    tide_json_open_object(json);
    tide_json_put_u64(json, "tid", thread->tid);
    tide_json_key(json, "name");
    tide_json_text_n(json, thread->name, strnlen(thread->name, sizeof thread->name));
    tide_json_put_u64(json, "owners", thread->n_owners);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_marks(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "marks");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_marks; i++) {
    const struct tide_mark *mark = &image->marks[i];
    tide_json_open_object(json);
    tide_json_put_i64(json, "time_ns", (int64_t)(mark->time_ns - image->start_ns));
    tide_json_put_text(json, "name", mark->name ? mark->name : "");
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void tell_note(void *context, const char *text)
{
  tide_json_text(context, text);
}

struct unnamed { // a module whose frames are blamed and have no file
  double share;  // of bytes at the peak, at the end or in all, whichever is most
  double peak, live, total;
  const struct tide_named_frame *frame;
};

static void blame(struct unnamed *modules, const struct tide_profile_site *site,
                  const struct tide_named_frame *frame)
{
  if (!frame || frame->file || tide_layer_is_folded(frame->layer))
    return;
  struct unnamed *module = &modules[frame->module];
  module->frame = module->frame ? module->frame : frame;
  module->peak += (double)site->peak_bytes;
  module->live += (double)site->live_bytes;
  module->total += (double)site->b_alloc;
}

static double part(double value, double whole)
{
  return whole > 0 ? value / whole : 0;
}

static void weigh(struct unnamed *module, const struct tide_profile *profile)
{
  double shares[] = {part(module->peak, (double)profile->image->peak_bytes),
                     part(module->live, (double)profile->totals.live_bytes),
                     part(module->total, (double)profile->totals.b_alloc)};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    module->share = shares[i] > module->share ? shares[i] : module->share;
}

static int by_falling_share(const void *left, const void *right)
{
  const struct unnamed *a = left, *b = right;
  return (a->share < b->share) - (a->share > b->share);
}

// Why places lack names or lines, the weightiest module first. Runtime libraries and modules of
// less than a hundredth are not worth a word.
static void write_naming_notes(struct tide_json *json, const struct tide_profile *profile,
                               struct tide_naming *naming)
{
  enum { NOTES_MAX = 8 };
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE struct unnamed *modules =
      tide_alloc_array(image->n_modules + 1, sizeof *modules);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].kind == TIDE_SITE_HEAP)
      blame(modules, &profile->sites[i], tide_naming_culprit(naming, profile->sites[i].stack));
  for (size_t i = 0; i < image->n_modules; i++)
    weigh(&modules[i], profile);
  qsort(modules, image->n_modules, sizeof *modules, by_falling_share);
  for (size_t i = 0; i < image->n_modules && i < NOTES_MAX && modules[i].share >= 0.01; i++) {
    const char *note = tide_naming_note(naming, modules[i].frame);
    if (note)
      tide_json_text(json, note);
  }
}

// What ran unrecorded, in the words of the command: what should lead, how much of the run is here,
// and each program as "info" lists it.
static void write_unrecorded(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_screen screen = {.utf8 = true};
  const struct tide_roll *roll = &profile->capture->roll;
  TIDE_CLEANUP_FREE char *lead = tide_roll_lead(profile, &screen, NULL);
  TIDE_CLEANUP_FREE char *scope = tide_roll_scope(profile);
  TIDE_CLEANUP_FREE char *summary = tide_roll_summary(roll, &screen);
  tide_json_key(json, "unrecorded");
  tide_json_open_object(json);
  tide_json_put_text(json, "lead", lead);
  tide_json_put_text(json, "scope", scope);
  tide_json_put_text(json, "summary", summary);
  tide_json_key(json, "programs");
  tide_json_open_array(json);
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, &screen);
    TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, &screen);
    TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
    tide_json_open_object(json);
    tide_json_put_text(json, "name", name);
    tide_json_put_text(json, "reason", reason);
    tide_json_put_text(json, "way_out", way_out);
    tide_json_put_text(json, "exe", row->exe);
    tide_json_put_text(json, "parent", row->parent);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_json_close_object(json);
}

static void write_notes(struct tide_json *json, const struct tide_profile *profile,
                        struct tide_naming *naming)
{
  const struct tide_screen screen = {.utf8 = true};
  TIDE_CLEANUP_FREE char *lead = tide_roll_lead(profile, &screen, NULL);
  tide_json_key(json, "notes");
  tide_json_open_array(json);
  if (!lead)
    tide_profile_hollow_note(profile, tell_note, json);
  tide_profile_notes(profile, tell_note, json);
  write_naming_notes(json, profile, naming);
  tide_json_close_array(json);
}

static void write_has(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "has");
  tide_json_open_object(json);
  tide_json_put_bool(json, "temporary_bytes", image->has_temp_bytes);
  tide_json_put_bool(json, "counts", image->has_counts);
  tide_json_put_bool(json, "late_frees", image->has_late_frees);
  tide_json_close_object(json);
}

// In thousandths, since a decimal point is the locale's in C.
static void write_overhead(struct tide_json *json, const struct tide_profile *profile)
{
  double times = tide_profile_overhead(profile);
  uint64_t thousandths = times < 1e6 ? (uint64_t)(times * 1000 + 0.5) : 1000000000;
  char text[32];
  int n = snprintf(text, sizeof text, "%llu.%03llu", (unsigned long long)thousandths / 1000,
                   (unsigned long long)thousandths % 1000);
  tide_json_key(json, "overhead");
  tide_json_raw(json, text, (size_t)n);
}

static void write_pruned(struct tide_json *json, const struct tide_page_options *options,
                         const struct tide_page_data *data)
{
  tide_json_key(json, "pruned");
  if (!data->n_gathered) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "stacks", data->n_gathered);
  tide_json_put_u64(json, "of", data->n_stacks);
  tide_json_put_bool(json, "by_place", options->by_place);
  tide_json_put_u64(json, "limit_bytes", options->limit_bytes);
  tide_json_close_object(json);
}

void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           struct tide_naming *naming, const struct tide_page_options *options,
                           const struct tide_page_data *data)
{
  tide_json_put_text(json, "schema", "tidemark-page-1");
  tide_json_put_text(json, "tool_version", TIDE_VERSION);
  tide_lacking_leave_out(json, profile->image);
  tide_profile_json_facts(json, profile, options->file);
  write_host(json, profile->capture);
  write_threads(json, profile->image);
  write_marks(json, profile->image);
  write_unrecorded(json, profile);
  write_notes(json, profile, naming);
  tide_json_put_text(json, "blame", tide_blamed_words[tide_naming_blamed(naming)]);
  tide_wrappers_json(json, naming);
  write_has(json, profile->image);
  write_overhead(json, profile);
  write_pruned(json, options, data);
}

static void write_captures(struct tide_json *json, const struct tide_page_offer *offer)
{
  tide_json_key(json, "captures");
  tide_json_open_array(json);
  for (size_t i = 0; i < offer->n_captures; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "file", offer->captures[i].file);
    tide_capture_json_images(json, offer->captures[i].capture);
    tide_json_put_u64(json, "largest", offer->captures[i].largest);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

// Only strings may hold one, and there it can be written otherwise.
static void write_without_tags(struct tide_sink *sink, const struct tide_buf *text)
{
  for (size_t i = 0, run; i < text->n; i += run) {
    const uint8_t *tag = memchr(text->data + i, '<', text->n - i);
    run = tag ? (size_t)(tag - (text->data + i)) : text->n - i;
    tide_sink_bytes(sink, text->data + i, run);
    if (tag) {
      tide_sink_text(sink, "\\u003c");
      run++;
    }
  }
}

void tide_page_offer_write(struct tide_sink *sink, const struct tide_page_offer *offer)
{
  struct tide_sink plain;
  struct tide_json json;
  tide_sink_init(&plain, NULL);
  tide_json_init(&json, &plain);
  json.break_depth = 0;
  tide_json_open_object(&json);
  write_captures(&json, offer);
  tide_json_put_bool(&json, "live", offer->live);
  tide_json_put_u64(&json, "version", offer->version);
  tide_json_put_bool(&json, "sources", offer->sources);
  tide_json_put_text(&json, "editor", offer->editor);
  tide_json_close_object(&json);
  write_without_tags(sink, &plain.buf);
  tide_sink_done(&plain);
}
