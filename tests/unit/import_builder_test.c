// SPDX-License-Identifier: Apache-2.0
//
// What readers of foreign files build captures with: everything once, names found again, and a
// bounded number of points in time whatever the file holds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "tide/format.h"
#include "import/builder.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static struct tide_import_place place(struct tide_builder *b, uint16_t module, uint64_t addr,
                                      const char *function, uint32_t line)
{
  struct tide_names_frame frame = {function, "a.c", line, false};
  return tide_builder_place(b, module, addr, &frame, 1);
}

static struct tide_capture *finish(struct tide_builder *b)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (tide_builder_finish(b, &capture, &diag))
    fail_msg("%s", diag.text);
  tide_builder_free(b);
  return capture;
}

static const char *name_of(const struct tide_image *image, uint32_t node)
{
  const struct tide_stored_frame *frames;
  const struct tide_frame *frame = &image->frames[node];
  assert_true(frame->flags & TIDE_FRAME_IS_EXACT);
  size_t n = tide_stored_names_find(&image->names, frame->module, frame->pc, &frames);
  assert_true(n > 0);
  return tide_stored_text(&image->names, frames[0].function);
}

static void stacks_are_kept_once(void **state)
{
  struct tide_builder *b = tide_builder_new("a test", TIDE_LACK_PEAK);
  struct tide_import_place outer = place(b, 0, 0, "main", 1), inner = place(b, 0, 0, "f", 2);
  uint32_t main_node = tide_builder_node(b, 0, outer);
  uint32_t f = tide_builder_node(b, main_node, inner);
  assert_int_equal(tide_builder_node(b, tide_builder_node(b, 0, place(b, 0, 0, "main", 1)), inner),
                   f);
  assert_int_not_equal(tide_builder_node(b, 0, inner), f);
  tide_builder_site(b, f)->b_alloc += 5;
  tide_builder_site(b, main_node)->b_alloc += 1;
  tide_builder_site(b, f)->b_alloc += 5;
  struct tide_capture *capture = finish(b);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_sites, 2);
  assert_int_equal(image->n_frames, 4);
  assert_string_equal(name_of(image, f), "f");
  assert_string_equal(name_of(image, main_node), "main");
  assert_string_equal(image->origin, "a test");
  assert_int_equal(image->lacks, TIDE_LACK_PEAK);
  assert_int_equal(image->sites[0].b_alloc + image->sites[1].b_alloc, 11);
  tide_capture_free(capture);
}

// The same address with other names is another module at the same place.
static void an_address_may_have_two_names(void **state)
{
  struct tide_builder *b = tide_builder_new("a test", 0);
  uint16_t module = tide_builder_named_module(b, "/lib/a.so");
  uint32_t nodes[200];
  for (uint32_t i = 0; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%u", i);
    nodes[i] = tide_builder_node(b, 0, place(b, module, 0x1000, name, 1));
    assert_int_equal(tide_builder_node(b, 0, place(b, module, 0x1000, name, 1)), nodes[i]);
  }
  struct tide_capture *capture = finish(b);
  for (uint32_t i = 0; i < 200; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%u", i);
    assert_string_equal(name_of(capture->images, nodes[i]), name);
    assert_string_equal(capture->images->modules[capture->images->frames[nodes[i]].module].path,
                        "/lib/a.so");
  }
  assert_true(capture->images->n_modules < 100);
  tide_capture_free(capture);
}

static void chains_are_inlined_but_for_the_last(void **state)
{
  struct tide_builder *b = tide_builder_new("a test", 0);
  struct tide_names_frame chain[] = {{"in", "a.c", 1, false}, {"out", "a.c", 2, true}};
  struct tide_import_place at = tide_builder_place(b, 0, 0x77, chain, 2);
  uint32_t node = tide_builder_node(b, 0, at);
  struct tide_capture *capture = finish(b);
  const struct tide_stored_frame *frames;
  assert_int_equal(tide_stored_names_find(&capture->images->names, 0, 0x77, &frames), 2);
  assert_true(frames[0].inlined && !frames[1].inlined);
  assert_int_equal(capture->images->frames[node].pc, 0x77);
  tide_capture_free(capture);
}

