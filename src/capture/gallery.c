// SPDX-License-Identifier: Apache-2.0
//
// Keeping finished images: the largest, and all relations.
#define _GNU_SOURCE
#include "capture/gallery.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void tide_gallery_init(struct tide_gallery *gallery, size_t max_entries)
{
  *gallery = (struct tide_gallery){.max_entries = max_entries};
}

void tide_gallery_done(struct tide_gallery *gallery)
{
  for (size_t i = 0; i < gallery->n_entries; i++)
    tide_image_done(&gallery->entries[i].image);
  if (gallery->has_spare)
    tide_image_done(&gallery->spare);
  free(gallery->entries);
  free(gallery->ancestors);
  *gallery = (struct tide_gallery){0};
}

uint32_t tide_gallery_announce(struct tide_gallery *gallery, uint32_t told_pid, uint32_t parent)
{
  TIDE_GROW(gallery->ancestors, gallery->n_ancestors, gallery->cap_ancestors);
  gallery->ancestors[gallery->n_ancestors++] = (struct tide_gallery_ancestor){told_pid, parent};
  return (uint32_t)gallery->n_ancestors;
}

uint32_t tide_gallery_find(const struct tide_gallery *gallery, uint32_t told_pid)
{
  for (size_t i = gallery->n_ancestors; i > 0; i--)
    if (gallery->ancestors[i - 1].told_pid == told_pid)
      return (uint32_t)i;
  return 0;
}

static void drop_smallest(struct tide_gallery *gallery)
{
  struct tide_gallery_entry *entries = gallery->entries;
  size_t smallest = 0;
  for (size_t i = 1; i < gallery->n_entries; i++)
    if (entries[i].image.peak_bytes < entries[smallest].image.peak_bytes)
      smallest = i;
  tide_image_done(&entries[smallest].image);
  entries[smallest] = entries[--gallery->n_entries];
  gallery->n_left_out++;
}

void tide_gallery_keep(struct tide_gallery *gallery, uint32_t number, struct tide_image *image)
{
  if (!image->n_sites) {
    if (gallery->has_spare || gallery->n_entries) {
      tide_image_done(image);
    } else {
      gallery->spare = *image;
      gallery->has_spare = true;
    }
    return;
  }
  TIDE_GROW(gallery->entries, gallery->n_entries, gallery->cap_entries);
  gallery->entries[gallery->n_entries++] = (struct tide_gallery_entry){*image, number};
  if (gallery->n_entries > gallery->max_entries)
    drop_smallest(gallery);
}

static int by_start(const void *a, const void *b)
{
  const struct tide_gallery_entry *x = a, *y = b;
  if (x->image.start_ns != y->image.start_ns)
    return x->image.start_ns < y->image.start_ns ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

// The nearest ancestor that is in the capture, as index + 1. An image came after its parent, so
// numbers fall on the way up.
static uint32_t kept_parent(const struct tide_gallery *gallery, const uint32_t *index_of,
                            uint32_t number)
{
  uint32_t own_index = index_of[number - 1];
  uint32_t parent = gallery->ancestors[number - 1].parent;
  while (parent && !index_of[parent - 1])
    parent = gallery->ancestors[parent - 1].parent;
  uint32_t index = parent ? index_of[parent - 1] : 0;
  return index < own_index ? index : 0; // a capture's parents come before their children
}

void tide_gallery_hang(const struct tide_gallery *gallery, const struct tide_gallery_entry *more,
                       size_t n_more, struct tide_capture *capture)
{
  size_t n = gallery->n_entries + n_more;
  TIDE_CLEANUP_FREE struct tide_gallery_entry *all = tide_alloc_array(n, sizeof *all);
  if (gallery->n_entries)
    memcpy(all, gallery->entries, gallery->n_entries * sizeof *all);
  if (n_more)
    memcpy(all + gallery->n_entries, more, n_more * sizeof *all);
  qsort(all, n, sizeof *all, by_start);

  TIDE_CLEANUP_FREE uint32_t *index_of = tide_alloc_array(gallery->n_ancestors, sizeof *index_of);
  for (size_t i = 0; i < n; i++)
    index_of[all[i].number - 1] = (uint32_t)i + 1;
  bool spare = n == 0 && gallery->has_spare;
  capture->images = tide_alloc_array(n + spare, sizeof *capture->images);
  capture->n_images = n + spare;
  capture->n_images_left_out = gallery->n_left_out;
  for (size_t i = 0; i < n; i++) {
    capture->images[i] = all[i].image;
    capture->images[i].parent_image = kept_parent(gallery, index_of, all[i].number);
  }
  if (spare)
    capture->images[0] = gallery->spare;
}

void tide_gallery_give_away(struct tide_gallery *gallery)
{
  if (gallery->n_entries == 0)
    gallery->has_spare = false;
  gallery->n_entries = 0;
}
