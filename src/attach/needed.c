// SPDX-License-Identifier: Apache-2.0
//
// Breadth first, as the loader does. Files and the cache are bytes from outside: whatever they
// hold, a library is found or it is not.
#define _GNU_SOURCE
#include "attach/needed.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <elf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OBJECTS = 1024, MOST_CACHE_BYTES = 64 << 20 };
#define APART (UINT64_C(1) << 36) // so that no two objects have an address in common

struct search {
  struct tide_loaded_list *list;
  const char *debug_dirs;
  struct tide_buf cache; // the file
  char loader[256];      // that the program asks for; "" when it is static
};

// ---- the dynamic section ----

static const char *text_at(struct tide_section texts, uint64_t at)
{
  return at < texts.n && memchr(texts.data + at, 0, texts.n - at) ? (const char *)texts.data + at
                                                                  : NULL;
}

// The n-th entry of a kind; NULL: there are fewer.
static const char *dynamic_text(const struct tide_loaded *object, int64_t tag, size_t nth)
{
  struct tide_section dynamic = tide_elf_section(object->elf->elf, "dynamic");
  struct tide_section texts = tide_elf_section(object->elf->elf, "dynstr");
  for (size_t i = 0; dynamic.data && texts.data && (i + 1) * sizeof(Elf64_Dyn) <= dynamic.n; i++) {
    Elf64_Dyn entry;
    memcpy(&entry, dynamic.data + i * sizeof entry, sizeof entry);
    if (entry.d_tag == tag && !nth--)
      return text_at(texts, entry.d_un.d_val);
  }
  return NULL;
}

// ---- candidates ----

static bool is_for_same_machine(const struct tide_loaded *a, const struct tide_loaded *b)
{
  GElf_Ehdr one, other;
  return gelf_getehdr(a->elf->elf, &one) && gelf_getehdr(b->elf->elf, &other) &&
         one.e_machine == other.e_machine && one.e_ident[EI_CLASS] == other.e_ident[EI_CLASS];
}

static bool is_listed(const struct tide_loaded_list *list, const char *path)
{
  struct stat its, other;
  if (stat(path, &its))
    return false;
  for (size_t i = 0; i < list->n; i++)
    if (!stat(list->all[i].path, &other) && its.st_ino == other.st_ino &&
        its.st_dev == other.st_dev)
      return true;
  return false;
}

// So that there is room before each, as there is where a loader or the kernel puts them.
static void place_object(struct tide_loaded *object, uint64_t at)
{
  object->bias = at;
  object->code_lo += at;
  object->code_hi += at;
}

static bool is_movable(const struct tide_loaded *object)
{
  GElf_Ehdr head;
  return gelf_getehdr(object->elf->elf, &head) && head.e_type == ET_DYN;
}

// True: it is a library for this program, and on the list now.
static bool take_library(struct search *s, const char *path)
{
  struct tide_loaded object;
  struct tide_diag ignored;
  struct tide_loaded_list *list = s->list;
  if (is_listed(list, path))
    return true;
  if (access(path, R_OK) || tide_loaded_open_file(path, s->debug_dirs, &object, &ignored))
    return false;
  if (!is_for_same_machine(&object, &list->all[0])) {
    tide_loaded_done(&object);
    return false;
  }
  place_object(&object, (list->n + 1) * APART);
  TIDE_GROW(list->all, list->n, list->cap);
  list->all[list->n++] = object;
  return true;
}

// dirs: with colons between; $ORIGIN is where the object that asks lies.
static bool take_from_dirs(struct search *s, const char *asking, const char *dirs, const char *name)
{
  const char *slash = strrchr(asking, '/');
  int n_origin = slash ? (int)(slash - asking) : 1;
  const char *origin = slash ? asking : ".";
  while (dirs && *dirs) {
    size_t n = strcspn(dirs, ":;");
    size_t tag = !strncmp(dirs, "$ORIGIN", 7) ? 7 : !strncmp(dirs, "${ORIGIN}", 9) ? 9 : 0;
    TIDE_CLEANUP_FREE char *path =
        tag && tag <= n
            ? tide_sprintf("%.*s%.*s/%s", n_origin, origin, (int)(n - tag), dirs + tag, name)
            : tide_sprintf("%.*s/%s", n ? (int)n : 1, n ? dirs : ".", name);
    if (take_library(s, path))
      return true;
    dirs += n + (dirs[n] != 0);
  }
  return false;
}

