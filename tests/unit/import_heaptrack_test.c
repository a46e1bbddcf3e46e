// SPDX-License-Identifier: Apache-2.0
//
// heaptrack's files in all formats, played back: small recordings with known answers, and files
// that no heaptrack wrote.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "import/replay.h"
#include "import_fixture.h"
#include "model/image_sums.h"

#include <stdlib.h>
#include <string.h>

#define TABLES_3                                                                                   \
  "v 10400 3\nX ./p -x\nI 1000 5e\n"                                                               \
  "s 6 /bin/p\ns 4 main\ns 3 a.c\ns 1 f\ns 1 g\n"                                                  \
  "i 1000 1 2 3 9\nt 1 0\n"       /* main */                                                       \
  "i 1010 1 4 3 3\nt 2 1\n"       /* f < main */                                                   \
  "i 1020 1 5 3 4 4 3 7\nt 3 1\n" /* g inlined in f < main */                                      \
  "a 64 2\na 10 3\n"

// 100 and 16 bytes: two of the first are the peak with one of the second.
#define EVENTS "+ 0\nc 5\nR 10\n+ 1\n- 1\n+ 0\n+ 1\nc a\nR 20\n- 0\nc 14\n+ 1\n- 0\nc 1e\n# ended\n"

static void events_are_played_back(void **state)
{
  struct tide_capture *capture = import_text(TABLES_3 EVENTS);
  const struct tide_image *image = capture->images;
  assert_false(capture->cut);
  assert_string_equal(image->origin, "heaptrack 1.4.0");
  assert_string_equal(image->exe, "./p");
  assert_int_equal(image->peak_bytes, 216);
  assert_int_equal(image->peak_blocks, 3);
  assert_int_equal(image->peak_ns, 5000000);
  assert_int_equal(image->end_ns, 30000000);
  assert_int_equal(image->max_rss_bytes, 0x20 * 4096);
  const struct tide_site *f = import_site(image, "f a.c:3 < main a.c:9");
  assert_non_null(f);
  assert_int_equal(f->n_alloc, 2);
  assert_int_equal(f->b_alloc, 200);
  assert_int_equal(f->n_free, 2);
  assert_int_equal(f->b_free, 200);
  assert_int_equal(f->peak_bytes, 200);
  assert_int_equal(f->peak_blocks, 2);
  assert_int_equal(f->high_bytes, 200);
  assert_int_equal(f->n_temp, 0);
  assert_int_equal(f->first_ns, 0);
  assert_int_equal(f->last_ns, 5000000);
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(image, f, sizes, lifetimes);
  assert_int_equal(sizes[5], 2);
  assert_int_equal(lifetimes[0], 0);
  const struct tide_site *g = import_site(image, "g a.c:4 << f a.c:7 < main a.c:9");
  assert_non_null(g);
  assert_int_equal(g->n_alloc, 3);
  assert_int_equal(g->n_free, 1);
  assert_int_equal(g->n_temp, 1);
  assert_int_equal(g->b_temp, 16);
  assert_int_equal(g->peak_bytes, 16);
  assert_int_equal(g->high_bytes, 32);
  assert_true(image->lacks & TIDE_LACK_LIFETIMES);
  assert_false(image->lacks & (TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_TOTAL));
  tide_capture_free(capture);
}

// As of python3 -c with a program of several lines, some of which look like heaptrack's.
// The resident size comes behind the time it is of, and the last one behind the last time.
static void the_last_resident_size_counts(void **state)
{
  struct tide_capture *capture = import_text(TABLES_3 "+ 0\nc 5\nR 10\n+ 0\nc a\nR 20\n");
  const struct tide_image *image = capture->images;
  assert_int_equal(image->max_rss_bytes, 0x20 * 4096);
  assert_int_equal(image->rss_at_peak_bytes, 0x20 * 4096);
  for (size_t i = 0; i < image->n_ticks; i++) {
    uint64_t pages = image->ticks[i].time_ns == 5000000 ? 0x10 : 0x20;
    assert_int_equal(image->ticks[i].rss_bytes, pages * 4096);
  }
  tide_capture_free(capture);
}

static void commands_have_lines(void **state)
{
  static const char tables[] = TABLES_3;
  const char *system = strstr(tables, "I 1000");
  struct tide_buf text = {0};
  tide_buf_append(&text, tables, (size_t)(system - tables));
  tide_buf_text(&text, "import json\n\ni = 3\n+ 1\nI am\n");
  tide_buf_text(&text, system);
  tide_buf_text(&text, EVENTS);
  struct tide_capture *capture = import_text(tide_buf_cstr(&text));
  assert_false(capture->cut);
  assert_string_equal(capture->images->exe, "./p");
  assert_int_equal(capture->images->peak_bytes, 216);
  assert_int_equal(import_site(capture->images, "f a.c:3 < main a.c:9")->n_alloc, 2);
  tide_capture_free(capture);
  tide_buf_done(&text);
}

