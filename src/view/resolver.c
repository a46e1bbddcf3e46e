// SPDX-License-Identifier: Apache-2.0
//
// A symboliser, and which module is which.
#include "view/resolver.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

struct module { // its index is the symboliser's id
  char *path;
  uint8_t build_id[32];
  uint32_t build_id_len;
};

struct tide_resolver {
  struct tide_symboliser *symboliser;
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

void tide_resolver_free(struct tide_resolver *r)
{
  if (!r)
    return;
  for (size_t i = 0; i < r->n_modules; i++)
    free(r->modules[i].path);
  free(r->modules);
  tide_symboliser_free(r->symboliser);
  free(r);
}

void tide_resolver_set_sources(struct tide_resolver *r, const struct tide_symbol_sources *sources)
{
  tide_symboliser_set_sources(r->symboliser, sources);
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

static void say(struct tide_resolver *r, uint32_t id)
{
  if (r->watcher && id < r->n_modules)
    r->watcher(r->watcher_context, r->modules[id].path, r->n_asked);
  r->n_asked++;
}

size_t tide_resolver_lookup(struct tide_resolver *r, uint32_t id, uint64_t addr,
                            struct tide_symbol_frame *out, size_t max)
{
  say(r, id);
  return tide_symboliser_lookup(r->symboliser, id, addr, out, max);
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
