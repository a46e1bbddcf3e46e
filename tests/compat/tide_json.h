// SPDX-License-Identifier: Apache-2.0
//
// Everything a .tide file holds, as JSON: what tide_decode.py prints too, so that the two readers
// can be compared, and a way to ask whether two captures are equal.
//
// Bytes of strings appear as the characters U+0000 to U+00FF. Rows 0 that are never stored are
// left out; sites come in the order of the file. One line per row, to make differences readable.
#pragma once
#include "base/buf.h"
#include "model/model.h"

void tide_json_capture(struct tide_buf *out, const struct tide_capture *capture);
// The same with the sites as the file had them, whatever its version.
void tide_json_file(struct tide_buf *out, const struct tide_capture *capture);
