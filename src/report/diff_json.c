// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-diff-1, section by section in the order of the document.
#include "report/diff.h"

#include "base/json.h"
#include "report/diff_cells.h"
#include "report/profile_json.h"
#include "report/site_json.h"

static void write_moment(struct tide_json *json, const char *key, const struct tide_point *point)
{
  if (point->given && !point->whole && !point->word)
    tide_json_put_u64(json, key, point->seen_ns);
  else
    tide_json_put_text(json, key, NULL);
}

static void write_side(struct tide_json *json, const char *key, const struct tide_profile *profile,
                       const char *file)
{
  const struct tide_image *image = profile->image;
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_lacking_leave_out(json, image);
  tide_capture_json_facts(json, profile->capture, file, tide_profile_is_complete(profile));
  tide_json_put_u64(json, "index", profile->image_idx);
  tide_image_json_identity(json, image);
  tide_json_put_i64(json, "peak_bytes", image->peak_bytes);
  tide_json_put_u64(json, "peak_bound_bytes", image->peak_bound_bytes);
  tide_json_put_i64(json, "live_bytes", profile->totals.live_bytes);
  tide_json_put_u64(json, "allocated_bytes", profile->totals.b_alloc);
  tide_json_put_u64(json, "allocations", profile->totals.n_alloc);
  tide_exactness_json(json, image);
  write_moment(json, "from_ns", &profile->question.window.from);
  write_moment(json, "to_ns", &profile->question.window.to);
  json->is_absent = NULL;
  tide_json_close_object(json);
}

static void write_amounts(struct tide_json *json, const struct tide_diff_place *place)
{
  const struct tide_diff_amount *before = &place->before, *after = &place->after;
  tide_json_put_i64(json, "before_bytes", before->bytes);
  tide_json_put_i64(json, "after_bytes", after->bytes);
  tide_json_put_i64(json, "change_bytes", tide_number_change(before->bytes, after->bytes));
  tide_json_put_i64(json, "before_blocks", before->blocks);
  tide_json_put_i64(json, "after_blocks", after->blocks);
  tide_json_put_i64(json, "change_blocks", tide_number_change(before->blocks, after->blocks));
  tide_json_put_u64(json, "before_stacks", before->n_stacks);
  tide_json_put_u64(json, "after_stacks", after->n_stacks);
}

static void write_place(struct tide_json *json, const struct tide_diff *diff,
                        const struct tide_diff_place *place)
{
  static const char *const kinds[] = {"place", "lost", "nowhere"};
  const struct tide_naming *naming;
  const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
  tide_json_open_object(json);
  tide_json_put_text(json, "change", tide_change_words[tide_diff_change_kind(diff, place)]);
  if (place->label) {
    tide_json_put_text(json, "kind", tide_diff_row_word(diff));
    tide_json_put_text(json, tide_diff_row_word(diff), place->label);
    if (tide_group_kind_is_classes(diff->group))
      tide_class_json(json, diff->group, &place->row);
    write_amounts(json, place);
    tide_json_close_object(json);
    return;
  }
  tide_json_put_text(json, "kind", place->is_module ? "module" : kinds[place->kind]);
  tide_json_put_text(json, "function", frame ? frame->function : NULL);
  tide_json_put_text(json, "file", frame ? frame->file : NULL);
  tide_json_put_u64(json, "line", place->after_frame ? place->after_frame->line : 0);
  tide_json_put_u64(json, "before_line", place->before_frame ? place->before_frame->line : 0);
  tide_json_put_text(json, "module", frame ? tide_naming_module_path(naming, frame) : "");
  write_amounts(json, place);
  tide_json_close_object(json);
}

static void write_question(struct tide_json *json, const struct tide_diff *diff)
{
  const struct tide_question *question = &diff->after->profile->question;
  tide_json_put_text(json, "measure", tide_measure_words[question->measure]);
  tide_json_put_text(json, "unit", question->unit == TIDE_UNIT_BYTES ? "bytes" : "blocks");
  tide_json_put_text(json, "grouped_by", tide_group_words[diff->group]);
  tide_json_put_bool(json, "one_run", tide_diff_is_one_run(diff));
  tide_json_put_bool(
      json, "same_command",
      tide_diff_same_command(diff->before->profile->image, diff->after->profile->image));
}

static void write_totals(struct tide_json *json, const struct tide_diff *diff)
{
  tide_json_key(json, "totals");
  tide_json_open_object(json);
  for (int kind = 0; kind < TIDE_CHANGES_N; kind++)
    tide_json_put_u64(json, tide_change_words[kind], diff->counts[kind]);
  write_amounts(json, &diff->total);
  tide_json_close_object(json);
}

void tide_diff_json_write(struct tide_sink *sink, const struct tide_diff *diff,
                          const struct tide_diff_options *options)
{
  struct tide_json json;
  size_t n_shown = tide_diff_rows(diff, options);
  struct tide_diff_place rest = tide_diff_rest(diff, n_shown);
  tide_json_init(&json, sink);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-diff-1");
  write_question(&json, diff);
  write_side(&json, "before", diff->before->profile, options->before_file);
  write_side(&json, "after", diff->after->profile, options->after_file);
  write_totals(&json, diff);
  tide_json_key(&json, "places");
  tide_json_open_array(&json);
  for (size_t i = 0; i < n_shown; i++)
    write_place(&json, diff, &diff->places[i]);
  tide_json_close_array(&json);
  tide_json_key(&json, "rest");
  tide_json_open_object(&json);
  tide_json_put_u64(&json, "places", diff->n - n_shown);
  write_amounts(&json, &rest);
  tide_json_close_object(&json);
  tide_json_key(&json, "open");
  tide_json_open_object(&json);
  write_amounts(&json, &diff->open);
  tide_json_close_object(&json);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
