// SPDX-License-Identifier: Apache-2.0
//
// An image of very many stacks on its way from the store to a file. Its frames, sites and snapshots
// are not rows in memory, 300 bytes for a stack, but parts of a file already, compressed, of 12. A
// packed image has none of these three tables (n_frames, n_sites and the snapshots' n_rows are 0);
// everything else of it is as usual. Whoever wants them unpacks it (tide/file.h).
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

// What the snapshots need of a stack, until they are packed.
struct tide_pack_stack {
  uint32_t stack;
  int64_t now_bytes, now_blocks;   // live by the snapshots so far
  int64_t peak_bytes, peak_blocks; // share of the peak
  int64_t end_bytes, end_blocks;
  uint64_t n_alloc, b_alloc; // in no snapshot yet
};

struct tide_pack {
  struct tide_buf tables;    // parts FRAMES and SITES, in this order
  struct tide_buf snapshots; // parts SNAPSHOTS
  enum tide_err err; // of the first part that could not be made; nothing of it can be written then
  size_t n_frames, n_sites;
  size_t n_snapshot_rows;      // changes and counts
  struct tide_image_sums sums; // of the heap
  bool has_nameless;           // there are frames in no module
  // Until the snapshots are packed:
  struct tide_pack_stack *stacks; // by rising stack, each once
  size_t n_stacks;
};

void tide_pack_free(struct tide_pack *pack); // NULL is fine

// Frames of an image, packed or not.
static inline size_t tide_image_n_frames(const struct tide_image *image)
{
  return image->pack ? image->pack->n_frames : image->n_frames;
}
static inline size_t tide_image_n_sites(const struct tide_image *image)
{
  return image->pack ? image->pack->n_sites : image->n_sites;
}
