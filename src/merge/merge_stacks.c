// SPDX-License-Identifier: Apache-2.0
//
// From the tables of each input to those of the image: every row is looked for among the rows that
// are there, and added to them or behind them. Each table is asked in the order of the inputs, so
// that the same inputs give the same rows.
#define _GNU_SOURCE
#include "merge/merge_inputs.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "model/model.h"
#include "model/rows.h"
#include "model/stored_names.h"

#include <stdlib.h>
#include <string.h>

// ---- stored names ----
//
// Stored names of all inputs under one roof. Most places are known by the address in their file,
// which moving does not change. Other tools make addresses up, or tell them of files that nobody
// can compare: there the same address with other names is another place. It takes the address of
// its like from an earlier input or, when there is none, one made of its names. Where names are all
// there is (a module without a range) those of an earlier input come first in any case.

#define MADE_UP (1ull << 63) // no file reaches so far

struct place {
  uint64_t addr, chain;
  uint32_t module;
};

struct merged_names {
  struct tide_names_builder *builder;
  struct tide_id_index by_place, by_chain; // by_chain: the first of its names in a module
  struct place *places;
  size_t n, cap;
};

static struct merged_names *names_new(void)
{
  struct merged_names *names = tide_alloc(sizeof *names);
  names->builder = tide_names_builder_new();
  return names;
}

static void names_free(struct merged_names *names)
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

static void add_place(struct merged_names *names, const struct place *place)
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

// Gives the place the address that an earlier input, one of the first n_before, has for its names.
static bool take_like(const struct merged_names *names, size_t n_before, struct place *place)
{
  uint64_t hash = hash_pair(place->module, place->chain);
  uint32_t id = tide_id_index_find(&names->by_chain, hash, same_chain, names->places, place);
  if (id >= n_before) // or none
    return false;
  place->addr = names->places[id].addr;
  return true;
}

// Gives the place an address that no other names have.
static void settle_names(struct merged_names *names, size_t n_before, struct place *place,
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

// Adds an input's; modules: from its to the image's. Gives the address that each of its places has
// in the image, owned by the caller.
static uint64_t *names_add(struct merged_names *names, const struct tide_image *input,
                           const struct tide_image *image, const uint32_t *modules)
{
  const struct tide_stored_names *stored = &input->names;
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
    bool names_only = input->origin && place.module && module->start == module->end;
    if (!names_only || !take_like(names, n_before, &place))
      settle_names(names, n_before, &place, input->origin || !module->build_id_len);
    addrs[i] = place.addr;
    tide_names_builder_add(names->builder, place.module, place.addr, chain, from->n_frames);
  }
  free(chain);
  return addrs;
}

// False when they are more than a capture can hold.
static bool names_finish(struct merged_names *names, struct tide_image *image)
{
  return tide_names_builder_finish(names->builder, image);
}

// ---- tables ----

enum { PAGE = 4096 };

struct thread_key {
  char name[16];
  uint32_t ordinal; // among the input's threads of that name
};

struct stacks { // what is found again, and how
  struct tide_image *image;
  struct tide_id_index by_module, by_frame, by_thread, by_site;
  struct thread_key *thread_keys; // per thread of the image
  size_t cap_modules, cap_frames, cap_threads, cap_thread_keys, cap_sites;
  struct tide_event_row *events; // of all inputs, as they come
  size_t n_events, cap_events;
  uint64_t top; // past all modules of the image
};

struct maps { // from the rows of one input to those of the image
  const struct tide_image *input;
  uint32_t *modules, *threads, *nodes;
  uint64_t *addrs; // of its stored places, in the image
};

static uint64_t hash_module(const struct tide_module *module)
{
  if (module->build_id_len)
    return tide_hash_bytes(1, module->build_id, module->build_id_len);
  return tide_hash_bytes(0, module->path ? module->path : "",
                         strlen(module->path ? module->path : ""));
}

