// SPDX-License-Identifier: Apache-2.0
//
// Writing a .tide file replaces the target whole or leaves it as it was, with nothing left behind
// and a sentence that names the file.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "tide/file.h"
#include "tide_gen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
  char *directory, *path;
  struct tide_capture *capture;
};

static int set_up(void **state)
{
  struct place *place = tide_alloc(sizeof *place);
  place->directory = tide_sprintf("%s/tide-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
  if (!mkdtemp(place->directory))
    return -1;
  place->path = tide_sprintf("%s/x.tide", place->directory);
  place->capture = tide_gen_program(5, 3000, 2);
  *state = place;
  return 0;
}

static size_t n_files(const char *directory, bool remove_them)
{
  DIR *dir = opendir(directory);
  size_t n = 0;
  for (struct dirent *entry; (entry = readdir(dir));)
    if (entry->d_name[0] != '.') {
      n++;
      if (remove_them)
        unlinkat(dirfd(dir), entry->d_name, 0);
    }
  closedir(dir);
  return n;
}

static int tear_down(void **state)
{
  struct place *place = *state;
  n_files(place->directory, true);
  rmdir(place->directory);
  tide_capture_free(place->capture);
  free(place->directory);
  free(place->path);
  free(place);
  return 0;
}

static void write_old_file(const char *path)
{
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("old", file);
  fclose(file);
}

static void assert_is_old_file(const char *path)
{
  char text[8] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(fread(text, 1, sizeof text, file), 3);
  fclose(file);
  assert_string_equal(text, "old");
}

static void assert_is_capture(const char *path)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (tide_file_read(path, &capture, &diag))
    fail_msg("%s", diag.text);
  assert_false(capture->cut);
  tide_capture_free(capture);
}

