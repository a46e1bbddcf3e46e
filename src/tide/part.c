// SPDX-License-Identifier: Apache-2.0
//
// Headers, checksums and compression of parts. See tide_part.h.
#include "tide/part.h"

#include <string.h>
#include <zlib.h>

#define ZSTD_LEVEL 3

static void put_header(uint8_t *to, const struct tide_part *part)
{
  struct tide_buf header = {0};
  tide_buf_u32(&header, TIDE_PART_MAGIC);
  tide_buf_u16(&header, part->type);
  tide_buf_u16(&header, part->flags);
  tide_buf_u32(&header, part->image);
  tide_buf_u32(&header, part->sequence);
  tide_buf_u64(&header, part->raw_bytes);
  tide_buf_u64(&header, part->stored_bytes);
  tide_buf_u32(&header, part->crc);
  tide_buf_u32(&header, part->root);
  memcpy(to, header.data, TIDE_PART_HEADER_BYTES);
  tide_buf_done(&header);
}

bool tide_part_header(const uint8_t *data, struct tide_part *ret_part)
{
  struct tide_cursor in = tide_cursor_make(data, TIDE_PART_HEADER_BYTES);
  uint32_t magic = tide_cursor_u32(&in);
  ret_part->type = tide_cursor_u16(&in);
  ret_part->flags = tide_cursor_u16(&in);
  ret_part->image = tide_cursor_u32(&in);
  ret_part->sequence = tide_cursor_u32(&in);
  ret_part->raw_bytes = tide_cursor_u64(&in);
  ret_part->stored_bytes = tide_cursor_u64(&in);
  ret_part->crc = tide_cursor_u32(&in);
  ret_part->root = tide_cursor_u32(&in);
  return magic == TIDE_PART_MAGIC;
}

// The header of the part whose payload is behind it already; its checksum is over both.
static void seal(uint8_t *at, struct tide_part part)
{
  part.crc = 0;
  put_header(at, &part);
  part.crc = (uint32_t)crc32_z(0, at, TIDE_PART_HEADER_BYTES + (size_t)part.stored_bytes);
  put_header(at, &part);
}

enum tide_err tide_part_put(ZSTD_CCtx *zstd, struct tide_part part, const struct tide_buf *root,
                            struct tide_buf *raw, struct tide_buf *out, struct tide_diag *diag)
{
  uint16_t form = part.type == TIDE_PART_SITES ? TIDE_PART_BY_STACK : 0;
  if (raw->n > TIDE_MAX_PART_BYTES)
    return tide_fail(diag, TIDE_ERR_LIMIT, "the capture has a part of %zu bytes, too large",
                     raw->n);
  size_t start = out->n, bound = ZSTD_compressBound(raw->n);
  tide_buf_extend(out, TIDE_PART_HEADER_BYTES + bound);
  uint8_t *stored = out->data + start + TIDE_PART_HEADER_BYTES;
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
  if (root)
    ZSTD_CCtx_refPrefix(zstd, root->data, root->n); // for this frame alone
  size_t n = ZSTD_compress2(zstd, stored, bound, raw->data, raw->n);
  part.flags = root ? form | TIDE_PART_BEHIND : form;
  if (ZSTD_isError(n) || n >= raw->n) {
    if (raw->n)
      memcpy(stored, raw->data, raw->n);
    n = raw->n;
    part.flags = form | TIDE_PART_STORED;
    part.root = 0;
  }
  part.raw_bytes = raw->n;
  part.stored_bytes = n;
  out->n = start + TIDE_PART_HEADER_BYTES + n;
  seal(out->data + start, part);
  tide_buf_clear(raw);
  return TIDE_ERR_OK;
}

void tide_parts_splice(struct tide_buf *out, const struct tide_buf *run, uint32_t image_idx,
                       uint32_t *sequence)
{
  size_t at = out->n, end;
  tide_buf_append(out, run->data, run->n);
  for (end = out->n; at < end;) {
    struct tide_part part;
    tide_part_header(out->data + at, &part);
    part.image = image_idx;
    part.sequence = (*sequence)++;
    seal(out->data + at, part);
    at += TIDE_PART_HEADER_BYTES + (size_t)part.stored_bytes;
  }
}
