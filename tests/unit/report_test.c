// SPDX-License-Identifier: Apache-2.0
//
// The text report and its JSON, compared with golden files under tests/golden. To accept a change,
// look at the difference, then run this program with TIDE_GOLDEN_WRITE=1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/hint_words.h"
#include "golden.h"
#include "indexer_fixture.h"
#include "model/capture.h"
#include "report/info.h"
#include "report/report.h"
#include "words/image_text.h"

#include <stdlib.h>
#include <string.h>

static const struct tide_symbol_sources sources = {.hints = tide_cli_hint_words};
static struct tide_capture *capture;
static struct tide_naming *naming;
static struct tide_profile *profile;
static struct tide_sink sink;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  naming = tide_naming_new_from(&capture->images[INDEXER_IMAGE], &tide_indexer_names);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  tide_sink_init(&sink, NULL);
  return 0;
}

static int teardown(void **state)
{
  tide_sink_done(&sink);
  tide_profile_free(profile);
  tide_naming_free(naming);
  tide_capture_free(capture);
  return 0;
}

static void expect_golden(const char *name)
{
  tide_golden_expect(&sink.buf, name);
}

static void expect_width(size_t width)
{
  tide_golden_expect_width(&sink.buf, width);
}

static void ask_wish(struct tide_wish wish)
{
  struct tide_question question;
  assert_int_equal(tide_question_make(profile->image, &wish, &question, NULL), TIDE_ERR_OK);
  tide_profile_ask(profile, &question);
}

static void ask(int sort)
{
  ask_wish((struct tide_wish){.sort = sort});
}

static bool pages_have(int sort)
{
  return sort != TIDE_MEASURE_GROWN && sort != TIDE_MEASURE_TEMP;
}

// The view of now: tests put other profiles and names in place.
static struct tide_view *look(void)
{
  static struct tide_view view;
  tide_view_done(&view);
  tide_view_init(&view, profile, naming, NULL, false);
  return &view;
}

static void write_screen(size_t width, bool utf8, bool color, int sort, bool first)
{
  ask(sort);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = width, .utf8 = utf8, .color = color};
  struct tide_report_options options = {
      .n_rows = first ? 3 : 10,
      .prefix = first ? "tidemark: " : "",
      .saved = first ? "tidemark.indexer.41307.tide" : NULL,
      .saved_bytes = 1468006,
  };
  tide_report_write(&screen, look(), &options);
}

static void expect_one_screen(void)
{
  size_t n_lines = 0;
  for (size_t i = 0; i < sink.buf.n; i++)
    n_lines += sink.buf.data[i] == '\n';
  assert_in_range(n_lines, 5, 24);
}

static void first_screen(void **state)
{
  write_screen(80, true, false, TIDE_MEASURE_PEAK, true);
  expect_width(80);
  expect_one_screen();
  expect_golden("report_first.txt");
}

static void every_rank(void **state)
{
  for (int sort = 0; sort < TIDE_SORTS_N; sort++) {
    char name[64];
    tide_buf_clear(&sink.buf);
    write_screen(80, true, false, sort, false);
    expect_width(80);
    snprintf(name, sizeof name, "report_%s.txt", tide_sort_words[sort]);
    expect_golden(name);
  }
}

static void narrow_wide_ascii_and_colour(void **state)
{
  write_screen(60, true, false, TIDE_MEASURE_PEAK, false);
  expect_width(60);
  expect_golden("report_narrow.txt");
  tide_buf_clear(&sink.buf);
  write_screen(160, true, false, TIDE_MEASURE_LEAK, false);
  expect_golden("report_wide.txt");
  tide_buf_clear(&sink.buf);
  write_screen(80, false, false, TIDE_MEASURE_PEAK, true);
  for (size_t i = 0; i < sink.buf.n; i++)
    assert_true(sink.buf.data[i] < 0x80);
  expect_golden("report_ascii.txt");
  tide_buf_clear(&sink.buf);
  write_screen(80, true, true, TIDE_MEASURE_PEAK, true);
  expect_golden("report_colour.txt");
}

static void write_options(size_t width, bool utf8, struct tide_report_options options)
{
  if (!profile->question.measure)
    ask(TIDE_MEASURE_PEAK);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = width, .utf8 = utf8};
  options.prefix = "";
  tide_report_write(&screen, look(), &options);
}

