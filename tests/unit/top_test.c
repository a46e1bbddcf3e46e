// SPDX-License-Identifier: Apache-2.0
//
// The screens of `tidemark top`, judged without a terminal: whole ones are in tests/golden
// (TIDE_GOLDEN_WRITE=1 accepts a change), and what keys, further captures and other sizes do.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "golden.h"
#include "indexer_fixture.h"
#include "top/top.h"
#include "top/top_history.h"

#define SECOND UINT64_C(1000000000)

static struct tide_top *top;
static struct tide_canvas canvas;
static unsigned n_named; // images that names were asked for

static struct tide_naming *name_indexer(void *context, const struct tide_image *image)
{
  n_named++;
  return tide_naming_new_from(image, &tide_indexer_names);
}

static void begin(struct tide_top_options options)
{
  options.quits = "q leaves the program alone.";
  options.how = options.how ? options.how : "attached";
  options.name = name_indexer;
  options.sort = -1;
  top = tide_top_new(&options);
  n_named = 0;
}

static int end(void **state)
{
  tide_top_free(top);
  top = NULL;
  tide_canvas_done(&canvas);
  return 0;
}

// The indexer with postings of so many more bytes, some seconds later.
static struct tide_capture *indexer(int64_t more_bytes, uint64_t later_ns)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->end_ns += later_ns;
  if (more_bytes) {
    image->sites[0].b_alloc += (uint64_t)more_bytes;
    image->sites[0].n_alloc++;
  }
  return capture;
}

static void take(struct tide_capture *capture)
{
  struct tide_diag diag = {0};
  assert_int_equal(tide_top_take(top, capture, 0, &diag), TIDE_ERR_OK);
}

static void press(const char *keys)
{
  for (; *keys; keys++)
    assert_int_equal(tide_top_key(top, (unsigned char)*keys), TIDE_TOP_WISH_NONE);
}

// All lines, each ended by \n; none is wider than the screen.
static struct tide_buf screen(size_t n_rows, size_t n_columns)
{
  struct tide_buf text = {0};
  tide_canvas_clear(&canvas, n_rows, n_columns);
  tide_top_draw(top, &canvas);
  for (size_t i = 0; i < n_rows; i++) {
    TIDE_CLEANUP_FREE char *line = tide_canvas_line(&canvas, i);
    assert_true(tide_utf8_width(line) <= n_columns);
    tide_buf_printf(&text, "%s\n", line);
  }
  return text;
}

static bool shows(size_t n_rows, size_t n_columns, const char *what)
{
  struct tide_buf text = screen(n_rows, n_columns);
  bool is_there = strstr(tide_buf_cstr(&text), what) != NULL;
  tide_buf_done(&text);
  return is_there;
}

static void expect_screen(size_t n_rows, size_t n_columns, const char *name)
{
  struct tide_buf text = screen(n_rows, n_columns);
  tide_golden_expect(&text, name);
  tide_buf_done(&text);
}

// ---- whole screens ----

static void usual_screen(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  expect_screen(24, 80, "top.txt");
}

static void small_and_large_screens(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  expect_screen(12, 40, "top_small.txt");
  expect_screen(60, 200, "top_large.txt");
  for (size_t n_rows = 1; n_rows < 30; n_rows++) // none of them is drawn beyond its edge
    for (size_t n_columns = 1; n_columns < 130; n_columns += 7) {
      struct tide_buf text = screen(n_rows, n_columns);
      tide_buf_done(&text);
    }
}

static void screen_without_utf8(void **state)
{
  begin((struct tide_top_options){0});
  take(indexer(0, 0));
  struct tide_buf text = screen(24, 80);
  for (size_t i = 0; i < text.n; i++)
    assert_true(text.data[i] < 0x80);
  tide_golden_expect(&text, "top_ascii.txt");
  tide_buf_done(&text);
}

// Of an estimate every number has its mark, and each is whole.
static void estimates_have_room(void **state)
{
  struct tide_capture *capture = indexer(0, 0);
  begin((struct tide_top_options){.utf8 = true});
  capture->images[INDEXER_IMAGE].sampled_every_bytes = 524288;
  take(capture);
  expect_screen(24, 80, "top_samples.txt");
  assert_true(shows(12, 40, "≈ 2.0 MiB  ≈ 50.0 %"));
  assert_true(shows(24, 120, "≈ 190"));
}

