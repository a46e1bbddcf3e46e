// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables as the loader has them in memory. Versions and scopes are of no interest: a symbol
// that is defined nowhere must not be asked for, and of one that is, dlsym knows best.
#include "record/defined.h"

#include "rt/text.h"

#include <dlfcn.h>
#include <link.h>

struct table {
  const Elf64_Sym *symbols;
  const char *names;
  const uint32_t *gnu;  // DT_GNU_HASH
  const uint32_t *sysv; // DT_HASH, for objects that have no other
};

static struct table table_of(const struct link_map *map)
{
  struct table t = {0};
  for (const Elf64_Dyn *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
    // The loader has made these addresses, except where the section cannot be written (the vDSO).
    uint64_t at = d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr;
    if (d->d_tag == DT_SYMTAB)
      t.symbols = (const Elf64_Sym *)at;
    else if (d->d_tag == DT_STRTAB)
      t.names = (const char *)at;
    else if (d->d_tag == DT_GNU_HASH)
      t.gnu = (const uint32_t *)at;
    else if (d->d_tag == DT_HASH)
      t.sysv = (const uint32_t *)at;
  }
  return t;
}

static bool is_definition_of(const struct table *t, uint32_t i, const char *name)
{
  const Elf64_Sym *s = &t->symbols[i];
  return s->st_shndx != SHN_UNDEF && tide_text_equal(t->names + s->st_name, name);
}

static bool gnu_defines(const struct table *t, const char *name)
{
  uint32_t hash = 5381;
  for (const char *c = name; *c; c++)
    hash = hash * 33 + (uint8_t)*c;
  uint32_t n_buckets = t->gnu[0], first = t->gnu[1], n_words = t->gnu[2];
  const uint32_t *buckets = t->gnu + 4 + 2 * n_words, *chain = buckets + n_buckets;
  uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;
  if (i < first || !i)
    return false;
  do {
    if ((chain[i - first] ^ hash) >> 1 == 0 && is_definition_of(t, i, name))
      return true;
  } while (!(chain[i++ - first] & 1));
  return false;
}

static bool defines(const struct table *t, const char *name)
{
  if (!t->symbols || !t->names)
    return false;
  if (t->gnu)
    return gnu_defines(t, name);
  for (uint32_t i = 1; t->sysv && i < t->sysv[1]; i++) // rare, and only at boot: one by one
    if (is_definition_of(t, i, name))
      return true;
  return false;
}

bool tide_defined_after(const void *address, const char *name)
{
  struct dl_find_object found;
  if (_dl_find_object((void *)address, &found))
    return false;
  for (const struct link_map *map = found.dlfo_link_map->l_next; map; map = map->l_next) {
    struct table t = table_of(map);
    if (defines(&t, name))
      return true;
  }
  return false;
}