// Curves, bars and their legend: what appears at which width, and that it is told without colour.
static void curves_where_there_is_room(void **state)
{
  static const size_t widths[] = {60, 80, 120, 160};
  tide_indexer_add_snapshots(capture);
  for (size_t i = 0; i < 8; i++) {
    char name[64];
    size_t width = widths[i / 2];
    bool utf8 = i % 2 == 0;
    tide_buf_clear(&sink.buf);
    write_options(width, utf8, (struct tide_report_options){.n_rows = 3});
    expect_width(width);
    snprintf(name, sizeof name, "report_curves_%zu%s.txt", width, utf8 ? "" : "_ascii");
    expect_golden(name);
  }
  tide_buf_clear(&sink.buf);
  write_screen(120, true, true, TIDE_MEASURE_LEAK, true);
  expect_golden("report_curves_colour.txt");
  tide_buf_clear(&sink.buf);
  write_screen(60, true, false, TIDE_MEASURE_LEAK, false);
  expect_width(60);
  expect_golden("report_leak_60.txt");
}

static void groups_of_every_kind(void **state)
{
  for (int kind = 0; kind < TIDE_GROUPS_N; kind++) {
    char name[64];
    bool in_classes = kind == TIDE_GROUP_SIZE || kind == TIDE_GROUP_LIFETIME;
    tide_buf_clear(&sink.buf);
    ask_wish((struct tide_wish){.sort = in_classes ? TIDE_SORT_COUNT : TIDE_MEASURE_PEAK,
                                .of_pages = kind == TIDE_GROUP_PAGES});
    struct tide_screen screen = {
        .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
    struct tide_report_options options = {.group = kind, .n_rows = SIZE_MAX, .prefix = ""};
    tide_report_write(&screen, look(), &options);
    expect_width(80);
    options.n_rows = 2;
    tide_report_csv_write(&sink, look(), &options);
    tide_report_md_write(&screen, look(), &options);
    snprintf(name, sizeof name, "report_by_%s.txt", tide_group_words[kind]);
    expect_golden(name);
    tide_buf_clear(&sink.buf);
    const enum tide_group_kind group = kind;
    const struct tide_report_json_options first = {.n = 1, .group = &group};
    tide_report_json_write(&sink, look(), &first);
    snprintf(name, sizeof name, "report_by_%s.json", tide_group_words[kind]);
    expect_golden(name);
  }
}

// A second stack of pages, through the first one's place: two threads, whose maxima add up to more
// than there ever was, so that the most of all is its bound.
static void add_pages(void)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  const int64_t mib = 1 << 20;
  image->frames = tide_realloc_array(image->frames, image->n_frames + 1, sizeof *image->frames);
  image->frames[image->n_frames] = image->frames[3]; // postings::Block::push
  image->frames[image->n_frames].parent = 10;
  image->sites = tide_realloc_array(image->sites, image->n_sites + 2, sizeof *image->sites);
  for (uint32_t thread = 1; thread <= 2; thread++)
    image->sites[image->n_sites++] = (struct tide_site){.stack = (uint32_t)image->n_frames,
                                                        .thread = thread,
                                                        .n_alloc = 3,
                                                        .b_alloc = (uint64_t)(400 * mib),
                                                        .n_free = 2,
                                                        .b_free = (uint64_t)(390 * mib),
                                                        .peak_bytes = 7,
                                                        .high_bytes = 300 * mib};
  image->n_frames++;
  image->page_peak_bytes = 500 * mib;
  image->page_live_bytes = 52 * mib;
  image->page_n_map = 10;
  image->page_b_map = (uint64_t)(928 * mib);
  tide_profile_free(profile);
  tide_naming_free(naming);
  naming = tide_naming_new_from(image, &tide_indexer_names);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
}

