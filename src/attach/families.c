// SPDX-License-Identifier: Apache-2.0
//
// Twice through the symbols of each object: first for signs of allocators, then for the functions
// of those that showed.
#include "attach/families.h"

#include "attach/shelf.h"
#include "attach/signature.h"
#include "base/alloc.h"
#include "store/rust_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct sign {
  enum tide_family family;
  const char *name; // without the asterisk
  bool any_prefix;
} SIGNS[] = {
#define TIDE_SIGN(family, name)                                                                    \
  {TIDE_FAMILY_##family, (name)[0] == '*' ? (name) + 1 : (name), (name)[0] == '*'},
#include "attach/families.def"
};

static const struct known {
  enum tide_family family;
  const char *name;
  enum tide_role role;
} KNOWN[] = {
#define TIDE_ENTRY(family, name, role) {TIDE_FAMILY_##family, (name), TIDE_ROLE_##role},
#include "attach/families.def"
};

static const struct hooked {
  const char *family, *name;
  enum tide_role role;
} HOOKED[] = {
#define TIDE_HOOK(name, real, family, role, ret, types) {#family, #name, TIDE_ROLE_##role},
#include "store/hooks.def"
};

static const struct takes {
  enum tide_family family;
  const char *hooked;
} TAKES[] = {
#define TIDE_TAKES(family, hooked) {TIDE_FAMILY_##family, #hooked},
#include "attach/families.def"
};

// An allocator in one object.
struct allocator {
  enum tide_family family;
  char prefix[32];
};

enum { MAX_ALLOCATORS = 8 };

struct search {
  const struct tide_loaded *loaded;
  struct allocator allocators[MAX_ALLOCATORS];
  size_t n;
  bool has_libc;  // glibc or musl is in it, whose a malloc without a prefix then is
  bool has_inner; // a malloc by libc's inner name: of whoever stands in for libc, too (chromium)
  bool has_rusts; // the allocator of Rust's standard library, by which libc's is called
  struct tide_hookables *entries;
};

// Length of the prefix with which a name shows a sign; -1: it does not. Prefixes end in _, so that
// sdallocx is not dallocx of an allocator "s".
static long prefix_of(const struct sign *sign, const char *name, size_t n)
{
  size_t k = strlen(sign->name);
  if (n < k || memcmp(name + n - k, sign->name, k) != 0)
    return -1;
  size_t prefix = n - k;
  bool fits = !prefix || (sign->any_prefix && name[prefix - 1] == '_' &&
                          prefix < sizeof((struct allocator *)0)->prefix);
  return fits ? (long)prefix : -1;
}

static void add_allocator(struct search *s, enum tide_family family, const char *name, size_t n)
{
  for (size_t i = 0; i < s->n; i++)
    if (s->allocators[i].family == family && strlen(s->allocators[i].prefix) == n &&
        !memcmp(s->allocators[i].prefix, name, n))
      return;
  if (s->n == MAX_ALLOCATORS)
    return;
  struct allocator *a = &s->allocators[s->n++];
  a->family = family;
  memcpy(a->prefix, name, n);
  a->prefix[n] = 0;
}

static void look_for_signs(void *context, const struct tide_function *function)
{
  struct search *s = context;
  char plain[TIDE_RUST_NAME_BYTES];
  const char *name = tide_rust_plain_name(function->name, plain);
  size_t n = strlen(name);
  s->has_libc |= !strcmp(function->name, "__libc_start_main");
  s->has_rusts |= !strcmp(name, "__rdl_alloc");
  s->has_inner |= !strcmp(function->name, "__libc_malloc");
  for (size_t i = 0; i < COUNT(SIGNS); i++) {
    long prefix = prefix_of(&SIGNS[i], name, n);
    if (prefix >= 0)
      add_allocator(s, SIGNS[i].family, name, (size_t)prefix);
  }
}

// Of those that every program may have beside an allocator that is linked into it.
static bool is_common(enum tide_family family)
{
  return family == TIDE_FAMILY_LIBC || family == TIDE_FAMILY_PAGES || family == TIDE_FAMILY_RUST;
}

// malloc without a prefix is anybody's; libc's, if nobody else shows.
static void settle_whose_malloc(struct search *s)
{
  bool others = false, is_rusts_by_others = s->has_rusts;
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++) {
    others |= !is_common(s->allocators[i].family) && !s->allocators[i].prefix[0] &&
              s->allocators[i].family != TIDE_FAMILY_MIMALLOC;
    is_rusts_by_others |= !is_common(s->allocators[i].family);
  }
  for (size_t i = 0; i < s->n; i++)
    if (!(others && s->allocators[i].family == TIDE_FAMILY_LIBC) &&
        !(is_rusts_by_others && s->allocators[i].family == TIDE_FAMILY_RUST))
      s->allocators[n++] = s->allocators[i];
  s->n = n;
}

