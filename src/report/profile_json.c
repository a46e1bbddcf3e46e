// SPDX-License-Identifier: Apache-2.0
//
// The facts of a profile, section by section in the order of tidemark-report-1.
#include "report/profile_json.h"

#include "base/alloc.h"
#include "model/capture.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "report/site_json.h"
#include "words/image_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- what is left out ----
//
// Which number is made of what: those of stacks say it in their list, others here.

static const struct {
  const char *key;
  uint32_t needs;
} fields[] = {
    {"peak_bound_bytes", TIDE_LACK_PEAK},
    {"peak_ns", TIDE_LACK_PEAK | TIDE_LACK_CLOCK},
    {"own_max_is_bound", TIDE_LACK_PEAK | TIDE_LACK_TOTAL},
    {"mean_life_ns", TIDE_LACK_LIFETIMES},
    {"mean_age_ns", TIDE_LACK_LIFETIMES | TIDE_LACK_LIVE | TIDE_LACK_BLOCKS},
    {"lifetimes", TIDE_LACK_LIFE_HIST},
    {"sizes", TIDE_LACK_SIZE_HIST},
    {"thread_slots", TIDE_LACK_THREADS},
    {"threads", TIDE_LACK_THREADS},
    {"max_live_threads", TIDE_LACK_THREADS},
    {"start_ns", TIDE_LACK_CLOCK},
    {"end_ns", TIDE_LACK_CLOCK},
    {"duration_ns", TIDE_LACK_CLOCK},
};

static bool is_lacking(uint32_t lacks, const char *key)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    if (number->key && (!strcmp(number->key, key) || !strcmp(tide_number_name(number), key)))
      return lacks & number->needs;
  }
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (strcmp(fields[i].key, key) == 0)
      return lacks & fields[i].needs;
  return false;
}

bool tide_lacking(uint32_t lacks, const char *key)
{
  return lacks && is_lacking(lacks, key);
}

void tide_lacking_leave_out(struct tide_json *json, const struct tide_image *image)
{
  json->is_absent = image->lacks ? tide_lacking : NULL;
  json->absent = image->lacks;
}

void tide_lacking_json(struct tide_json *json, const struct tide_image *image)
{
  static const char *const words[] = {
      "peak",
      "live",
      "total",
      "blocks",
      "temporary",
      "lifetimes",
      "lifetime_histogram",
      "size_histogram",
      "resizes",
      "threads",
      "times",
      "clock",
      "before",
      "unhooked",
      "loaded_later",
  };
  tide_json_key(json, "lacks");
  tide_json_open_array(json);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (image->lacks & 1u << i)
      tide_json_text(json, words[i]);
  tide_json_close_array(json);
}

// ---- how exact ----
//
// "exactness": {"sampled": null, "allocated": {"is": "exact"}, …}

static void write_sampling(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "sampled");
  if (!image->sampled_every_bytes) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  if (image->has_samples)
    tide_json_put_u64(json, "every_bytes", image->sampled_every_bytes);
  else
    tide_json_put_text(json, "every_bytes", NULL);
  if (image->is_resampled)
    tide_json_put_bool(json, "changed", true);
  if (image->sampled_now_bytes)
    tide_json_put_u64(json, "last_bytes", image->sampled_now_bytes);
  tide_json_close_object(json);
}

void tide_exactness_json_of(struct tide_json *json, const char *key, const struct tide_image *image,
                            enum tide_figure figure)
{
  struct tide_amount amount = tide_image_bytes(image, figure, 0);
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_text(json, "is", tide_exactness_words[amount.exactness]);
  if (amount.bound)
    tide_json_put_u64(json, "bound_bytes", amount.bound);
  tide_json_close_object(json);
}

void tide_exactness_json(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "exactness");
  tide_json_open_object(json);
  write_sampling(json, image);
  for (int figure = 0; figure < TIDE_FIGURES_N; figure++)
    if (figure != TIDE_FIGURE_SAMPLES) // they are counted
      tide_exactness_json_of(json, tide_figure_words[figure], image, (enum tide_figure)figure);
  tide_json_close_object(json);
}