static void finished_capture(void **state)
{
  begin((struct tide_top_options){.utf8 = true, .is_static = true, .how = "a finished capture"});
  take(indexer(0, 0));
  expect_screen(24, 80, "top_static.txt");
}

static void tree_and_help(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  press("\n");
  expect_screen(24, 80, "top_tree.txt");
  press("\n");
  assert_true(shows(24, 80, "where"));
  press("?");
  expect_screen(24, 80, "top_help.txt");
  press("x");
  assert_true(shows(24, 80, "where"));
}

static void before_anything(void **state)
{
  begin((struct tide_top_options){.utf8 = true, .asks = true});
  assert_true(shows(24, 80, "nothing was recorded yet"));
  press("jkG\n/x\n<>bpp"); // all of them harmless
  press("m");
  assert_true(shows(24, 80, "nothing was recorded yet that could be marked"));
  take(tide_capture_new()); // without an image
  assert_null(tide_top_capture(top));
}

// ---- what keys do ----

static size_t chosen_row(void)
{
  struct tide_buf text = screen(24, 80);
  tide_buf_done(&text);
  for (size_t i = 0; i < 24; i++)
    if (tide_canvas_at(&canvas, i, 0)->is_chosen)
      return i;
  return 0;
}

// The choice stays with its place, wherever that goes; who chose nothing follows what leads.
static void choice_follows_its_place(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  size_t first = chosen_row();
  take(indexer(4096, SECOND));
  assert_int_equal(chosen_row(), first);
  press("j");
  assert_int_equal(chosen_row(), first + 1);
  TIDE_CLEANUP_FREE char *before = tide_canvas_line(&canvas, first + 1);
  press("t");  // means nothing outside the menu
  press("st"); // by all that was allocated, where the order is another
  size_t now = chosen_row();
  TIDE_CLEANUP_FREE char *after = tide_canvas_line(&canvas, now);
  assert_string_equal(strrchr(before, ' '), strrchr(after, ' '));
  press("G");
  assert_true(chosen_row() > first);
  press("g");
  assert_int_equal(chosen_row(), first);
}

static void every_measure_sorts(void **state)
{
  static const struct {
    const char *keys, *heading;
  } cases[] = {{"sp", "at the peak"}, {"st", "allocated"}, {"sl", "live"},
               {"sk", "never freed"}, {"se", "temporary"}, {"sc", "allocations"}};
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    press(cases[i].keys);
    struct tide_buf text = screen(24, 80);
    if (!strstr(tide_buf_cstr(&text), cases[i].heading))
      fail_msg("no \"%s\" in:\n%s", cases[i].heading, tide_buf_cstr(&text));
    tide_buf_done(&text);
  }
  press("sl>");
  assert_true(shows(24, 80, "at the peak"));
  press("<");
  assert_false(shows(24, 80, "at the peak"));
  press("s");
  assert_true(shows(24, 80, "sort by: l live"));
  press("x"); // none of them: as it was
  assert_false(shows(24, 80, "sort by"));
}

static void filter_takes_stacks(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  press("/int(\n"); // is none
  assert_true(shows(24, 80, "filter /int("));
  assert_true(shows(24, 80, "is no regular expression"));
  press("\x7f"
        "ern\n");
  assert_true(shows(24, 80, "of stacks with /intern/"));
  assert_true(shows(24, 80, "dict.rs:141"));
  assert_false(shows(24, 80, "postings.rs:88"));
  press("\n"); // its tree, through the filter
  assert_true(shows(24, 80, "dict.rs:141"));
  press("\n/\x7f\x7f\x7f\x7f\x7f\x7f\n"); // nothing typed: no filter
  assert_true(shows(24, 80, "postings.rs:88"));
  press("/nobody\n");
  assert_true(shows(24, 80, "no stack has a function like that"));
  press("\n"); // there is no place that could have a tree
}

