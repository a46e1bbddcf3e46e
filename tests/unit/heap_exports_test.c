// SPDX-License-Identifier: Apache-2.0
//
// The text exports of the heap: massif, gperftools, jemalloc and the timeline. Of a capture whose
// numbers are known they are compared with golden files (TIDE_GOLDEN_WRITE=1 accepts a change); of
// captures made from seeds, extremes included, every line must keep what readers count on. That
// other tools read them is the business of tests/interop.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "export/exports.h"
#include "golden.h"
#include "indexer_fixture.h"
#include "tide_gen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct tide_capture *capture;
static struct tide_image *image;
static struct tide_naming *naming;
static struct tide_profile *profile;
static struct tide_filter *filter;
static struct tide_view view;
static struct tide_sink sink;
static struct tide_export_options options;
static struct tide_diag diag;

static void look_at(struct tide_capture *whole, size_t image_idx,
                    const struct tide_name_source *names)
{
  capture = whole;
  image = &capture->images[image_idx];
  naming = tide_naming_new_from(image, names);
  profile = tide_profile_new(capture, image_idx);
  options = (struct tide_export_options){0};
  tide_sink_init(&sink, NULL);
}

static int setup(void **state)
{
  struct tide_capture *whole = tide_indexer_capture();
  tide_indexer_add_snapshots(whole);
  look_at(whole, INDEXER_IMAGE, &tide_indexer_names);
  return 0;
}

static int teardown(void **state)
{
  tide_view_done(&view);
  tide_filter_free(filter);
  filter = NULL;
  tide_sink_done(&sink);
  tide_profile_free(profile);
  tide_naming_free(naming);
  tide_capture_free(capture);
  return 0;
}

static enum tide_err export_wish(const char *word, const struct tide_wish *wish)
{
  struct tide_question question;
  enum tide_err err = tide_question_make(image, wish, &question, &diag);
  tide_buf_clear(&sink.buf);
  if (err)
    return err;
  tide_profile_ask(profile, &question);
  options.measure_said = wish->sort >= 0 || wish->at || wish->range || wish->by;
  tide_view_done(&view);
  tide_view_init(&view, profile, naming, filter, true);
  return tide_export_find(word)->write(&sink, &view, &options, &diag);
}

static const char *export(const char *word)
{
  assert_int_equal(export_wish(word, &(struct tide_wish){.sort = -1}), TIDE_ERR_OK);
  return tide_buf_cstr(&sink.buf);
}

static const char *export_at(const char *word, const char *at)
{
  assert_int_equal(export_wish(word, &(struct tide_wish){.sort = -1, .at = at}), TIDE_ERR_OK);
  return tide_buf_cstr(&sink.buf);
}

static void expect_refused(const char *word, const struct tide_wish *wish, const char *why)
{
  diag.text[0] = '\0';
  assert_int_not_equal(export_wish(word, wish), TIDE_ERR_OK);
  assert_int_equal(sink.buf.n, 0);
  if (!strstr(diag.text, why))
    fail_msg("not '%s': %s", why, diag.text);
}

static void expect_golden(const char *name)
{
  tide_golden_expect(&sink.buf, name);
}

static void texts(void **state)
{
  export("massif");
  expect_golden("massif.out");
  export("gperftools");
  expect_golden("gperftools.heap");
  export("jemalloc");
  expect_golden("jemalloc.heap");
  export("csv");
  expect_golden("timeline.csv");
}

// What was read of a massif file while checking it.
struct massif {
  const char *at;
  uint64_t n_snapshots, n_peaks, n_trees, time, heap, most, peak;
};

static uint64_t take_number(struct massif *m, const char *before)
{
  size_t n = strlen(before);
  if (strncmp(m->at, before, n) != 0)
    fail_msg("'%s' expected: %.60s", before, m->at);
  char *end;
  uint64_t value = strtoull(m->at + n, &end, 10);
  assert_true(end > m->at + n && *end == '\n');
  m->at = end + 1;
  return value;
}