// Unknown ones have no numbers, and times are told to the clock's best.
void tide_exactness_csv(struct tide_sink *sink, const struct tide_profile *profile)
{
  bool is_exact = true, of_pages = profile->question.of_pages;
  for (int figure = 0; figure < TIDE_FIGURES_N; figure++) {
    bool is_there = of_pages ? figure == TIDE_FIGURE_MAPPED : figure <= TIDE_FIGURE_OWN_MAX;
    struct tide_amount amount = tide_image_bytes(profile->image, (enum tide_figure)figure, 0);
    if (!is_there || amount.exactness == TIDE_EXACT || amount.exactness == TIDE_UNKNOWN)
      continue;
    tide_sink_printf(sink, "%s%s:%s", is_exact ? "" : " ", tide_figure_words[figure],
                     tide_exactness_words[amount.exactness]);
    if (amount.bound)
      tide_sink_printf(sink, ":%" PRIu64, amount.bound);
    is_exact = false;
  }
  tide_sink_text(sink, is_exact ? "exact" : "");
}

// ---- one image ----
//
// Images and captures as JSON members.

void tide_image_json_identity(struct tide_json *json, const struct tide_image *image)
{
  tide_json_put_u64(json, "pid", image->pid);
  tide_json_put_u64(json, "ppid", image->ppid);
  tide_json_put_text(json, "program", tide_image_program(image));
  tide_json_put_text(json, "exe", image->exe ? image->exe : "");
  tide_json_key(json, "command");
  tide_json_open_array(json);
  for (size_t i = 0; tide_image_argument(image, i); i++)
    tide_json_text(json, tide_image_argument(image, i));
  tide_json_close_array(json);
  tide_json_put_bool(json, "by_fork", image->by_fork);
  tide_json_put_bool(json, "merged", tide_image_is_merged(image));
  tide_json_put_u64(json, "start_ns", image->start_ns);
  tide_json_put_u64(json, "end_ns", image->end_ns);
  tide_json_put_text(json, "end", tide_image_end_tag(image));
  tide_json_put_i64(json, "end_value", image->end_value);
  tide_json_put_text(json, "origin", image->origin);
  tide_lacking_json(json, image);
}

void tide_image_json_losses(struct tide_json *json, const struct tide_image *image)
{
  const struct tide_loss *loss = &image->loss;
  if (image->origin) { // how much is missing its tool alone knows
    if (loss->n_unknown_free)
      tide_json_put_u64(json, "unknown_frees", loss->n_unknown_free);
    return;
  }
  tide_json_put_u64(json, "unknown_frees", loss->n_unknown_free);
  tide_json_put_u64(json, "lost_busy", loss->n_lost_busy);
  tide_json_put_u64(json, "lost_full", loss->n_lost_full);
  tide_json_put_u64(json, "cut_stacks", loss->n_cut);
  tide_json_put_u64(json, "broken_stacks", loss->n_broken);
  tide_json_put_u64(json, "guessed_stacks", loss->n_guessed);
  tide_json_put_u64(json, "fork_lost", loss->n_fork_lost);
  tide_json_put_u64(json, "failed_allocations", loss->n_failed);
}

static void write_unrecorded(struct tide_json *json, const struct tide_unrecorded *row)
{
  TIDE_CLEANUP_FREE char *sentence = tide_why_sentence(row->why, row->detail);
  TIDE_CLEANUP_FREE char *way_out = tide_why_way_out(row->why, row->detail);
  const char *name = strrchr(row->exe, '/');
  tide_json_open_object(json);
  tide_json_put_text(json, "program", name ? name + 1 : row->exe);
  tide_json_put_text(json, "exe", row->exe);
  tide_json_put_text(json, "reason", tide_why_tag(row->why));
  tide_json_put_text(json, "detail", row->detail);
  tide_json_put_text(json, "sentence", sentence);
  tide_json_put_text(json, "way_out", way_out);
  tide_json_put_u64(json, "processes", row->n_processes);
  tide_json_put_u64(json, "pid", row->pid);
  tide_json_put_text(json, "parent", row->parent);
  tide_json_put_bool(json, "is_command", row->is_command);
  tide_json_put_u64(json, "start_ns", row->start_ns);
  tide_json_put_u64(json, "end_ns", row->end_ns);
  tide_json_put_u64(json, "max_rss_bytes", row->max_rss_bytes);
  tide_json_put_u64(json, "recorded_bytes", row->recorded_bytes);
  tide_json_close_object(json);
}