// The same file: by build id where there is one, else by path.
static bool same_module(const void *table, uint32_t id, const void *key)
{
  const struct tide_module *a = &((const struct tide_module *)table)[id], *b = key;
  if (a->build_id_len != b->build_id_len)
    return false;
  if (a->build_id_len)
    return memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
  if ((a->start == a->end) != (b->start == b->end))
    return false; // one has names alone, the other addresses to look up
  return strcmp(a->path ? a->path : "", b->path ? b->path : "") == 0;
}

// Modules of the first input stay where they were; those that only later inputs have come behind
// them, as they may have been loaded where others are.
static uint32_t add_module(struct stacks *s, const struct tide_module *module, bool is_first)
{
  struct tide_image *image = s->image;
  TIDE_GROW(image->modules, image->n_modules, s->cap_modules);
  struct tide_module *own = &image->modules[image->n_modules];
  *own = *module;
  own->path = tide_strdup(module->path ? module->path : "");
  if (!is_first) {
    uint64_t size = module->end - module->start;
    uint64_t moved = s->top - module->start + (module->start & (PAGE - 1));
    own->start += moved;
    own->end = own->start + size;
    own->bias += moved;
  }
  if (own->end > s->top)
    s->top = (own->end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
  return (uint32_t)image->n_modules++;
}

static enum tide_err map_modules(struct stacks *s, struct maps *maps, bool is_first,
                                 struct tide_diag *diag)
{
  const struct tide_image *input = maps->input;
  maps->modules = tide_alloc_array(input->n_modules ? input->n_modules : 1, sizeof *maps->modules);
  for (size_t i = 1; i < input->n_modules; i++) {
    const struct tide_module *module = &input->modules[i];
    uint64_t hash = hash_module(module), first_ns = tide_merge_time(input, module->first_ns);
    uint32_t id = tide_id_index_find(&s->by_module, hash, same_module, s->image->modules, module);
    if (id == UINT32_MAX) {
      if (s->image->n_modules == TIDE_MAX_MODULES)
        return tide_fail(diag, TIDE_ERR_LIMIT, "together they have more than %u modules",
                         TIDE_MAX_MODULES);
      id = add_module(s, module, is_first);
      s->image->modules[id].first_ns = first_ns;
      tide_id_index_add(&s->by_module, hash, id);
    }
    if (s->image->modules[id].first_ns > first_ns)
      s->image->modules[id].first_ns = first_ns;
    maps->modules[i] = id;
  }
  return TIDE_ERR_OK;
}

static uint64_t hash_frame(const struct tide_frame *frame)
{
  uint64_t hash = tide_hash_word(frame->pc, frame->parent);
  return tide_hash_word(hash, (uint64_t)frame->module << 16 | frame->flags);
}

static bool same_frame(const void *table, uint32_t id, const void *key)
{
  const struct tide_frame *a = &((const struct tide_frame *)table)[id], *b = key;
  return a->pc == b->pc && a->parent == b->parent && a->module == b->module && a->flags == b->flags;
}

// How far the frame's place is moved within its file, because the address has other names there.
static uint64_t moved_by(const struct maps *maps, const struct tide_frame *frame)
{
  const struct tide_image *input = maps->input;
  uint64_t pc = frame->flags & TIDE_FRAME_IS_EXACT ? frame->pc : frame->pc - 1;
  size_t i = tide_stored_names_place(&input->names, frame->module,
                                     pc - input->modules[frame->module].bias);
  return i == SIZE_MAX ? 0 : maps->addrs[i] - input->names.places[i].addr;
}

static enum tide_err map_frames(struct stacks *s, struct maps *maps, struct tide_diag *diag)
{
  const struct tide_image *input = maps->input;
  struct tide_image *image = s->image;
  maps->nodes = tide_alloc_array(input->n_frames ? input->n_frames : 1, sizeof *maps->nodes);
  for (size_t i = 1; i < input->n_frames; i++) {
    struct tide_frame frame = input->frames[i];
    uint32_t module = maps->modules[frame.module];
    frame.pc += moved_by(maps, &input->frames[i]);
    if (frame.module)
      frame.pc += image->modules[module].bias - input->modules[frame.module].bias;
    frame.module = (uint16_t)module;
    frame.parent = maps->nodes[frame.parent];
    uint64_t hash = hash_frame(&frame);
    uint32_t id = tide_id_index_find(&s->by_frame, hash, same_frame, image->frames, &frame);
    if (id == UINT32_MAX) {
      if (image->n_frames == UINT32_MAX)
        return tide_fail(diag, TIDE_ERR_LIMIT, "together they have too many frames");
      TIDE_GROW(image->frames, image->n_frames, s->cap_frames);
      id = (uint32_t)image->n_frames;
      image->frames[image->n_frames++] = frame;
      tide_id_index_add(&s->by_frame, hash, id);
    }
    maps->nodes[i] = id;
  }
  return TIDE_ERR_OK;
}

static uint64_t hash_thread(const struct thread_key *key)
{
  return tide_hash_word(tide_hash_bytes(0, key->name, sizeof key->name), key->ordinal);
}

static bool same_thread(const void *table, uint32_t id, const void *key)
{
  const struct thread_key *a = &((const struct thread_key *)table)[id], *b = key;
  return a->ordinal == b->ordinal && memcmp(a->name, b->name, sizeof a->name) == 0;
}

// The image's thread of that key, made if need be.
static uint32_t find_thread(struct stacks *s, const struct thread_key *key, uint32_t tid)
{
  uint64_t hash = hash_thread(key);
  uint32_t id = tide_id_index_find(&s->by_thread, hash, same_thread, s->thread_keys, key);
  if (id != UINT32_MAX)
    return id;
  struct tide_image *image = s->image;
  id = (uint32_t)image->n_threads_known;
  TIDE_GROW(s->thread_keys, image->n_threads_known, s->cap_thread_keys);
  TIDE_GROW(image->threads, image->n_threads_known, s->cap_threads);
  s->thread_keys[id] = *key;
  image->threads[image->n_threads_known++] = (struct tide_thread_row){.tid = tid};
  memcpy(image->threads[id].name, key->name, sizeof key->name);
  tide_id_index_add(&s->by_thread, hash, id);
  return id;
}

// The k-th thread of a name is one with the k-th of that name in the other inputs.
static void map_threads(struct stacks *s, struct maps *maps)
{
  const struct tide_image *input = maps->input;
  size_t n = input->n_threads_known ? input->n_threads_known : 1;
  maps->threads = tide_alloc_array(n, sizeof *maps->threads);
  struct tide_id_index seen = {0}; // names, by the first thread that has it
  TIDE_CLEANUP_FREE struct thread_key *keys = tide_alloc_array(n, sizeof *keys);
  TIDE_CLEANUP_FREE uint32_t *n_same = tide_alloc_array(n, sizeof *n_same);
  for (uint32_t i = 1; i < input->n_threads_known; i++) {
    const struct tide_thread_row *thread = &input->threads[i];
    memcpy(keys[i].name, thread->name, strnlen(thread->name, sizeof keys[i].name - 1));
    uint64_t hash = hash_thread(&keys[i]);
    uint32_t first = tide_id_index_find(&seen, hash, same_thread, keys, &keys[i]);
    if (first == UINT32_MAX)
      tide_id_index_add(&seen, hash, first = i);
    struct thread_key key = keys[i];
    key.ordinal = n_same[first]++;
    maps->threads[i] = find_thread(s, &key, thread->tid);
    s->image->threads[maps->threads[i]].n_owners += thread->n_owners;
  }
  tide_id_index_done(&seen);
}

static bool same_site(const void *table, uint32_t id, const void *key)
{
  const struct tide_site *a = &((const struct tide_site *)table)[id], *b = key;
  return a->stack == b->stack && a->thread == b->thread;
}

static void add_buckets(struct tide_image *image, struct tide_site *sum,
                        const struct tide_image *input, const struct tide_site *item)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(input, item, sizes, lifetimes);
  tide_site_add_buckets(image, sum, sizes, lifetimes);
}

