// SPDX-License-Identifier: Apache-2.0
//
// Objects: _dl_find_object (glibc 2.35) takes no lock, unlike dl_iterate_phdr, which must never be
// called from an allocator's hook: its lock may be held by a thread that waits for us.
//
// Symbols: their tables as the loader has them in memory. Versions and scopes are of no interest: a
// symbol that is defined nowhere must not be asked for, and of one that is, dlsym knows best.
#include "preload/loader.h"

#include "rt/sys.h"
#include "rt/text.h"

#include <dlfcn.h>

// The program and libc, which nobody can unload: asked for once. To ask costs a fork child two
// pages of the loader's and libc's code, for its first stack.
static struct lasting {
  uint64_t start, end;
  const struct link_map *map; // written last; NULL: not asked for yet
  void *eh_frame;
} lasting[2];
enum { PROGRAM, LIBC };

static void keep(struct lasting *to, const struct dl_find_object *found)
{
  if (tide_load_acquire(&to->map))
    return;
  // Threads that do this at once write the same.
  tide_store_relaxed(&to->start, (uint64_t)found->dlfo_map_start);
  tide_store_relaxed(&to->end, (uint64_t)found->dlfo_map_end);
  tide_store_relaxed(&to->eh_frame, found->dlfo_eh_frame);
  tide_store_release(&to->map, found->dlfo_link_map);
}

// Of the program, as its headers had it when recording began: later they may be gone.
static struct tide_span whole;

void tide_loader_set_program(uint64_t headers, uint64_t n)
{
  const Elf64_Phdr *p = (const Elf64_Phdr *)headers;
  struct tide_span span = {~0ull, 0};
  if (!headers || !n || !tide_sys_readable(headers) || !tide_sys_readable((uint64_t)(p + n) - 8))
    return;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t from = p[i].p_vaddr & -tide_sys_page_bytes, to = p[i].p_vaddr + p[i].p_memsz;
    if (p[i].p_type != PT_LOAD)
      continue;
    span.start = from < span.start ? from : span.start;
    span.end = to > span.end ? to : span.end;
  }
  whole = span;
}

// The first of another namespace has a name, and may go.
static bool is_program(const struct link_map *map)
{
  return !map->l_prev && map->l_name && !*map->l_name;
}

// Of a program with gaps between its segments (large pages, lld on aarch64) the loader names the
// one that was asked for, which has neither headers nor unwind tables: those are in another.
static void make_whole(struct dl_find_object *found)
{
  uint64_t bias = found->dlfo_link_map->l_addr;
  uint64_t start = bias + whole.start, end = bias + whole.end;
  if (start > (uint64_t)found->dlfo_map_start || end < (uint64_t)found->dlfo_map_end)
    return;
  found->dlfo_map_start = (void *)start;
  found->dlfo_map_end = (void *)end;
}

static void keep_if_lasting(const struct dl_find_object *found)
{
  const struct link_map *map = found->dlfo_link_map;
  uint64_t of_libc = (uint64_t)&_dl_find_object;
  if (is_program(map))
    keep(&lasting[PROGRAM], found);
  else if (of_libc - (uint64_t)found->dlfo_map_start <
           (uint64_t)found->dlfo_map_end - (uint64_t)found->dlfo_map_start)
    keep(&lasting[LIBC], found);
}

static bool is_lasting(uint64_t pc, struct dl_find_object *ret_found)
{
  for (int i = PROGRAM; i <= LIBC; i++) {
    const struct link_map *map = tide_load_acquire(&lasting[i].map);
    if (!map || pc - lasting[i].start >= lasting[i].end - lasting[i].start)
      continue;
    ret_found->dlfo_map_start = (void *)lasting[i].start;
    ret_found->dlfo_map_end = (void *)lasting[i].end;
    ret_found->dlfo_eh_frame = lasting[i].eh_frame;
    ret_found->dlfo_link_map = (struct link_map *)map;
    return true;
  }
  return false;
}

bool tide_loader_object_at(uint64_t pc, struct tide_object *ret_object)
{
  struct dl_find_object found;
  if (!is_lasting(pc, &found)) {
    if (_dl_find_object((void *)pc, &found))
      return false;
    if (is_program(found.dlfo_link_map))
      make_whole(&found);
    keep_if_lasting(&found);
  }
  const struct link_map *map = found.dlfo_link_map;
  *ret_object = (struct tide_object){
      .start = (uint64_t)found.dlfo_map_start,
      .end = (uint64_t)found.dlfo_map_end,
      .bias = map->l_addr,
      .eh_hdr = found.dlfo_eh_frame,
      .path = map->l_name ? map->l_name : "",
      .identity = map,
  };
  return true;
}

