// SPDX-License-Identifier: Apache-2.0
//
// Stored names of all parts under one roof. Most places are known by the address in their file,
// which moving does not change. Other tools make addresses up, or tell them of files that nobody
// can compare: there the same address with other names is another place. It takes the address of
// its like from an earlier part or, when there is none, one made of its names. Where names are all
// there is (a module without a range) those of an earlier part come first in any case.
#include "merge/merge_parts.h"

#include "base/alloc.h"
#include "base/id_index.h"
#include "model/stored_names.h"

#include <stdlib.h>
#include <string.h>

#define MADE_UP (1ull << 63) // no file reaches so far

struct place {
  uint64_t addr, chain;
  uint32_t module;
};

struct tide_merge_names {
  struct tide_names_builder *builder;
  struct tide_id_index by_place, by_chain; // by_chain: the first of its names in a module
  struct place *places;
  size_t n, cap;
};

struct tide_merge_names *tide_merge_names_new(void)
{
  struct tide_merge_names *names = tide_alloc(sizeof *names);
  names->builder = tide_names_builder_new();
  return names;
}

void tide_merge_names_free(struct tide_merge_names *names)
{
  tide_names_builder_free(names->builder);
  tide_id_index_done(&names->by_place);
  tide_id_index_done(&names->by_chain);
  free(names->places);
  free(names);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
  return text ? tide_hash_bytes(hash, text, strlen(text) + 1) : tide_hash_word(hash, 0);
}

static uint64_t hash_chain(const struct tide_names_frame *chain, size_t n)
{
  uint64_t hash = n;
  for (size_t i = 0; i < n; i++) {
    hash = hash_text(hash, chain[i].function);
    hash = hash_text(hash, chain[i].file);
    hash = tide_hash_word(hash, chain[i].line);
  }
  return hash;
}

static bool same_place(const void *table, uint32_t id, const void *key)
{
  const struct place *a = &((const struct place *)table)[id], *b = key;
  return a->module == b->module && a->addr == b->addr;
}

static bool same_chain(const void *table, uint32_t id, const void *key)
{
  const struct place *a = &((const struct place *)table)[id], *b = key;
  return a->module == b->module && a->chain == b->chain;
}

static uint64_t hash_pair(uint32_t module, uint64_t word)
{
  return tide_hash_word(tide_hash_word(0, module), word);
}

static void add_place(struct tide_merge_names *names, const struct place *place)
{
  uint32_t id = (uint32_t)names->n;
  uint64_t by_chain = hash_pair(place->module, place->chain);
  TIDE_GROW(names->places, names->n, names->cap);
  names->places[names->n++] = *place;
  tide_id_index_add(&names->by_place, hash_pair(place->module, place->addr), id);
  if (tide_id_index_find(&names->by_chain, by_chain, same_chain, names->places, place) ==
      UINT32_MAX)
    tide_id_index_add(&names->by_chain, by_chain, id);
}

// Gives the place the address that an earlier part, one of the first n_before, has for its names.
static bool take_like(const struct tide_merge_names *names, size_t n_before, struct place *place)
{
  uint64_t hash = hash_pair(place->module, place->chain);
  uint32_t id = tide_id_index_find(&names->by_chain, hash, same_chain, names->places, place);
  if (id >= n_before) // or none
    return false;
  place->addr = names->places[id].addr;
  return true;
}

// Gives the place an address that no other names have.
static void settle(struct tide_merge_names *names, size_t n_before, struct place *place,
                   bool by_names)
{
  for (bool again = false;; again = true) {
    uint64_t hash = hash_pair(place->module, place->addr);
    uint32_t id = tide_id_index_find(&names->by_place, hash, same_place, names->places, place);
    if (id == UINT32_MAX) {
      add_place(names, place);
      return;
    }
    if (!by_names || names->places[id].chain == place->chain || take_like(names, n_before, place))
      return;
    place->addr = again ? place->addr + 1 : MADE_UP | place->chain;
  }
}

uint64_t *tide_merge_names_add(struct tide_merge_names *names, const struct tide_image *part,
                               const struct tide_image *image, const uint32_t *modules)
{
  const struct tide_stored_names *stored = &part->names;
  uint64_t *addrs = tide_alloc_array(stored->n_places, sizeof *addrs);
  struct tide_names_frame *chain = NULL;
  size_t cap = 0, n_before = names->n;
  for (size_t i = 0; i < stored->n_places; i++) {
    const struct tide_stored_place *from = &stored->places[i];
    const struct tide_stored_frame *frames = &stored->frames[from->first_frame];
    for (uint32_t k = 0; k < from->n_frames; k++) {
      TIDE_GROW(chain, k, cap);
      chain[k] = (struct tide_names_frame){tide_stored_text(stored, frames[k].function),
                                           tide_stored_text(stored, frames[k].file), frames[k].line,
                                           frames[k].inlined};
    }
    struct place place = {from->addr, hash_chain(chain, from->n_frames), modules[from->module]};
    const struct tide_module *module = &image->modules[place.module];
    bool names_only = part->origin && place.module && module->start == module->end;
    if (!names_only || !take_like(names, n_before, &place))
      settle(names, n_before, &place, part->origin || !module->build_id_len);
    addrs[i] = place.addr;
    tide_names_builder_add(names->builder, place.module, place.addr, chain, from->n_frames);
  }
  free(chain);
  return addrs;
}

bool tide_merge_names_finish(struct tide_merge_names *names, struct tide_image *image)
{
  return tide_names_builder_finish(names->builder, image);
}