static void modules_beyond_the_limit_are_unknown(void **state)
{
  struct tide_builder *b = tide_builder_new("a test", 0);
  char path[32];
  uint16_t last = 1;
  for (unsigned i = 0; i < 70000; i++) {
    snprintf(path, sizeof path, "/m/%u", i);
    last = tide_builder_named_module(b, path);
  }
  assert_int_equal(last, 0);
  assert_int_equal(tide_builder_named_module(b, ""), 0);
  tide_capture_free(finish(b));
}

// Ten thousand points leave few, in order; what they counted is still all there.
static void time_thins_out(void **state)
{
  struct tide_builder *b = tide_builder_new("a test", 0);
  uint32_t node = tide_builder_node(b, 0, place(b, 0, 0, "f", 1));
  for (uint64_t i = 0; i < 10000; i++) {
    tide_builder_tick(b, &(struct tide_tick){.time_ns = i, .live_bytes = 1});
    struct tide_snapshot snapshot = {.time_ns = i, .n_rows = 1};
    snapshot.rows = tide_alloc(sizeof *snapshot.rows);
    *snapshot.rows = (struct tide_snapshot_row){node, (int64_t)i, 1, 2, 3};
    tide_builder_snapshot(b, snapshot);
  }
  struct tide_capture *capture = finish(b);
  const struct tide_image *image = capture->images;
  assert_true(image->n_ticks > 100 && image->n_ticks <= 1024);
  assert_true(image->n_snapshots > 50 && image->n_snapshots < 200);
  assert_int_equal(image->snapshots[image->n_snapshots - 1].time_ns, 9999);
  uint64_t n_alloc = 0, b_alloc = 0;
  for (size_t i = 0; i < image->n_snapshots; i++) {
    n_alloc += image->snapshots[i].rows[0].n_alloc;
    b_alloc += image->snapshots[i].rows[0].b_alloc;
    assert_true(i == 0 || image->snapshots[i - 1].time_ns < image->snapshots[i].time_ns);
  }
  assert_int_equal(n_alloc, 20000);
  assert_int_equal(b_alloc, 30000);
  tide_capture_free(capture);
}

static void build_half(void)
{
  struct tide_builder *b = tide_builder_new("a test", 0);
  tide_builder_site(b, tide_builder_node(b, 0, place(b, 0, 5, "f", 1)));
  tide_builder_cut(b, "once");
  tide_builder_cut(b, "twice");
  assert_string_equal(b->capture->cut_note, "twice");
  tide_builder_free(b);
}

// One block forgotten in each round would be seen in the sum.
static void half_built_ones_are_freed(void **state)
{
  enum { ROUNDS = 1000 };
  tide_builder_free(NULL);
  build_half(); // what the C library keeps for the next time
  size_t before_bytes = mallinfo2().uordblks;
  for (int i = 0; i < ROUNDS; i++)
    build_half();
  assert_in_range(mallinfo2().uordblks, 0, before_bytes + ROUNDS);
}

// Texts as other tools have them, and as ours quotes them.
static void commands_are_taken_apart(void **state)
{
  static const struct {
    const char *text, *arguments; // the latter with bars between them
  } cases[] = {
      {"./a b -c", "./a|b|-c|"},
      {"a  b ", "a||b|"},
      {"sh -c 'x y' ''", "sh|-c|x y||"},
      {"echo 'it'\\''s' done", "echo|it's|done|"},
      {"echo it's done", "echo|it's|done|"}, // a quote, but not ours
      {"sh -c 'a'b c", "sh|-c|'a'b|c|"},     // nor these
      {"sh -c 'a b", "sh|-c|'a|b|"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_builder *b = tide_builder_new("test", 0);
    tide_builder_command(b, cases[i].text, strlen(cases[i].text));
    char *at = b->image->cmdline;
    for (uint32_t k = 0; k < b->image->cmdline_len; k++)
      at[k] = at[k] ? at[k] : '|';
    assert_string_equal(at, cases[i].arguments);
    tide_builder_free(b);
  }
}

UNIT_TESTS(import_builder_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commands_are_taken_apart),
      cmocka_unit_test(stacks_are_kept_once),
      cmocka_unit_test(an_address_may_have_two_names),
      cmocka_unit_test(chains_are_inlined_but_for_the_last),
      cmocka_unit_test(modules_beyond_the_limit_are_unknown),
      cmocka_unit_test(time_thins_out),
      cmocka_unit_test(half_built_ones_are_freed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
