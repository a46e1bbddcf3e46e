// SPDX-License-Identifier: Apache-2.0
//
// Names kept on disk: found under their key and no other, bounded, shared by processes, and of no
// harm whatever the files hold.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "symbol/elf.h"
#include "view/resolver.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES (1u << 20)

struct fixture {
  char *top, *dir; // dir does not exist at first
  struct tide_name_cache *cache;
  size_t n_asked;
};
static struct fixture f;

static const uint8_t id_a[20] = {1, 2, 3}, id_b[20] = {1, 2, 4};
static const struct tide_name_key key_a = {id_a, 20, 7}, key_b = {id_b, 20, 7},
                                  key_other_inputs = {id_a, 20, 9};

static int setup(void **state)
{
  char top[] = "/tmp/tide-cache-XXXXXX";
  assert_non_null(mkdtemp(top));
  f = (struct fixture){.top = tide_strdup(top), .dir = tide_sprintf("%s/a/b", top)};
  f.cache = tide_name_cache_new(f.dir, MAX_BYTES);
  return 0;
}

static int teardown(void **state)
{
  TIDE_CLEANUP_FREE char *command = tide_sprintf("rm -rf %s", f.top);
  assert_int_equal(system(command), 0);
  tide_name_cache_free(f.cache);
  free(f.top);
  free(f.dir);
  return 0;
}

// Names of n addresses from first on.
static void add(const struct tide_name_key *key, uint64_t first, size_t n, const char *prefix)
{
  struct tide_names_builder *builder = tide_names_builder_new();
  struct tide_image image = {0};
  for (uint64_t addr = first; addr < first + n; addr++) {
    char name[64];
    snprintf(name, sizeof name, "%s%llx", prefix, (unsigned long long)(addr * 0x9e3779b97f4a7c15u));
    tide_names_builder_add(builder, 1, addr, &(struct tide_names_frame){name, NULL, 0, false}, 1);
  }
  assert_true(tide_names_builder_finish(builder, &image));
  tide_name_cache_add(f.cache, key, &image.names);
  tide_names_builder_free(builder);
  tide_image_done(&image);
}

static size_t n_kept(const struct tide_name_key *key)
{
  struct tide_stored_names names = tide_name_cache_load(f.cache, key);
  size_t n = names.n_places;
  tide_stored_names_done(&names);
  return n;
}

// The one file of the cache whose name starts with the key's build id; owned.
static char *file_of(const struct tide_name_key *key)
{
  char start[9];
  snprintf(start, sizeof start, "%02x%02x%02x%02x", key->build_id[0], key->build_id[1],
           key->build_id[2], key->build_id[3]);
  char *found = NULL;
  DIR *dir = opendir(f.dir);
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (!found && strncmp(entry->d_name, start, 8) == 0)
      found = tide_sprintf("%s/%s", f.dir, entry->d_name);
  if (dir)
    closedir(dir);
  return found;
}

static void names_come_back_under_their_key_alone(void **state)
{
  assert_int_equal(n_kept(&key_a), 0);
  add(&key_a, 10, 3, "f");
  assert_int_equal(n_kept(&key_a), 3);
  assert_int_equal(n_kept(&key_b), 0);
  assert_int_equal(n_kept(&key_other_inputs), 0);
  struct tide_stored_names names = tide_name_cache_load(f.cache, &key_a);
  const struct tide_stored_frame *frames;
  assert_int_equal(tide_stored_names_find(&names, 1, 11, &frames), 1);
  assert_true(tide_stored_text(&names, frames[0].function)[0] == 'f');
  assert_int_equal(tide_stored_names_find(&names, 1, 13, &frames), 0);
  tide_stored_names_done(&names);
}