static void marks_show_what_came_since(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  press("m");
  assert_true(shows(24, 80, "since mark"));
  assert_false(shows(24, 80, "+5.0 MiB"));
  assert_false(shows(24, 80, "calls a second"));
  take(indexer(5 << 20, SECOND));
  assert_true(shows(24, 80, "+5.0 MiB"));
  assert_true(shows(24, 120, "1 calls a second"));
  press("st"); // whatever it is sorted by
  assert_true(shows(24, 80, "+5.0 MiB"));
  press("m");
  assert_false(shows(24, 80, "+5.0 MiB"));
  assert_int_equal(tide_top_marks(top), 2);
}

static void add_mark(struct tide_capture *capture, uint64_t before_end_ns, const char *name)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  struct tide_mark *marks =
      tide_realloc_array(image->marks, image->n_marks + 1, sizeof *image->marks);
  marks[image->n_marks++] = (struct tide_mark){image->end_ns - before_end_ns, tide_strdup(name)};
  image->marks = marks;
}

// What the recording was told to mark, by name: behind the sign, before it at the edge, or the sign
// alone where neither has room. The screen's own come on top.
static void marks_of_the_recording_are_in_the_graph(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  assert_false(shows(24, 80, "▾"));
  struct tide_capture *capture = indexer(0, 100 * SECOND);
  add_mark(capture, 80 * SECOND, "long ago");
  add_mark(capture, 60 * SECOND, "warm");
  add_mark(capture, 52 * SECOND, "crowded name");
  add_mark(capture, 50 * SECOND, "recording off");
  add_mark(capture, 0, "now");
  take(capture);
  assert_true(shows(24, 80, "▾warm"));
  assert_true(shows(24, 80, "▾recording off"));
  assert_true(shows(24, 80, "now▾"));
  assert_false(shows(24, 80, "long ago"));
  assert_false(shows(24, 80, "crowded"));
  press("m");
  assert_true(shows(24, 80, "now1"));
}

static void quitting_asks_while_the_command_runs(void **state)
{
  begin((struct tide_top_options){.utf8 = true, .asks = true});
  take(indexer(0, 0));
  press("q");
  assert_true(shows(24, 80, "w wait for it, e end it"));
  press("x"); // stays
  assert_false(shows(24, 80, "w wait for it"));
  press("\x03"); // Ctrl-C asks, too
  assert_int_equal(tide_top_key(top, 'e'), TIDE_TOP_WISH_END);
  press("q");
  assert_int_equal(tide_top_key(top, 'w'), TIDE_TOP_WISH_QUIT);
  press("q");
  tide_top_end(top, "exited 0"); // meanwhile
  assert_false(shows(24, 80, "w wait for it"));
  assert_true(shows(24, 80, "exited 0"));
  assert_int_equal(tide_top_key(top, 'q'), TIDE_TOP_WISH_QUIT);
  assert_int_equal(tide_top_key(top, 'd'), TIDE_TOP_WISH_DUMP);
}

static void pause_is_said(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  press("p");
  assert_true(tide_top_is_paused(top) && shows(24, 80, "paused"));
  press("p");
  assert_false(tide_top_is_paused(top));
}

// ---- looks ----

// Names are looked up when something happened, and not otherwise; the clock goes on.
static void idle_programs_cost_no_names(void **state)
{
  begin((struct tide_top_options){.utf8 = true});
  take(indexer(0, 0));
  for (unsigned i = 1; i < 100; i++)
    take(indexer(0, i * SECOND));
  assert_int_equal(n_named, 1);
  uint64_t version = tide_top_version(top);
  take(indexer(4096, 100 * SECOND));
  assert_int_equal(n_named, 2);
  assert_true(tide_top_version(top) > version);
}

static void unknown_process_is_refused(void **state)
{
  struct tide_diag diag = {0};
  begin((struct tide_top_options){.utf8 = true, .process = "99999"});
  assert_int_not_equal(tide_top_take(top, indexer(0, 0), 0, &diag), TIDE_ERR_OK);
  assert_non_null(strstr(diag.text, "99999"));
}

// ---- the graph ----

