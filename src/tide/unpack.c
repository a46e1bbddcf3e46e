// SPDX-License-Identifier: Apache-2.0
//
// Packed images, unpacked by the decoders of files. See unpack.h.
#include "tide/unpack.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "tide/part.h"

#include <stdlib.h>

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
  image->sites = rows.sites;
  image->n_sites = rows.n_sites;
  image->counts = rows.counts;
  image->snapshots = rows.snapshots;
  image->n_snapshots = rows.n_snapshots;
  image->pack = NULL;
  tide_pack_free(pack);
  return TIDE_ERR_OK;
}
