// SPDX-License-Identifier: Apache-2.0
//
// DIR/<build id>-<fingerprint>.names, a .tide file of one image with one module and its names. The
// fingerprint is that of the answers: of the files they came from, and of the program that gave
// them. A tidemark that was built anew starts with an empty cache, since it may answer otherwise;
// what it leaves behind is the oldest before long.
//
// Invariants
//  1. A file appears by rename, whole (tide_file_write); readers need no lock.
//  2. A file is believed only if it says itself whose names it holds.
//  3. Nothing but our own files is ever removed: *.names, and *.names.*.tmp that are an hour old.
#define _GNU_SOURCE
#include "view/resolver.h"

#include "base/alloc.h"
#include "base/lookup.h"
#include "model/stored_names.h"
#include "symbol/elf.h"
#include "tide/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MODULE = 1, TOUCH_AFTER_S = 3600, STALE_AFTER_S = 3600 };

struct tide_name_cache {
  char *dir;
  uint64_t max_bytes;
  uint64_t own_print; // of this program
};

// By its build id, or else by its size and age.
static uint64_t own_print(void)
{
  uint64_t h = tide_hash_bytes(0, TIDE_VERSION, sizeof TIDE_VERSION);
  struct tide_elf *elf;
  struct stat st;
  if (tide_elf_open("/proc/self/exe", &elf, NULL) == TIDE_ERR_OK) {
    if (elf->build_id)
      h = tide_hash_bytes(h, elf->build_id, elf->build_id_len);
    else if (fstat(elf->fd, &st) == 0)
      h = tide_hash_bytes(tide_hash_bytes(h, &st.st_size, sizeof st.st_size), &st.st_mtim,
                          sizeof st.st_mtim);
    tide_elf_free(elf);
  }
  return h;
}

struct tide_name_cache *tide_name_cache_new(const char *dir, uint64_t max_bytes)
{
  struct tide_name_cache *cache = tide_alloc(sizeof *cache);
  *cache = (struct tide_name_cache){tide_strdup(dir), max_bytes, own_print()};
  return cache;
}

void tide_name_cache_free(struct tide_name_cache *cache)
{
  if (!cache)
    return;
  free(cache->dir);
  free(cache);
}

