// SPDX-License-Identifier: Apache-2.0
//
// One part of a .tide file as bytes: header, checksum and payload, compressed where that helps. A
// run of parts that was made before it was known where in a file they go is spliced into it. See
// docs/tide-format.md. Private to src/tide and src/observe.
#pragma once
#include "tide/format.h"

#include <zstd.h>

// Appends a part of the payload in raw, which it empties. `part` has its type, image, sequence and
// root; root is the payload of that, NULL: it has none.
enum tide_err tide_part_put(ZSTD_CCtx *zstd, struct tide_part part, const struct tide_buf *root,
                            struct tide_buf *raw, struct tide_buf *out, struct tide_diag *diag);

// Appends the parts of a run, as those of the given image; *sequence is the first one's number, and
// then the next.
void tide_parts_splice(struct tide_buf *out, const struct tide_buf *run, uint32_t image_idx,
                       uint32_t *sequence);

// The header of the part at data; false: none begins there.
bool tide_part_header(const uint8_t *data, struct tide_part *ret_part);