static bool is_listed(const struct tide_hookables *entries, uint64_t at)
{
  for (size_t i = 0; i < entries->n; i++)
    if (entries->all[i].at == at)
      return true;
  return false;
}

static void take_entry(struct search *s, const struct tide_function *function,
                       enum tide_family family, enum tide_role role)
{
  struct tide_hookables *entries = s->entries;
  if (is_listed(entries, function->at))
    return;
  TIDE_GROW(entries->all, entries->n, entries->cap);
  struct tide_hookable *entry = &entries->all[entries->n++];
  *entry = (struct tide_hookable){.loaded = s->loaded,
                                  .family = family,
                                  .role = role,
                                  .at = function->at,
                                  .bytes = function->bytes};
  char plain[TIDE_RUST_NAME_BYTES];
  snprintf(entry->name, sizeof entry->name, "%s", tide_rust_plain_name(function->name, plain));
}

static bool hooked_role(const char *family, const char *name, enum tide_role *ret_role)
{
  for (size_t i = 0; i < COUNT(HOOKED); i++)
    if (!strcmp(HOOKED[i].name, name) && !strcmp(HOOKED[i].family, family) &&
        HOOKED[i].role != TIDE_ROLE_NO_EVENT) {
      *ret_role = HOOKED[i].role;
      return true;
    }
  return false;
}

// Whether operator new calls the malloc that is hooked already: libc has none of its own.
static bool is_new_by_malloc(const struct search *s, enum tide_family family)
{
  return family == TIDE_FAMILY_LIBC && s->has_libc && s->has_inner;
}

// What a family's function of that name does; false: it has none.
static bool role_of(const struct search *s, enum tide_family family, const char *name,
                    enum tide_role *ret_role)
{
  for (size_t i = 0; i < COUNT(KNOWN); i++)
    if (KNOWN[i].family == family && !strcmp(KNOWN[i].name, name)) {
      *ret_role = KNOWN[i].role;
      return true;
    }
  for (size_t i = 0; i < COUNT(TAKES); i++)
    if (TAKES[i].family == family && hooked_role(TAKES[i].hooked, name, ret_role))
      return strcmp(TAKES[i].hooked, "cxx") != 0 || !is_new_by_malloc(s, family);
  return false;
}

static void look_for_entries(void *context, const struct tide_function *function)
{
  struct search *s = context;
  char plain[TIDE_RUST_NAME_BYTES];
  const char *name = tide_rust_plain_name(function->name, plain);
  for (size_t a = 0; a < s->n; a++) {
    const struct allocator *allocator = &s->allocators[a];
    size_t prefix = strlen(allocator->prefix);
    enum tide_role role;
    if (!strncmp(name, allocator->prefix, prefix) &&
        role_of(s, allocator->family, name + prefix, &role)) {
      bool is_own = allocator->family == TIDE_FAMILY_LIBC && !s->has_libc;
      take_entry(s, function, is_own ? TIDE_FAMILY_OWN : allocator->family, role);
      return;
    }
  }
}

// The loader has an allocator for itself, of a few blocks while it starts, and we are not to record
// ourselves.
static bool is_left_alone(const struct tide_loaded *loaded)
{
  const char *slash = strrchr(loaded->path, '/'), *name = slash ? slash + 1 : loaded->path;
  return !strncmp(name, "ld-linux", 8) || !strncmp(name, "libtidemark", 11);
}

void tide_hookables_find(const struct tide_loaded_list *list, struct tide_hookables *ret_entries)
{
  *ret_entries = (struct tide_hookables){0};
  for (size_t i = 0; i < list->n; i++) {
    struct search s = {.loaded = &list->all[i], .entries = ret_entries};
    if (is_left_alone(s.loaded))
      continue;
    tide_loaded_each_function(s.loaded, look_for_signs, &s);
    settle_whose_malloc(&s);
    if (s.n)
      tide_loaded_each_function(s.loaded, look_for_entries, &s);
  }
}

static void look_for_exec(void *context, const struct tide_function *function)
{
  if (!strcmp(function->name, "execve"))
    take_entry(context, function, TIDE_FAMILY_LIBC, TIDE_ROLE_EXEC);
}

static void look_for_vows(void *context, const struct tide_function *function)
{
  if (!strcmp(function->name, "prctl"))
    take_entry(context, function, TIDE_FAMILY_LIBC, TIDE_ROLE_VOW);
  else if (!strcmp(function->name, "syscall"))
    take_entry(context, function, TIDE_FAMILY_LIBC, TIDE_ROLE_CALL);
}

