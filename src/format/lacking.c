// SPDX-License-Identifier: Apache-2.0
//
// Which number is made of what.
#include "format/lacking.h"

#include <string.h>

static const struct {
  const char *key;
  uint32_t needs;
} fields[] = {
    {"allocations", TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS},
    {"allocated_bytes", TIDE_LACK_TOTAL},
    {"bytes", TIDE_LACK_TOTAL},
    {"frees", TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS},
    {"freed_bytes", TIDE_LACK_TOTAL},
    {"live_blocks", TIDE_LACK_LIVE | TIDE_LACK_BLOCKS},
    {"live_bytes", TIDE_LACK_LIVE},
    {"peak_blocks", TIDE_LACK_PEAK | TIDE_LACK_BLOCKS},
    {"peak_bytes", TIDE_LACK_PEAK},
    {"peak_bound_bytes", TIDE_LACK_PEAK},
    {"peak_ns", TIDE_LACK_PEAK | TIDE_LACK_CLOCK},
    {"own_max_bytes", TIDE_LACK_PEAK | TIDE_LACK_TOTAL},
    {"own_max_is_bound", TIDE_LACK_PEAK | TIDE_LACK_TOTAL},
    {"temporary", TIDE_LACK_TEMP | TIDE_LACK_BLOCKS},
    {"temporary_bytes", TIDE_LACK_TEMP},
    {"mean_life_ns", TIDE_LACK_LIFETIMES},
    {"mean_age_ns", TIDE_LACK_LIFETIMES | TIDE_LACK_LIVE | TIDE_LACK_BLOCKS},
    {"lifetimes", TIDE_LACK_LIFE_HIST},
    {"sizes", TIDE_LACK_SIZE_HIST},
    {"resizes", TIDE_LACK_RESIZES},
    {"resized_old_bytes", TIDE_LACK_RESIZES},
    {"resized_new_bytes", TIDE_LACK_RESIZES},
    {"moved", TIDE_LACK_RESIZES},
    {"moved_bytes", TIDE_LACK_RESIZES},
    {"foreign_frees", TIDE_LACK_THREADS},
    {"thread_slots", TIDE_LACK_THREADS},
    {"threads", TIDE_LACK_THREADS},
    {"max_live_threads", TIDE_LACK_THREADS},
    {"start_ns", TIDE_LACK_CLOCK},
    {"end_ns", TIDE_LACK_CLOCK},
    {"duration_ns", TIDE_LACK_CLOCK},
    {"first_ns", TIDE_LACK_TIMES},
    {"last_ns", TIDE_LACK_TIMES},
};

bool tide_lacking(uint32_t lacks, const char *key)
{
  for (size_t i = 0; lacks && i < sizeof fields / sizeof *fields; i++)
    if (strcmp(fields[i].key, key) == 0)
      return lacks & fields[i].needs;
  return false;
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