// What the program mapped itself under every rank it has, and the heap's numbers untouched by it.
static void own_pages(void **state)
{
  const struct tide_numbers before = profile->totals;
  add_pages();
  assert_memory_equal(&before, &profile->totals, sizeof before);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  struct tide_report_options options = {
      .group = TIDE_GROUP_PAGES, .n_rows = 10, .n_stacks = 1, .prefix = "", .argument = "x.tide"};
  for (int i = 0; i < 2 * TIDE_SORTS_N; i++) {
    struct tide_wish wish = {
        .sort = i / 2, .by = i % 2 ? TIDE_BY_BLOCKS : TIDE_BY_DEFAULT, .of_pages = true};
    if (!pages_have(wish.sort) || (i % 2 && wish.sort == TIDE_MEASURE_PEAK))
      continue;
    ask_wish(wish);
    tide_report_write(&screen, look(), &options);
    options.n_stacks = 0;
  }
  expect_width(80);
  ask_wish((struct tide_wish){.sort = -1, .of_pages = true});
  assert_int_equal(profile->question.measure, TIDE_MEASURE_PEAK);
  assert_int_equal(profile->whole, 628ll << 20); // 500 at most, and 128
  options.n_rows = 1;
  tide_report_md_write(&screen, look(), &options);
  tide_report_csv_write(&sink, look(), &options);
  ask(TIDE_MEASURE_PEAK);
  tide_report_write(&screen, look(), &(struct tide_report_options){.n_rows = 1, .prefix = ""});
  expect_golden("report_pages.txt");
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "next:  tidemark report --group pages "));
  tide_buf_clear(&sink.buf);
  ask_wish((struct tide_wish){.sort = -1, .of_pages = true});
  const struct tide_report_json_options json = {.group = &options.group};
  tide_report_json_write(&sink, look(), &json);
  expect_golden("report_pages.json");
  tide_buf_clear(&sink.buf); // a file that ends before its stacks: not that there were none
  capture->images[INDEXER_IMAGE].n_sites = 0;
  capture->images[INDEXER_IMAGE].is_part = capture->cut = true;
  tide_profile_free(profile);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  ask_wish((struct tide_wish){.sort = -1, .of_pages = true});
  tide_report_write(&screen, look(), &options);
  expect_golden("report_pages_cut.txt");
}

