// SPDX-License-Identifier: Apache-2.0
//
// What the export formats hold, of a capture whose numbers are known: texts compared with golden
// files (TIDE_GOLDEN_WRITE=1 accepts a change), pprof by what must and must not be in it. That
// other tools read them is the business of tests/interop.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "export/exports.h"
#include "golden.h"
#include "indexer_fixture.h"
#include "tide_gen.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static struct tide_capture *capture;
static struct tide_image *image;
static struct tide_naming *naming;
static struct tide_profile *profile;
static struct tide_filter *filter;
static struct tide_view view;
static struct tide_sink sink;
static struct tide_export_options options;
static struct tide_diag diag;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  image = &capture->images[INDEXER_IMAGE];
  tide_indexer_add_snapshots(capture);
  naming = tide_naming_new_from(image, &tide_indexer_names);
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  options = (struct tide_export_options){0};
  tide_sink_init(&sink, NULL);
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

static void choose(const struct tide_filter_options *patterns)
{
  assert_int_equal(tide_filter_new(patterns, &filter, &diag), TIDE_ERR_OK);
}

static enum tide_err export_wish(const char *word, const struct tide_wish *wish, bool fold)
{
  struct tide_question question;
  assert_int_equal(tide_question_make(image, wish, &question, &diag), TIDE_ERR_OK);
  tide_profile_ask(profile, &question);
  options.measure_said = wish->sort >= 0 || wish->at || wish->range;
  tide_view_done(&view);
  tide_view_init(&view, profile, naming, filter, !fold);
  tide_buf_clear(&sink.buf);
  return tide_export_find(word)->write(&sink, &view, &options, &diag);
}

static const char *export(const char *word, int sort)
{
  assert_int_equal(export_wish(word, &(struct tide_wish){.sort = sort}, false), TIDE_ERR_OK);
  return tide_buf_cstr(&sink.buf);
}

static void expect_golden(const char *name)
{
  tide_golden_expect(&sink.buf, name);
}

static void texts(void **state)
{
  export("dhat", -1);
  expect_golden("dhat.json");
  export("folded", -1);
  expect_golden("stacks.folded");
  export("speedscope", -1);
  expect_golden("profile.speedscope.json");
  export("svg", -1);
  expect_golden("flame.svg");
}

static void names_of_the_folded_format_are_harmless(void **state)
{
  image->names = (struct tide_stored_names){0};
  const char *text = export("folded", TIDE_MEASURE_TOTAL);
  assert_non_null(strstr(text, "plugin::?[31m\"??\\load? "));
  assert_non_null(strstr(text, "libplugin.so+0x42 8388608\n"));
  assert_non_null(strstr(text, "[frames left out]"));
  assert_non_null(strstr(text, "[stack not recorded] 1048576\n"));
  for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
    const char *end = strchr(line, '\n'), *space = end;
    while (*--space != ' ')
      assert_true(*space >= '0' && *space <= '9');
    assert_true(space > line);
  }
}

static size_t odd_name(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                       size_t max)
{
  out[0] = (struct tide_symbol_frame){"f(int);\n shape 12.5", NULL, 0, false};
  return 1;
}

static void nothing_in_a_name_is_taken_for_more(void **state)
{
  const struct tide_name_source odd = {.lookup = odd_name};
  tide_naming_free(naming);
  naming = tide_naming_new_from(image, &odd);
  const char *text = export("folded", TIDE_MEASURE_PEAK);
  assert_non_null(strstr(text, "f(int):? shape_12.5;f(int):? shape_12.5;"));
  assert_null(strstr(text, ";\n"));
}

static void what_shrank_is_left_out(void **state)
{
  const struct tide_wish wish = {.sort = -1, .range = "peak..8s"};
  assert_int_equal(export_wish("folded", &wish, false), TIDE_ERR_OK);
  assert_int_equal(sink.buf.n, 0);
  assert_int_equal(export_wish("svg", &wish, false), TIDE_ERR_OK);
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "nothing</text>"));
  const struct tide_wish rise = {.sort = -1, .range = "1s..3s"};
  assert_int_equal(export_wish("svg", &rise, false), TIDE_ERR_OK);
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "71.0 MiB"));
}

// Hidden, focused on and folded: the same frames in every format.
static void views_are_honoured(void **state)
{
  static const char *const words[] = {"dhat", "folded", "speedscope", "svg"};
  choose(&(struct tide_filter_options){.focus = "Merge", .hide = "RawVec"});
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const char *text = export(words[i], TIDE_MEASURE_TOTAL);
    assert_non_null(strstr(text, "Merge"));
    assert_non_null(strstr(text, "Block::push"));
    assert_null(strstr(text, "RawVec"));
    assert_null(strstr(text, "indexer::main"));
    assert_null(strstr(text, "intern"));
  }
  tide_filter_free(filter);
  filter = NULL;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const struct tide_wish wish = {.sort = TIDE_MEASURE_TOTAL};
    assert_int_equal(export_wish(words[i], &wish, true), TIDE_ERR_OK);
    assert_null(strstr(tide_buf_cstr(&sink.buf), "alloc::vec::Vec"));
    assert_int_equal(export_wish(words[i], &wish, false), TIDE_ERR_OK);
    assert_non_null(strstr(tide_buf_cstr(&sink.buf), "alloc::vec::Vec"));
  }
}