static void write_roll(struct tide_json *json, const struct tide_roll *roll)
{
  tide_json_key(json, "run");
  if (!roll->is_known) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "command_pid", roll->command_pid);
  tide_json_put_u64(json, "recorded", roll->n_recorded);
  tide_json_put_u64(json, "not_recorded", tide_roll_processes(roll));
  tide_json_put_bool(json, "at_least", roll->at_least);
  tide_json_put_u64(json, "refused", roll->n_refused);
  tide_json_key(json, "unrecorded");
  tide_json_open_array(json);
  for (size_t i = 0; i < roll->n_rows; i++)
    write_unrecorded(json, &roll->rows[i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

void tide_capture_json_facts(struct tide_json *json, const struct tide_capture *capture,
                             const char *file, bool complete)
{
  tide_json_put_text(json, "file", file);
  tide_json_put_bool(json, "complete", complete);
  tide_json_put_bool(json, "finished", capture->finished);
  if (capture->taken)
    tide_json_put_text(json, "dump", capture->taken);
  tide_json_put_text(json, "note", capture->cut ? capture->cut_note : NULL);
  tide_json_put_text(json, "arch", tide_capture_arch(capture));
  tide_json_put_u64(json, "duration_ns", capture->duration_ns);
  write_roll(json, &capture->roll);
}

void tide_capture_json_cost(struct tide_json *json, const struct tide_capture *capture)
{
  tide_json_key(json, "cost");
  if (!capture->has_cost) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "cpu_ns", capture->cost.cpu_ns);
  tide_json_put_u64(json, "recorder_ns", capture->cost.recorder_ns);
  tide_json_put_u64(json, "supervisor_ns", capture->cost.supervisor_ns);
  tide_json_close_object(json);
}

static void write_residences(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "rss_by_kind");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_residences; i++) {
    const struct tide_residence *table = &image->residences[i];
    uint64_t bands[TIDE_RESIDENT_BANDS];
    tide_residence_bands(table, bands);
    tide_json_open_object(json);
    tide_json_put_u64(json, "time_ns", table->time_ns);
    tide_json_put_u64(json, "sum", table->sum);
    for (int k = 0; k < TIDE_RESIDENT_BANDS; k++)
      tide_json_put_u64(json, tide_residence_band_key((enum tide_residence_band)k), bands[k]);
    if (table->heap == TIDE_HEAP_GLIBC)
      tide_json_put_u64(json, "trim", table->trim + table->trim_top);
    tide_json_put_u64(json, "pinned", table->pinned);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

void tide_image_json_resident(struct tide_json *json, const struct tide_image *image)
{
  // Other tools do not know; of ours, 0 is what nobody looked at.
  if (!image->origin || image->rss_at_peak_bytes)
    tide_json_put_u64(json, "rss_at_peak_bytes", image->rss_at_peak_bytes);
  if (!image->origin || image->max_rss_bytes)
    tide_json_put_u64(json, "max_rss_bytes", image->max_rss_bytes);
  if (!image->has_resident)
    return;
  if (image->max_rss_bytes && !tide_image_is_merged(image)) {
    tide_json_put_u64(json, "max_rss_ns", image->max_rss_ns);
    if (image->max_rss_live_bytes >= 0)
      tide_json_put_i64(json, "max_rss_live_bytes", image->max_rss_live_bytes);
  }
  if (image->rss_is_own) {
    tide_json_put_u64(json, "rss_bound_bytes", image->rss_bound_bytes);
    tide_json_put_u64(json, "recorder_rss_bytes", image->recorder_rss_bytes);
  }
  tide_json_put_u64(json, "untouched_bytes", image->untouched_bytes);
  tide_json_put_u64(json, "swapped_bytes", image->swapped_bytes);
  if (image->n_residences)
    write_residences(json, image);
}

// ---- sentences ----

static void write_sentence(struct tide_json *json, const struct tide_statement *statement)
{
  tide_json_open_object(json);
  tide_json_put_text(json, "kind", tide_statement_words[statement->kind]);
  tide_json_put_text(json, "text", statement->text);
  tide_json_put_bool(json, "warning", statement->is_warning);
  if (statement->has_question) {
    tide_json_put_text(json, "measure", tide_measure_words[statement->measure]);
    tide_json_put_text(json, "unit", statement->unit == TIDE_UNIT_BYTES ? "bytes" : "blocks");
  }
  tide_json_close_object(json);
}

void tide_statements_json(struct tide_json *json, const char *key,
                          const struct tide_statements *statements)
{
  tide_json_key(json, key);
  if (!statements) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_text(json, "program", statements->program);
  tide_json_key(json, "title");
  tide_json_open_array(json);
  for (size_t i = 0; i < statements->n_title; i++)
    tide_json_text(json, statements->title[i]);
  tide_json_close_array(json);
  tide_json_key(json, "sentences");
  tide_json_open_array(json);
  for (size_t i = 0; i < statements->n; i++)
    write_sentence(json, &statements->items[i]);
  tide_json_close_array(json);
  tide_json_close_object(json);
}

// ---- the run ----

static void write_capture(struct tide_json *json, const struct tide_profile *profile,
                          const char *file)
{
  tide_json_key(json, "capture");
  tide_json_open_object(json);
  tide_capture_json_facts(json, profile->capture, file, tide_profile_is_complete(profile));
  tide_capture_json_cost(json, profile->capture);
  tide_json_close_object(json);
}

static void write_allocator(struct tide_json *json, const struct tide_allocator *allocator)
{
  tide_json_open_object(json);
  tide_json_put_text(json, "name", tide_family_words(allocator->family));
  tide_json_put_u64(json, "allocations", allocator->n_alloc);
  tide_json_put_u64(json, "allocated_bytes", allocator->b_alloc);
  tide_json_put_i64(json, "live_blocks", allocator->live_blocks);
  tide_json_put_i64(json, "live_bytes", allocator->live_bytes);
  tide_json_put_i64(json, "peak_blocks", allocator->peak_blocks);
  tide_json_put_i64(json, "peak_bytes", allocator->peak_bytes);
  tide_json_close_object(json);
}

void tide_image_json_allocators(struct tide_json *json, const struct tide_image *image)
{
  tide_json_put_text(json, "recorded_by",
                     !image->has_allocators ? NULL
                     : image->by_agent      ? "agent"
                                            : "preload");
  tide_json_key(json, "allocators");
  if (!image->has_allocators) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_allocators; i++)
    write_allocator(json, &image->allocators[i]);
  tide_json_close_array(json);
}

