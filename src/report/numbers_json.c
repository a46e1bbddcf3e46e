// SPDX-License-Identifier: Apache-2.0
//
// What a capture of an older format does not keep is left out; so is what other tools' files lack,
// by the JSON writer itself (report/lacking.h).
#include "report/numbers_json.h"

#include "model/image_sums.h"

void tide_number_json(struct tide_json *json, const char *key, const struct tide_number *number,
                      uint64_t value)
{
  if (number->is_signed)
    tide_json_put_i64(json, key, (int64_t)value);
  else
    tide_json_put_u64(json, key, value);
}

static bool is_time(const struct tide_number *number)
{
  return number->rule == TIDE_NUMBER_EARLIEST || number->rule == TIDE_NUMBER_LATEST;
}

void tide_numbers_json(struct tide_json *json, const struct tide_image *image,
                       const struct tide_numbers *numbers, bool with_times)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    bool is_wanted = tide_number_adds_up(number) || (with_times && is_time(number));
    if (number->key && is_wanted && tide_number_is_kept(number, image))
      tide_number_json(json, number->key, number, tide_number_get(numbers, number));
  }
}

void tide_totals_json(struct tide_json *json, const struct tide_image *image,
                      const struct tide_numbers *totals)
{
  for (size_t i = 0; i < tide_number_list_n; i++) {
    const struct tide_number *number = &tide_number_list[i];
    bool is_wanted = number->rule == TIDE_NUMBER_DONE || number->rule == TIDE_NUMBER_LEFT;
    bool is_kept = tide_number_is_kept(number, image) || image->n_sites == 0;
    if (number->key && is_wanted && is_kept)
      tide_number_json(json, tide_number_name(number), number, tide_number_get(totals, number));
  }
}