static void add_sites(struct stacks *s, const struct maps *maps)
{
  struct tide_image *image = s->image;
  for (size_t i = 0; i < maps->input->n_sites; i++) {
    struct tide_site site = tide_image_site(maps->input, i);
    site.stack = maps->nodes[site.stack];
    site.thread = maps->threads[site.thread];
    site.first_ns = tide_merge_time(maps->input, site.first_ns);
    site.last_ns = tide_merge_time(maps->input, site.last_ns);
    uint64_t hash = tide_hash_word(tide_hash_word(0, site.stack), site.thread);
    uint32_t id = tide_id_index_find(&s->by_site, hash, same_site, image->sites, &site);
    if (id != UINT32_MAX) {
      tide_counters_add(&image->sites[id].counters, &site.counters);
    } else {
      TIDE_GROW(image->sites, image->n_sites, s->cap_sites);
      id = (uint32_t)image->n_sites++;
      tide_id_index_add(&s->by_site, hash, id);
      image->sites[id] = site;
      image->sites[id].size_mask = 0;
      image->sites[id].life_mask = 0;
    }
    add_buckets(image, &image->sites[id], maps->input, &site);
  }
}

static void add_events(struct stacks *s, const struct maps *maps)
{
  for (size_t i = 0; i < maps->input->n_events; i++) {
    struct tide_event_row row = maps->input->events[i];
    row.stack = maps->nodes[row.stack];
    row.thread = maps->threads[row.thread];
    row.first_ns = tide_merge_time(maps->input, row.first_ns);
    row.last_ns = tide_merge_time(maps->input, row.last_ns);
    TIDE_GROW(s->events, s->n_events, s->cap_events);
    s->events[s->n_events++] = row;
  }
}

