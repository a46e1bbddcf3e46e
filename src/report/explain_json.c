// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-explain-1: docs/json.md has its keys.
#include "report/explain.h"

#include "base/alloc.h"
#include "base/json.h"
#include "findings/compare.h"
#include "model/image_sums.h"
#include "report/profile_json.h"
#include "words/finding_words.h"

static void write_saving(struct tide_json *json, const char *key,
                         const struct tide_finding *finding)
{
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_text(json, "unit", tide_saving_words[tide_rule_rows[finding->rule].saving]);
  tide_json_put_i64(json, "value", finding->saving.value);
  tide_json_put_text(json, "is", tide_exactness_words[finding->saving.exactness]);
  tide_json_close_object(json);
}

static void write_evidence(struct tide_json *json, const struct tide_finding *finding)
{
  tide_json_key(json, "evidence");
  tide_json_open_object(json);
  for (int i = 0; i < TIDE_EVIDENCES_N; i++)
    if (tide_finding_has(finding, (enum tide_evidence)i))
      tide_json_put_i64(json, tide_evidence_rows[i].key, finding->evidence[i]);
  tide_json_close_object(json);
}

static void write_place(struct tide_json *json, const struct tide_finding *finding,
                        const struct tide_naming *naming)
{
  const struct tide_named_frame *frame = finding->frame;
  tide_json_put_text(json, "function", frame ? frame->function : NULL);
  tide_json_put_text(json, "file", frame ? frame->file : NULL);
  tide_json_put_u64(json, "line", frame ? frame->line : 0);
  tide_json_put_text(json, "module", frame ? tide_naming_module_path(naming, frame) : NULL);
}

// Which answer shows more of it: a measure of the report, or the table of resident memory.
static const char *seen_in(enum tide_hint hint)
{
  switch (hint) {
  case TIDE_HINT_SEE_MAPS: return "residence";
  case TIDE_HINT_SEE_LEAKS: return tide_measure_words[TIDE_MEASURE_LEAK];
  case TIDE_HINT_SEE_TOTAL: return tide_measure_words[TIDE_MEASURE_TOTAL];
  case TIDE_HINT_SEE_TEMPORARY: return tide_measure_words[TIDE_MEASURE_TEMP];
  default: return tide_measure_words[TIDE_MEASURE_PEAK];
  }
}

// One that was there before, too: then is its like of the earlier run, NULL otherwise.
static void write_finding(struct tide_json *json, const struct tide_finding *finding,
                          const struct tide_naming *naming, const struct tide_finding *then)
{
  const struct tide_style style = {.utf8 = true};
  TIDE_CLEANUP_FREE char *sentence = tide_finding_sentence(finding, naming, style);
  TIDE_CLEANUP_FREE char *heading = tide_finding_heading(finding, style);
  tide_json_open_object(json);
  tide_json_put_text(json, "rule", tide_rule_rows[finding->rule].word);
  tide_json_put_text(json, "kind", tide_finding_kind_words[finding->is_note]);
  tide_json_put_text(json, "confidence", tide_confidence_words[finding->confidence]);
  tide_json_put_text(json, "heading", heading);
  tide_json_put_text(json, "sentence", sentence);
  tide_json_put_text(json, "advice", tide_finding_advice(finding));
  write_place(json, finding, naming);
  tide_json_put_text(json, "see", seen_in(tide_rule_rows[finding->rule].hint));
  write_saving(json, "saving", finding);
  if (then)
    write_saving(json, "saving_before", then);
  write_evidence(json, finding);
  tide_json_put_u64(json, "alike", finding->n_alike);
  tide_json_close_object(json);
}

void tide_findings_json(struct tide_json *json, const char *key,
                        const struct tide_findings *findings, const struct tide_naming *naming,
                        size_t n_most)
{
  tide_json_key(json, key);
  tide_json_open_array(json);
  for (size_t i = 0; i < findings->n && i < n_most; i++)
    write_finding(json, &findings->items[i], naming, NULL);
  tide_json_close_array(json);
}

static void write_unjudged(struct tide_json *json, const struct tide_findings *findings)
{
  tide_json_key(json, "unjudged");
  tide_json_open_array(json);
  for (int rule = 0; rule < TIDE_RULES_N; rule++)
    if (findings->unjudged >> rule & 1)
      tide_json_text(json, tide_rule_rows[rule].word);
  tide_json_close_array(json);
  tide_json_put_bool(json, "has_course", !findings->is_short);
}

static void open_document(struct tide_json *json, struct tide_sink *sink,
                          const struct tide_explanation *explanation)
{
  const struct tide_profile *profile = explanation->profile;
  tide_json_init(json, sink);
  tide_json_open_object(json);
  tide_json_put_text(json, "schema", "tidemark-explain-1");
  tide_capture_json_facts(json, profile->capture, explanation->file,
                          tide_profile_is_complete(profile));
  tide_json_put_u64(json, "index", profile->image_idx);
  tide_image_json_identity(json, profile->image);
}

void tide_explain_json_write(struct tide_sink *sink, const struct tide_explanation *explanation)
{
  const struct tide_findings *findings = explanation->findings;
  struct tide_json json;
  open_document(&json, sink, explanation);
  tide_findings_json(&json, "findings", findings, explanation->naming, explanation->n_most);
  write_unjudged(&json, findings);
  tide_json_close_object(&json);
  tide_json_done(&json);
}

// ---- two runs ----

static void write_gone(struct tide_json *json, const struct tide_comparison *comparison,
                       const size_t *matches)
{
  const struct tide_findings *before = comparison->before.findings;
  size_t n_after = comparison->after.findings->n;
  tide_json_key(json, "gone");
  tide_json_open_array(json);
  for (size_t i = 0; i < before->n; i++) {
    size_t k = 0;
    while (k < n_after && matches[k] != i)
      k++;
    if (k == n_after)
      write_finding(json, &before->items[i], comparison->before.naming, NULL);
  }
  tide_json_close_array(json);
}

static void write_change(struct tide_json *json, const struct tide_diff *diff)
{
  const struct tide_style style = {.utf8 = true};
  TIDE_CLEANUP_FREE char *all = tide_changes_sentence(diff, style);
  tide_json_put_text(json, "change", all);
  tide_json_key(json, "changes");
  tide_json_open_array(json);
  for (size_t i = 0; i < diff->n; i++) {
    TIDE_CLEANUP_FREE char *text = tide_change_sentence(diff, &diff->places[i], style);
    if (text)
      tide_json_text(json, text);
  }
  tide_json_close_array(json);
}

void tide_explain_two_json_write(struct tide_sink *sink, const struct tide_comparison *comparison)
{
  const struct tide_explanation *after = &comparison->after;
  const struct tide_findings *findings = after->findings, *before = comparison->before.findings;
  struct tide_json json;
  TIDE_CLEANUP_FREE size_t *matches = tide_alloc_array(findings->n + 1, sizeof *matches);
  tide_findings_match(before, findings, matches);
  open_document(&json, sink, after);
  tide_json_key(&json, "findings");
  tide_json_open_array(&json);
  for (size_t i = 0; i < findings->n && i < after->n_most; i++)
    write_finding(&json, &findings->items[i], after->naming,
                  matches[i] == TIDE_FINDING_NONE ? NULL : &before->items[matches[i]]);
  tide_json_close_array(&json);
  write_unjudged(&json, findings);
  tide_json_put_text(&json, "compared_with", comparison->before.file);
  write_gone(&json, comparison, matches);
  write_change(&json, comparison->diff);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