// Threads and classes of a moment and of what is held: the row of several says which they are.
static void rows_that_cut_across(void **state)
{
  const enum tide_group_kind kinds[] = {TIDE_GROUP_THREAD, TIDE_GROUP_SIZE, TIDE_GROUP_LIFETIME};
  tide_indexer_add_snapshots(capture);
  for (size_t i = 0; i < 3; i++) {
    char name[64];
    tide_buf_clear(&sink.buf);
    struct tide_screen screen = {
        .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
    struct tide_report_options options = {.group = kinds[i], .n_rows = SIZE_MAX, .prefix = ""};
    for (int measure = 0; measure < TIDE_MEASURES_N; measure++) {
      ask(measure);
      tide_report_write(&screen, look(), &options);
    }
    expect_width(80);
    tide_report_md_write(&screen, look(), &options);
    tide_report_csv_write(&sink, look(), &options);
    ask(TIDE_MEASURE_LEAK);
    const struct tide_report_json_options json = {.n = 9, .group = &kinds[i]};
    tide_report_json_write(&sink, look(), &json);
    snprintf(name, sizeof name, "report_across_%s.txt", tide_group_words[kinds[i]]);
    expect_golden(name);
  }
}

static void details_of_rows(void **state)
{
  tide_indexer_add_snapshots(capture);
  for (size_t width = 60; width <= 160; width += 100) {
    tide_buf_clear(&sink.buf);
    write_options(width, width > 60, (struct tide_report_options){.n_rows = 4, .details = true});
    expect_width(width);
    expect_golden(width == 60 ? "report_details_60_ascii.txt" : "report_details_160.txt");
  }
}

// What grows, what is held, what was suppressed and what suppressed nothing.
static void leaks_told_apart(void **state)
{
  struct tide_suppressions *suppressions = tide_suppressions_new();
  tide_indexer_add_snapshots(capture);
  assert_int_equal(
      tide_suppressions_parse(suppressions, "x", "leak:^indexer::dict*intern$\nleak:gone", NULL),
      TIDE_ERR_OK);
  ask(TIDE_MEASURE_LEAK);
  struct tide_view *view = look();
  tide_suppressions_apply(suppressions, view);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  struct tide_report_options options = {.n_rows = 10, .prefix = "", .suppressions = suppressions};
  tide_report_write(&screen, view, &options);
  expect_width(80);
  expect_golden("report_suppressed.txt");
  tide_buf_clear(&sink.buf);
  const enum tide_group_kind group = TIDE_GROUP_PLACE;
  tide_report_json_write(
      &sink, view,
      &(struct tide_report_json_options){.n = 1, .group = &group, .suppressions = suppressions});
  expect_golden("report_suppressed.json");
  tide_suppressions_free(suppressions);
}

static void says_what_matched(void **state)
{
  struct tide_filter *filter = NULL;
  const struct tide_filter_options wanted = {.function = "Block::push"};
  assert_int_equal(tide_filter_new(&wanted, &filter, NULL), TIDE_ERR_OK);
  ask(TIDE_MEASURE_PEAK);
  struct tide_view view;
  tide_view_init(&view, profile, naming, filter, false);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  struct tide_report_options options = {
      .n_rows = 5, .prefix = "", .filters = "--function Block::push", .n_stacks = 2};
  tide_report_write(&screen, &view, &options);
  expect_golden("report_matched.txt");
  tide_view_done(&view);
  tide_filter_free(filter);
}

static void stacks_below_the_rows(void **state)
{
  write_options(80, true, (struct tide_report_options){.n_rows = 3, .n_stacks = 1});
  expect_width(80);
  expect_golden("report_stacks.txt");
  tide_buf_clear(&sink.buf);
  write_options(60, false, (struct tide_report_options){.n_rows = 10, .n_stacks = 9});
  expect_width(60);
  expect_golden("report_stacks_narrow.txt");
}

// The same number of bytes with and without a least size: what is hidden is said.
static void places_of_a_least_size(void **state)
{
  write_options(80, true, (struct tide_report_options){.n_rows = 10, .min_bytes = 20 << 20});
  expect_golden("report_min.txt");
  tide_buf_clear(&sink.buf);
  write_options(80, true, (struct tide_report_options){.n_rows = 10, .min_bytes = INT64_MAX});
  const char *text = tide_buf_cstr(&sink.buf);
  assert_non_null(strstr(text, "100.0 %  412.0 MiB  "));
  assert_non_null(strstr(text, "in 6 places below"));
}

static void csv(void **state)
{
  ask(TIDE_MEASURE_PEAK);
  struct tide_report_options options = {.n_rows = SIZE_MAX};
  tide_report_csv_write(&sink, look(), &options);
  expect_golden("report.csv");
  tide_buf_clear(&sink.buf);
  options.n_rows = 2;
  ask(TIDE_MEASURE_TOTAL);
  tide_report_csv_write(&sink, look(), &options);
  expect_golden("report_total.csv");
}

static void markdown(void **state)
{
  ask(TIDE_MEASURE_PEAK);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  struct tide_report_options options = {.n_rows = 10};
  tide_report_md_write(&screen, look(), &options);
  expect_golden("report.md");
  tide_buf_clear(&sink.buf);
  options.n_rows = 2;
  ask(TIDE_MEASURE_LEAK);
  tide_report_md_write(&screen, look(), &options);
  expect_golden("report_leak.md");
}

static size_t hostile_lookup(void *context, uint32_t module, uint64_t addr,
                             struct tide_symbol_frame *out, size_t max)
{
  static const char *const names[] = {
      "=HYPERLINK(\"x\")", "a,b", "say \"hi\"", "a|b\\|c", "`tick``s`", "two\nlines\x1b[31m",
  };
  out[0] = (struct tide_symbol_frame){.function = names[addr % 6], .file = "@dir/|.c", .line = 7};
  return 1;
}

static void hostile_names(void **state)
{
  ask(TIDE_MEASURE_PEAK);
  struct tide_name_source source = {.lookup = hostile_lookup, .object = tide_indexer_names.object};
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  struct tide_report_options options = {.n_rows = SIZE_MAX};
  tide_naming_free(naming);
  naming = tide_naming_new_from(profile->image, &source);
  tide_report_csv_write(&sink, look(), &options);
  tide_report_md_write(&screen, look(), &options);
  expect_golden("report_hostile.txt");
}

static void nothing_allocated(void **state)
{
  tide_profile_free(profile);
  tide_naming_free(naming);
  profile = tide_profile_new(capture, 0);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  write_screen(80, true, false, TIDE_MEASURE_PEAK, true);
  expect_golden("report_empty.txt");
}

static void what_went_wrong_is_said(void **state)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->end_kind = TIDE_END_SIGNALED;
  image->end_value = 11;
  image->off_reason = 1;
  image->n_ticks = 0;
  image->rss_at_peak_bytes = 0;
  image->loss.n_lost_busy = 12;
  image->loss.n_unknown_free = 2;
  image->loss.n_broken = 7;
  image->loss.n_fork_lost = 1;
  capture->finished = false;
  write_screen(80, true, false, TIDE_MEASURE_PEAK, true);
  expect_width(80);
  expect_one_screen();
  expect_golden("report_troubled.txt");
}

