// SPDX-License-Identifier: Apache-2.0
//
// Maps of made code: lines good and bad, cut anywhere; and which map is believed to be a run's.
#define _GNU_SOURCE
#include "base/alloc.h"
#include "model/stored_names.h"
#include "symbol/perfmap.h"
#include "view/storing.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include "unit.h"

#define N(array) (sizeof(array) / sizeof *(array))

static const uint64_t addrs[] = {0x2000, 0x1000, 0x1010, 0x1fff, 0x1010, 0, UINT64_MAX};

static struct tide_perfmap *read_text(const char *text, size_t n, size_t piece)
{
  struct tide_perfmap *map = tide_perfmap_new(addrs, N(addrs));
  for (size_t at = 0; at < n; at += piece)
    tide_perfmap_feed(map, text + at, n - at < piece ? n - at : piece);
  tide_perfmap_end(map);
  return map;
}

// Whatever the pieces are, the name of an address is this one; NULL: it has none.
static void expect_name(const char *text, size_t n, uint64_t addr, const char *name)
{
  for (size_t piece = 1; piece <= n + 1; piece += piece < 16 ? 1 : 97) {
    struct tide_perfmap *map = read_text(text, n, piece);
    const char *got = tide_perfmap_name(map, addr);
    if ((got == NULL) != (name == NULL) || (name && strcmp(got, name) != 0))
      fail_msg("%#lx is \"%s\", not \"%s\"", addr, got ? got : "-", name ? name : "-");
    tide_perfmap_free(map);
  }
}

static void test_lines(void **state)
{
  static const char text[] = "1000 10 first\n"
                             "1010 8 second name\r\n"
                             "0x1fff 0X1 third\n"
                             "2000 1 fourth"; // no newline
  expect_name(text, sizeof text - 1, 0x1000, "first");
  expect_name(text, sizeof text - 1, 0x1010, "second name");
  expect_name(text, sizeof text - 1, 0x1fff, "third");
  expect_name(text, sizeof text - 1, 0x2000, "fourth");
  expect_name(text, sizeof text - 1, 0x1001, NULL); // was not asked for
  expect_name(text, sizeof text - 1, 0, NULL);
  expect_name("", 0, 0x1000, NULL);
}

// The code at an address is replaced: the last name counts, for what it covers.
static void test_last_name_stays(void **state)
{
  static const char text[] = "1000 1000 old\n1010 10 new\n1008 4 between\n1010 0 nothing\n";
  expect_name(text, sizeof text - 1, 0x1000, "old");
  expect_name(text, sizeof text - 1, 0x1010, "new");
  expect_name(text, sizeof text - 1, 0x1fff, "old");
  expect_name(text, sizeof text - 1, 0x2000, NULL);
}

static void test_bad_lines(void **state)
{
  static const char *const bad[] = {
      "\n",
      "1000\n",
      "1000 \n",
      "1000 10\n",
      "1000 10 \n",
      "1000 10 \r\n",
      "x000 10 name\n",
      "1000 zz name\n",
      "1000,10 name\n",
      "-1000 10 name\n",
      " 1000 10 name\n",
      "10001000100010001000 10 name\n",
      "1000 10001000100010001000 name\n",
      "0x 10 name\n",
      "ffffffffffffffff 10 name\n", // goes round
  };
  for (size_t i = 0; i < N(bad); i++) {
    char text[256];
    int n = snprintf(text, sizeof text, "%s1010 1 good\n%s", bad[i], bad[i]);
    expect_name(text, (size_t)n, 0x1000, NULL);
    expect_name(text, (size_t)n, 0x1010, "good");
    expect_name(text, (size_t)n, 0, NULL);
  }
  static const char with_nul[] = "1000 10 na\0me\n1010 1 good\n";
  expect_name(with_nul, sizeof with_nul - 1, 0x1000, NULL);
  expect_name(with_nul, sizeof with_nul - 1, 0x1010, "good");
  static const char all[] = "0 ffffffffffffffff everything\n";
  expect_name(all, sizeof all - 1, 0, "everything");
  expect_name(all, sizeof all - 1, 0x2000, "everything");
  expect_name(all, sizeof all - 1, UINT64_MAX, NULL);
}