static void names_are_added_to_those_of_others(void **state)
{
  add(&key_a, 0, 100, "f");
  add(&key_a, 50, 100, "g");
  assert_int_equal(n_kept(&key_a), 150);
  struct stat st;
  assert_int_equal(stat(f.dir, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
}

static void overwrite(const char *path, const void *data, size_t n, off_t at, bool and_cut)
{
  int fd = open(path, O_WRONLY);
  assert_true(fd >= 0 && pwrite(fd, data, n, at) == (ssize_t)n);
  assert_true(!and_cut || ftruncate(fd, at + (off_t)n) == 0);
  close(fd);
}

static void damaged_files_are_ignored_and_replaced(void **state)
{
  static const struct {
    off_t at;
    bool and_cut;
  } cases[] = {{0, true}, {0, false}, {10, false}, {60, false}, {60, true}, {200, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    add(&key_a, 0, 100, "f");
    TIDE_CLEANUP_FREE char *path = file_of(&key_a);
    overwrite(path, "XYZ", 3, cases[i].at, cases[i].and_cut);
    assert_int_equal(n_kept(&key_a), cases[i].at == 10 ? 100 : 0); // a minor version is no damage
    add(&key_a, 200, 5, "f");
    assert_int_equal(n_kept(&key_a), cases[i].at == 10 ? 105 : 5);
    unlink(path);
  }
}

// Somebody gave one file the name of another.
static void a_file_under_the_wrong_name_is_not_believed(void **state)
{
  add(&key_a, 0, 10, "f");
  add(&key_b, 0, 20, "f");
  TIDE_CLEANUP_FREE char *a = file_of(&key_a);
  TIDE_CLEANUP_FREE char *b = file_of(&key_b);
  assert_int_equal(rename(a, b), 0);
  assert_int_equal(n_kept(&key_b), 0);
}

static uint64_t bytes_in_cache(void)
{
  uint64_t bytes = 0;
  DIR *dir = opendir(f.dir);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    struct stat st;
    if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
      bytes += (uint64_t)st.st_size;
  }
  closedir(dir);
  return bytes;
}

static void set_age(const char *path, time_t seconds)
{
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_was_not_used_for_long_goes_first(void **state)
{
  uint8_t ids[40][20] = {{0}};
  for (uint8_t i = 0; i < 40; i++) {
    ids[i][0] = i + 1;
    struct tide_name_key key = {ids[i], 20, 1};
    add(&key, 0, 3000, "some_function_or_other_");
    TIDE_CLEANUP_FREE char *path = file_of(&key);
    if (path && i != 1)
      set_age(path, 100000 - i * 1000);
    if (i == 1)
      set_age(path, 200000);
    struct tide_name_key first = {ids[0], 20, 1};
    assert_int_equal(n_kept(&first), 3000); // used all the time
    assert_true(bytes_in_cache() <= MAX_BYTES);
  }
  struct tide_name_key second = {ids[1], 20, 1}, last = {ids[39], 20, 1};
  assert_int_equal(n_kept(&second), 0);
  assert_int_equal(n_kept(&last), 3000);
}

static void only_own_files_are_removed(void **state)
{
  add(&key_a, 0, 1, "f");
  TIDE_CLEANUP_FREE char *notes = tide_sprintf("%s/notes.txt", f.dir);
  TIDE_CLEANUP_FREE char *stale = tide_sprintf("%s/0102.names.77-0.tmp", f.dir);
  TIDE_CLEANUP_FREE char *fresh = tide_sprintf("%s/0102.names.78-0.tmp", f.dir);
  const char *paths[] = {notes, stale, fresh};
  for (size_t i = 0; i < 3; i++) {
    int fd = open(paths[i], O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 8 * MAX_BYTES) == 0);
    close(fd);
  }
  set_age(notes, 1000000);
  set_age(stale, 1000000);
  add(&key_a, 1, 1, "f");
  assert_int_equal(access(notes, F_OK), 0);
  assert_int_equal(access(fresh, F_OK), 0);
  assert_int_not_equal(access(stale, F_OK), 0);
  assert_int_equal(n_kept(&key_a), 2);
}

static void directory_that_cannot_be_used_is_left_alone(void **state)
{
  tide_name_cache_free(f.cache);
  f.cache = tide_name_cache_new("/proc/no/such", MAX_BYTES);
  add(&key_a, 0, 1, "f");
  assert_int_equal(n_kept(&key_a), 0);
  if (geteuid() != 0)
    return;
  tide_name_cache_free(f.cache);
  f.cache = tide_name_cache_new(f.dir, MAX_BYTES);
  add(&key_a, 0, 1, "f");
  assert_int_equal(chown(f.dir, 12345, 12345), 0);
  assert_int_equal(n_kept(&key_a), 0); // it is somebody else's
  add(&key_b, 0, 1, "f");
  assert_null(file_of(&key_b));
}

static void processes_share_a_cache(void **state)
{
  enum { PROCESSES = 6, ROUNDS = 40 };
  for (uint64_t p = 0; p < PROCESSES; p++)
    if (fork() == 0) {
      int status = 0;
      for (uint64_t i = 0; i < ROUNDS; i++) {
        add(&key_a, p * 1000 + i * 10, 10, "f");
        struct tide_stored_names names = tide_name_cache_load(f.cache, &key_a);
        if (names.n_places < 10 || names.n_places % 10)
          status = 1;
        tide_stored_names_done(&names);
      }
      _exit(status);
    }
  for (int p = 0; p < PROCESSES; p++) {
    int status = -1;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  assert_true(n_kept(&key_a) >= 10);
  add(&key_b, 0, 1, "f");
  struct stat st;
  TIDE_CLEANUP_FREE char *path = file_of(&key_b);
  assert_int_equal(stat(path, &st), 0);
}

// From here on: what a resolver makes of it.

__attribute__((noinline)) static int some_function(int x)
{
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
  *(uint64_t *)context = info->dlpi_addr;
  return 1; // the first is the program
}

static void count(void *context, const char *path, size_t n_asked)
{
  f.n_asked++;
}

// Asks a new resolver for this program's function and for an address that has none.
static void ask(bool with_build_id, const char *expected)
{
  struct tide_elf *elf;
  char path[4096] = "";
  uint64_t bias = 0;
  assert_int_equal(some_function(1), 2);
  assert_int_equal(tide_elf_open("/proc/self/exe", &elf, NULL), TIDE_ERR_OK);
  assert_non_null(elf->build_id);
  assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  dl_iterate_phdr(take_bias, &bias);
  struct tide_resolver *resolver = tide_resolver_new();
  tide_resolver_set_cache(resolver, tide_name_cache_new(f.dir, MAX_BYTES));
  tide_resolver_watch(resolver, count, NULL);
  f.n_asked = 0;
  uint32_t id = tide_resolver_add(resolver, path, elf->build_id,
                                  with_build_id ? (uint32_t)elf->build_id_len : 0);
  struct tide_symbol_frame frames[8];
  size_t n =
      tide_resolver_lookup(resolver, id, (uint64_t)(uintptr_t)some_function - bias, frames, 8);
  assert_int_equal(n, 1);
  assert_string_equal(frames[0].function, expected);
  assert_true(frames[0].line > 0 && frames[0].file);
  assert_int_equal(tide_resolver_lookup(resolver, id, 1, frames, 8), 0);
  tide_resolver_free(resolver);
  tide_elf_free(elf);
}

static void second_time_nobody_is_asked(void **state)
{
  ask(true, "some_function");
  assert_int_equal(f.n_asked, 2);
  ask(true, "some_function");
  assert_int_equal(f.n_asked, 0);
}

static void files_without_build_id_are_not_kept(void **state)
{
  ask(false, "some_function");
  ask(false, "some_function");
  assert_int_equal(f.n_asked, 2);
  assert_int_not_equal(access(f.dir, F_OK), 0);
}

UNIT_TESTS(name_cache_test)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(names_come_back_under_their_key_alone),
      TEST(names_are_added_to_those_of_others),
      TEST(damaged_files_are_ignored_and_replaced),
      TEST(a_file_under_the_wrong_name_is_not_believed),
      TEST(what_was_not_used_for_long_goes_first),
      TEST(only_own_files_are_removed),
      TEST(directory_that_cannot_be_used_is_left_alone),
      TEST(processes_share_a_cache),
      TEST(second_time_nobody_is_asked),
      TEST(files_without_build_id_are_not_kept),
  };
  return cmocka_run_group_tests_name("name_cache", tests, NULL, NULL);
}
