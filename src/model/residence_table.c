// SPDX-License-Identifier: Apache-2.0
//
// The words of the table, its shorter forms, and its end.
#include "model/residence_table.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *key, *words;
  enum tide_residence_band band;
} kinds[TIDE_RESIDENCE_KINDS] = {
#define KIND(tag, key, band, words) {key, words, TIDE_RESIDENT_##band},
#include "model/residence_kinds.def"
#undef KIND
};

const char *tide_residence_key(enum tide_residence_kind kind)
{
  return kinds[kind].key;
}

const char *tide_residence_words(enum tide_residence_kind kind)
{
  return kinds[kind].words;
}

static const struct {
  const char *key, *words;
} bands[TIDE_RESIDENT_BANDS] = {
    [TIDE_RESIDENT_LIVE] = {"live", "live blocks"},
    [TIDE_RESIDENT_HELD] = {"held", "freed, kept by the allocator"},
    [TIDE_RESIDENT_FILES] = {"files", "files and shared memory"},
    [TIDE_RESIDENT_STACKS] = {"stacks", "stacks"},
    [TIDE_RESIDENT_OTHER] = {"other", "other memory"},
    [TIDE_RESIDENT_RECORDER] = {"recorder", "tidemark's own"},
};

const char *tide_residence_band_key(enum tide_residence_band band)
{
  return bands[band].key;
}

const char *tide_residence_band_words(enum tide_residence_band band)
{
  return bands[band].words;
}

void tide_residence_bands(const struct tide_residence *residence,
                          uint64_t ret_bytes[TIDE_RESIDENT_BANDS])
{
  memset(ret_bytes, 0, TIDE_RESIDENT_BANDS * sizeof *ret_bytes);
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    ret_bytes[kinds[i].band] += residence->rows[i];
}

uint64_t tide_residence_sum(const struct tide_residence *residence)
{
  uint64_t sum = 0;
  for (int i = 0; i < TIDE_RESIDENCE_KINDS; i++)
    sum += residence->rows[i];
  return sum;
}

const struct tide_residence_file *tide_residence_mapped_by(const struct tide_residence *residence,
                                                           uint32_t stack)
{
  for (size_t i = 0; stack && i < residence->n_files; i++)
    if (residence->files[i].stack == stack)
      return &residence->files[i];
  return NULL;
}

void tide_residence_done(struct tide_residence *residence)
{
  for (size_t i = 0; i < residence->n_files; i++)
    free(residence->files[i].path);
  free(residence->arenas);
  free(residence->files);
  free(residence->sites);
  free(residence->map);
  free(residence->classes);
  *residence = (struct tide_residence){0};
}

static void *copy_of(const void *items, size_t n, size_t bytes)
{
  void *copy = n ? tide_alloc_array(n, bytes) : NULL;
  if (n)
    memcpy(copy, items, n * bytes);
  return copy;
}

struct tide_residence tide_residence_copy(const struct tide_residence *from)
{
  struct tide_residence to = *from;
  to.arenas = copy_of(from->arenas, from->n_arenas, sizeof *from->arenas);
  to.files = copy_of(from->files, from->n_files, sizeof *from->files);
  to.sites = copy_of(from->sites, from->n_sites, sizeof *from->sites);
  to.map = copy_of(from->map, from->n_map, sizeof *from->map);
  to.classes = copy_of(from->classes, from->n_classes, sizeof *from->classes);
  to.cap_classes = to.n_classes;
  to.cap_arenas = to.n_arenas;
  to.cap_files = to.n_files;
  to.cap_sites = to.n_sites;
  for (size_t i = 0; i < to.n_files; i++)
    to.files[i].path = tide_strdup(from->files[i].path);
  return to;
}

// ---- shortened ----

static uint64_t weight(const struct tide_residence_site *site)
{
  return site->resident + site->untouched + site->swapped + site->pinned + site->sparse;
}

static int by_weight(const void *a, const void *b)
{
  uint64_t x = weight(a), y = weight(b);
  return x > y ? -1 : x < y;
}

static int by_resident(const void *a, const void *b)
{
  const struct tide_residence_site *x = a, *y = b;
  return x->resident > y->resident ? -1 : x->resident < y->resident;
}

static uint64_t arena_bytes(const struct tide_residence_arena *arena)
{
  return arena->in_use + arena->free + arena->top;
}

static int by_arena_bytes(const void *a, const void *b)
{
  uint64_t x = arena_bytes(a), y = arena_bytes(b);
  return x > y ? -1 : x < y;
}

void tide_residence_shorten(struct tide_residence *residence, size_t most)
{
  if (residence->n_sites > most) {
    qsort(residence->sites, residence->n_sites, sizeof *residence->sites, by_weight);
    for (size_t i = most; i < residence->n_sites; i++)
      residence->left_resident += residence->sites[i].resident;
    residence->n_sites_left += residence->n_sites - most;
    residence->n_sites = most;
    qsort(residence->sites, most, sizeof *residence->sites, by_resident);
  }
  if (residence->n_arenas > most) {
    qsort(residence->arenas, residence->n_arenas, sizeof *residence->arenas, by_arena_bytes);
    residence->n_arenas = most;
  }
  while (residence->n_files > most)
    free(residence->files[--residence->n_files].path);
}