// As they come back from a system that ends its lines in two bytes.
static void carriage_returns_are_no_part_of_lines(void **state)
{
  struct tide_buf text = {0};
  for (const char *at = TABLES_3 EVENTS; *at; at++)
    tide_buf_printf(&text, *at == '\n' ? "\r%c" : "%c", *at);
  struct tide_capture *capture = import_text(tide_buf_cstr(&text));
  const struct tide_site *f = import_site(capture->images, "f a.c:3 < main a.c:9");
  assert_false(capture->cut);
  assert_string_equal(capture->images->origin, "heaptrack 1.4.0");
  assert_int_equal(capture->images->peak_bytes, 216);
  assert_non_null(f);
  assert_int_equal(f->b_alloc, 200);
  tide_capture_free(capture);
  tide_buf_done(&text);
}

// Over all snapshots the counts are those of the sites; the last is what was never freed.
static void snapshots_add_up(void **state)
{
  struct tide_buf text = {0};
  tide_buf_text(&text, TABLES_3);
  for (unsigned i = 0; i < 5000; i++)
    tide_buf_printf(&text, "+ 0\n+ 1\n+ 1\n- 1\n%sc %x\n", i % 2 ? "- 0\n" : "", i);
  struct tide_capture *capture = import_text(tide_buf_cstr(&text));
  const struct tide_image *image = capture->images;
  uint64_t n_alloc = 0, b_alloc = 0;
  assert_true(image->n_snapshots > 50 && image->n_snapshots <= 200);
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++) {
      n_alloc += image->snapshots[i].rows[k].n_alloc;
      b_alloc += image->snapshots[i].rows[k].b_alloc;
    }
  assert_int_equal(n_alloc, 15000);
  assert_int_equal(b_alloc, 5000 * 132);
  const struct tide_snapshot *end = &image->snapshots[image->n_snapshots - 1];
  assert_int_equal(end->kind, TIDE_SNAPSHOT_END);
  assert_int_equal(end->rows[0].live_blocks + end->rows[1].live_blocks, 2500 + 5000);
  tide_buf_done(&text);
  tide_capture_free(capture);
}

static void raw_files_get_modules(void **state)
{
  struct tide_capture *capture =
      import_text("v 10400 3\nx 6 /bin/p\nX p\nI 1000 5e\nm 1 -\nm 1 x 5000 0 500 1000 500\n"
                  "m 5 /l.so 90000 0 1000\nt 6010 0\nt 90010 1\n+ 8 2 77700\n+ 10 1 77720\n"
                  "- 77720\n- 1\nc 3\n+ 8 2 77700\nm 1 -\nm 5 /m.so 90000 0 1000\nt 90010 1\n"
                  "+ 20 3 77800\n");
  const struct tide_image *image = capture->images;
  assert_string_equal(image->origin, "heaptrack 1.4.0 (raw)");
  assert_string_equal(image->exe, "/bin/p");
  const struct tide_site *in_lib = import_site(image, "/l.so+0x10 < /bin/p+0x1010");
  assert_non_null(in_lib);
  assert_int_equal(in_lib->n_alloc, 2);
  assert_int_equal(in_lib->n_free, 1); // the pointer came again without a free
  assert_int_equal(import_site(image, "/bin/p+0x1010")->n_temp, 1);
  assert_int_equal(import_site(image, "/m.so+0x10 < /bin/p+0x1010")->b_alloc, 0x20);
  assert_int_equal(image->loss.n_unknown_free, 1);
  assert_int_equal(image->names.n_places, 0);
  tide_capture_free(capture);
}

// Format 0 has pointers and no version, 1 no lengths of texts; 1.0 wrote no format.
static void older_formats_are_read(void **state)
{
  static const char *const heads[] = {"X ./p\nI 1000 5e\n", "v 10200\nX ./p\n",
                                      "v 10100 2\nX ./p\n"};
  for (size_t i = 0; i < 3; i++) {
    struct tide_buf text = {0};
    tide_buf_text(&text, heads[i]);
    tide_buf_text(&text, "s /bin/p\ns operator new(unsigned long)\ns a b.c\n"
                         "i 1000 1 2 3 9\nt 1 0\n");
    tide_buf_text(&text, i == 0 ? "+ 10 1 abc0\n- abc0\n+ 10 1 abc0\n- def0\n"
                                : "a 10 1\n+ 0\n- 0\n+ 0\n");
    struct tide_capture *capture = import_text(tide_buf_cstr(&text));
    const struct tide_site *site =
        import_site(capture->images, "operator new(unsigned long) a b.c:9");
    assert_non_null(site);
    assert_int_equal(site->n_alloc, 2);
    assert_int_equal(site->n_free, 1);
    assert_int_equal(site->n_temp, 1);
    tide_capture_free(capture);
    tide_buf_done(&text);
  }
}

