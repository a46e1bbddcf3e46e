// SPDX-License-Identifier: Apache-2.0
//
// For tests of the .tide reader: captures as bytes, and files put together part by part, right or
// wrong on purpose.
#pragma once
#include "base/buf.h"
#include "model/model.h"

// The bytes of a capture's file. Owned by the caller, tide_buf_done().
struct tide_buf tide_bytes_of(const struct tide_capture *capture);

// The JSON of tide_json.h, NUL-terminated; owned by the caller, free().
char *tide_bytes_json(const struct tide_capture *capture);

// One part of a file: where it starts, its fields, and its unpacked payload (owned).
struct tide_bytes_part {
  size_t start, n; // with its header
  uint16_t type, flags;
  uint32_t image;
  struct tide_buf payload;
};
// All parts; *ret_n of them. Free each payload and the array.
struct tide_bytes_part *tide_bytes_parts(const struct tide_buf *file, size_t *ret_n);
void tide_bytes_parts_free(struct tide_bytes_part *parts, size_t n);

void tide_bytes_put_file_header(struct tide_buf *out, uint16_t major, uint16_t minor);
// A part with a right checksum. packed: zstd, else stored as is. raw_bytes: what the header claims.
void tide_bytes_put_part(struct tide_buf *out, uint16_t type, uint32_t image, uint32_t sequence,
                         const struct tide_buf *payload, bool packed, uint64_t raw_bytes);
// The same with flags of the header, and the root.
void tide_bytes_put_flagged(struct tide_buf *out, const struct tide_bytes_part *part,
                            uint32_t sequence, uint32_t root, bool packed, uint64_t raw_bytes);
