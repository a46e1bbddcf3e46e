// SPDX-License-Identifier: Apache-2.0
//
// Keeping finished images: the largest, the sums of the others, and all relations.
#define _GNU_SOURCE
#include "supervise/gallery.h"

#include "base/alloc.h"
#include "merge/merge.h"
#include "model/pack.h"
#include "tide/file.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 256, WAITING_MAX = 64, SUM_TICKS = 128 };

void tide_gallery_init(struct tide_gallery *gallery, size_t max_entries, uint32_t command_pid)
{
  *gallery = (struct tide_gallery){.max_entries = max_entries, .command_pid = command_pid};
}

static void sum_done(struct tide_gallery_sum *sum)
{
  for (size_t i = 0; i < sum->n_waiting; i++)
    tide_image_done(&sum->waiting[i]);
  free(sum->waiting);
  free(sum->exe);
  if (sum->has_image)
    tide_image_done(&sum->image);
}

void tide_gallery_forget(struct tide_gallery *gallery)
{
  for (size_t i = 0; i < gallery->n_entries; i++)
    tide_image_done(&gallery->entries[i].image);
  for (size_t i = 0; i < gallery->n_sums; i++)
    sum_done(&gallery->sums[i]);
  if (gallery->has_spare)
    tide_image_done(&gallery->spare);
  gallery->has_spare = gallery->has_floor = false;
  gallery->n_entries = gallery->n_sums = 0;
  gallery->n_left_out = 0;
}

void tide_gallery_done(struct tide_gallery *gallery)
{
  tide_gallery_forget(gallery);
  free(gallery->entries);
  free(gallery->sums);
  free(gallery->ancestors);
  free(gallery->latest);
  *gallery = (struct tide_gallery){0};
}

// The place of a pid, or the free one where it would be.
static struct tide_gallery_latest *place_of(const struct tide_gallery *gallery, uint32_t told_pid)
{
  size_t mask = gallery->n_places - 1, i = (told_pid * 2654435761u) & mask;
  while (gallery->latest[i].number && gallery->latest[i].told_pid != told_pid)
    i = (i + 1) & mask;
  return &gallery->latest[i];
}

static void make_place(struct tide_gallery *gallery)
{
  if (2 * (gallery->n_latest + 1) <= gallery->n_places)
    return;
  struct tide_gallery_latest *old = gallery->latest;
  size_t n_old = gallery->n_places;
  gallery->n_places = n_old ? 2 * n_old : FIRST_PLACES;
  gallery->latest = tide_alloc_array(gallery->n_places, sizeof *gallery->latest);
  for (size_t i = 0; i < n_old; i++)
    if (old[i].number)
      *place_of(gallery, old[i].told_pid) = old[i];
  free(old);
}

uint32_t tide_gallery_announce(struct tide_gallery *gallery, uint32_t told_pid, uint32_t parent)
{
  TIDE_GROW(gallery->ancestors, gallery->n_ancestors, gallery->cap_ancestors);
  gallery->ancestors[gallery->n_ancestors++] = (struct tide_gallery_ancestor){told_pid, parent};
  make_place(gallery);
  struct tide_gallery_latest *place = place_of(gallery, told_pid);
  gallery->n_latest += !place->number;
  *place = (struct tide_gallery_latest){told_pid, (uint32_t)gallery->n_ancestors};
  return place->number;
}

uint32_t tide_gallery_find(const struct tide_gallery *gallery, uint32_t told_pid)
{
  return gallery->n_places ? place_of(gallery, told_pid)->number : 0;
}

static const char *program_of(const struct tide_image *image)
{
  return image->exe ? image->exe : "";
}

static struct tide_gallery_sum *sum_of(struct tide_gallery *gallery, const struct tide_image *image)
{
  for (size_t i = 0; i < gallery->n_sums; i++)
    if (strcmp(gallery->sums[i].exe, program_of(image)) == 0)
      return &gallery->sums[i];
  TIDE_GROW(gallery->sums, gallery->n_sums, gallery->cap_sums);
  struct tide_gallery_sum *fresh = &gallery->sums[gallery->n_sums++];
  *fresh = (struct tide_gallery_sum){.exe = tide_strdup(program_of(image))};
  return fresh;
}

// The first and the last stay.
static void thin_ticks(struct tide_image *image)
{
  size_t n = image->n_ticks;
  for (size_t i = 0; n > SUM_TICKS && i < SUM_TICKS; i++)
    image->ticks[i] = image->ticks[i * (n - 1) / (SUM_TICKS - 1)];
  image->n_ticks = n > SUM_TICKS ? SUM_TICKS : n;
}

