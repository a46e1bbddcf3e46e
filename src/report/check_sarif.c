// SPDX-License-Identifier: Apache-2.0
//
// SARIF 2.1.0 (OASIS): one run, a rule per number that is limited, a result per budget. Kept ones
// are results, too, of kind "pass". Source files are told from the root, %SRCROOT%, which is what
// code scanning wants; one that lies elsewhere is a file: URI.
#include "report/check.h"

#include "base/alloc.h"
#include "base/json.h"
#include "words/check_words.h"

#include <stdio.h>
#include <string.h>

#define SARIF_SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

// What RFC 3986 lets stand in a path; the rest is escaped.
static char *uri_path(const char *path)
{
  struct tide_buf uri = {0};
  for (const char *c = path; *c; c++) {
    bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || strchr("-._~/+@", *c);
    if (is_plain)
      tide_buf_u8(&uri, (uint8_t)*c);
    else
      tide_buf_printf(&uri, "%%%02X", (unsigned)(unsigned char)*c);
  }
  char *text = tide_strdup(tide_buf_cstr(&uri));
  tide_buf_done(&uri);
  return text;
}

static void put_message(struct tide_json *json, const char *key, const char *text)
{
  tide_json_key(json, key);
  tide_json_open_object(json);
  tide_json_put_text(json, "text", text);
  tide_json_close_object(json);
}

static void write_location(struct tide_json *json, const struct tide_check_report *report,
                           const struct tide_culprit *culprit)
{
  const char *path = tide_check_path(report, culprit->file);
  TIDE_CLEANUP_FREE char *escaped = uri_path(path ? path : culprit->file);
  TIDE_CLEANUP_FREE char *uri =
      path || *culprit->file != '/' ? tide_strdup(escaped) : tide_sprintf("file://%s", escaped);
  tide_json_open_object(json);
  tide_json_key(json, "physicalLocation");
  tide_json_open_object(json);
  tide_json_key(json, "artifactLocation");
  tide_json_open_object(json);
  tide_json_put_text(json, "uri", uri);
  if (path)
    tide_json_put_text(json, "uriBaseId", "%SRCROOT%");
  tide_json_close_object(json);
  if (culprit->line) {
    tide_json_key(json, "region");
    tide_json_open_object(json);
    tide_json_put_u64(json, "startLine", culprit->line);
    tide_json_close_object(json);
  }
  tide_json_close_object(json);
  if (culprit->function)
    put_message(json, "message", culprit->function);
  tide_json_close_object(json);
}

// One location each, the other places as related ones: readers show a result at its first.
static void write_locations(struct tide_json *json, const struct tide_check_report *report,
                            const struct tide_judged *judged)
{
  const struct tide_culprit *place = tide_check_place(report, judged);
  if (!place || !place->file)
    return;
  tide_json_key(json, "locations");
  tide_json_open_array(json);
  write_location(json, report, place);
  tide_json_close_array(json);
  tide_json_key(json, "relatedLocations");
  tide_json_open_array(json);
  for (size_t i = 0; i < judged->n_culprits; i++)
    if (&judged->culprits[i] != place && judged->culprits[i].file)
      write_location(json, report, &judged->culprits[i]);
  tide_json_close_array(json);
}

static void write_result(struct tide_json *json, const struct tide_check_report *report,
                         const struct tide_judged *judged)
{
  static const char *const kinds[TIDE_RULINGS_N] = {"pass", "fail", "review"};
  static const char *const levels[TIDE_RULINGS_N] = {"none", "error", "none"};
  TIDE_CLEANUP_FREE char *message = tide_check_message(judged);
  TIDE_CLEANUP_FREE char *name = tide_check_name(report, judged);
  TIDE_CLEANUP_FREE char *rule =
      tide_sprintf("max-%s%s", judged->budget->is_growth ? "growth-" : "",
                   tide_limited_rows[judged->budget->what].word);
  tide_json_open_object(json);
  tide_json_put_text(json, "ruleId", rule);
  tide_json_put_text(json, "kind", kinds[judged->ruling]);
  tide_json_put_text(json, "level", levels[judged->ruling]);
  put_message(json, "message", message);
  write_locations(json, report, judged);
  // By which a reader knows a result of another run again.
  tide_json_key(json, "partialFingerprints");
  tide_json_open_object(json);
  tide_json_put_text(json, "budget/v1", name);
  tide_json_close_object(json);
  tide_json_close_object(json);
}

static void write_rule(struct tide_json *json, const char *id, const char *words)
{
  tide_json_open_object(json);
  tide_json_put_text(json, "id", id);
  put_message(json, "shortDescription", words);
  tide_json_close_object(json);
}

static void write_rules(struct tide_json *json)
{
  char id[40];
  static const char *const words[TIDE_LIMITED_N] = {
      [TIDE_LIMITED_PEAK] = "The most bytes of the heap that are live at once",
      [TIDE_LIMITED_TOTAL] = "The bytes allocated in all",
      [TIDE_LIMITED_ALLOCS] = "The number of allocations",
      [TIDE_LIMITED_LEAKED] = "The bytes never freed",
      [TIDE_LIMITED_TEMP] = "The bytes freed within one further allocation",
      [TIDE_LIMITED_RSS] = "The most bytes in memory",
  };
  tide_json_key(json, "rules");
  tide_json_open_array(json);
  for (int i = 0; i < TIDE_LIMITED_N; i++) {
    snprintf(id, sizeof id, "max-%s", tide_limited_rows[i].word);
    write_rule(json, id, words[i]);
    snprintf(id, sizeof id, "max-growth-%s", tide_limited_rows[i].word);
    if (tide_limited_rows[i].of_growth)
      write_rule(json, id, words[i]);
  }
  tide_json_close_array(json);
}

void tide_check_sarif_write(struct tide_sink *sink, const struct tide_check_report *report)
{
  struct tide_json json;
  tide_json_init(&json, sink);
  json.break_depth = 4;
  tide_json_open_object(&json);
  tide_json_put_text(&json, "$schema", SARIF_SCHEMA);
  tide_json_put_text(&json, "version", "2.1.0");
  tide_json_key(&json, "runs");
  tide_json_open_array(&json);
  tide_json_open_object(&json);
  tide_json_key(&json, "tool");
  tide_json_open_object(&json);
  tide_json_key(&json, "driver");
  tide_json_open_object(&json);
  tide_json_put_text(&json, "name", "tidemark check");
  tide_json_put_text(&json, "version", TIDE_VERSION);
  write_rules(&json);
  tide_json_close_object(&json);
  tide_json_close_object(&json);
  tide_json_key(&json, "results");
  tide_json_open_array(&json);
  for (size_t i = 0; i < report->judgement->n; i++)
    write_result(&json, report, &report->judgement->items[i]);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