// A node and what is below it: exact counts, indented by depth, the largest child first and the
// folded ones last, no child above its parent, no sum either.
static uint64_t take_node(struct massif *m, size_t depth, uint64_t at_most)
{
  uint64_t sum = 0, before = UINT64_MAX;
  char *at = (char *)m->at + strspn(m->at, " ");
  assert_int_equal(at - m->at, depth);
  assert_int_equal(*at, 'n');
  uint64_t n_children = strtoull(at + 1, &at, 10);
  assert_memory_equal(at, ": ", 2);
  uint64_t bytes = strtoull(at + 2, &at, 10);
  const char *text = at + 1, *end = strchr(at, '\n');
  assert_true(*at == ' ' && end > text && bytes <= at_most);
  for (const char *c = text; c < end; c++)
    assert_true(*c != '#' && (unsigned char)*c >= ' ');
  bool is_folded = memmem(text, (size_t)(end - text), "massif's threshold (1.00%)", 26) != NULL;
  if (is_folded)
    assert_int_equal(n_children, 0);
  else if (depth == 0)
    assert_memory_equal(text, "(heap allocation functions) ", 28);
  else
    assert_true(bytes * 100 >= m->heap);
  m->at = end + 1;
  for (uint64_t i = 0; i < n_children; i++) {
    size_t length = strcspn(m->at, "\n"); // whole texts are long: nothing here looks past its line
    bool last_is_folded = memmem(m->at, length, "massif's threshold", 18) != NULL;
    uint64_t child = take_node(m, depth + 1, bytes);
    assert_true(i + 1 == n_children || !last_is_folded);
    assert_true(last_is_folded || child <= before);
    before = child;
    sum += child;
  }
  assert_true(sum <= bytes);
  return bytes;
}

static void take_snapshot(struct massif *m)
{
  static const char rule[] = "#-----------\n";
  assert_memory_equal(m->at, rule, strlen(rule));
  m->at += strlen(rule);
  assert_int_equal(take_number(m, "snapshot="), m->n_snapshots++);
  assert_memory_equal(m->at, rule, strlen(rule));
  m->at += strlen(rule);
  uint64_t time = take_number(m, "time=");
  assert_true(time >= m->time);
  m->time = time;
  m->heap = take_number(m, "mem_heap_B=");
  m->most = m->heap > m->most ? m->heap : m->most;
  assert_int_equal(take_number(m, "mem_heap_extra_B="), 0);
  assert_int_equal(take_number(m, "mem_stacks_B="), 0);
  bool is_empty = strncmp(m->at, "heap_tree=empty\n", 16) == 0;
  bool is_peak = strncmp(m->at, "heap_tree=peak\n", 15) == 0;
  assert_true(is_empty || is_peak || strncmp(m->at, "heap_tree=detailed\n", 19) == 0);
  m->at = strchr(m->at, '\n') + 1;
  m->n_peaks += is_peak;
  m->peak = is_peak ? m->heap : m->peak;
  m->n_trees += !is_empty;
  if (!is_empty)
    assert_int_equal(take_node(m, 0, m->heap), m->heap);
}

static struct massif check_massif(const char *text)
{
  struct massif m = {.at = text};
  bool has_clock = !strstr(text, "\ntime_unit: i\n");
  const char *lines[] = {"desc: ", "cmd: ", has_clock ? "time_unit: ms" : "time_unit: i"};
  for (size_t i = 0; i < 3; i++) {
    assert_memory_equal(m.at, lines[i], strlen(lines[i]));
    assert_true(strcspn(m.at, "\n") < strcspn(m.at, "#") || !strchr(m.at, '#'));
    m.at = strchr(m.at, '\n') + 1;
  }
  while (*m.at)
    take_snapshot(&m);
  assert_true(m.n_peaks <= 1 && (m.n_peaks == 1 || m.most == 0));
  assert_int_equal(m.peak, m.most);
  return m;
}