// Adds up what waits. False: it cannot be, and is as before.
static bool add_up(struct tide_gallery_sum *sum)
{
  size_t n = sum->n_waiting + sum->has_image;
  struct tide_capture all = {.images = tide_alloc_array(n, sizeof *all.images), .n_images = n};
  TIDE_CLEANUP_FREE struct tide_merge_input *inputs = tide_alloc_array(n, sizeof *inputs);
  struct tide_capture *merged = NULL;
  memcpy(all.images, sum->waiting, sum->n_waiting * sizeof *all.images);
  if (sum->has_image)
    all.images[n - 1] = sum->image;
  for (size_t i = 0; i < n; i++)
    inputs[i] = (struct tide_merge_input){&all, i};
  bool is_good = !tide_merge(inputs, n, &merged, NULL) && merged->n_images == 1;
  if (is_good) {
    for (size_t i = 0; i < n; i++)
      tide_image_done(&all.images[i]);
    sum->image = merged->images[0];
    sum->has_image = true;
    sum->n_waiting = 0;
    merged->n_images = 0;
    thin_ticks(&sum->image);
  }
  tide_capture_free(merged);
  free(all.images);
  return is_good;
}

static void keep_each(struct tide_gallery *gallery, struct tide_gallery_entry entry)
{
  TIDE_GROW(gallery->entries, gallery->n_entries, gallery->cap_entries);
  gallery->entries[gallery->n_entries++] = entry;
}

// What cannot be added up is kept after all; nobody knows its parent any more.
static void settle_sum(struct tide_gallery *gallery, struct tide_gallery_sum *sum)
{
  if (!sum->n_waiting || add_up(sum))
    return;
  sum->is_closed = true;
  gallery->has_floor = false;
  gallery->n_left_out -= (uint32_t)sum->n_waiting;
  for (size_t i = 0; i < sum->n_waiting; i++)
    keep_each(gallery,
              (struct tide_gallery_entry){sum->waiting[i], tide_gallery_announce(gallery, 0, 0)});
  sum->n_waiting = 0;
}

// The command is what the run is about, however small it is.
static bool may_be_summed(const struct tide_gallery *gallery, const struct tide_image *image)
{
  return !gallery->command_pid || image->pid != gallery->command_pid;
}

// False: it cannot be added up.
static bool put_in_sum(struct tide_gallery *gallery, struct tide_image *image)
{
  struct tide_gallery_sum *sum = sum_of(gallery, image);
  if (sum->is_closed || tide_image_unpack(image, NULL))
    return false;
  TIDE_GROW(sum->waiting, sum->n_waiting, sum->cap_waiting);
  sum->waiting[sum->n_waiting++] = *image;
  gallery->n_left_out++;
  if (sum->n_waiting == WAITING_MAX)
    settle_sum(gallery, sum);
  return true;
}

static void sum_smallest(struct tide_gallery *gallery)
{
  struct tide_gallery_entry *entries = gallery->entries;
  size_t smallest = SIZE_MAX;
  for (size_t i = 0; i < gallery->n_entries; i++)
    if (may_be_summed(gallery, &entries[i].image) &&
        (smallest == SIZE_MAX || entries[i].image.peak_bytes < entries[smallest].image.peak_bytes))
      smallest = i;
  if (smallest == SIZE_MAX)
    return;
  struct tide_gallery_entry entry = entries[smallest];
  entries[smallest] = entries[--gallery->n_entries];
  gallery->floor_bytes = entry.image.peak_bytes;
  gallery->has_floor = true;
  if (!put_in_sum(gallery, &entry.image))
    keep_each(gallery, entry);
}

static bool is_smallest(const struct tide_gallery *gallery, const struct tide_image *image)
{
  return gallery->n_entries >= gallery->max_entries && gallery->has_floor &&
         image->peak_bytes <= gallery->floor_bytes && may_be_summed(gallery, image);
}

void tide_gallery_keep(struct tide_gallery *gallery, uint32_t number, struct tide_image *image)
{
  if (!tide_image_n_sites(image) && !image->n_events && !image->n_pauses) {
    if (gallery->has_spare || gallery->n_entries) {
      tide_image_done(image);
    } else {
      gallery->spare = *image;
      gallery->has_spare = true;
    }
    return;
  }
  if (is_smallest(gallery, image) && put_in_sum(gallery, image))
    return;
  keep_each(gallery, (struct tide_gallery_entry){*image, number});
  if (gallery->n_entries > gallery->max_entries)
    sum_smallest(gallery);
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

void tide_gallery_hang(struct tide_gallery *gallery, const struct tide_gallery_entry *more,
                       size_t n_more, struct tide_capture *capture)
{
  for (size_t i = 0; i < gallery->n_sums; i++)
    settle_sum(gallery, &gallery->sums[i]);
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
  capture->images = tide_alloc_array(n + spare + gallery->n_sums, sizeof *capture->images);
  capture->n_images = n + spare;
  capture->n_images_left_out = gallery->n_left_out;
  for (size_t i = 0; i < n; i++) {
    capture->images[i] = all[i].image;
    capture->images[i].parent_image = kept_parent(gallery, index_of, all[i].number);
  }
  if (spare)
    capture->images[0] = gallery->spare;
  for (size_t i = 0; i < gallery->n_sums; i++)
    if (gallery->sums[i].has_image)
      capture->images[capture->n_images++] = gallery->sums[i].image;
}

void tide_gallery_give_away(struct tide_gallery *gallery)
{
  if (gallery->n_entries == 0)
    gallery->has_spare = false;
  gallery->n_entries = 0;
  for (size_t i = 0; i < gallery->n_sums; i++)
    gallery->sums[i].has_image = false;
}