void tide_image_json_moments(struct tide_json *json, const struct tide_image *image)
{
  tide_json_put_bool(json, "reset", image->is_reset);
  tide_json_put_u64(json, "pauses", image->n_pauses);
  tide_json_put_u64(json, "paused_ns", image->paused_ns);
  tide_json_key(json, "marks");
  tide_json_open_array(json);
  for (size_t i = 0; i < image->n_marks; i++) {
    tide_json_open_object(json);
    tide_json_put_u64(json, "time_ns", image->marks[i].time_ns);
    tide_json_put_text(json, "name", image->marks[i].name ? image->marks[i].name : "");
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_image(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  tide_json_key(json, "image");
  tide_json_open_object(json);
  tide_json_put_u64(json, "index", profile->image_idx);
  tide_image_json_identity(json, image);
  tide_json_put_text(json, "allocator", image->allocator ? image->allocator : "");
  tide_image_json_allocators(json, image);
  tide_json_put_text(json, "not_hooked", image->refused);
  tide_json_put_u64(json, "off_reason", image->off_reason);
  tide_image_json_moments(json, image);
  tide_json_put_u64(json, "threads", image->n_threads);
  tide_json_put_u64(json, "max_live_threads", image->max_live_threads);
  tide_json_put_u64(json, "inherited_bytes", image->inherited_bytes);
  tide_json_close_object(json);
}

void tide_capture_json_images(struct tide_json *json, const struct tide_capture *capture)
{
  bool (*is_absent)(uint32_t, const char *) = json->is_absent;
  uint32_t absent = json->absent;
  tide_json_key(json, "images");
  tide_json_open_array(json);
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    tide_lacking_leave_out(json, image); // each its own
    tide_json_open_object(json);
    TIDE_CLEANUP_FREE char *process = tide_image_process_words(image);
    tide_json_put_u64(json, "index", i);
    tide_json_put_text(json, "process", process);
    tide_image_json_identity(json, image);
    tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
    tide_exactness_json_of(json, "peak_exactness", image, TIDE_FIGURE_PEAK);
    tide_json_put_u64(json, "allocations", tide_profile_allocations(image));
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  json->is_absent = is_absent;
  json->absent = absent;
}

// Another tool's format says nothing of these: 0 is not known then.
static void put_known(struct tide_json *json, const struct tide_image *image, const char *key,
                      uint64_t value)
{
  if (value || !image->origin)
    tide_json_put_u64(json, key, value);
}

static void write_totals(struct tide_json *json, const struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  tide_json_key(json, "totals");
  tide_json_open_object(json);
  tide_totals_json(json, image, &profile->totals);
  tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
  tide_json_put_i64(json, "peak_blocks", image->peak_blocks);
  tide_json_put_u64(json, "peak_ns", image->peak_ns);
  tide_json_put_u64(json, "peak_bound_bytes", image->peak_bound_bytes);
  tide_image_json_resident(json, image);
  put_known(json, image, "recorder_ns", image->recorder_ns);
  put_known(json, image, "cpu_ns", image->cpu_ns);
  tide_json_close_object(json);
}

void tide_json_mean_life(struct tide_json *json, uint64_t life_ns, uint64_t n_ended)
{
  if (n_ended)
    tide_json_put_u64(json, "mean_life_ns", life_ns / n_ended);
  else
    tide_json_put_text(json, "mean_life_ns", NULL);
}

void tide_json_mean_age(struct tide_json *json, int64_t age_ns, int64_t live_blocks)
{
  uint64_t mean_ns = tide_mean_age_ns(age_ns, live_blocks);
  if (mean_ns)
    tide_json_put_u64(json, "mean_age_ns", mean_ns);
  else
    tide_json_put_text(json, "mean_age_ns", NULL);
}

static void write_pages(struct tide_json *json, const struct tide_image *image)
{
  tide_json_key(json, "pages");
  tide_json_open_object(json);
  put_known(json, image, "maps", image->page_n_map);
  put_known(json, image, "mapped_bytes", image->page_b_map);
  put_known(json, image, "unmaps", image->page_n_unmap);
  put_known(json, image, "unmapped_bytes", image->page_b_unmap);
  if (!image->origin) {
    tide_json_put_i64(json, "live_bytes", image->page_live_bytes);
    tide_json_put_i64(json, "peak_bytes", image->page_peak_bytes);
  }
  tide_json_close_object(json);
}

static void write_events(struct tide_json *json, const struct tide_image *image)
{
  struct tide_event_sum sum = tide_image_event_sum(image);
  tide_json_key(json, "events");
  tide_json_open_object(json);
  tide_json_put_u64(json, "count", sum.n);
  tide_json_put_u64(json, "weight", sum.weight);
  tide_json_put_bool(json, "shown", image->of_events);
  tide_json_close_object(json);
}

static void write_completeness(struct tide_json *json, const struct tide_profile *profile)
{
  tide_json_key(json, "completeness");
  tide_json_open_object(json);
  tide_image_json_losses(json, profile->image);
  tide_json_put_u64(json, "stacks", profile->n_stacks);
  tide_json_put_u64(json, "unknown_frames", tide_profile_unknown_frames(profile->image));
  tide_json_close_object(json);
}

void tide_profile_json_facts(struct tide_json *json, const struct tide_profile *profile,
                             const char *file)
{
  write_capture(json, profile, file);
  write_image(json, profile);
  tide_capture_json_images(json, profile->capture);
  write_totals(json, profile);
  write_pages(json, profile->image);
  if (profile->image->n_events)
    write_events(json, profile->image);
  write_completeness(json, profile);
  tide_exactness_json(json, profile->image);
}