// The fixture's snapshots are a part of its story: 284 MiB in that of the peak.
enum { SNAPSHOT_PEAK_BYTES = 284 << 20 };

static void massif_marks_the_peak(void **state)
{
  struct massif m = check_massif(export("massif"));
  assert_int_equal(m.peak, SNAPSHOT_PEAK_BYTES);
  assert_true(m.n_trees >= 5 && m.n_snapshots > m.n_trees);
}

// Massif itself gives an earlier one then.
static void massif_marks_a_peak_at_the_end(void **state)
{
  for (size_t i = 0; i < image->n_snapshots; i++)
    tide_free_pointer(&image->snapshots[i].rows);
  image->n_snapshots = 0;
  for (size_t i = 0; i < image->n_sites; i++) {
    image->sites[i].n_free = image->sites[i].n_alloc - (uint64_t)image->sites[i].peak_blocks;
    image->sites[i].b_free = image->sites[i].b_alloc - (uint64_t)image->sites[i].peak_bytes;
  }
  image->peak_ns = image->end_ns;
  tide_profile_free(profile);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  struct massif m = check_massif(export("massif"));
  assert_int_equal(m.peak, INDEXER_PEAK_BYTES);
  assert_int_equal(m.n_trees, 2);
}

static size_t rust_name(void *context, uint32_t module, uint64_t addr,
                        struct tide_symbol_frame *out, size_t max)
{
  out[0] = (struct tide_symbol_frame){"indexer::main::{closure#0}", "src/#1.rs", 7, false};
  return 1;
}

static void massif_writes_closures_another_way(void **state)
{
  const struct tide_name_source rust = {.lookup = rust_name};
  tide_naming_free(naming);
  naming = tide_naming_new_from(image, &rust);
  free(image->cmdline);
  image->cmdline = tide_strdup("in#dexer");
  image->cmdline_len = 9;
  const char *text = export("massif");
  check_massif(text);
  assert_non_null(strstr(text, ": indexer::main::{closure@0} (src/@1.rs:7)\n"));
  assert_non_null(strstr(text, "in@dexer"));
}

static void massif_of_a_part(void **state)
{
  struct massif whole = check_massif(export("massif"));
  struct massif early = check_massif(export_at("massif", "3s"));
  assert_true(early.n_snapshots < whole.n_snapshots && early.time <= 3000);
  assert_int_equal(export_wish("massif", &(struct tide_wish){.sort = -1, .range = "3s..end"}), 0);
  struct massif late = check_massif(tide_buf_cstr(&sink.buf));
  assert_int_equal(late.peak, SNAPSHOT_PEAK_BYTES);
  const struct tide_filter_options patterns = {.function = "intern"};
  assert_int_equal(tide_filter_new(&patterns, &filter, &diag), TIDE_ERR_OK);
  struct massif part = check_massif(export("massif"));
  assert_true(part.peak > 0 && part.peak < SNAPSHOT_PEAK_BYTES);
}

static void massif_refuses(void **state)
{
  const struct tide_wish none = {.sort = -1};
  expect_refused("massif", &(struct tide_wish){.sort = TIDE_MEASURE_TOTAL}, "nothing else");
  assert_int_equal(diag.hint, TIDE_HINT_NO_MEASURE);
  expect_refused("massif", &(struct tide_wish){.sort = -1, .by = TIDE_BY_BLOCKS}, "nothing else");
  image->has_counts = true;
  expect_refused("massif", &(struct tide_wish){.sort = TIDE_MEASURE_TOTAL, .at = "3s"},
                 "nothing else");
  image->lacks = TIDE_LACK_PEAK | TIDE_LACK_LIVE;
  size_t n = image->n_snapshots;
  image->n_snapshots = 0;
  expect_refused("massif", &none, "does not hold");
  image->n_snapshots = n;
}

