// SPDX-License-Identifier: Apache-2.0
//
// A table of names that only grows. Names are looked for without a lock: an entry is whole before
// its number is in the index.
#include "record/scope.h"

#include "rt/sys.h"
#include "rt/text.h"
#include "store/store.h"

enum { PLACES = 1024 }; // twice as many as there are numbers

struct scope {
  uint32_t outer;
  uint32_t node; // in the present store; 0: none yet. Under the lock of the nodes
  char name[TIDE_SCOPE_NAME_BYTES];
};

static struct scope scopes[TIDE_SCOPE_MORE + 1] TIDE_BULKY;
static uint16_t places[PLACES] TIDE_BULKY; // by hash; 0: vacant. Written under the lock
static uint32_t n_scopes = 1;              // under the lock
static struct tide_lock lock;

static uint32_t hash_name(uint32_t outer, const char *name)
{
  uint64_t hash = outer;
  for (; *name; name++)
    hash = tide_mix64(hash ^ (unsigned char)*name);
  return (uint32_t)(hash >> 32);
}

static bool is_scope(const struct scope *s, uint32_t outer, const char *name)
{
  uint32_t i = 0;
  while (s->name[i] && s->name[i] == name[i])
    i++;
  return s->outer == outer && s->name[i] == name[i];
}

// Its number, or where it would be.
static uint32_t look_for(uint32_t outer, const char *name, uint32_t *ret_place)
{
  uint32_t i = hash_name(outer, name) % PLACES, id;
  while ((id = tide_load_acquire(&places[i])) && !is_scope(&scopes[id], outer, name))
    i = (i + 1) % PLACES;
  *ret_place = i;
  return id;
}

static uint32_t add_scope(uint32_t outer, const char *name, uint32_t place)
{
  uint32_t id = n_scopes;
  if (id == TIDE_SCOPE_MORE)
    return TIDE_SCOPE_MORE;
  scopes[id].outer = outer;
  for (uint32_t i = 0; name[i] && i < TIDE_SCOPE_NAME_BYTES - 1; i++)
    scopes[id].name[i] = name[i];
  n_scopes++;
  tide_store_release(&places[place], (uint16_t)id);
  return id;
}

uint32_t tide_scope_get(uint32_t outer, const char *name)
{
  uint32_t place, id = look_for(outer, name, &place);
  if (TIDE_LIKELY(id))
    return id;
  tide_lock_take(&lock);
  id = look_for(outer, name, &place);
  if (!id)
    id = add_scope(outer, name, place);
  tide_lock_drop(&lock);
  return id;
}

uint32_t tide_scope_outer(uint32_t scope)
{
  return scopes[scope & TIDE_SCOPE_MORE].outer;
}

uint32_t tide_scope_node(uint32_t scope)
{
  struct scope *s = &scopes[scope & TIDE_SCOPE_MORE];
  if (s->node)
    return s->node;
  const char *name = scope == TIDE_SCOPE_MORE ? TIDE_SCOPE_MORE_NAME : s->name;
  uint32_t outer = s->outer ? tide_scope_node(s->outer) : TIDE_NODE_ROOT_NONE;
  uint32_t text = outer || !s->outer ? tide_store_text(name, tide_text_len(name)) : 0;
  if (text)
    s->node = tide_node_get(outer, TIDE_FRAME_EXACT | TIDE_SCOPE_PC | text, TIDE_FRAME_SCOPE);
  return s->node;
}

void tide_scopes_after_fork(void)
{
  lock.held = 0;
  // Number 0 is no scope. Most programs have none, and then the child touches no page of them.
  for (uint32_t i = 1; i < n_scopes; i++)
    scopes[i].node = 0;
  if (n_scopes == TIDE_SCOPE_MORE)
    scopes[TIDE_SCOPE_MORE].node = 0;
}