static void look_for_loads(void *context, const struct tide_function *function)
{
  if (!strcmp(function->name, "_dl_debug_state"))
    take_entry(context, function, TIDE_FAMILY_LIBC, TIDE_ROLE_LOADED);
}

static void find_by(void (*look)(void *context, const struct tide_function *function),
                    const struct tide_loaded_list *list, struct tide_hookables *ret_entries)
{
  *ret_entries = (struct tide_hookables){0};
  for (size_t i = 0; i < list->n; i++) {
    struct search s = {.loaded = &list->all[i], .entries = ret_entries};
    if (!is_left_alone(s.loaded))
      tide_loaded_each_function(s.loaded, look, &s);
  }
}

void tide_hookables_find_exec(const struct tide_loaded_list *list,
                              struct tide_hookables *ret_entries)
{
  find_by(look_for_exec, list, ret_entries);
}

void tide_hookables_find_vows(const struct tide_loaded_list *list,
                              struct tide_hookables *ret_entries)
{
  find_by(look_for_vows, list, ret_entries);
}

// The loader's own, which is otherwise left alone. A static program's is called by nobody.
void tide_hookables_find_loads(const struct tide_loaded_list *list,
                               struct tide_hookables *ret_entries)
{
  *ret_entries = (struct tide_hookables){0};
  for (size_t i = 0; i < list->n; i++) {
    struct search s = {.loaded = &list->all[i], .entries = ret_entries};
    if (strstr(s.loaded->path, "/ld-"))
      tide_loaded_each_function(s.loaded, look_for_loads, &s);
  }
}

// By code.

static const struct stands {
  const char *name, *other;
} STANDS[] = {
#define TIDE_STANDS(name, other) {(name), (other)},
#include "attach/families.def"
};

static const char *stands_for(const char *name)
{
  for (size_t i = 0; i < COUNT(STANDS); i++)
    if (!strcmp(STANDS[i].name, name))
      return STANDS[i].other;
  return NULL;
}

// An archive has thousands of names, most of which differ in the first letter.
static bool is_same(const char *one, const char *other)
{
  return *one == *other && !strcmp(one, other);
}

// Of those that look_for_*() and the agent's face ask for.
static bool is_wanted(const char *name)
{
  static const char *const OTHERS[] = {"__libc_start_main", "execve", "prctl", "syscall",
                                       "__malloc_arena_thread_freeres"};
  size_t n = strlen(name);
  for (size_t i = 0; i < COUNT(OTHERS); i++)
    if (is_same(OTHERS[i], name))
      return true;
  for (size_t i = 0; i < COUNT(SIGNS); i++)
    if (prefix_of(&SIGNS[i], name, n) >= 0)
      return true;
  for (size_t i = 0; i < COUNT(KNOWN); i++)
    if (is_same(KNOWN[i].name, name))
      return true;
  for (size_t i = 0; i < COUNT(HOOKED); i++)
    if (is_same(HOOKED[i].name, name) && HOOKED[i].role != TIDE_ROLE_NO_EVENT)
      return true;
  return stands_for(name);
}

enum shown { SHOWS_NONE, SHOWS_SOME, SHOWS_WHOSE };

// A malloc that a program exports may be anybody's.
static enum shown shown_allocator(const struct tide_loaded *loaded)
{
  struct search s = {.loaded = loaded};
  enum shown shown = SHOWS_NONE;
  tide_loaded_each_function(loaded, look_for_signs, &s);
  for (size_t i = 0; i < s.n; i++)
    if (s.allocators[i].family != TIDE_FAMILY_PAGES && s.allocators[i].family != TIDE_FAMILY_RUST)
      shown = s.allocators[i].family != TIDE_FAMILY_LIBC || s.has_libc || shown == SHOWS_WHOSE
                  ? SHOWS_WHOSE
                  : SHOWS_SOME;
  return shown;
}

// Where no allocator shows, whatever maps pages is looked for instead.
void tide_hookables_sign(struct tide_loaded_list *list, const char *debug_dirs)
{
  static const struct tide_signature_names NAMES = {is_wanted, stands_for};
  for (size_t i = 0; i < list->n; i++) {
    struct tide_loaded *loaded = &list->all[i];
    if (is_left_alone(loaded) || shown_allocator(loaded) == SHOWS_WHOSE ||
        tide_shelf_take(loaded, debug_dirs) || !tide_signature_find(loaded, debug_dirs, &NAMES))
      continue;
    if (shown_allocator(loaded) == SHOWS_NONE)
      tide_signature_find_page_calls(loaded);
    tide_shelf_put(loaded, debug_dirs);
  }
}

void tide_hookables_done(struct tide_hookables *entries)
{
  free(entries->all);
  *entries = (struct tide_hookables){0};
}
