// SPDX-License-Identifier: Apache-2.0
//
// Which number is made of what: those of stacks say it in their list, others here.
#include "report/lacking.h"

#include <string.h>

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
  };
  tide_json_key(json, "lacks");
  tide_json_open_array(json);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (image->lacks & 1u << i)
      tide_json_text(json, words[i]);
  tide_json_close_array(json);
}