static void hidden_stacks_keep_their_weight(void **state)
{
  choose(&(struct tide_filter_options){.hide = "."});
  const char *text = export("folded", TIDE_MEASURE_TOTAL);
  assert_non_null(strstr(text, "[frames hidden] "));
  assert_non_null(strstr(text, "[stack not recorded] "));
  assert_non_null(strstr(export("dhat", -1), "[frames hidden]"));
  assert_non_null(strstr(export("speedscope", -1), "[[1], "));
}

static void dhat_refuses_what_it_cannot_say(void **state)
{
  const struct tide_wish then = {.sort = -1, .at = "3s"};
  assert_int_equal(export_wish("dhat", &then, false), TIDE_ERR_UNSUPPORTED);
  assert_int_equal(diag.hint, TIDE_HINT_WHOLE_RUN);
  image->lacks = TIDE_LACK_LIFETIMES;
  image->origin = strdup("massif");
  const struct tide_wish wish = {.sort = -1};
  assert_int_equal(export_wish("dhat", &wish, false), TIDE_ERR_UNSUPPORTED);
  assert_non_null(strstr(diag.text, "how long blocks lived, which massif does not hold"));
  assert_int_equal(sink.buf.n, 0);
}

static void speedscope_leaves_out_what_is_not_held(void **state)
{
  image->lacks = TIDE_LACK_TOTAL | TIDE_LACK_TEMP;
  const char *text = export("speedscope", -1);
  assert_non_null(strstr(text, "\"bytes held at the peak\""));
  assert_non_null(strstr(text, "\"bytes held at the end\""));
  assert_null(strstr(text, "allocated"));
  assert_null(strstr(text, "temporary"));
}

// Allocating has an order where the snapshots count it: what two stacks begin with stays open
// within a part of the run, and every part is closed.
static void speedscope_opens_and_closes_as_time_went_by(void **state)
{
  image->has_counts = true;
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++)
      image->snapshots[i].rows[k].b_alloc = 0;
  struct tide_snapshot_row *first = image->snapshots[0].rows, *last = image->snapshots[1].rows;
  first[0].b_alloc = 30;
  first[1].b_alloc = 4;
  last[0].b_alloc = 20;
  const char *text = export("speedscope", TIDE_MEASURE_TOTAL);
  char told[400] = "";
  const char *at = strstr(text, "\"events\": [");
  for (char type; at && (at = strstr(at, "{\"type\": \"")); at++) {
    unsigned frame, bytes;
    assert_int_equal(
        sscanf(at, "{\"type\": \"%c\", \"frame\": %u, \"at\": %u}", &type, &frame, &bytes), 3);
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%c%u@%u ", type, frame, bytes);
  }
  assert_string_equal(told, "O13@0 O2@0 O3@0 O5@0 O6@0 O7@0 C7@30 C6@30 C5@30 O8@30 "
                            "C8@34 C3@34 C2@34 C13@34 "
                            "O14@34 O2@34 O3@34 O5@34 O6@34 O7@34 C7@54 C6@54 C5@54 "
                            "C3@54 C2@54 C14@54 ");
  assert_non_null(strstr(text, "\"startValue\": 0, \"endValue\": 54}"));
}

// Without strstr(), which under a sanitizer looks at all of a text, each time.
static size_t count_of(const char *text, const char *what)
{
  size_t n = 0, n_what = strlen(what);
  for (; *text; text++)
    n += *text == *what && strncmp(text, what, n_what) == 0;
  return n;
}

static size_t no_name(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                      size_t max)
{
  return 0;
}

// Of many stacks the smaller ones are one, in every part.
static void speedscope_gathers_small_stacks_over_time(void **state)
{
  const struct tide_name_source none = {.lookup = no_name};
  teardown(NULL);
  capture = tide_gen_program(3, 12000, 6);
  image = &capture->images[0];
  naming = tide_naming_new_from(image, &none);
  profile = tide_profile_new(capture, 0);
  tide_sink_init(&sink, NULL);
  const char *text = export("speedscope", TIDE_MEASURE_TOTAL);
  const char *events = strstr(text, "\"evented\"");
  assert_non_null(events);
  assert_int_equal(count_of(text, "\"name\": \"[other]\""), 1);
  size_t n_open = count_of(events, "\"type\": \"O\"");
  assert_int_equal(n_open, count_of(events, "\"type\": \"C\""));
  assert_true(n_open > 10000);
}