// ---- the loader's cache ----

struct cache_head {
  char magic[20]; // glibc-ld.so.cache1.1
  uint32_t n, text_bytes;
  uint8_t flags, unused[3];
  uint32_t extension, more[3];
};

struct cache_entry {
  int32_t flags;
  uint32_t name, path; // from the head on
  uint32_t os;
  uint64_t hwcap;
};

static bool take_from_cache(struct search *s, const char *name)
{
  static const char MAGIC[] = "glibc-ld.so.cache1.1";
  struct cache_head head;
  const uint8_t *all = s->cache.data;
  const uint8_t *at = all ? memmem(all, s->cache.n, MAGIC, sizeof MAGIC - 1) : NULL;
  size_t n = at ? s->cache.n - (size_t)(at - all) : 0;
  if (n < sizeof head)
    return false;
  memcpy(&head, at, sizeof head);
  struct tide_section texts = {at, n};
  for (size_t i = 0; i < head.n; i++) {
    struct cache_entry entry;
    size_t offset = sizeof head + i * sizeof entry;
    if (offset + sizeof entry > n)
      return false;
    memcpy(&entry, at + offset, sizeof entry);
    const char *its = text_at(texts, entry.name), *path = text_at(texts, entry.path);
    if (its && path && !strcmp(its, name) && take_library(s, path))
      return true;
  }
  return false;
}

