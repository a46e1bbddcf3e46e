// SPDX-License-Identifier: Apache-2.0
//
// A symboliser, which module is which, and for each module what the cache held and what was learnt
// since. That an address has no name is an answer too: it is kept as a frame without any.
#include "view/resolver.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

struct module { // its index is the symboliser's id
  char *path;
  uint8_t build_id[32];
  uint32_t build_id_len;
  bool is_loaded; // the rest is settled
  struct tide_stored_names kept;
  struct tide_names_builder *learnt; // NULL: nothing
};

enum {
  CACHED_MODULE = 1, // in names for the cache
  LEARNT_FRAMES_MAX = 256,
};

struct tide_resolver {
  struct tide_symboliser *symboliser;
  struct tide_name_cache *cache; // NULL: none
  struct module *modules;
  size_t n_modules, modules_cap;
  size_t n_asked;
  tide_resolver_watcher *watcher; // NULL: nobody watches
  void *watcher_context;
};

struct tide_resolver *tide_resolver_new(void)
{
  struct tide_resolver *r = tide_alloc(sizeof *r);
  r->symboliser = tide_symboliser_new();
  return r;
}

static struct tide_name_key key_of(const struct module *m, uint64_t inputs)
{
  return (struct tide_name_key){m->build_id, m->build_id_len, inputs};
}

// Puts what was learnt of a module into the cache, unless it turned out to be half of the truth.
static void save_in_cache(struct tide_resolver *r, uint32_t id)
{
  struct module *m = &r->modules[id];
  struct tide_image image = {0};
  uint64_t inputs = tide_symboliser_object(r->symboliser, id)->inputs;
  struct tide_name_key key = key_of(m, inputs);
  if (inputs && tide_names_builder_finish(m->learnt, &image))
    tide_name_cache_add(r->cache, &key, &image.names);
  tide_image_done(&image);
}

void tide_resolver_free(struct tide_resolver *r)
{
  if (!r)
    return;
  for (size_t i = 0; i < r->n_modules; i++) {
    struct module *m = &r->modules[i];
    if (m->learnt)
      save_in_cache(r, (uint32_t)i);
    tide_names_builder_free(m->learnt);
    tide_stored_names_done(&m->kept);
    free(m->path);
  }
  free(r->modules);
  tide_name_cache_free(r->cache);
  tide_symboliser_free(r->symboliser);
  free(r);
}

void tide_resolver_set_sources(struct tide_resolver *r, const struct tide_symbol_sources *sources)
{
  tide_symboliser_set_sources(r->symboliser, sources);
}

void tide_resolver_set_cache(struct tide_resolver *r, struct tide_name_cache *own_cache)
{
  tide_name_cache_free(r->cache);
  r->cache = own_cache;
}

static bool is_same(const struct module *m, const char *path, const uint8_t *build_id, uint32_t n)
{
  return m->build_id_len == n && (n == 0 || memcmp(m->build_id, build_id, n) == 0) &&
         strcmp(m->path, path) == 0;
}

uint32_t tide_resolver_add(struct tide_resolver *r, const char *path, const uint8_t *build_id,
                           uint32_t build_id_len)
{
  uint32_t n =
      build_id_len < sizeof r->modules->build_id ? build_id_len : sizeof r->modules->build_id;
  for (size_t i = 0; i < r->n_modules; i++)
    if (is_same(&r->modules[i], path, build_id, n))
      return (uint32_t)i;
  TIDE_GROW(r->modules, r->n_modules, r->modules_cap);
  struct module *m = &r->modules[r->n_modules++];
  *m = (struct module){.path = tide_strdup(path), .build_id_len = n};
  if (n)
    memcpy(m->build_id, build_id, n);
  return tide_symboliser_add(r->symboliser, path, build_id, n);
}

static void tell_watcher(struct tide_resolver *r, uint32_t id)
{
  if (r->watcher && id < r->n_modules)
    r->watcher(r->watcher_context, r->modules[id].path, r->n_asked);
  r->n_asked++;
}

