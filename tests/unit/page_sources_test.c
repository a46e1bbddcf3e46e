// SPDX-License-Identifier: Apache-2.0
//
// Source lines for a report: which are taken, in what order, how much; what is left out and why.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "indexer_fixture.h"
#include "page/page_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLENTY = 1 << 20, LINES = 400 };

static char dir[] = "/tmp/tide-sources-XXXXXX";
static char *path; // of the file that all frames are in

// The postings, which hold most at the peak, at line 100; the dictionary at 300; main at 200.
static size_t look_up(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                      size_t max)
{
  uint32_t line = addr == 0x2000 ? 100 : addr == 0x3000 ? 300 : addr == 0x1000 ? 200 : 0;
  if (module != 1 || !line)
    return 0;
  *out = (struct tide_symbol_frame){line == 100   ? "push"
                                    : line == 200 ? "main"
                                                  : "intern",
                                    path, line, false};
  return 1;
}

static struct tide_page_sources sources;

static void make(const char *name, uint64_t start_realtime_ns, uint64_t max_bytes)
{
  static const struct tide_name_source names = {.lookup = look_up};
  const struct tide_page_options options = {"a", TIDE_PAGE_KEEP_ALL, 0};
  tide_page_sources_done(&sources);
  free(path);
  path = name[0] == '/' ? tide_strdup(name) : tide_sprintf("%s/%s", dir, name);
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_profile *profile = tide_profile_new(capture, INDEXER_IMAGE);
  struct tide_naming *naming = tide_naming_new_from(profile->image, &names);
  struct tide_page_data *data = tide_page_data_new(profile, naming, &options);
  tide_page_sources_init(&sources, data, start_realtime_ns, max_bytes);
  tide_buf_cstr(&sources.json);
  tide_page_data_free(data);
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
}

static bool says(const char *text)
{
  return strstr((const char *)sources.json.data, text);
}

static void put(const char *name, const void *bytes, size_t n)
{
  TIDE_CLEANUP_FREE char *at = tide_sprintf("%s/%s", dir, name);
  FILE *file = fopen(at, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  fclose(file);
}

static int setup(void **state)
{
  struct tide_buf text = {0};
  if (!mkdtemp(dir))
    return -1;
  for (int i = 1; i <= LINES; i++)
    tide_buf_printf(&text, "\tline %d;\r\n", i);
  put("a.c", text.data, text.n);
  put("a.key", text.data, text.n);
  tide_buf_done(&text);
  return 0;
}

static int teardown(void **state)
{
  static const char *const names[] = {"a.c", "a.key", "long.c", "bytes.c", "short.c"};
  tide_page_sources_done(&sources);
  free(path);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    TIDE_CLEANUP_FREE char *at = tide_sprintf("%s/%s", dir, names[i]);
    unlink(at);
  }
  return rmdir(dir);
}

static void lines_around_places(void **state)
{
  make("a.c", 0, PLENTY);
  assert_int_equal(sources.n_files, 1);
  assert_true(says("\"line\": 92, \"text\": \"\\tline 92;\\n\\tline 93;\\n"));
  assert_true(says("\\tline 108;\"}, {\"line\": 192,"));
  assert_true(says("\\tline 208;\"}, {\"line\": 292,"));
  assert_true(says("\\tline 308;\"}]"));
  assert_false(says("line 91;") || says("line 109;") || says("line 309;"));
}

static void the_weightiest_first(void **state)
{
  make("a.c", 0, 17 * strlen("\tline 100;\n")); // every stack goes through main
  assert_true(says("line 200;") && !says("line 100;") && !says("line 300;"));
  make("a.c", 0, 34 * strlen("\tline 100;\n"));
  assert_true(says("line 200;") && says("line 100;") && !says("line 300;"));
  make("a.c", 0, 5);
  assert_int_equal(sources.n_files, 0);
  assert_true(says("\"parts\": []"));
}

static void what_is_left_out(void **state)
{
  static const struct {
    const char *name;
    uint64_t start_ns;
    const char *note;
  } cases[] = {
      {"a.c", 1, "changed after the recording"},
      {"a.key", 0, "Not named like source code"},
      {"nowhere.c", 0, "No such file"},
      {"bytes.c", 0, "is not text"},
      {"/dev/zero", 0, "Not named like source code"},
      {"/.c", 0, "Not named like source code"},
      {"/etc/passwd", 0, "Not named like source code"},
  };
  put("bytes.c", "a\0b", 3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    make(cases[i].name, cases[i].start_ns, PLENTY);
    if (sources.n_files || !says(cases[i].note) || !says("\"parts\": []"))
      fail_msg("%s: %.300s", cases[i].name, (const char *)sources.json.data);
  }
  make("a.c", UINT64_MAX, PLENTY);
  assert_int_equal(sources.n_files, 1);
}

// A line that no person wrote is cut between two characters; a file may be shorter than its frames
// say.
static void odd_files(void **state)
{
  struct tide_buf text = {0};
  for (int i = 1; i < 100; i++)
    tide_buf_u8(&text, '\n');
  for (int i = 0; i < 399; i++)
    tide_buf_u8(&text, 'x');
  tide_buf_text(&text, "\xe2\x82\xac\xe2\x82\xac");
  put("long.c", text.data, text.n);
  tide_buf_done(&text);
  make("long.c", 0, PLENTY);
  assert_int_equal(sources.n_files, 1);
  assert_true(says("xxx\"}]") && !says("\xe2"));
  put("short.c", "int a;\n", 7);
  make("short.c", 0, PLENTY);
  assert_int_equal(sources.n_files, 0);
  put("short.c", "", 0);
  make("short.c", 0, PLENTY);
  assert_int_equal(sources.n_files, 0);
}

UNIT_TESTS(page_sources_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_around_places),
      cmocka_unit_test(the_weightiest_first),
      cmocka_unit_test(what_is_left_out),
      cmocka_unit_test(odd_files),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
