// SPDX-License-Identifier: Apache-2.0
//
// SARIF 2.1.0 (OASIS): one run, a rule per number that is limited, a result per budget that is not
// kept. Source files are told from the root, %SRCROOT%, which is what code scanning wants; one that
// lies elsewhere is a file: URI. GitHub's code scanning takes less than the standard has: a result
// of kind "pass" is an alert to it, and one result without a location has it refuse the whole file.
// So kept budgets are left out, and a budget without a place is told of where it stands, in the
// file of budgets, else at the capture; where no line is known it is the first.
#include "report/check.h"

#include "base/alloc.h"
#include "base/json.h"
#include "words/check_words.h"

#include <stdlib.h>
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

struct location {
  const char *file, *function; // function: NULL: not known
  uint32_t line;               // 0: not known
};

static void write_location(struct tide_json *json, const struct tide_check_report *report,
                           const struct location *location)
{
  const char *path = tide_check_path(report, location->file);
  TIDE_CLEANUP_FREE char *escaped = uri_path(path ? path : location->file);
  TIDE_CLEANUP_FREE char *uri =
      path || *location->file != '/' ? tide_strdup(escaped) : tide_sprintf("file://%s", escaped);
  tide_json_open_object(json);
  tide_json_key(json, "physicalLocation");
  tide_json_open_object(json);
  tide_json_key(json, "artifactLocation");
  tide_json_open_object(json);
  tide_json_put_text(json, "uri", uri);
  if (path)
    tide_json_put_text(json, "uriBaseId", "%SRCROOT%");
  tide_json_close_object(json);
  tide_json_key(json, "region");
  tide_json_open_object(json);
  tide_json_put_u64(json, "startLine", location->line ? location->line : 1);
  tide_json_close_object(json);
  tide_json_close_object(json);
  if (location->function)
    put_message(json, "message", location->function);
  tide_json_close_object(json);
}

static struct location location_of(const struct tide_culprit *culprit)
{
  return (struct location){culprit->file, culprit->function, culprit->line};
}

// Of a budget that no place of the program's is known for.
static void write_own_location(struct tide_json *json, const struct tide_check_report *report,
                               const struct tide_judged *judged)
{
  const char *capture = report->files[judged->file_idx].path;
  TIDE_CLEANUP_FREE char *real = realpath(capture, NULL); // NULL: it was not written
  struct location location = {.file = real ? real : capture};
  if (judged->budget->line && report->budgets)
    location = (struct location){.file = report->budgets, .line = judged->budget->line};
  write_location(json, report, &location);
}

// One location each, the other places as related ones: readers show a result at its first.
static void write_locations(struct tide_json *json, const struct tide_check_report *report,
                            const struct tide_judged *judged)
{
  const struct tide_culprit *place = tide_check_place(report, judged);
  bool has_file = place && place->file && *place->file;
  struct location location = has_file ? location_of(place) : (struct location){0};
  tide_json_key(json, "locations");
  tide_json_open_array(json);
  if (has_file)
    write_location(json, report, &location);
  else
    write_own_location(json, report, judged);
  tide_json_close_array(json);
  tide_json_key(json, "relatedLocations");
  tide_json_open_array(json);
  for (size_t i = 0; i < judged->n_culprits; i++) {
    location = location_of(&judged->culprits[i]);
    if (&judged->culprits[i] != place && location.file && *location.file)
      write_location(json, report, &location);
  }
  tide_json_close_array(json);
}

static void write_result(struct tide_json *json, const struct tide_check_report *report,
                         const struct tide_judged *judged)
{
  bool is_broken = judged->ruling == TIDE_RULING_BROKEN;
  TIDE_CLEANUP_FREE char *message = tide_check_message(judged);
  TIDE_CLEANUP_FREE char *name = tide_check_name(report, judged);
  TIDE_CLEANUP_FREE char *rule =
      tide_sprintf("max-%s%s", judged->budget->is_growth ? "growth-" : "",
                   tide_limited_rows[judged->budget->what].word);
  tide_json_open_object(json);
  tide_json_put_text(json, "ruleId", rule);
  tide_json_put_text(json, "kind", is_broken ? "fail" : "review");
  tide_json_put_text(json, "level", is_broken ? "error" : "none");
  put_message(json, "message", message);
  write_locations(json, report, judged);
  // By which a reader knows a result of another run again.
  tide_json_key(json, "partialFingerprints");
  tide_json_open_object(json);
  tide_json_put_text(json, "budget/v1", name);
  tide_json_close_object(json);
  tide_json_close_object(json);
}

// All of it is what code scanning asks for.
static void write_rule(struct tide_json *json, const char *number, const char *words,
                       bool is_growth)
{
  TIDE_CLEANUP_FREE char *id = tide_sprintf("max-%s%s", is_growth ? "growth-" : "", number);
  TIDE_CLEANUP_FREE char *full = tide_sprintf("%s, in one process of a run%s", words,
                                              is_growth ? ", against that of an earlier run" : "");
  TIDE_CLEANUP_FREE char *help = tide_sprintf("tidemark help check: --max-%s, or in tidemark.toml",
                                              is_growth ? "growth" : number);
  tide_json_open_object(json);
  tide_json_put_text(json, "id", id);
  put_message(json, "shortDescription", words);
  put_message(json, "fullDescription", full);
  put_message(json, "help", help);
  tide_json_close_object(json);
}

static void write_rules(struct tide_json *json)
{
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
    write_rule(json, tide_limited_rows[i].word, words[i], false);
    if (tide_limited_rows[i].of_growth)
      write_rule(json, tide_limited_rows[i].word, words[i], true);
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
    if (report->judgement->items[i].ruling != TIDE_RULING_KEPT)
      write_result(&json, report, &report->judgement->items[i]);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_close_array(&json);
  tide_json_close_object(&json);
  tide_json_done(&json);
}
