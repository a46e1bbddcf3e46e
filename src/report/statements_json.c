// SPDX-License-Identifier: Apache-2.0
//
// Sentences as they are, each with what it is about.
#include "report/statements_json.h"

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
