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

// Of all stacks, each in half of that where its numbers are small, as most are.
struct tide_pack_narrow {
  uint32_t stack;
  int32_t now_bytes, now_blocks;
  int32_t peak_bytes, peak_blocks;
  int32_t end_bytes, end_blocks;
  uint32_t n_alloc, b_alloc; // n_alloc UINT32_MAX: b_alloc is the index of a wide one
};
struct tide_pack_stacks {
  struct tide_pack_narrow *items;
  size_t n, cap;
  struct tide_pack_stack *wides;
  size_t n_wides, cap_wides;
};

struct tide_pack_stack tide_pack_stack_at(const struct tide_pack_stacks *stacks, size_t i);
void tide_pack_stack_set(struct tide_pack_stacks *stacks, size_t i,
                         const struct tide_pack_stack *stack);
void tide_pack_stack_add(struct tide_pack_stacks *stacks, const struct tide_pack_stack *stack);
void tide_pack_stacks_done(struct tide_pack_stacks *stacks);

struct tide_pack {
  struct tide_buf tables;    // parts FRAMES and SITES, in this order
  struct tide_buf snapshots; // parts SNAPSHOTS
  enum tide_err err; // of the first part that could not be made; nothing of it can be written then
  size_t n_frames, n_sites;
  size_t n_snapshot_rows;      // changes and counts
  struct tide_image_sums sums; // of the heap
  bool has_nameless;           // there are frames in no module
  // Until the snapshots are packed:
  struct tide_pack_stacks stacks; // by rising stack, each once
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