static void new_file_is_its_owners_alone(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  mode_t before = umask(0);
  assert_int_equal(tide_file_write(place->capture, place->path, &diag), TIDE_ERR_OK);
  umask(before);
  struct stat st;
  assert_int_equal(stat(place->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_is_capture(place->path);
  assert_int_equal(n_files(place->directory, false), 1);
}

static void old_file_is_replaced(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  write_old_file(place->path);
  assert_int_equal(chmod(place->path, 0604), 0);
  assert_int_equal(tide_file_write(place->capture, place->path, &diag), TIDE_ERR_OK);
  struct stat st;
  assert_int_equal(stat(place->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600); // another capture than the one it was
  assert_is_capture(place->path);
  assert_int_equal(chmod(place->path, 0604), 0);
  assert_int_equal(tide_file_replace(place->capture, place->path, &diag), TIDE_ERR_OK);
  assert_int_equal(stat(place->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0604); // the same, and its owner wants it so
  assert_int_equal(n_files(place->directory, false), 1);
}

static void link_stays_a_link(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  TIDE_CLEANUP_FREE char *link = tide_sprintf("%s/link", place->directory);
  write_old_file(place->path);
  assert_int_equal(symlink("x.tide", link), 0);
  assert_int_equal(tide_file_write(place->capture, link, &diag), TIDE_ERR_OK);
  struct stat st;
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_is_capture(place->path);
  assert_int_equal(n_files(place->directory, false), 2);
}

static void full_device_is_an_error_and_stays_a_device(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  assert_int_equal(tide_file_write(place->capture, "/dev/full", &diag), TIDE_ERR_SYSTEM);
  assert_string_equal(diag.text, "cannot write /dev/full: No space left on device");
  assert_int_equal(diag.sys_errno, ENOSPC);
  struct stat st;
  assert_int_equal(stat("/dev/full", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
}

static volatile sig_atomic_t n_signals;
static void count_signal(int number)
{
  n_signals++;
}

// As on a full disk: some bytes fit, then none do.
static void full_disk_leaves_the_old_file_and_nothing_else(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  struct rlimit before, small;
  write_old_file(place->path);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = (struct rlimit){4096, before.rlim_max};
  signal(SIGXFSZ, count_signal);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  enum tide_err err = tide_file_write(place->capture, place->path, &diag);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(err, TIDE_ERR_SYSTEM);
  assert_int_equal(diag.sys_errno, EFBIG);
  assert_non_null(strstr(diag.text, place->path));
  assert_int_equal(n_signals, 0);
  assert_is_old_file(place->path);
  assert_int_equal(n_files(place->directory, false), 1);
}

static void impossible_targets_are_named(void **state)
{
  struct place *place = *state;
  struct tide_diag diag = {0};
  TIDE_CLEANUP_FREE char *nowhere = tide_sprintf("%s/no/x.tide", place->directory);
  assert_int_equal(tide_file_write(place->capture, nowhere, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, nowhere));
  assert_int_equal(diag.sys_errno, ENOENT);
  assert_int_equal(tide_file_write(place->capture, place->directory, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "directory"));
  assert_int_equal(n_files(place->directory, false), 0);
}

static void contradictory_capture_is_not_written(void **state)
{
  struct place *place = *state;
  struct tide_image *image = &place->capture->images[0];
  struct tide_diag diag = {0};
  image->sites[7].stack = (uint32_t)image->n_frames;
  assert_int_equal(tide_file_write(place->capture, place->path, &diag), TIDE_ERR_FORMAT);
  assert_non_null(strstr(diag.text, "site 7"));
  image->sites[7].stack = 1;
  image->frames[9].parent = 9;
  assert_int_equal(tide_file_write(place->capture, place->path, &diag), TIDE_ERR_FORMAT);
  assert_non_null(strstr(diag.text, "frame 9"));
  assert_int_equal(n_files(place->directory, false), 0);
}

// The file of a heap that hardly changes is small, and what is read from it is not: whoever sees
// that it is no bomb must know how little rows take that are packed.
static void many_snapshots_of_a_large_heap_are_read_back(void **state)
{
  enum { SNAPSHOTS = 190, ROWS = 30000 };
  struct place *place = *state;
  struct tide_capture *capture = tide_gen_program(5, 30000, 0), *seen = NULL;
  struct tide_image *image = &capture->images[0];
  struct tide_diag diag;
  image->n_sites = 0; // a small file
  for (size_t i = 1; i < image->n_frames; i++)
    image->frames[i] = (struct tide_frame){.parent = (uint32_t)i - 1, .pc = 16 * i};
  free(image->snapshots);
  image->snapshots = tide_alloc_array(SNAPSHOTS, sizeof *image->snapshots);
  image->n_snapshots = SNAPSHOTS;
  for (size_t i = 0; i < SNAPSHOTS; i++) {
    struct tide_snapshot *now = &image->snapshots[i];
    *now = (struct tide_snapshot){.time_ns = image->start_ns + i, .n_rows = ROWS};
    now->rows = tide_alloc_array(ROWS, sizeof *now->rows);
    for (uint32_t k = 0; k < ROWS; k++)
      now->rows[k] = (struct tide_snapshot_row){.stack = k, .live_bytes = 48, .live_blocks = 1};
  }
  image->has_counts = true;
  assert_int_equal(tide_file_write(capture, place->path, &diag), TIDE_ERR_OK);
  if (tide_file_read(place->path, &seen, &diag))
    fail_msg("%s", diag.text);
  assert_false(seen->cut);
  assert_int_equal(seen->images[0].n_snapshots, SNAPSHOTS);
  assert_int_equal(seen->images[0].snapshots[SNAPSHOTS - 1].n_rows, ROWS);
  tide_capture_free(seen);
  tide_capture_free(capture);
}

UNIT_TESTS(tide_write_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(new_file_is_its_owners_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(old_file_is_replaced, set_up, tear_down),
      cmocka_unit_test_setup_teardown(link_stays_a_link, set_up, tear_down),
      cmocka_unit_test_setup_teardown(full_device_is_an_error_and_stays_a_device, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(full_disk_leaves_the_old_file_and_nothing_else, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(impossible_targets_are_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(contradictory_capture_is_not_written, set_up, tear_down),
      cmocka_unit_test_setup_teardown(many_snapshots_of_a_large_heap_are_read_back, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests_name("tide_write", tests, NULL, NULL);
}
