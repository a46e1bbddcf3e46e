// SPDX-License-Identifier: Apache-2.0
//
// The finished images of a run, at most so many of them one by one, and how all images came from
// each other. Beyond the maximum the smallest are added up, one sum per program (merge/merge.h):
// a build of ten thousand processes keeps every count. Every image that ever came has a number from
// 1 on; a capture refers to those it keeps, so the ancestry of the ones added up is remembered and
// skipped over.
#pragma once
#include "model/model.h"

struct tide_gallery_ancestor {
  uint32_t told_pid; // as the image knows itself
  uint32_t parent;   // number, 0: none
};

struct tide_gallery_entry {
  struct tide_image image;
  uint32_t number;
};

struct tide_gallery_sum {
  char *exe;               // path of the program
  struct tide_image image; // of those that were added up so far
  bool has_image;
  bool is_closed;             // they cannot be added up: each is kept for itself
  struct tide_image *waiting; // to be added: together that is cheaper
  size_t n_waiting, cap_waiting;
};

// Which images called themselves by a pid, the latest of each.
struct tide_gallery_latest {
  uint32_t told_pid, number; // number 0: a free place
};

struct tide_gallery {
  size_t max_entries;
  uint32_t command_pid; // what the user started is never added up; 0: not known
  struct tide_gallery_entry *entries;
  size_t n_entries, cap_entries;
  int64_t floor_bytes; // no entry that could be added up has a smaller peak; known once one was
  bool has_floor;
  struct tide_gallery_ancestor *ancestors; // [number - 1]
  size_t n_ancestors, cap_ancestors;
  struct tide_gallery_latest *latest; // open addressing, a power of two of places
  size_t n_latest, n_places;
  struct tide_gallery_sum *sums;
  size_t n_sums, cap_sums;
  struct tide_image spare; // an image without events, in case there will be no other
  bool has_spare;
  uint32_t n_left_out; // images that are in a sum
};

void tide_gallery_init(struct tide_gallery *gallery, size_t max_entries, uint32_t command_pid);
void tide_gallery_done(struct tide_gallery *gallery);

// Numbers a new image.
uint32_t tide_gallery_announce(struct tide_gallery *gallery, uint32_t told_pid, uint32_t parent);
// The latest image that called itself told_pid; 0: none.
uint32_t tide_gallery_find(const struct tide_gallery *gallery, uint32_t told_pid);
// Takes over a finished image. Beyond the maximum the one with the smallest peak goes to its sum.
void tide_gallery_keep(struct tide_gallery *gallery, uint32_t number, struct tide_image *image);

// The images so far, and their sums, are not told any more; who came from whom is still known.
void tide_gallery_forget(struct tide_gallery *gallery);

// Puts the entries, and n_more images beside them, into a capture in the order of their start,
// related to each other, and the sums behind them. The images are copied as they are: what they
// point to is shared with the gallery, so either the capture's array alone is freed afterwards, or
// the gallery is emptied with tide_gallery_give_away().
void tide_gallery_hang(struct tide_gallery *gallery, const struct tide_gallery_entry *more,
                       size_t n_more, struct tide_capture *capture);
void tide_gallery_give_away(struct tide_gallery *gallery);