static void heap_profiles_take_the_moment_asked_for(void **state)
{
  static const char *const words[] = {"gperftools", "jemalloc"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(export_wish(words[i], &(struct tide_wish){.sort = TIDE_MEASURE_PEAK}), 0);
    assert_non_null(strstr(tide_buf_cstr(&sink.buf), ": 432013312 ["));
    assert_non_null(strstr(export_at(words[i], "peak"), ": 297795584 ["));
  }
  assert_null(strstr(export("gperftools"), ": 432013312 ["));
  image->lacks = TIDE_LACK_LIVE; // the peak is the only moment then
  assert_non_null(strstr(export("gperftools"), ": 432013312 ["));
  image->lacks = TIDE_LACK_TOTAL;
  assert_non_null(strstr(export("gperftools"), " [0: 0] @ heapprofile\n"));
}

static void heap_profiles_refuse(void **state)
{
  static const char *const words[] = {"gperftools", "jemalloc"};
  const struct tide_wish none = {.sort = -1};
  for (int i = 0; i < 2; i++) {
    image->lacks = 0;
    expect_refused(words[i], &(struct tide_wish){.sort = TIDE_MEASURE_TOTAL}, "at a moment");
    expect_refused(words[i], &(struct tide_wish){.sort = -1, .range = "1s..2s"}, "at a moment");
    image->lacks = TIDE_LACK_BLOCKS;
    expect_refused(words[i], &none, "blocks and bytes");
    image->lacks = TIDE_LACK_PEAK | TIDE_LACK_LIVE;
    expect_refused(words[i], &none, "blocks and bytes");
  }
  image->lacks = 0;
  image->modules[1].end = image->modules[1].start = 0; // from a file that has names only
  expect_refused("gperftools", &none, "not the addresses");
}

// Two libraries at the same addresses, one after the other: the second is moved, with its frames.
static void heap_profiles_have_one_file_per_address(void **state)
{
  image->modules[3].start = image->modules[3].bias = image->modules[1].start;
  image->modules[3].end = image->modules[1].start + 0x10000;
  for (size_t i = 0; i < image->n_frames; i++)
    if (image->frames[i].module == 3)
      image->frames[i].pc += image->modules[3].start - 0x10000;
  const char *text = export("gperftools");
  uint64_t start, end, other_start, other_end, pc = image->modules[1].start + 0x42;
  const char *line = strstr(text, "r-xp 00000000 00:00 0 /lost/opt/libplugin.so");
  assert_non_null(line);
  while (line > text && line[-1] != '\n')
    line--;
  assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end), 2);
  line = strstr(text, "MAPPED_LIBRARIES:\n") + 18;
  assert_int_equal(sscanf(line, "%" SCNx64 "-%" SCNx64, &other_start, &other_end), 2);
  assert_true(start >= other_end && end - start == 0x10000);
  char moved[64];
  snprintf(moved, sizeof moved, "@ 0x%" PRIx64 " ", pc - other_start + start);
  assert_non_null(strstr(text, moved));
}

static void a_timeline_of_a_part(void **state)
{
  const char *text = export_at("csv", "3s");
  assert_non_null(strstr(text, "time_s,live_bytes,"));
  assert_null(strstr(text, "\n8."));
  const struct tide_filter_options patterns = {.function = "intern"};
  assert_int_equal(tide_filter_new(&patterns, &filter, &diag), TIDE_ERR_OK);
  text = export("csv");
  assert_non_null(strstr(
      text, ",,,,,,,,,peak:within:210944\n")); // snapshots without counts: live bytes and blocks
}

