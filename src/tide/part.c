// SPDX-License-Identifier: Apache-2.0
//
// Headers, checksums and compression of parts.
#include "tide/part.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/rows.h"
#include "tide/file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// ---- one part ----

#define ZSTD_LEVEL 3
// Below that a frame's own bytes eat what it gains, and to try costs more than to write: thousands
// of short processes have a dozen such parts each.
#define LEAST_PACKED_BYTES 128

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
  uint16_t form =
      part.type == TIDE_PART_SITES ? TIDE_PART_BY_STACK : part.flags & TIDE_PART_GOES_ON;
  if (raw->n > TIDE_MAX_PART_BYTES)
    return tide_fail(diag, TIDE_ERR_LIMIT, "the capture has a part of %zu bytes, too large",
                     raw->n);
  size_t start = out->n, bound = ZSTD_compressBound(raw->n);
  tide_buf_extend(out, TIDE_PART_HEADER_BYTES + bound);
  uint8_t *stored = out->data + start + TIDE_PART_HEADER_BYTES;
  size_t n = raw->n;
  if (root || raw->n >= LEAST_PACKED_BYTES) {
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    if (root)
      ZSTD_CCtx_refPrefix(zstd, root->data, root->n); // for this frame alone
    n = ZSTD_compress2(zstd, stored, bound, raw->data, raw->n);
  }
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

// ---- parts behind those of another image ----
//
// Which image is the first of its program, and the payloads of its parts.

enum { LEAST_BYTES = 256 }; // below that there is nothing to gain

static const char *program_of(const struct tide_image *image)
{
  return image->exe ? image->exe : "";
}

void tide_roots_init(struct tide_roots *roots, const struct tide_capture *capture,
                     const size_t *order)
{
  size_t n = capture->n_images;
  *roots = (struct tide_roots){.first_of = tide_alloc_array(n, sizeof *roots->first_of),
                               .is_shared = tide_alloc_array(n, sizeof *roots->is_shared)};
  for (size_t i = 0; i < n; i++) {
    const char *exe = program_of(&capture->images[order[i]]);
    size_t k = 0;
    while (k < i && strcmp(program_of(&capture->images[order[k]]), exe) != 0)
      k++;
    roots->first_of[order[i]] = order[k];
    roots->is_shared[order[k]] |= k < i;
  }
}

void tide_roots_done(struct tide_roots *roots)
{
  for (size_t i = 0; i < roots->n; i++)
    tide_buf_done(&roots->items[i].raw);
  free(roots->items);
  free(roots->first_of);
  free(roots->is_shared);
  *roots = (struct tide_roots){0};
}

static bool is_large(enum tide_part_type type)
{
  return type == TIDE_PART_FRAMES || type == TIDE_PART_SITES || type == TIDE_PART_SNAPSHOTS;
}

static void keep_root(struct tide_roots *roots, uint32_t sequence, const struct tide_buf *raw)
{
  struct tide_root root = {roots->image, roots->type, roots->ordinal, sequence, {0}};
  tide_buf_append(&root.raw, raw->data, raw->n);
  TIDE_GROW(roots->items, roots->n, roots->cap);
  roots->items[roots->n++] = root;
}

const struct tide_root *tide_roots_next(struct tide_roots *roots, enum tide_part_type type,
                                        size_t image, uint32_t sequence, const struct tide_buf *raw)
{
  bool goes_on = roots->type == type && roots->image == image;
  roots->ordinal = goes_on ? roots->ordinal + 1 : 0;
  roots->type = type;
  roots->image = image;
  if (!is_large(type) || raw->n < LEAST_BYTES)
    return NULL;
  size_t first = roots->first_of[image];
  if (first == image) {
    if (roots->is_shared[image])
      keep_root(roots, sequence, raw);
    return NULL;
  }
  for (size_t i = 0; i < roots->n; i++) {
    const struct tide_root *root = &roots->items[i];
    if (root->image == first && root->type == type && root->ordinal == roots->ordinal)
      return root;
  }
  return NULL;
}

// ---- packed images ----
//
// Unpacked by the decoders of files.

static enum tide_err unpack_run(const struct tide_buf *run, struct tide_image *image,
                                struct tide_diag *diag)
{
  struct tide_budget budget = {UINT64_MAX}; // the bytes are our own
  for (size_t at = 0; at < run->n;) {
    struct tide_part part;
    tide_part_header(run->data + at, &part);
    const uint8_t *stored = run->data + at + TIDE_PART_HEADER_BYTES;
    size_t n = (size_t)part.raw_bytes;
    bool is_plain = part.flags & TIDE_PART_STORED;
    TIDE_CLEANUP_FREE uint8_t *raw = is_plain ? NULL : tide_alloc(n + 1);
    if (!is_plain && ZSTD_decompress(raw, n, stored, (size_t)part.stored_bytes) != n)
      return tide_fail(diag, TIDE_ERR_DAMAGED, "what was packed does not unpack");
    struct tide_cursor in = tide_cursor_make(is_plain ? stored : raw, n);
    const char *why = "";
    enum tide_err err = tide_decode_of_image(&part, &in, image, &budget, &why);
    if (err)
      return tide_fail(diag, err, "what was packed does not unpack: %s", why);
    at += TIDE_PART_HEADER_BYTES + (size_t)part.stored_bytes;
  }
  return TIDE_ERR_OK;
}

enum tide_err tide_image_unpack(struct tide_image *image, struct tide_diag *diag)
{
  struct tide_pack *pack = image->pack;
  if (!pack)
    return TIDE_ERR_OK;
  // The snapshots are read anew, times and all.
  struct tide_image rows = {.start_ns = image->start_ns,
                            .n_modules = image->n_modules,
                            .n_threads_known = image->n_threads_known,
                            .frames = tide_alloc(sizeof *rows.frames),
                            .n_frames = 1};
  enum tide_err err = pack->err;
  if (!err)
    err = unpack_run(&pack->tables, &rows, diag);
  if (!err)
    err = unpack_run(&pack->snapshots, &rows, diag);
  if (err) {
    rows.n_modules = 0;
    tide_image_done(&rows);
    return err;
  }
  free(image->snapshots);
  image->frames = rows.frames;
  image->n_frames = rows.n_frames;
  tide_image_finish_sites(&rows);
  image->sites = rows.sites;
  image->packed_sites = rows.packed_sites;
  image->n_sites = rows.n_sites;
  image->counts = rows.counts;
  image->snapshots = rows.snapshots;
  image->n_snapshots = rows.n_snapshots;
  image->pack = NULL;
  tide_pack_free(pack);
  return TIDE_ERR_OK;
}
