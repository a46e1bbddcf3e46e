// SPDX-License-Identifier: Apache-2.0
//
// Images and captures as JSON members.
#include "report/image_json.h"

#include "base/alloc.h"
#include "model/capture.h"
#include "model/why_words.h"
#include "report/lacking.h"
#include "words/image_text.h"

#include <stdlib.h>

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
}