static void speedscope_has_parts_only_where_they_are_known(void **state)
{
  assert_null(strstr(export("speedscope", -1), "evented"));
  image->has_counts = true;
  assert_non_null(strstr(export("speedscope", TIDE_MEASURE_TOTAL), "evented"));
  assert_null(strstr(export("speedscope", TIDE_MEASURE_PEAK), "evented"));
  image->lacks = TIDE_LACK_CLOCK;
  assert_null(strstr(export("speedscope", TIDE_MEASURE_TOTAL), "evented"));
}

static struct tide_buf inflate_all(void)
{
  struct tide_buf raw = {0};
  z_stream z = {.next_in = sink.buf.data, .avail_in = (unsigned)sink.buf.n};
  assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
  int status;
  do {
    uint8_t part[4096];
    z.next_out = part;
    z.avail_out = sizeof part;
    status = inflate(&z, Z_NO_FLUSH);
    tide_buf_append(&raw, part, sizeof part - z.avail_out);
  } while (status == Z_OK);
  assert_int_equal(status, Z_STREAM_END);
  assert_int_equal(z.avail_in, 0);
  inflateEnd(&z);
  return raw;
}

static bool pprof_has(const char *text)
{
  struct tide_buf raw = inflate_all();
  bool found = memmem(raw.data, raw.n, text, strlen(text)) != NULL;
  tide_buf_done(&raw);
  return found;
}

static void pprof(void **state)
{
  export("pprof", -1);
  assert_memory_equal(sink.buf.data + 4, "\0\0\0\0", 4); // no time: the same bytes every day
  assert_true(pprof_has("alloc_objects") && pprof_has("inuse_space"));
  assert_true(pprof_has("indexer::postings::Block::push") && pprof_has("abcdef"));
  assert_true(pprof_has("inuse: bytes held at the end"));
  assert_true(pprof_has("plugin::?[31m"));
  options.no_symbols = true;
  export("pprof", -1);
  assert_true(pprof_has("abcdef") && pprof_has("libplugin.so"));
  assert_false(pprof_has("indexer::postings"));
  assert_false(pprof_has("postings.rs"));
}

static void pprof_takes_the_moment_asked_for(void **state)
{
  export("pprof", TIDE_MEASURE_PEAK);
  assert_true(pprof_has("inuse: bytes held at the peak"));
  assert_int_equal(export_wish("pprof", &(struct tide_wish){.sort = -1, .at = "3s"}, false), 0);
  assert_true(pprof_has("inuse: bytes held at 2.98 s"));
  assert_true(pprof_has("alloc_space"));
  // The counts of this capture's snapshots are not known: no column of them, rather than zeros.
  assert_int_equal(export_wish("pprof", &(struct tide_wish){.sort = -1, .range = "1s..3s"}, false),
                   0);
  assert_true(pprof_has("inuse: bytes grown from"));
  assert_false(pprof_has("alloc_space"));
}

static void pprof_leaves_out_what_is_not_held(void **state)
{
  image->lacks = TIDE_LACK_BLOCKS | TIDE_LACK_LIVE;
  export("pprof", -1);
  assert_true(pprof_has("alloc_space") && pprof_has("inuse: bytes held at the peak"));
  assert_false(pprof_has("_objects"));
  image->lacks = TIDE_LACK_TOTAL;
  export("pprof", -1);
  assert_true(pprof_has("inuse_objects"));
  assert_false(pprof_has("alloc_"));
}

static void an_image_without_sites(void **state)
{
  static const char *const words[] = {"dhat", "folded", "speedscope", "svg", "pprof"};
  tide_naming_free(naming);
  tide_profile_free(profile);
  image = &capture->images[0];
  naming = tide_naming_new_from(image, &tide_indexer_names);
  profile = tide_profile_new(capture, 0);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    export(words[i], -1);
}

UNIT_TESTS(exports_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(texts),
      TEST(names_of_the_folded_format_are_harmless),
      TEST(nothing_in_a_name_is_taken_for_more),
      TEST(what_shrank_is_left_out),
      TEST(views_are_honoured),
      TEST(hidden_stacks_keep_their_weight),
      TEST(dhat_refuses_what_it_cannot_say),
      TEST(speedscope_leaves_out_what_is_not_held),
      TEST(speedscope_opens_and_closes_as_time_went_by),
      TEST(speedscope_gathers_small_stacks_over_time),
      TEST(speedscope_has_parts_only_where_they_are_known),
      TEST(pprof),
      TEST(pprof_takes_the_moment_asked_for),
      TEST(pprof_leaves_out_what_is_not_held),
      TEST(an_image_without_sites),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
