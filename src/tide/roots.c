// SPDX-License-Identifier: Apache-2.0
//
// Which image is the first of its program, and the payloads of its parts.
#include "tide/roots.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

static void keep(struct tide_roots *roots, uint32_t sequence, const struct tide_buf *raw)
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
      keep(roots, sequence, raw);
    return NULL;
  }
  for (size_t i = 0; i < roots->n; i++) {
    const struct tide_root *root = &roots->items[i];
    if (root->image == first && root->type == type && root->ordinal == roots->ordinal)
      return root;
  }
  return NULL;
}
