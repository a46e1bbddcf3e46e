// SPDX-License-Identifier: Apache-2.0
//
// One part of a .tide file as bytes: header, checksum and payload, compressed where that helps. A
// run of parts that was made before it was known where in a file they go is spliced into it. See
// docs/tide-format.md. Private to src/tide and src/observe.
#pragma once
#include "base/buf.h"
#include "tide/format.h"

#include <zstd.h>

// Appends a part of the payload in raw, which it empties. `part` has its type, image, sequence and
// root, and flags that say what it holds; root is the payload of that, NULL: it has none.
enum tide_err tide_part_put(ZSTD_CCtx *zstd, struct tide_part part, const struct tide_buf *root,
                            struct tide_buf *raw, struct tide_buf *out, struct tide_diag *diag);

// Appends the parts of a run, as those of the given image; *sequence is the first one's number, and
// then the next.
void tide_parts_splice(struct tide_buf *out, const struct tide_buf *run, uint32_t image_idx,
                       uint32_t *sequence);

// The header of the part at data; false: none begins there.
bool tide_part_header(const uint8_t *data, struct tide_part *ret_part);

// ---- parts behind those of another image ----
//
// Images of one program have most of their stacks in common, and much of what those did. So where a
// capture has several, the large parts of the first one in the file are roots: the same parts of
// the others are packed behind the payload of theirs (zstd's prefix), and take a fifth. A capture
// with one image of each program keeps nothing. Private to write.c.

struct tide_root {
  size_t image;             // the first of its program
  enum tide_part_type type; // and
  size_t ordinal;           // number of the part among those of its type in the image
  uint32_t sequence;        // of the part in the file
  struct tide_buf raw;      // its payload
};

struct tide_roots {
  size_t *first_of; // per image: the first of its program
  bool *is_shared;  // per image: another has it as the first of its program
  struct tide_root *items;
  size_t n, cap;
  enum tide_part_type type; // of the part at hand; likewise below
  size_t image, ordinal;
};

// order: the images as the file has them.
void tide_roots_init(struct tide_roots *roots, const struct tide_capture *capture,
                     const size_t *order);
void tide_roots_done(struct tide_roots *roots);

// The next part of the file. Gives its root, which is valid until the next call, or NULL; a part
// that will be one is kept, as it is.
const struct tide_root *tide_roots_next(struct tide_roots *roots, enum tide_part_type type,
                                        size_t image, uint32_t sequence,
                                        const struct tide_buf *raw);