static void wrong_files_say_where(void **state)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"v 10400 9\nX p\n", "file format 9"},
      {"v 10400 3\nX p\n", "no allocation was recorded"},
      {"v 10400 3\ns 5 ab\n", "a text is shorter than it says, at byte 10"},
      {"v 10400 3\ni 1000 7\n", "a text is not known, at byte 10"},
      {"v 10400 3\nt 1 0\n", "a frame is not known, at byte 10"},
      {"v 10400 3\nm 1 x 10 0 5\nt 1 5\n", "a stack is not whole, at byte 23"},
      {"v 10400 3\na 10 1\n", "a stack is not known, at byte 10"},
      {"v 10400 3\nwhat\n", "no kind of line, at byte 10"},
      {"v 10400 3\na ffffffffffffffffff 0\n", "an allocation is not whole, at byte 10"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = import_refused(cases[i].text, strlen(cases[i].text));
    if (!strstr(said, cases[i].says))
      fail_msg("'%s' does not say '%s'", said, cases[i].says);
  }
}

// Once there are events, what came before the fault is kept, and the fault is told.
static void damage_costs_only_the_rest(void **state)
{
  static const char *const ends[] = {"+ 9\n+ 0\n", "- 9\n", "+ zz\n", "c -1\n", "?\n", "+ 0"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct tide_buf text = {0};
    tide_buf_printf(&text, TABLES_3 "+ 0\n+ 1\n%s", ends[i]);
    struct tide_capture *capture = import_text(tide_buf_cstr(&text));
    assert_true(capture->cut);
    assert_non_null(strstr(capture->cut_note, "at byte "));
    assert_int_equal(capture->images->peak_bytes, 116);
    tide_capture_free(capture);
    tide_buf_done(&text);
  }
}

static void every_cut_is_survived(void **state)
{
  const char text[] = TABLES_3 EVENTS;
  assert_true(import_all_cuts(text, sizeof text - 1) > 20);
}

// Sizes beyond all sums, and frees of what is not there.
static void absurd_numbers_are_survived(void **state)
{
  struct tide_capture *capture =
      import_text(TABLES_3 "a ffffffffffffffff 1\n+ 2\n+ 2\n- 1\n- 1\n- 2\n- 2\n- 2\nc 5\n");
  assert_int_equal(capture->images->loss.n_unknown_free, 3);
  tide_capture_free(capture);
}

static void live_blocks_are_found_again(void **state)
{
  struct tide_import_map map = {0};
  struct tide_live_block block;
  uint8_t *there = tide_alloc(4096);
  uint32_t seed = 1;
  assert_false(tide_live_map_take(&map, 5, &block));
  assert_false(tide_live_map_put(&map, &(struct tide_live_block){0, 1}));
  for (unsigned i = 0; i < 200000; i++) {
    seed = seed * 1664525 + 1013904223;
    uint32_t at = seed >> 8 & 4095;
    uint64_t addr = 0x7f0000000000 + (uint64_t)at * 16;
    if (seed >> 31) {
      assert_int_equal(tide_live_map_put(&map, &(struct tide_live_block){addr, at}), !there[at]);
      there[at] = 1;
    } else {
      assert_int_equal(tide_live_map_take(&map, addr, &block), there[at]);
      assert_true(!there[at] || block.kind == at);
      there[at] = 0;
    }
  }
  tide_live_map_done(&map);
  free(there);
}

UNIT_TESTS(import_heaptrack_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_are_played_back),
      cmocka_unit_test(the_last_resident_size_counts),
      cmocka_unit_test(snapshots_add_up),
      cmocka_unit_test(raw_files_get_modules),
      cmocka_unit_test(older_formats_are_read),
      cmocka_unit_test(wrong_files_say_where),
      cmocka_unit_test(damage_costs_only_the_rest),
      cmocka_unit_test(every_cut_is_survived),
      cmocka_unit_test(absurd_numbers_are_survived),
      cmocka_unit_test(live_blocks_are_found_again),
      cmocka_unit_test(carriage_returns_are_no_part_of_lines),
      cmocka_unit_test(commands_have_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
