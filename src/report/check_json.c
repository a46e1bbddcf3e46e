// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-check-1: docs/json.md has its keys.
#include "report/check.h"

#include "base/alloc.h"
#include "base/json.h"
#include "profile/completeness.h"
#include "words/check_words.h"

static void put_bound(struct tide_json *json, const char *key, int64_t value, int64_t none)
{
  if (value == none) {
    tide_json_key(json, key);
    tide_json_text(json, NULL);
  } else {
    tide_json_put_i64(json, key, value);
  }
}

static void write_places(struct tide_json *json, const struct tide_check_report *report,
                         const struct tide_judged *judged)
{
  tide_json_key(json, "places");
  tide_json_open_array(json);
  for (size_t i = 0; i < judged->n_culprits; i++) {
    const struct tide_culprit *culprit = &judged->culprits[i];
    tide_json_open_object(json);
    tide_json_put_text(json, "function", culprit->function);
    tide_json_put_text(json, "file", culprit->file);
    tide_json_put_text(json, "path", tide_check_path(report, culprit->file));
    tide_json_put_u64(json, "line", culprit->line);
    tide_json_put_text(json, "module", culprit->module);
    tide_json_put_i64(json, "value", culprit->value);
    if (judged->budget->is_growth && !judged->is_unmatched)
      tide_json_put_i64(json, "before", culprit->before);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_json_put_u64(json, "more_places", judged->n_more);
}

static void write_doubts(struct tide_json *json, const struct tide_judged *judged)
{
  TIDE_CLEANUP_FREE char *why = tide_judged_doubts(judged, (struct tide_style){.utf8 = true});
  tide_json_key(json, "doubts");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_DOUBTS_N; i++)
    if (judged->ruling == TIDE_RULING_UNKNOWN &&
        judged->doubts & tide_doubt_bit((enum tide_doubt)i))
      tide_json_text(json, tide_doubt_words[i]);
  tide_json_close_array(json);
  tide_json_put_text(json, "why", why);
}

static void write_scope(struct tide_json *json, const struct tide_heap_budget *budget)
{
  TIDE_CLEANUP_FREE char *name = tide_budget_words(budget);
  tide_json_put_text(json, "name", name);
  tide_json_put_text(json, "what", tide_limited_rows[budget->what].word);
  tide_json_put_text(json, "unit", tide_limited_rows[budget->what].in_bytes ? "bytes" : "blocks");
  tide_json_put_text(json, "program", budget->program);
  tide_json_put_text(json, "match", budget->site);
  tide_json_put_text(json, "from", budget->from);
  tide_json_put_text(json, "to", budget->to);
  if (budget->is_growth)
    tide_json_put_u64(json, "growth_ppm", budget->limit);
}

static void write_judged(struct tide_json *json, const struct tide_check_report *report,
                         const struct tide_judged *judged)
{
  const struct tide_heap_budget *budget = judged->budget;
  TIDE_CLEANUP_FREE char *sentence =
      tide_judged_sentence(judged, (struct tide_style){.utf8 = true});
  tide_json_open_object(json);
  write_scope(json, budget);
  tide_json_put_text(json, "file", report->files[judged->file_idx].path);
  tide_json_put_text(json, "verdict", tide_ruling_words[judged->ruling]);
  tide_json_put_text(json, "sentence", sentence);
  if (budget->is_growth)
    put_bound(json, "limit", judged->before.least == TIDE_NO_LEAST ? TIDE_NO_LEAST : judged->limit,
              TIDE_NO_LEAST);
  else
    tide_json_put_u64(json, "limit", budget->limit);
  tide_json_put_text(json, "process", tide_judged_has_name(judged) ? judged->program : NULL);
  if (judged->program) {
    tide_json_put_u64(json, "index", judged->image_idx);
    tide_json_put_i64(json, "value", judged->bounds.value);
    put_bound(json, "least", judged->bounds.least, TIDE_NO_LEAST);
    put_bound(json, "most", judged->bounds.most, TIDE_NO_MOST);
  }
  if (budget->is_growth && judged->program)
    put_bound(json, "before",
              judged->before.least == TIDE_NO_LEAST ? TIDE_NO_LEAST : judged->before.value,
              TIDE_NO_LEAST);
  if (budget->site)
    tide_json_put_bool(json, "matched", judged->has_match);
  tide_json_put_u64(json, "processes", judged->n_processes);
  tide_json_put_u64(json, "processes_broken", judged->n_broken);
  tide_json_put_u64(json, "processes_unknown", judged->n_unknown);
  write_doubts(json, judged);
  write_places(json, report, judged);
  tide_json_close_object(json);
}

static void write_files(struct tide_json *json, const struct tide_check_report *report)
{
  tide_json_key(json, "files");
  tide_json_open_array(json);
  for (size_t i = 0; i < report->n_files; i++) {
    const struct tide_check_file *file = &report->files[i];
    tide_json_open_object(json);
    tide_json_put_text(json, "file", file->path);
    tide_json_put_bool(json, "complete", tide_capture_is_complete(file->capture));
    tide_json_put_bool(json, "finished", file->capture->finished);
    tide_json_put_text(json, "note", file->capture->cut_note);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

static void write_command(struct tide_json *json, const struct tide_check_report *report)
{
  tide_json_key(json, "command");
  if (!report->has_command) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_u64(json, "exit_status", (uint64_t)report->exit_status);
  tide_json_put_u64(json, "signal", (uint64_t)report->term_signal);
  tide_json_close_object(json);
}

void tide_check_json_write(struct tide_sink *sink, const struct tide_check_report *report)
{
  const struct tide_judgement *judgement = report->judgement;
  TIDE_CLEANUP_FREE char *title = tide_judgement_title(judgement);
  struct tide_json json;
  tide_json_init(&json, sink);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-check-1");
  tide_json_put_text(&json, "verdict", tide_ruling_words[judgement->ruling]);
  tide_json_put_text(&json, "title", title);
  for (int i = 0; i < TIDE_RULINGS_N; i++)
    tide_json_put_u64(&json, tide_ruling_words[i], judgement->counts[i]);
  write_command(&json, report);
  write_files(&json, report);
  tide_json_put_text(&json, "baseline", report->baseline);
  tide_json_key(&json, "budgets");
  tide_json_open_array(&json);
  for (size_t i = 0; i < judgement->n; i++)
    write_judged(&json, report, &judgement->items[i]);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