// As after a build: the largest program was not recorded, and others neither.
static void unrecorded(void **state)
{
  struct tide_unrecorded rustc = {.exe = (char *)"/opt/rust/bin/rustc",
                                  .detail = (char *)"jemalloc",
                                  .parent = (char *)"/opt/rust/bin/cargo",
                                  .why = TIDE_WHY_OWN_ALLOCATOR,
                                  .pid = 41310,
                                  .n_processes = 33,
                                  .max_rss_bytes = UINT64_C(900) << 20,
                                  .recorded_bytes = 4096};
  struct tide_unrecorded busybox = {
      .exe = (char *)"/bin/busybox", .why = TIDE_WHY_STATIC, .pid = 41311, .n_processes = 1};
  tide_roll_add(&capture->roll, &rustc);
  tide_roll_add(&capture->roll, &busybox);
  capture->roll.at_least = true;
  capture->roll.n_refused = 2;
  write_screen(80, true, false, TIDE_MEASURE_PEAK, true);
  expect_width(80);
  expect_golden("report_unrecorded.txt");
  tide_buf_clear(&sink.buf);
  write_screen(60, false, false, TIDE_MEASURE_PEAK, true);
  expect_width(60);
  expect_golden("report_unrecorded_narrow.txt");
  tide_buf_clear(&sink.buf);
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  tide_info_write(&screen, capture, "x.tide", 1468006, &sources);
  expect_width(80);
  expect_golden("info_unrecorded.txt");
  tide_buf_clear(&sink.buf);
  tide_info_json_write(&sink, capture, "x.tide", 1468006, &sources);
  expect_golden("info_unrecorded.json");
}

// A file from before the roll claims no more than it knows.
static void of_a_run_that_is_not_known(void **state)
{
  tide_roll_done(&capture->roll);
  write_screen(120, true, false, TIDE_MEASURE_PEAK, true);
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "every event of this process ("));
  tide_buf_clear(&sink.buf);
  ask(TIDE_MEASURE_PEAK);
  tide_report_json_write(&sink, look(), &(struct tide_report_json_options){0});
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "\"run\": null"));
}

static void json(void **state)
{
  ask(TIDE_MEASURE_PEAK);
  tide_report_json_write(&sink, look(), &(struct tide_report_json_options){.file = "a \"b\".tide"});
  expect_golden("report.json");
}

// Absent is not zero, neither in JSON nor in CSV.
static void what_lacks_is_left_out(void **state)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->origin = tide_strdup("massif.out");
  image->lacks = TIDE_LACK_BLOCKS | TIDE_LACK_TOTAL | TIDE_LACK_TEMP;
  ask(TIDE_MEASURE_PEAK);
  tide_report_json_write(&sink, look(), &(struct tide_report_json_options){0});
  const char *text = tide_buf_cstr(&sink.buf);
  assert_non_null(strstr(text, "\"origin\": \"massif.out\""));
  assert_non_null(strstr(text, "\"peak_bytes\""));
  assert_null(strstr(text, "\"allocated_bytes\""));
  assert_null(strstr(text, "\"live_blocks\""));
  assert_null(strstr(text, "\"temporary\":"));
  tide_buf_clear(&sink.buf);
  tide_report_csv_write(&sink, look(), &(struct tide_report_options){.n_rows = 1});
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), ",0x2001,266338304,,1048576,,,,,,"));
}

static void json_of_the_first_sites(void **state)
{
  ask(TIDE_MEASURE_TOTAL);
  tide_report_json_write(&sink, look(), &(struct tide_report_json_options){.n = 1});
  const char *text = tide_buf_cstr(&sink.buf);
  const char *first = strstr(text, "{\"weight\":");
  assert_non_null(first);
  assert_null(strstr(first + 1, "{\"weight\":"));
  assert_non_null(strstr(text, "\"file\": null"));
  assert_non_null(strstr(text, "\"heap\": {\"sites\": 7, "));
  assert_non_null(strstr(text, "\"pages\": {\"sites\": 1, "));
}

// None of the fixture's files exist, and its start has no date: the same everywhere.
static void info(void **state)
{
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  capture->n_images_left_out = 3;
  tide_info_write(&screen, capture, "x.tide", 1468006, &sources);
  expect_width(80);
  expect_golden("info.txt");
  tide_buf_clear(&sink.buf);
  tide_info_json_write(&sink, capture, "x.tide", 1468006, &sources);
  expect_golden("info.json");
  tide_buf_clear(&sink.buf);
  capture->images[INDEXER_IMAGE].n_frames = 2; // of one there is no plural
  capture->images[INDEXER_IMAGE].n_sites = 1;
  capture->images[INDEXER_IMAGE].sites[0].stack = 1;
  tide_info_write(&screen, capture, "x.tide", 1468006, &sources);
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "1 stack of 1 frame, 1 row, 4 threads"));
}

