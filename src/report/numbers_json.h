// SPDX-License-Identifier: Apache-2.0
//
// The numbers of stacks, groups and everything as JSON, from the one list of them.
#pragma once
#include "base/json.h"
#include "model/model.h"

void tide_number_json(struct tide_json *json, const char *key, const struct tide_number *number,
                      uint64_t value);
// Those that add up, under their keys; with_times: first and last as well.
void tide_numbers_json(struct tide_json *json, const struct tide_image *image,
                       const struct tide_numbers *numbers, bool with_times);
// What was done and what is left, under the names of totals.
void tide_totals_json(struct tide_json *json, const struct tide_image *image,
                      const struct tide_numbers *totals);