// What resizes did, at every tick or, of a capture that does not tell, how many there were.
static void a_timeline_of_resizes(void **state)
{
  const char *end = strstr(export("csv"), "\n8.400000000,");
  assert_non_null(strstr(end, ",0,0,12000,0,,,,0,peak:within:210944\n"));
  image->has_tick_resizes = true;
  for (size_t i = 0; i < image->n_ticks; i++) {
    image->ticks[i].n_resize = 3 * i;
    image->ticks[i].b_resized = i > 61 ? -(int64_t)i : (int64_t)i;
  }
  const char *text = export("csv");
  assert_non_null(strstr(text, "\n0.000000000,0,0,0,0,0,0,0,0,,0,peak:"));
  assert_non_null(strstr(text, "\n0.100000000,6291456,0,0,0,3,0,,1,,0,peak:"));
  assert_non_null(strstr(strstr(text, "\n8.400000000,"), ",0,0,252,0,,-84,,0,peak:"));
  const struct tide_filter_options patterns = {.function = "postings"};
  assert_int_equal(tide_filter_new(&patterns, &filter, &diag), TIDE_ERR_OK);
  image->has_resized_bytes = true;
  for (size_t i = 0; i < profile->n_sites; i++)
    if (profile->sites[i].in_row->n_resize) {
      struct tide_counters *counters = (struct tide_counters *)profile->sites[i].in_row;
      counters->b_resize_old = 700;
      counters->b_resize_new = 30;
    }
  text = export("csv"); // of some stacks it is known at the end
  end = text + strlen(text) - 1;
  while (end[-1] != '\n')
    end--;
  assert_non_null(strstr(end, ",12000,"));
  assert_non_null(strstr(end, ",-670,,,peak:"));
}

static void a_timeline_without_ticks(void **state)
{
  size_t n_ticks = image->n_ticks, n_snapshots = image->n_snapshots;
  image->n_ticks = 0;
  assert_non_null(strstr(export("csv"), ",,,,,,,,,peak:within:210944\n"));
  image->n_snapshots = 0;
  expect_refused("csv", &(struct tide_wish){.sort = -1}, "is a timeline");
  assert_int_equal(diag.hint, TIDE_HINT_TABLE);
  image->n_ticks = n_ticks;
  image->n_snapshots = n_snapshots;
  image->lacks = TIDE_LACK_CLOCK | TIDE_LACK_TOTAL | TIDE_LACK_BLOCKS | TIDE_LACK_RESIZES;
  assert_non_null(strstr(export("csv"), "\n,"));
}

static size_t no_name(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                      size_t max)
{
  return 0;
}

static void check_columns(const char *text, size_t n)
{
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
    size_t commas = 0;
    for (const char *c = line; *c != '\n'; c++)
      commas += *c == ',';
    assert_int_equal(commas, n);
  }
}

static void any_capture(void **state)
{
  const struct tide_name_source none = {.lookup = no_name};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    struct tide_capture *whole =
        seed % 3 ? tide_gen_capture(seed, 1 + seed) : tide_gen_program(seed, 10 * seed, seed % 7);
    if (!whole->n_images) {
      tide_capture_free(whole);
      continue;
    }
    look_at(whole, 0, &none);
    if (export_wish("massif", &(struct tide_wish){.sort = -1}) == TIDE_ERR_OK)
      check_massif(tide_buf_cstr(&sink.buf));
    export_wish("gperftools", &(struct tide_wish){.sort = -1});
    export_wish("jemalloc", &(struct tide_wish){.sort = -1});
    if (export_wish("csv", &(struct tide_wish){.sort = -1}) == TIDE_ERR_OK)
      check_columns(tide_buf_cstr(&sink.buf), 11);
    teardown(NULL);
  }
}

UNIT_TESTS(heap_exports_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(texts),
      TEST(massif_marks_the_peak),
      TEST(massif_marks_a_peak_at_the_end),
      TEST(massif_writes_closures_another_way),
      TEST(massif_of_a_part),
      TEST(massif_refuses),
      TEST(heap_profiles_take_the_moment_asked_for),
      TEST(heap_profiles_refuse),
      TEST(heap_profiles_have_one_file_per_address),
      TEST(a_timeline_of_a_part),
      TEST(a_timeline_of_resizes),
      TEST(a_timeline_without_ticks),
      cmocka_unit_test(any_capture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