// By what a program was called, where that is a name; by its file otherwise.
static void names_of_programs(void **state)
{
  static const struct {
    const char *exe, *first, *name;
  } cases[] = {
      {"/usr/bin/redis-check-rdb", "redis-server", "redis-server"},
      {"/usr/bin/redis-check-rdb", "/usr/bin/redis-server", "redis-server"},
      {"/usr/bin/python3.11", "/usr/bin/python3", "python3"}, // of a script
      {"/usr/bin/bash", "-bash", "bash"},
      {"/usr/sbin/sshd", "sshd: me@pts/0", "sshd"},
      {"/usr/bin/redis-server", "redis-server unixsocket:/run/redis.sock", "redis-server"},
      {"/opt/My Tools/sort", "/opt/My Tools/sorter", "sorter"},
      {"/usr/sbin/nginx", "nginx: master process /usr/sbin/nginx", "nginx"},
      {"/usr/bin/runc", "/proc/self/exe", "runc"},
      {"/home/me/my dir/tool", "/home/me/my dir/tool", "tool"},
      {"/opt/tool", "two words", "tool"},
      {"/opt/tool", "", "tool"},
      {"/opt/tool", "dir/", "tool"},
      {"", "./tool", "tool"},
      {"", "", "?"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct tide_image image = {.exe = (char *)cases[i].exe,
                                     .cmdline = (char *)cases[i].first,
                                     .cmdline_len = (uint32_t)strlen(cases[i].first)};
    assert_string_equal(tide_image_program(&image), cases[i].name);
  }
  const struct tide_image short_name = {.exe = (char *)"/usr/bin/python3.11"},
                          long_name = {.exe = (char *)"/usr/bin/python3.11",
                                       .cmdline = (char *)"python3",
                                       .cmdline_len = 7},
                          other = {.exe = (char *)"/usr/bin/perl"};
  assert_true(tide_image_same_program(&short_name, &long_name));
  assert_false(tide_image_same_program(&other, &long_name));
}

// Every kind of report, and the facts, on screens of every width.
static void within_every_width(void **state)
{
  tide_indexer_add_snapshots(capture);
  capture->n_images_left_out = 3;
  for (size_t width = 40; width <= 160; width++)
    for (int i = 0; i < TIDE_SORTS_N * TIDE_GROUPS_N; i++) {
      enum tide_group_kind kind = (enum tide_group_kind)(i % TIDE_GROUPS_N);
      bool whole = i % 3 == 0, of_code = !tide_group_kind_is_across(kind);
      struct tide_screen screen = {
          .sink = &sink, .hints = tide_cli_hint_words, .width = width, .utf8 = i % 2};
      bool of_pages = kind == TIDE_GROUP_PAGES;
      tide_buf_clear(&sink.buf);
      if (of_pages && !pages_have(i / TIDE_GROUPS_N))
        continue;
      ask_wish((struct tide_wish){.sort = i / TIDE_GROUPS_N, .of_pages = of_pages});
      const struct tide_report_options options = {.group = kind,
                                                  .n_rows = whole ? SIZE_MAX : 3,
                                                  .n_stacks = (size_t)(i % 4),
                                                  .all_frames = i % 5 == 0,
                                                  .min_bytes = i % 7 ? 0 : INT64_MAX / 2,
                                                  .details = of_code && !of_pages && i % 3,
                                                  .filters = whole ? "--function p|l" : NULL,
                                                  .prefix = ""};
      tide_report_write(&screen, look(), &options);
      tide_info_write(&screen, capture, "x.tide", 1468006, &sources);
      expect_width(width);
    }
}

UNIT_TESTS(report_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(first_screen),
      TEST(every_rank),
      TEST(narrow_wide_ascii_and_colour),
      TEST(curves_where_there_is_room),
      TEST(groups_of_every_kind),
      TEST(own_pages),
      TEST(rows_that_cut_across),
      TEST(within_every_width),
      TEST(names_of_programs),
      TEST(details_of_rows),
      TEST(leaks_told_apart),
      TEST(says_what_matched),
      TEST(stacks_below_the_rows),
      TEST(places_of_a_least_size),
      TEST(csv),
      TEST(markdown),
      TEST(hostile_names),
      TEST(nothing_allocated),
      TEST(what_went_wrong_is_said),
      TEST(unrecorded),
      TEST(of_a_run_that_is_not_known),
      TEST(json),
      TEST(json_of_the_first_sites),
      TEST(what_lacks_is_left_out),
      TEST(info),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