static void read_cache(struct search *s, const char *path)
{
  char bytes[65536];
  size_t n;
  FILE *f = fopen(path, "re");
  while (f && s->cache.n < MOST_CACHE_BYTES && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
    tide_buf_append(&s->cache, bytes, n);
  if (f)
    fclose(f);
}

// ---- all of it ----

static bool is_musls(const struct search *s)
{
  return strstr(s->loader, "/ld-musl-");
}

// musl's loader is its libc, by whichever name, and its directories are in a file beside it:
// /lib/ld-musl-x86_64.so.1 has /etc/ld-musl-x86_64.path.
static bool find_for_musl(struct search *s, const char *name)
{
  struct tide_buf dirs = {0};
  const char *last = strrchr(s->loader, '/') + 1;
  if (!strcmp(name, "libc.so") || !strncmp(name, "libc.musl-", 10))
    return take_library(s, s->loader);
  TIDE_CLEANUP_FREE char *file = tide_sprintf("/etc/%.*s.path", (int)strcspn(last, "."), last);
  FILE *f = fopen(file, "re");
  for (int c; f && dirs.n < MOST_CACHE_BYTES && (c = getc(f)) != EOF;)
    tide_buf_u8(&dirs, c == '\n' ? ':' : (uint8_t)c);
  if (f)
    fclose(f);
  bool found =
      take_from_dirs(s, ".", dirs.n ? tide_buf_cstr(&dirs) : "/lib:/usr/local/lib:/usr/lib", name);
  tide_buf_done(&dirs);
  return found;
}

static bool find_library(struct search *s, size_t asking, const char *name)
{
  static const char USUAL[] = "/lib64:/usr/lib64:/lib:/usr/lib";
  // The list may move while it grows; what its objects' files say does not.
  const struct tide_loaded object = s->list->all[asking], program = s->list->all[0];
  const char *runpath = dynamic_text(&object, DT_RUNPATH, 0);
  if (strchr(name, '/'))
    return take_library(s, name);
  return (!runpath && take_from_dirs(s, object.path, dynamic_text(&object, DT_RPATH, 0), name)) ||
         (!runpath && take_from_dirs(s, program.path, dynamic_text(&program, DT_RPATH, 0), name)) ||
         take_from_dirs(s, ".", getenv("LD_LIBRARY_PATH"), name) ||
         take_from_dirs(s, object.path, runpath, name) ||
         (is_musls(s) ? find_for_musl(s, name)
                      : take_from_cache(s, name) || take_from_dirs(s, ".", USUAL, name));
}

static void note_missing(struct tide_loaded_list *list, const char *name)
{
  TIDE_GROW(list->unread, list->n_unread, list->unread_cap);
  list->unread[list->n_unread].path = tide_strdup(name);
  list->unread[list->n_unread++].reason = tide_strdup("it is not found");
}

static void read_loader_name(const struct tide_loaded *program, char *to, size_t size)
{
  struct tide_section name = tide_elf_section(program->elf->elf, "interp");
  const char *text = text_at(name, 0);
  snprintf(to, size, "%s", text ? text : "");
}

enum tide_err tide_needed_list_make(const char *program, const char *debug_dirs, const char *cache,
                                    struct tide_loaded_list *ret_list, struct tide_diag *diag)
{
  struct tide_loaded_list list = {0};
  struct search s = {.list = &list, .debug_dirs = debug_dirs};
  struct tide_loaded first;
  enum tide_err err = tide_loaded_open_file(program, debug_dirs, &first, diag);
  if (err)
    return err;
  if (is_movable(&first))
    place_object(&first, APART);
  TIDE_GROW(list.all, list.n, list.cap);
  list.all[list.n++] = first;
  read_loader_name(&first, s.loader, sizeof s.loader);
  read_cache(&s, cache ? cache : "/etc/ld.so.cache");
  for (size_t i = 0; i < list.n && list.n < MOST_OBJECTS; i++) {
    const char *name;
    for (size_t k = 0; (name = dynamic_text(&list.all[i], DT_NEEDED, k)); k++)
      if (!find_library(&s, i, name))
        note_missing(&list, name);
  }
  if (*s.loader && !take_library(&s, s.loader))
    note_missing(&list, s.loader);
  tide_buf_done(&s.cache);
  *ret_list = list;
  return TIDE_ERR_OK;
}

struct tide_outside *tide_needed_outside(const struct tide_loaded_list *list)
{
  struct tide_outside *outside = tide_alloc(sizeof *outside);
  *outside = (struct tide_outside){.memory_fd = -1};
  for (size_t i = 0; i < list->n; i++)
    tide_outside_claim(outside, list->all[i].code_lo, list->all[i].code_hi - list->all[i].code_lo);
  return outside;
}

static bool is_of_number(char c)
{
  return (c >= '0' && c <= '9') || c == '.';
}

// "GNU C Library (…) … version 2.36." in a library's texts. The words alone may stand in anybody's,
// as they do in ours.
static char *glibc_version(const char *at, size_t n)
{
  static const char BEFORE[] = "GNU C Library (", VERSION[] = "version ";
  const char *end = at + n;
  while ((at = memmem(at, (size_t)(end - at), BEFORE, sizeof BEFORE - 1))) {
    at += sizeof BEFORE - 1;
    size_t left = (size_t)(end - at);
    const char *version = memmem(at, left < 200 ? left : 200, VERSION, sizeof VERSION - 1);
    if (!version)
      continue;
    version += sizeof VERSION - 1;
    size_t n_digits = 0;
    while (version + n_digits < end && is_of_number(version[n_digits]))
      n_digits++;
    if (n_digits && version[n_digits - 1] == '.')
      n_digits--;
    if (n_digits)
      return tide_sprintf("glibc %.*s", (int)n_digits, version);
  }
  return NULL;
}

char *tide_needed_libc(const struct tide_loaded_list *list)
{
  for (size_t i = 0; i < list->n; i++) {
    if (strstr(list->all[i].path, "/ld-musl"))
      return tide_strdup("musl");
    struct tide_section texts = tide_elf_section(list->all[i].elf->elf, "rodata");
    char *libc = texts.data ? glibc_version((const char *)texts.data, texts.n) : NULL;
    if (libc)
      return libc;
  }
  return NULL;
}
