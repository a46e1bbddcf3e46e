// SPDX-License-Identifier: Apache-2.0
//
// How exact the numbers of a document are, for machines: every document that has numbers of an
// image has this beside them.
#pragma once
#include "base/json.h"
#include "model/model.h"

// A member that says it of one kind of numbers alone: {"is": "within", "bound_bytes": 210944}
void tide_exactness_json_of(struct tide_json *json, const char *key, const struct tide_image *image,
                            enum tide_figure figure);

// The member "exactness" of the object that is open.
void tide_exactness_json(struct tide_json *json, const struct tide_image *image);
