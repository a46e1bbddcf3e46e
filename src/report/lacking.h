// SPDX-License-Identifier: Apache-2.0
//
// What an image does not hold (enum tide_lacks), in the words of what is written for machines: a
// number that is lacking is left out of JSON and an empty cell of CSV, never zero.
#pragma once
#include "base/json.h"
#include "model/model.h"

// Whether the member or column of this name lacks in an image that lacks these.
bool tide_lacking(uint32_t lacks, const char *key);

// From now on members that lack in the image are left out.
void tide_lacking_leave_out(struct tide_json *json, const struct tide_image *image);

// "lacks": a list of what, as in ["peak", "blocks"].
void tide_lacking_json(struct tide_json *json, const struct tide_image *image);