// What the file is called, without its directory; also what it calls itself. Owned.
static char *name_of(const struct tide_name_cache *cache, const struct tide_name_key *key)
{
  char hex[2 * 32 + 1] = "";
  for (uint32_t i = 0; i < key->build_id_len && i < 32; i++) {
    hex[2 * i] = "0123456789abcdef"[key->build_id[i] >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[key->build_id[i] & 15];
  }
  uint64_t print = tide_hash_bytes(cache->own_print, &key->inputs, sizeof key->inputs);
  return tide_sprintf("%s-%016" PRIx64 ".names", hex, print);
}

static bool is_ours(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

// Makes the directory and those above it.
static bool make_dir(const char *dir)
{
  TIDE_CLEANUP_FREE char *path = tide_strdup(dir);
  for (char *slash = path + 1; *path && (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
      return false;
    *slash = '/';
  }
  return (mkdir(dir, 0700) == 0 || errno == EEXIST) && is_ours(dir);
}

static bool is_whole(const struct tide_capture *capture, const struct tide_name_key *key,
                     const char *name)
{
  if (capture->cut || capture->n_images != 1 || capture->images[0].n_modules != MODULE + 1 ||
      strcmp(capture->tool_version, name) != 0)
    return false;
  const struct tide_module *m = &capture->images[0].modules[MODULE];
  return m->build_id_len == key->build_id_len &&
         memcmp(m->build_id, key->build_id, key->build_id_len) == 0;
}

// Marks the file as used, but not at every turn.
static void mark_used(const char *path)
{
  struct stat st;
  if (stat(path, &st) == 0 && st.st_mtime + TOUCH_AFTER_S < time(NULL))
    utimensat(AT_FDCWD, path, NULL, 0);
}

struct tide_stored_names tide_name_cache_load(struct tide_name_cache *cache,
                                              const struct tide_name_key *key)
{
  struct tide_stored_names names = {0};
  TIDE_CLEANUP_FREE char *name = name_of(cache, key);
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/%s", cache->dir, name);
  struct tide_capture *capture;
  struct stat st;
  if (!is_ours(cache->dir) || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
      tide_file_read(path, &capture, NULL) != TIDE_ERR_OK)
    return names;
  if (is_whole(capture, key, name)) {
    names = capture->images[0].names;
    capture->images[0].names = (struct tide_stored_names){0};
    mark_used(path);
  }
  tide_capture_free(capture);
  return names;
}

struct kept { // a file of the cache
  char *path;
  uint64_t bytes;
  struct timespec used;
};

static int by_use(const void *left, const void *right)
{
  const struct timespec *a = &((const struct kept *)left)->used;
  const struct timespec *b = &((const struct kept *)right)->used;
  if (a->tv_sec != b->tv_sec)
    return a->tv_sec < b->tv_sec ? -1 : 1;
  return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static bool ends_in(const char *text, const char *end)
{
  size_t n = strlen(text), n_end = strlen(end);
  return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

// What somebody who was killed left half written.
static bool is_left_over(const char *name, const struct stat *st)
{
  return strstr(name, ".names.") && ends_in(name, ".tmp") &&
         st->st_mtime + STALE_AFTER_S < time(NULL);
}

// The cache's files, owned by the caller; *ret_n of them, which take *ret_bytes.
static struct kept *list(const char *dir, size_t *ret_n, uint64_t *ret_bytes)
{
  struct kept *files = NULL;
  size_t n = 0, cap = 0;
  DIR *opened = opendir(dir);
  *ret_bytes = 0;
  for (struct dirent *entry; opened && (entry = readdir(opened));) {
    char *path = tide_sprintf("%s/%s", dir, entry->d_name);
    struct stat st;
    bool is_file = lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (is_file && is_left_over(entry->d_name, &st))
      unlink(path);
    if (!is_file || !ends_in(entry->d_name, ".names")) {
      free(path);
      continue;
    }
    TIDE_GROW(files, n, cap);
    files[n++] = (struct kept){path, (uint64_t)st.st_size, st.st_mtim};
    *ret_bytes += (uint64_t)st.st_size;
  }
  if (opened)
    closedir(opened);
  *ret_n = n;
  return files;
}

// Down to three quarters, so that not every new file costs an old one.
static void make_room(const struct tide_name_cache *cache)
{
  size_t n;
  uint64_t bytes;
  struct kept *files = list(cache->dir, &n, &bytes);
  bool too_much = bytes > cache->max_bytes;
  if (too_much)
    qsort(files, n, sizeof *files, by_use);
  for (size_t i = 0; i < n; i++) {
    if (too_much && bytes > cache->max_bytes / 4 * 3 && unlink(files[i].path) == 0)
      bytes -= files[i].bytes;
    free(files[i].path);
  }
  free(files);
}

// A capture of nothing but names; it takes them over.
static struct tide_capture *capture_of(const struct tide_name_key *key, const char *name)
{
  struct tide_capture *capture = tide_capture_new();
  capture->tool_version = tide_strdup(name);
  capture->finished = true;
  capture->n_images = 1;
  struct tide_image *image = capture->images = tide_alloc(sizeof *image);
  image->n_modules = MODULE + 1;
  image->modules = tide_alloc_array(image->n_modules, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->modules[MODULE].path = tide_strdup("");
  image->modules[MODULE].build_id_len = key->build_id_len;
  memcpy(image->modules[MODULE].build_id, key->build_id, key->build_id_len);
  return capture;
}

void tide_name_cache_add(struct tide_name_cache *cache, const struct tide_name_key *key,
                         const struct tide_stored_names *names)
{
  if (!make_dir(cache->dir))
    return;
  TIDE_CLEANUP_FREE char *name = name_of(cache, key);
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/%s", cache->dir, name);
  struct tide_capture *capture = capture_of(key, name);
  struct tide_names_builder *builder = tide_names_builder_new();
  struct tide_stored_names before = tide_name_cache_load(cache, key); // maybe others' by now
  tide_names_builder_add_all(builder, &before);
  tide_names_builder_add_all(builder, names);
  if (tide_names_builder_finish(builder, &capture->images[0]) &&
      tide_file_write(capture, path, NULL) == TIDE_ERR_OK)
    make_room(cache);
  tide_stored_names_done(&before);
  tide_names_builder_free(builder);
  tide_capture_free(capture);
}