// The module if its answers are in the cache or may go there, NULL otherwise.
static struct module *cached_module(struct tide_resolver *r, uint32_t id)
{
  if (!r->cache || id >= r->n_modules || r->modules[id].build_id_len == 0)
    return NULL;
  struct module *m = &r->modules[id];
  uint64_t inputs = tide_symboliser_object(r->symboliser, id)->inputs;
  if (!m->is_loaded) {
    struct tide_name_key key = key_of(m, inputs);
    m->is_loaded = true;
    if (inputs)
      m->kept = tide_name_cache_load(r->cache, &key);
  }
  return inputs ? m : NULL;
}

// Frames of a kept chain; the outermost is always among them.
static size_t copy_kept(const struct tide_stored_names *names,
                        const struct tide_stored_frame *frames, size_t n,
                        struct tide_symbol_frame *out, size_t max)
{
  bool says_nothing = n == 1 && !frames[0].function && !frames[0].file;
  size_t n_out = says_nothing ? 0 : n < max ? n : max;
  for (size_t i = 0; i < n_out; i++) {
    const struct tide_stored_frame *f = &frames[i + 1 == n_out ? n - 1 : i];
    out[i] = (struct tide_symbol_frame){tide_stored_text(names, f->function),
                                        tide_stored_text(names, f->file), f->line, f->inlined};
  }
  return n_out;
}

static void learn(struct module *m, uint64_t addr, const struct tide_symbol_frame *frames, size_t n)
{
  struct tide_names_frame chain[LEARNT_FRAMES_MAX] = {{0}};
  if (n > LEARNT_FRAMES_MAX)
    return;
  for (size_t i = 0; i < n; i++)
    chain[i] = (struct tide_names_frame){frames[i].function, frames[i].file, frames[i].line,
                                         frames[i].inlined};
  if (!m->learnt)
    m->learnt = tide_names_builder_new();
  tide_names_builder_add(m->learnt, CACHED_MODULE, addr, chain, n ? n : 1);
}

size_t tide_resolver_lookup(struct tide_resolver *r, uint32_t id, uint64_t addr,
                            struct tide_symbol_frame *out, size_t max)
{
  struct module *m = cached_module(r, id);
  const struct tide_stored_frame *kept;
  size_t n = m ? tide_stored_names_find(&m->kept, CACHED_MODULE, addr, &kept) : 0;
  if (n)
    return copy_kept(&m->kept, kept, n, out, max);
  tell_watcher(r, id);
  n = tide_symboliser_lookup(r->symboliser, id, addr, out, max);
  if (m && n < max) // not cut
    learn(m, addr, out, n);
  return n;
}

const struct tide_symbol_object *tide_resolver_object(struct tide_resolver *r, uint32_t id)
{
  return tide_symboliser_object(r->symboliser, id);
}

void tide_resolver_watch(struct tide_resolver *r, tide_resolver_watcher *watcher, void *context)
{
  r->watcher = watcher;
  r->watcher_context = context;
}

// ---- what a capture says itself ----

static bool same_offset(const void *table, uint32_t id, const void *key)
{
  const struct tide_told_name *items = table;
  const uint32_t *offset = key;
  return items[id].offset == *offset;
}

const char *tide_told_names_function(struct tide_told_names *told,
                                     const struct tide_stored_names *names, uint32_t offset)
{
  const char *stored = tide_stored_text(names, offset);
  if (!stored)
    return NULL;
  uint64_t hash = tide_hash_word(0, offset);
  uint32_t id = tide_id_index_find(&told->by_offset, hash, same_offset, told->items, &offset);
  if (id == UINT32_MAX) {
    id = (uint32_t)told->n;
    TIDE_GROW(told->items, told->n, told->cap);
    told->items[told->n++] = (struct tide_told_name){offset, tide_demangle_told(stored)};
    tide_id_index_add(&told->by_offset, hash, id);
  }
  return told->items[id].text ? told->items[id].text : stored;
}

void tide_told_names_done(struct tide_told_names *told)
{
  for (size_t i = 0; i < told->n; i++)
    free(told->items[i].text);
  free(told->items);
  tide_id_index_done(&told->by_offset);
  *told = (struct tide_told_names){0};
}
