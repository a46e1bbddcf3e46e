// SPDX-License-Identifier: Apache-2.0
//
// Captures as bytes, see tide_bytes.h. Knows the layout of part headers from
// docs/tide-format.md, not from the product's headers.
#include "tide_bytes.h"

#include "base/alloc.h"
#include "tide/format.h"
#include "tide_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static void must(bool condition, const char *what)
{
  if (!condition) {
    fprintf(stderr, "tide_bytes: %s\n", what);
    abort();
  }
}

struct tide_buf tide_bytes_of(const struct tide_capture *capture)
{
  struct tide_buf bytes = {0};
  struct tide_diag diag = {0};
  must(tide_file_encode(capture, &bytes, &diag) == TIDE_ERR_OK, diag.text);
  return bytes;
}

char *tide_bytes_json(const struct tide_capture *capture)
{
  struct tide_buf out = {0};
  tide_json_capture(&out, capture);
  char *text = tide_strndup((const char *)out.data, out.n);
  tide_buf_done(&out);
  return text;
}

struct tide_bytes_part *tide_bytes_parts(const struct tide_buf *file, size_t *ret_n)
{
  struct tide_bytes_part *parts = NULL;
  size_t n = 0, cap = 0;
  for (size_t at = 16; at < file->n;) {
    struct tide_cursor in = tide_cursor_make(file->data + at, file->n - at);
    struct tide_bytes_part part = {.start = at};
    must(tide_cursor_u32(&in) == 0x54524150, "part magic");
    part.type = tide_cursor_u16(&in);
    part.flags = tide_cursor_u16(&in);
    part.image = tide_cursor_u32(&in);
    tide_cursor_u32(&in);
    size_t raw_bytes = tide_cursor_u64(&in), stored_bytes = tide_cursor_u64(&in);
    tide_cursor_u32(&in); // checksum
    uint32_t root = tide_cursor_u32(&in);
    const uint8_t *data = tide_cursor_bytes(&in, stored_bytes);
    must(data != NULL, "part bytes");
    uint8_t *raw = tide_buf_extend(&part.payload, raw_bytes + 1);
    part.payload.n = raw_bytes;
    if (part.flags & 1) {
      memcpy(raw, data, raw_bytes);
    } else {
      ZSTD_DCtx *zstd = ZSTD_createDCtx();
      if (part.flags & 2)
        ZSTD_DCtx_refPrefix(zstd, parts[root].payload.data, parts[root].payload.n);
      must(ZSTD_decompressDCtx(zstd, raw, raw_bytes, data, stored_bytes) == raw_bytes, "zstd");
      ZSTD_freeDCtx(zstd);
    }
    at += part.n = 40 + stored_bytes;
    TIDE_GROW(parts, n, cap);
    parts[n++] = part;
  }
  *ret_n = n;
  return parts;
}

void tide_bytes_parts_free(struct tide_bytes_part *parts, size_t n)
{
  for (size_t i = 0; i < n; i++)
    tide_buf_done(&parts[i].payload);
  free(parts);
}

void tide_bytes_put_file_header(struct tide_buf *out, uint16_t major, uint16_t minor)
{
  tide_buf_append(out, "\x89TIDE\r\n\x1a", 8);
  tide_buf_u16(out, major);
  tide_buf_u16(out, minor);
  tide_buf_u32(out, 0);
}

void tide_bytes_put_flagged(struct tide_buf *out, const struct tide_bytes_part *part,
                            uint32_t sequence, uint32_t root, bool packed, uint64_t raw_bytes)
{
  const struct tide_buf *payload = &part->payload;
  struct tide_buf stored = {0};
  if (packed) {
    uint8_t *to = tide_buf_extend(&stored, ZSTD_compressBound(payload->n));
    stored.n = ZSTD_compress(to, stored.n, payload->data, payload->n, 3);
  } else {
    tide_buf_append(&stored, payload->data, payload->n);
  }
  size_t start = out->n;
  tide_buf_u32(out, 0x54524150);
  tide_buf_u16(out, part->type);
  tide_buf_u16(out, packed ? part->flags : part->flags | 1);
  tide_buf_u32(out, part->image);
  tide_buf_u32(out, sequence);
  tide_buf_u64(out, raw_bytes);
  tide_buf_u64(out, stored.n);
  tide_buf_u32(out, 0); // checksum
  tide_buf_u32(out, root);
  tide_buf_append(out, stored.data, stored.n);
  uint32_t crc = (uint32_t)crc32(0, out->data + start, (uInt)(out->n - start));
  for (unsigned i = 0; i < 4; i++)
    out->data[start + 32 + i] = (uint8_t)(crc >> 8 * i);
  tide_buf_done(&stored);
}

void tide_bytes_put_part(struct tide_buf *out, uint16_t type, uint32_t image, uint32_t sequence,
                         const struct tide_buf *payload, bool packed, uint64_t raw_bytes)
{
  struct tide_bytes_part part = {.type = type, .image = image, .payload = *payload};
  tide_bytes_put_flagged(out, &part, sequence, 0, packed, raw_bytes);
}