static void test_long_lines(void **state)
{
  for (int is_too_long = 0; is_too_long < 2; is_too_long++) {
    size_t n = (size_t)1 << (is_too_long ? 21 : 19);
    char *text = malloc(n + 64);
    int used = sprintf(text, "1000 1 ");
    memset(text + used, 'x', n);
    strcpy(text + (size_t)used + n, "\n1010 1 good\n");
    struct tide_perfmap *map = read_text(text, strlen(text), 4096);
    const char *name = tide_perfmap_name(map, 0x1000);
    if (is_too_long)
      assert_null(name);
    else
      assert_int_equal(strlen(name), n); // never cut
    assert_string_equal(tide_perfmap_name(map, 0x1010), "good");
    tide_perfmap_free(map);
    free(text);
  }
}

static void test_no_addresses(void **state)
{
  struct tide_perfmap *map = tide_perfmap_new(NULL, 0);
  tide_perfmap_feed(map, "1000 10 name\n", 13);
  tide_perfmap_end(map);
  assert_null(tide_perfmap_name(map, 0x1000));
  tide_perfmap_free(map);
}

static void test_parts(void **state)
{
  static const struct {
    const char *name, *function, *file;
    uint32_t line;
  } cases[] = {
      {"JS:*fill /home/a/x.js:3:20", "fill", "/home/a/x.js", 3},
      {"JS:~fill /home/a/x.js:3:20", "fill", "/home/a/x.js", 3},
      {"JS:^get size file:///home/my dir/x.mjs:12:1", "get size", "/home/my dir/x.mjs", 12},
      {"JS:~ /home/a/x.js:1:1", "(anonymous)", "/home/a/x.js", 1},
      {"Eval:~ node:internal/main:1:1", "(anonymous)", "node:internal/main", 1},
      {"LazyCompile:*a.b evalmachine.<anonymous>:7:9", "a.b", "evalmachine.<anonymous>", 7},
      {"JS:*f /x.js:5", "f", "/x.js", 5},
      {"JS:*f /x.js", "f", "/x.js", 0},
      {"JS:*f /x.js:99999999999:1", "f", "/x.js", 0},
      {"JS:*f :1:2", "f", ":1", 2},
      {"JS:*alone", "JS:*alone", NULL, 0},
      {"JS:* ", "JS:* ", NULL, 0},
      {"JS:", "JS:", NULL, 0},
      {"", "", NULL, 0},
      {"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0},
      {"Lcom/acme/Main;::run", "Lcom/acme/Main;::run", NULL, 0},
      {"py::main:/home/a/x.py", "main", "/home/a/x.py", 0},
      {"py::A.f.<locals>.g:<frozen importlib._bootstrap>", "A.f.<locals>.g",
       "<frozen importlib._bootstrap>", 0},
      {"py::main", "py::main", NULL, 0},
      {"py::main:", "py::main:", NULL, 0},
      {"py:::/x.py", "py:::/x.py", NULL, 0},
      {"void foo /x.c:3:2", "void foo /x.c:3:2", NULL, 0},
  };
  for (size_t i = 0; i < N(cases); i++) {
    struct tide_perfmap_place place;
    tide_perfmap_split(cases[i].name, &place);
    assert_string_equal(place.function, cases[i].function);
    assert_true((place.file == NULL) == (cases[i].file == NULL));
    if (place.file)
      assert_string_equal(place.file, cases[i].file);
    assert_int_equal(place.line, cases[i].line);
    tide_perfmap_place_done(&place);
  }
}

static char dir[64];

static int make_dir(void **state)
{
  strcpy(dir, "/tmp/tidemark-maps-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

#define RUN_START_S 1700000000 // of a run of ten seconds
enum { PID = 4711 };

// An image with a return address, an exact one, one in a module and a mark, all at 0x1010.
static struct tide_capture *capture_new(void)
{
  struct tide_capture *capture = tide_capture_new();
  capture->start_realtime_ns = (uint64_t)RUN_START_S * 1000000000;
  capture->n_images = 1;
  capture->images = tide_alloc(sizeof *capture->images);
  struct tide_image *image = capture->images;
  image->pid = PID;
  image->end_ns = 10ull * 1000000000;
  image->n_modules = 2;
  image->modules = tide_alloc_array(2, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->modules[1].path = tide_strdup("/program");
  static const struct tide_frame frames[] = {
      {0},
      {.pc = 0x1010},
      {.pc = 0x1010, .parent = 1, .flags = TIDE_FRAME_IS_EXACT},
      {.pc = 0x1010, .parent = 2, .module = 1},
      {.pc = 0x1010, .parent = 2, .flags = TIDE_FRAME_CUT},
      {.pc = 0x1010, .parent = 1},
      {.pc = 0x9999, .parent = 1},
  };
  image->n_frames = N(frames);
  image->frames = tide_alloc(sizeof frames);
  memcpy(image->frames, frames, sizeof frames);
  return capture;
}

static void write_map(const char *text, time_t written_s)
{
  char path[128];
  snprintf(path, sizeof path, "%s/perf-%d.map", dir, PID);
  unlink(path);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  struct timespec times[2] = {{.tv_sec = written_s}, {.tv_sec = written_s}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char *stored(const struct tide_image *image, uint64_t addr)
{
  const struct tide_stored_frame *frames;
  return tide_stored_names_find(&image->names, 0, addr, &frames)
             ? tide_stored_text(&image->names, frames[0].function)
             : NULL;
}

static void test_names_are_stored(void **state)
{
  struct tide_capture *capture = capture_new();
  struct tide_image *image = capture->images;
  write_map("1000 10 JS:*before /x.js:3:1\n1010 10 at\n", RUN_START_S + 5);
  assert_int_equal(tide_jit_names_add(capture, dir), 2);
  assert_string_equal(stored(image, 0x100f), "before"); // of the return address
  assert_string_equal(stored(image, 0x1010), "at");
  assert_int_equal(image->names.n_places, 2);
  // What has a name keeps it; the rest is asked for again.
  write_map("1000 20 other\n9990 10 late\n", RUN_START_S + 5);
  assert_int_equal(tide_jit_names_add(capture, dir), 1);
  assert_string_equal(stored(image, 0x1010), "at");
  assert_string_equal(stored(image, 0x9998), "late");
  assert_int_equal(tide_jit_names_add(capture, dir), 0);
  tide_capture_free(capture);
}

static void expect_not_believed(struct tide_capture *capture)
{
  assert_int_equal(tide_jit_names_add(capture, dir), 0);
  assert_int_equal(capture->images->names.n_places, 0);
}

static void test_maps_of_others(void **state)
{
  static const char text[] = "1000 20 name\n";
  struct tide_capture *capture = capture_new();
  write_map(text, RUN_START_S - 60); // of an earlier process
  expect_not_believed(capture);
  write_map(text, RUN_START_S + 60); // of a later one
  expect_not_believed(capture);
  char path[128], other[128];
  snprintf(path, sizeof path, "%s/perf-%d.map", dir, PID);
  snprintf(other, sizeof other, "%s/other", dir);
  write_map(text, RUN_START_S + 5);
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  expect_not_believed(capture);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0); // must not hold us up
  expect_not_believed(capture);
  unlink(path);
  assert_int_equal(mkdir(path, 0700), 0);
  expect_not_believed(capture);
  rmdir(path);
  expect_not_believed(capture);
  write_map(text, RUN_START_S + 5);
  assert_int_equal(chmod(path, 0646), 0); // anybody may have written it
  expect_not_believed(capture);
  write_map(text, RUN_START_S + 5);
  if (geteuid() == 0) { // of a user who has nothing to do with it
    assert_int_equal(chown(path, 65534, 65534), 0);
    expect_not_believed(capture);
    write_map(text, RUN_START_S + 5);
  }
  capture->start_realtime_ns = 0; // when it ran is not known
  expect_not_believed(capture);
  capture->start_realtime_ns = (uint64_t)RUN_START_S * 1000000000;
  assert_int_equal(tide_jit_names_add(capture, dir), 2);
  tide_capture_free(capture);
}

UNIT_TESTS(perfmap_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_last_name_stays),
      cmocka_unit_test(test_bad_lines),
      cmocka_unit_test(test_long_lines),
      cmocka_unit_test(test_no_addresses),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_names_are_stored),
      cmocka_unit_test(test_maps_of_others),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
