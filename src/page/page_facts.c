// SPDX-License-Identifier: Apache-2.0
//
// Most of the facts are those of the report for machines, written by the same code.
#include "page/page_facts.h"

#include "base/alloc.h"
#include "base/units.h"
#include "model/why_words.h"
#include "report/groups_json.h"
#include "report/lacking.h"
#include "report/profile_json.h"
#include "report/report_cells.h"
#include "report/statements_json.h"
#include "words/roll_text.h"
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
    const struct tide_thread_row *thread = &image->threads[i];
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

// Each program that ran unrecorded, as "info" lists it.
static void write_unrecorded(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_style style = {.utf8 = true};
  const struct tide_roll *roll = &profile->capture->roll;
  tide_json_key(json, "unrecorded");
  tide_json_open_array(json);
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    TIDE_CLEANUP_FREE char *name = tide_roll_name(row, style);
    TIDE_CLEANUP_FREE char *reason = tide_roll_reason(row, style);
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
}

// What is asked of a whole run, as the report words it; of a part the page words it itself.
static void write_words(struct tide_json *json)
{
  static const enum tide_unit units[] = {TIDE_UNIT_BYTES, TIDE_UNIT_BLOCKS};
  tide_json_key(json, "words");
  tide_json_open_object(json);
  for (int measure = 0; measure < TIDE_MEASURES_N; measure++) {
    tide_json_key(json, tide_measure_words[measure]);
    tide_json_open_object(json);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
      struct tide_question question = {.measure = (enum tide_measure)measure, .unit = units[i]};
      tide_json_key(json, units[i] == TIDE_UNIT_BYTES ? "bytes" : "blocks"); // lacking or not
      tide_json_text(json, tide_question_text(&question)->measure);
    }
    tide_json_close_object(json);
  }
  tide_json_close_object(json);
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

// "To stay below 15.0 MiB, 912 of 4,204 stacks are gathered into “other”; tidemark view shows all."
static void note_pruned(struct tide_statements *statements, const struct tide_page_options *options,
                        const struct tide_page_data *data)
{
  char limit[TIDE_UNITS_MAX], some[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX];
  if (!data->n_gathered)
    return;
  TIDE_CLEANUP_FREE char *text = tide_sprintf(
      "to stay below %s, %s of %s stacks are gathered %s; tidemark view shows all",
      tide_units_bytes(limit, tide_exact((int64_t)options->limit_bytes), TIDE_STYLE_PLAIN),
      tide_units_plain(some, data->n_gathered), tide_units_plain(all, data->n_stacks),
      options->by_place ? "without their callers; every place is exact" : "into “other”");
  tide_statements_add_note(statements, text);
}

// Of a run that has not ended, or whose end was not written, what is said while it goes on: whether
// it does, the server knows.
void tide_page_told_init(struct tide_page_told *told, const struct tide_profile *profile,
                         struct tide_naming *naming, const struct tide_page_options *options,
                         const struct tide_page_data *data)
{
  const struct tide_capture *capture = profile->capture;
  struct tide_statements_options how = {.style = {.utf8 = true}, .module_notes = true};
  *told = (struct tide_page_told){0};
  struct tide_profile *own = tide_profile_new(capture, profile->image_idx); // it will be asked
  told->verdict = tide_statements_new(own, naming, &how);
  note_pruned(told->verdict, options, data);
  how.is_running = true;
  if (!capture->finished && !profile->image->origin)
    told->so_far = tide_statements_new(own, naming, &how);
  tide_profile_free(own);
}

void tide_page_told_done(struct tide_page_told *told)
{
  tide_statements_free(told->verdict);
  tide_statements_free(told->so_far);
}

void tide_page_facts_write(struct tide_json *json, const struct tide_profile *profile,
                           const struct tide_naming *naming,
                           const struct tide_page_options *options,
                           const struct tide_page_data *data, const struct tide_page_told *told)
{
  tide_json_put_text(json, "schema", "tidemark-page-2");
  tide_json_put_text(json, "tool_version", TIDE_VERSION);
  tide_lacking_leave_out(json, profile->image);
  tide_profile_json_facts(json, profile, options->file);
  tide_statements_json(json, "verdict", told->verdict);
  tide_statements_json(json, "verdict_so_far", told->so_far);
  write_host(json, profile->capture);
  write_threads(json, profile->image);
  write_marks(json, profile->image);
  write_unrecorded(json, profile);
  tide_json_put_text(json, "blame", tide_blamed_words[tide_naming_blamed(naming)]);
  tide_wrappers_json(json, naming);
  write_words(json);
  write_has(json, profile->image);
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