static int met_one(struct dl_phdr_info *info, size_t size, void *arg)
{
  (void)size;
  void (**met)(uint64_t) = arg;
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
      (*met)(info->dlpi_addr + p->p_vaddr);
      return 0;
    }
  }
  return 0;
}

void tide_loader_each_object(void (*met)(uint64_t pc))
{
  dl_iterate_phdr(met_one, &met);
}

static struct tide_defined_table table_of(const struct link_map *map)
{
  struct tide_defined_table t = {0};
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

static bool is_definition_of(const Elf64_Sym *s, const struct tide_defined_table *t,
                             const char *name)
{
  return s->st_shndx != SHN_UNDEF && tide_text_equal(t->names + s->st_name, name);
}

static uint32_t hash_of(const char *name)
{
  uint32_t hash = 5381;
  for (const char *c = name; *c; c++)
    hash = hash * 33 + (uint8_t)*c;
  return hash;
}

static const Elf64_Sym *gnu_find(const struct tide_defined_table *t, const char *name,
                                 uint32_t hash)
{
  uint32_t n_buckets = t->gnu[0], first = t->gnu[1], n_words = t->gnu[2], shift = t->gnu[3];
  const uint64_t *filter = (const uint64_t *)(t->gnu + 4);
  const uint32_t *buckets = t->gnu + 4 + 2 * n_words, *chain = buckets + n_buckets;
  // Most names are in most objects not, and one word says so.
  uint64_t word = n_words ? filter[hash / 64 % n_words] : ~0ull;
  if (!(word >> hash % 64 & word >> (hash >> shift % 32) % 64 & 1))
    return NULL;
  uint32_t i = n_buckets ? buckets[hash % n_buckets] : 0;
  if (i < first || !i)
    return NULL;
  do {
    if ((chain[i - first] ^ hash) >> 1 == 0 && is_definition_of(&t->symbols[i], t, name))
      return &t->symbols[i];
  } while (!(chain[i++ - first] & 1));
  return NULL;
}

static const Elf64_Sym *find_in(const struct tide_defined_table *t, const char *name, uint32_t hash)
{
  if (!t->symbols || !t->names)
    return NULL;
  if (t->gnu)
    return gnu_find(t, name, hash);
  for (uint32_t i = 1; t->sysv && i < t->sysv[1]; i++) // rare: one by one
    if (is_definition_of(&t->symbols[i], t, name))
      return &t->symbols[i];
  return NULL;
}

static const Elf64_Sym *find_symbol(const struct link_map *map, const char *name)
{
  struct tide_defined_table t = table_of(map);
  return find_in(&t, name, hash_of(name));
}

static const struct link_map *object_of(const void *address)
{
  struct dl_find_object found;
  return _dl_find_object((void *)address, &found) ? NULL : found.dlfo_link_map;
}

void tide_defined_begin(const void *address, struct tide_defined_scan *ret_scan)
{
  const struct link_map *map = object_of(address);
  *ret_scan = (struct tide_defined_scan){0};
  for (map = map ? map->l_next : NULL; map && ret_scan->n < TIDE_DEFINED_TABLES; map = map->l_next)
    ret_scan->tables[ret_scan->n++] = table_of(map);
  ret_scan->rest = map;
}

bool tide_defined_after(const struct tide_defined_scan *scan, const char *name)
{
  uint32_t hash = hash_of(name);
  for (uint32_t i = 0; i < scan->n; i++)
    if (find_in(&scan->tables[i], name, hash))
      return true;
  for (const struct link_map *map = scan->rest; map; map = map->l_next)
    if (find_symbol(map, name))
      return true;
  return false;
}

bool tide_defined_before(const void *address, const char *name)
{
  const struct link_map *map = object_of(address);
  while (map && (map = map->l_prev))
    if (find_symbol(map, name))
      return true;
  return false;
}

// From one object of the list to before another, or to the end, but for ours: that would be the
// hook which asks.
static void *function_between(const struct link_map *map, const struct link_map *end,
                              const struct link_map *own, const char *name)
{
  // Another thread may be closing an object: the loader's table says whether it is still there.
  for (; map && map != end && object_of(map->l_ld) == map; map = map->l_next) {
    const Elf64_Sym *s = map != own ? find_symbol(map, name) : NULL;
    if (s && ELF64_ST_TYPE(s->st_info) == STT_FUNC)
      return (void *)(map->l_addr + s->st_value);
  }
  return NULL;
}

void *tide_defined_near(uint64_t pc, const char *name)
{
  const struct link_map *own = object_of(&tide_defined_near), *caller = object_of((void *)pc);
  void *p = caller != own ? function_between(caller, NULL, own, name) : NULL;
  return p || !own ? p : function_between(own->l_next, caller, own, name);
}