static void columns_of_the_graph(void **state)
{
  struct tide_top_history *history = tide_alloc(sizeof *history);
  struct tide_top_column columns[10];
  for (uint64_t i = 1; i <= 5; i++)
    tide_top_history_add(history, &(struct tide_top_sample){.time_ns = i * SECOND,
                                                            .live_bytes = (int64_t)i * 100,
                                                            .rss_bytes = i == 2 ? 0 : 1000 + i});
  tide_top_history_columns(history, 5 * SECOND, SECOND, 10, columns);
  assert_false(columns[4].is_known); // before its start
  assert_int_equal(columns[5].live_bytes, 100);
  assert_int_equal(columns[6].rss_bytes, 1001); // not known: as before
  assert_int_equal(columns[9].live_bytes, 500);
  // Two seconds a column: the most of each.
  tide_top_history_columns(history, 6 * SECOND, 2 * SECOND, 3, columns);
  assert_int_equal(columns[0].live_bytes, 200);
  assert_int_equal(columns[2].live_bytes, 500);
  // Nobody looked for a while: what was there before.
  tide_top_history_columns(history, 60 * SECOND, SECOND, 10, columns);
  assert_true(columns[0].is_known && columns[0].live_bytes == 500);
  // Of the same time: the later look counts, and its mark stays.
  assert_true(tide_top_history_mark(history, 1));
  tide_top_history_add(history, &(struct tide_top_sample){.time_ns = 5 * SECOND, .live_bytes = 7});
  assert_int_equal(tide_top_history_last(history)->live_bytes, 7);
  assert_int_equal(tide_top_history_last(history)->mark, 1);
  free(history);
}

static void history_has_an_end(void **state)
{
  struct tide_top_history *history = tide_alloc(sizeof *history);
  for (uint64_t i = 1; i <= 3 * TIDE_TOP_SAMPLES; i++)
    tide_top_history_add(history, &(struct tide_top_sample){.time_ns = i, .live_bytes = 1});
  assert_int_equal(history->n, TIDE_TOP_SAMPLES);
  assert_int_equal(tide_top_history_at(history, 0)->time_ns, 2 * TIDE_TOP_SAMPLES + 1);
  assert_int_equal(tide_top_history_last(history)->time_ns, 3 * TIDE_TOP_SAMPLES);
  free(history);
}

// ---- the canvas ----

static void canvas_cuts_and_cleans(void **state)
{
  tide_canvas_clear(&canvas, 2, 6);
  assert_int_equal(tide_canvas_put(&canvas, 0, 0, TIDE_INK_PLAIN, "ab\x1b[31m"), 6);
  TIDE_CLEANUP_FREE char *line = tide_canvas_line(&canvas, 0);
  assert_string_equal(line, "ab?[31");
  // A wide character that would be cut in half is left out; a mark stays with its letter.
  assert_int_equal(tide_canvas_put(&canvas, 1, 3, TIDE_INK_PLAIN, "e\xcc\x81漢字"), 6);
  TIDE_CLEANUP_FREE char *wide = tide_canvas_line(&canvas, 1);
  assert_string_equal(wide, "   e\xcc\x81漢");
  tide_canvas_put(&canvas, 7, 0, TIDE_INK_PLAIN, "nowhere");
  tide_canvas_put(&canvas, 0, 9, TIDE_INK_PLAIN, "nowhere");
  tide_canvas_done(&canvas);
}

UNIT_TESTS(top_test)
{
#define TOP(name) cmocka_unit_test_teardown(name, end)
  const struct CMUnitTest tests[] = {
      TOP(usual_screen),
      TOP(small_and_large_screens),
      TOP(screen_without_utf8),
      TOP(estimates_have_room),
      TOP(finished_capture),
      TOP(tree_and_help),
      TOP(before_anything),
      TOP(choice_follows_its_place),
      TOP(every_measure_sorts),
      TOP(filter_takes_stacks),
      TOP(marks_show_what_came_since),
      TOP(marks_of_the_recording_are_in_the_graph),
      TOP(quitting_asks_while_the_command_runs),
      TOP(pause_is_said),
      TOP(idle_programs_cost_no_names),
      TOP(unknown_process_is_refused),
      TOP(columns_of_the_graph),
      TOP(history_has_an_end),
      TOP(canvas_cuts_and_cleans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
