// SPDX-License-Identifier: Apache-2.0
//
// Schema tidemark-explain-1: docs/json.md has its keys.
#include "report/explain.h"

#include "base/alloc.h"
#include "base/json.h"
#include "model/image_sums.h"
#include "report/profile_json.h"
#include "words/finding_words.h"

static void write_saving(struct tide_json *json, const struct tide_finding *finding)
{
  tide_json_key(json, "saving");
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

static void write_finding(struct tide_json *json, const struct tide_finding *finding,
                          const struct tide_naming *naming)
{
  TIDE_CLEANUP_FREE char *sentence =
      tide_finding_sentence(finding, naming, (struct tide_style){.utf8 = true});
  tide_json_open_object(json);
  tide_json_put_text(json, "rule", tide_rule_rows[finding->rule].word);
  tide_json_put_text(json, "confidence", tide_confidence_words[finding->confidence]);
  tide_json_put_text(json, "sentence", sentence);
  tide_json_put_text(json, "advice", tide_finding_advice(finding));
  write_place(json, finding, naming);
  write_saving(json, finding);
  write_evidence(json, finding);
  tide_json_put_u64(json, "alike", finding->n_alike);
  tide_json_close_object(json);
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

void tide_explain_json_write(struct tide_sink *sink, const struct tide_explanation *explanation)
{
  const struct tide_findings *findings = explanation->findings;
  const struct tide_profile *profile = explanation->profile;
  struct tide_json json;
  tide_json_init(&json, sink);
  tide_json_open_object(&json);
  tide_json_put_text(&json, "schema", "tidemark-explain-1");
  tide_capture_json_facts(&json, profile->capture, explanation->file,
                          tide_profile_is_complete(profile));
  tide_json_put_u64(&json, "index", profile->image_idx);
  tide_image_json_identity(&json, profile->image);
  tide_json_key(&json, "findings");
  tide_json_open_array(&json);
  for (size_t i = 0; i < findings->n && i < explanation->n_most; i++)
    write_finding(&json, &findings->items[i], explanation->naming);
  tide_json_close_array(&json);
  write_unjudged(&json, findings);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