// Row 0 of three tables stands for nothing or for what is not known.
static void add_first_rows(struct stacks *s)
{
  struct tide_image *image = s->image;
  TIDE_GROW(image->modules, image->n_modules, s->cap_modules);
  image->modules[image->n_modules++] = (struct tide_module){.path = tide_strdup("")};
  TIDE_GROW(image->frames, image->n_frames, s->cap_frames);
  image->frames[image->n_frames++] = (struct tide_frame){0};
  s->thread_keys = tide_alloc(sizeof *s->thread_keys);
  image->threads = tide_alloc(sizeof *image->threads);
  s->cap_thread_keys = s->cap_threads = image->n_threads_known = 1;
}

static enum tide_err add_input(struct stacks *s, struct maps *maps, bool is_first,
                               struct merged_names *names, struct tide_diag *diag)
{
  enum tide_err err = map_modules(s, maps, is_first, diag);
  if (err)
    return err;
  maps->addrs = names_add(names, maps->input, s->image, maps->modules);
  err = map_frames(s, maps, diag);
  if (err)
    return err;
  map_threads(s, maps);
  add_sites(s, maps);
  add_events(s, maps);
  return TIDE_ERR_OK;
}

enum tide_err tide_merge_stacks(struct tide_merging *m, struct tide_diag *diag)
{
  struct stacks s = {.image = m->image};
  struct merged_names *names = names_new();
  enum tide_err err = TIDE_ERR_OK;
  add_first_rows(&s);
  for (size_t i = 0; i < m->n_inputs && !err; i++) {
    struct maps maps = {.input = m->inputs[i]};
    err = add_input(&s, &maps, i == 0, names, diag);
    m->nodes[i] = maps.nodes;
    free(maps.modules);
    free(maps.threads);
    free(maps.addrs);
  }
  if (!err && !names_finish(names, m->image))
    err = tide_fail(diag, TIDE_ERR_LIMIT, "together they have too many stored names");
  tide_image_set_events(m->image, s.events, s.n_events);
  names_free(names);
  free(s.thread_keys);
  tide_id_index_done(&s.by_module);
  tide_id_index_done(&s.by_frame);
  tide_id_index_done(&s.by_thread);
  tide_id_index_done(&s.by_site);
  return err;
}
