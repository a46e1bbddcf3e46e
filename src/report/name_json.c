// SPDX-License-Identifier: Apache-2.0
//
// Texts are told apart as they will be written: two that differ in broken bytes alone are one.
#include "report/name_json.h"

#include "base/alloc.h"
#include "base/utf8.h"

#include <stdlib.h>

void tide_name_json_init(struct tide_name_json *names, struct tide_naming *naming)
{
  *names = (struct tide_name_json){.naming = naming};
}

static void table_done(struct tide_name_table *table)
{
  tide_intern_done(&table->texts);
  tide_intern_done(&table->pointers);
  free(table->numbers);
}

void tide_name_json_done(struct tide_name_json *names)
{
  table_done(&names->functions);
  table_done(&names->files);
  table_done(&names->modules);
  tide_buf_done(&names->scratch);
  *names = (struct tide_name_json){0};
}

static uint32_t number_of(struct tide_name_table *table, const char *text, struct tide_buf *scratch)
{
  if (!text)
    return 0;
  size_t n_known = table->pointers.n;
  uint32_t pointer = tide_intern_add(&table->pointers, &text, sizeof text);
  if (pointer == n_known) {
    TIDE_GROW(table->numbers, n_known, table->cap_numbers);
    table->numbers[pointer] = 1 + tide_intern_text(&table->texts, tide_utf8_mend(text, scratch));
  }
  return table->numbers[pointer];
}

uint32_t tide_name_json_function(struct tide_name_json *names, const struct tide_named_frame *of)
{
  return number_of(&names->functions, of->function, &names->scratch);
}

uint32_t tide_name_json_file(struct tide_name_json *names, const struct tide_named_frame *of)
{
  return number_of(&names->files, of->file, &names->scratch);
}

uint32_t tide_name_json_module(struct tide_name_json *names, const struct tide_named_frame *of)
{
  const char *path = tide_naming_module_path(names->naming, of);
  return number_of(&names->modules, *path ? path : NULL, &names->scratch);
}

static void write_texts(struct tide_json *json, const char *key, const struct tide_intern *texts)
{
  tide_json_key(json, key);
  tide_json_open_array(json);
  tide_json_text(json, NULL);
  for (size_t i = 0; i < texts->n; i++) {
    size_t n;
    const char *text = tide_intern_get(texts, (uint32_t)i, &n);
    tide_json_text_n(json, text, n);
  }
  tide_json_close_array(json);
}

void tide_name_json_write(const struct tide_name_json *names, struct tide_json *json)
{
  write_texts(json, "functions", &names->functions.texts);
  write_texts(json, "files", &names->files.texts);
  write_texts(json, "modules", &names->modules.texts);
}
