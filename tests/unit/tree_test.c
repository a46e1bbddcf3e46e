// SPDX-License-Identifier: Apache-2.0
//
// Trees of stacks: sums hold at every node, they agree with adding up by hand over random captures,
// and what is written of them is in tests/golden (TIDE_GOLDEN_WRITE=1 accepts a change).
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
#include "cli/hint_words.h"
#include "report/tree_writers.h"
#include "golden.h"
#include "indexer_fixture.h"

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_filter *filter;
static struct tide_view view;
static struct tide_tree *tree;
static struct tide_sink sink;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  tide_profile_ask(profile, &(struct tide_question){0});
  tide_sink_init(&sink, NULL);
  return 0;
}

static int teardown(void **state)
{
  tide_sink_done(&sink);
  tide_tree_free(tree);
  tree = NULL;
  tide_view_done(&view);
  tide_filter_free(filter);
  filter = NULL;
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
  return 0;
}

static void grow_tree(struct tide_filter_options patterns, struct tide_tree_options options,
                      bool all_frames)
{
  struct tide_diag diag = {0};
  tide_tree_free(tree);
  tide_view_done(&view);
  tide_filter_free(filter);
  filter = NULL;
  if (tide_filter_new(&patterns, &filter, &diag))
    fail_msg("%s", diag.text);
  tide_view_init(&view, profile, naming, filter, all_frames);
  tree = tide_tree_new(&view, &options);
}

// What tree.h promises of every tree.
static void expect_sound(void)
{
  uint32_t n_met = 1;
  for (uint32_t i = 0; i < tree->n_nodes; i++) {
    const struct tide_tree_node *node = &tree->nodes[i];
    int64_t sum = node->self;
    uint64_t last = UINT64_MAX;
    for (uint32_t k = 0; k < node->n_children; k++, n_met++) {
      const struct tide_tree_node *child = &tree->nodes[node->first_child + k];
      assert_true(node->first_child > i && child->parent == i);
      assert_true(child->moved <= last && child->n_stacks > 0 && child->n_deep > 0);
      last = child->moved;
      sum += child->total;
    }
    assert_int_equal(sum, node->total);
  }
  assert_int_equal(n_met, tree->n_nodes);
  assert_int_equal(tree->nodes[0].total, view.wanted);
}

static const struct tide_tree_node *child_named(const struct tide_tree_node *node, const char *name)
{
  for (uint32_t k = 0; k < node->n_children; k++) {
    const struct tide_tree_node *child = &tree->nodes[node->first_child + k];
    if (child->frame && child->frame->function && strstr(child->frame->function, name))
      return child;
  }
  fail_msg("no %s among %u children", name, node->n_children);
  return NULL;
}

static void both_directions(void **state)
{
  const int64_t mib = 1 << 20;
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, false);
  expect_sound();
  const struct tide_tree_node *main_node = child_named(&tree->nodes[0], "main");
  const struct tide_tree_node *merge = child_named(main_node, "Merge");
  assert_int_equal(merge->total, 124 * mib);
  assert_int_equal(merge->self, 60 * mib);
  assert_int_equal(child_named(merge, "Block::push")->total, 64 * mib);
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){.inverted = true}, false);
  expect_sound();
  const struct tide_tree_node *push = child_named(&tree->nodes[0], "Block::push");
  assert_int_equal(push->total, (190 + 64) * mib);
  assert_int_equal(child_named(push, "Merge")->total, 64 * mib);
  assert_int_equal(push->n_stacks, 2);
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){.inverted = true}, true);
  expect_sound();
  child_named(child_named(&tree->nodes[0], "grow_one"), "Vec<T,A>::push");
}

static void callers_and_callees(void **state)
{
  const int64_t mib = 1 << 20;
  grow_tree((struct tide_filter_options){.callers = "Merge"},
            (struct tide_tree_options){.inverted = true}, false);
  expect_sound();
  assert_int_equal(tree->nodes[0].n_children, 1);
  const struct tide_tree_node *merge = child_named(&tree->nodes[0], "Merge");
  assert_int_equal(merge->total, 124 * mib); // what it calls counts, but is not shown
  assert_int_equal(child_named(merge, "indexer::main")->self, 124 * mib);
  grow_tree((struct tide_filter_options){.callees = "Merge"}, (struct tide_tree_options){0}, false);
  expect_sound();
  merge = child_named(&tree->nodes[0], "Merge");
  assert_int_equal(merge->total, 124 * mib);
  assert_int_equal(child_named(merge, "Block::push")->self, 64 * mib);
  grow_tree(
      (struct tide_filter_options){.callers = "Vec<.*push$"}, // folded, and shown all the same
      (struct tide_tree_options){.inverted = true}, false);
  expect_sound();
  assert_int_equal(child_named(&tree->nodes[0], "Vec<T,A>::push")->total, (190 + 64) * mib);
  grow_tree((struct tide_filter_options){.callers = "nobody"},
            (struct tide_tree_options){.inverted = true}, false);
  assert_int_equal(tree->n_nodes, 1);
}

static void filters_leave_the_sums(void **state)
{
  static const struct tide_filter_options all[] = {
      {.function = "Block"}, {.ignore = "Block"}, {.hide = "main"}, {.focus = "main"},
      {.module = "plugin"},  {.file = "lib"},     {.hide = "."},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int inverted = 0; inverted < 2; inverted++) {
      grow_tree(all[i], (struct tide_tree_options){.inverted = inverted, .by_line = i % 2}, i % 3);
      expect_sound();
    }
  grow_tree((struct tide_filter_options){.hide = "."}, (struct tide_tree_options){0}, true);
  assert_int_equal(tree->n_nodes, 2); // all in the root itself, but what has no stack
  assert_int_equal(tree->nodes[0].self + (1 << 20), INDEXER_PEAK_BYTES);
}

// Random captures: functions are letters, so that a stack is a word and recursion is common.
static size_t letter_name(void *context, uint32_t module, uint64_t addr,
                          struct tide_symbol_frame *out, size_t max)
{
  static const char letters[8][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  out[0] = (struct tide_symbol_frame){letters[addr % 8], "letters.c", (uint32_t)(addr / 8), false};
  return 1;
}

static uint64_t next_random(uint64_t *seed)
{
  *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
  return *seed >> 33;
}

static struct tide_capture *random_capture(uint64_t seed, uint32_t n_letters)
{
  enum { FRAMES = 400 };
  struct tide_capture *made = tide_capture_new();
  made->n_images = 1;
  struct tide_image *image = made->images = tide_alloc(sizeof *made->images);
  image->n_modules = 2;
  image->modules = tide_alloc_array(2, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  image->modules[1].path = tide_strdup("/bin/letters");
  image->n_frames = FRAMES;
  image->frames = tide_alloc_array(FRAMES, sizeof *image->frames);
  image->n_sites = FRAMES - 1;
  image->sites = tide_alloc_array(FRAMES, sizeof *image->sites);
  image->n_threads_known = 1;
  image->threads = tide_alloc(sizeof *image->threads);
  for (uint32_t i = 1; i < FRAMES; i++) {
    uint64_t letter = next_random(&seed) % n_letters, line = next_random(&seed) % 3;
    uint32_t back = 1 + (uint32_t)(next_random(&seed) % (i < 9 ? i : 9));
    image->frames[i] = (struct tide_frame){1 + letter + 8 * line, i - back, 1, 0};
    int64_t bytes = (int64_t)(next_random(&seed) % 1000) - 200;
    image->sites[i - 1] = (struct tide_site){.stack = i, .peak_bytes = bytes, .n_alloc = 1};
    image->peak_bytes += bytes;
  }
  return made;
}

// A stack as a word in the tree's direction, without the repetitions.
static void spell(uint32_t stack, bool inverted, char out[512])
{
  char raw[512];
  size_t n = 0, used = 0;
  for (uint32_t node = stack; node; node = profile->image->frames[node].parent)
    raw[n++] = (char)('a' + (profile->image->frames[node].pc - 1) % 8);
  for (size_t i = 0; i < n; i++) {
    out[used++] = raw[inverted ? i : n - 1 - i];
    for (size_t cycle = 1; cycle <= 8 && 2 * cycle <= used; cycle++)
      if (!memcmp(out + used - cycle, out + used - 2 * cycle, cycle)) {
        used -= cycle;
        break;
      }
  }
  out[used] = 0;
}

static void expect_same_by_hand(bool inverted)
{
  static char words[400][512];
  size_t n_prefixes = 0;
  for (size_t i = 0; i < profile->n_sites; i++)
    spell(profile->sites[i].stack, inverted, words[i]);
  for (uint32_t i = 1; i < tree->n_nodes; i++) {
    char way[512] = "";
    size_t n = 0;
    for (uint32_t at = i; at; at = tree->nodes[at].parent, n++) {
      memmove(way + 1, way, n + 1);
      way[0] = tree->nodes[at].frame->function[0];
    }
    int64_t total = 0, self = 0;
    uint32_t n_stacks = 0;
    for (size_t k = 0; k < profile->n_sites; k++) {
      bool through = profile->sites[k].weight && !strncmp(words[k], way, n);
      total += through ? profile->sites[k].weight : 0;
      self += through && !words[k][n] ? profile->sites[k].weight : 0;
      n_stacks += through;
    }
    assert_int_equal(tree->nodes[i].total, total);
    assert_int_equal(tree->nodes[i].self, self);
    assert_int_equal(tree->nodes[i].n_stacks, n_stacks);
    n_prefixes++;
  }
  assert_int_equal(n_prefixes + 1, tree->n_nodes);
}

// Takes the place of the capture before.
static void open_random(uint64_t seed)
{
  static const struct tide_name_source letters = {.lookup = letter_name};
  teardown(NULL);
  capture = random_capture(seed, 1 + (uint32_t)(seed % 8));
  profile = tide_profile_new(capture, 0);
  naming = tide_naming_new_from(profile->image, &letters);
  tide_profile_ask(profile, &(struct tide_question){0});
  tide_sink_init(&sink, NULL);
}

static void same_as_adding_up_by_hand(void **state)
{
  for (uint64_t seed = 1; seed <= 40; seed++) {
    open_random(seed);
    for (int inverted = 0; inverted < 2; inverted++) {
      grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){.inverted = inverted},
                true);
      expect_sound();
      expect_same_by_hand(inverted);
    }
    // However often a function recurs, what leads to it is counted once.
    grow_tree((struct tide_filter_options){.callers = "^a$"},
              (struct tide_tree_options){.inverted = true}, false);
    expect_sound();
    int64_t upwards = tree->nodes[0].total;
    grow_tree((struct tide_filter_options){.callees = "^a$"}, (struct tide_tree_options){0}, false);
    expect_sound();
    assert_int_equal(tree->nodes[0].total, upwards);
    assert_true(tree->nodes[0].n_children == 1);
  }
}

static void expect_same_walk(const struct tide_tree *whole, const struct tide_tree_limits *limits)
{
  struct tide_tree_walk a, b;
  enum tide_tree_step step;
  tide_tree_walk_init(&a, whole, limits);
  tide_tree_walk_init(&b, tree, limits);
  do {
    step = tide_tree_walk_next(&a);
    assert_int_equal(tide_tree_walk_next(&b), step);
    assert_int_equal(a.node->name, b.node->name);
    assert_int_equal(a.node->total, b.node->total);
    assert_int_equal(a.node->self, b.node->self);
    assert_int_equal(a.rest_n, b.rest_n);
    assert_int_equal(a.rest_total, b.rest_total);
    assert_int_equal(a.rest_stacks, b.rest_stacks);
  } while (step != TIDE_TREE_END);
  tide_tree_walk_done(&a);
  tide_tree_walk_done(&b);
}

// A tree grown under limits looks under these as the whole one does, and is smaller.
static void limits_save_what_nobody_sees(void **state)
{
  uint32_t n_whole = 0, n_pruned = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    open_random(seed);
    struct tide_tree_options options = {.inverted = seed % 2};
    grow_tree((struct tide_filter_options){0}, options, true);
    const struct tide_tree_node root = tide_tree_root(&view);
    assert_int_equal(root.moved, tree->nodes[0].moved);
    assert_int_equal(root.total, tree->nodes[0].total);
    assert_int_equal(root.n_stacks, tree->nodes[0].n_stacks);
    const struct tide_tree_limits all[] = {{0},
                                           {.min_moved = root.moved / 20},
                                           {.depth = 3},
                                           {.n_children = 2},
                                           {root.moved / 9, 4, 3}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      struct tide_tree *whole = tree;
      tree = NULL;
      options.limits = all[i];
      tree = tide_tree_new(&view, &options);
      expect_same_walk(whole, &all[i]);
      n_whole += whole->n_nodes;
      n_pruned += tree->n_nodes;
      tide_tree_free(tree);
      tree = whole;
    }
  }
  assert_true(n_pruned < n_whole);
}

static void recursion_says_how_often(void **state)
{
  const struct tide_name_source letters = {.lookup = letter_name};
  teardown(NULL);
  capture = random_capture(1, 1); // a stack is "aaa…"
  profile = tide_profile_new(capture, 0);
  naming = tide_naming_new_from(profile->image, &letters);
  tide_profile_ask(profile, &(struct tide_question){0});
  tide_sink_init(&sink, NULL);
  uint32_t deepest = 0;
  for (size_t i = 0; i < profile->n_sites; i++) {
    uint32_t n = 0;
    for (uint32_t node = profile->sites[i].stack; node; n++)
      node = profile->image->frames[node].parent;
    deepest = profile->sites[i].weight && n > deepest ? n : deepest;
  }
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, false);
  assert_int_equal(tree->n_nodes, 2);
  assert_int_equal(tree->nodes[1].n_deep, deepest);
  assert_false(tree->nodes[1].has_one_line);
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){.by_line = true}, false);
  expect_sound();
  assert_true(tree->n_nodes > 4);
  for (uint32_t i = 1; i < tree->n_nodes; i++)
    assert_true(tree->nodes[i].has_one_line);
}

// Under any limits, a node is its self, its children shown and the rest.
static void limits_leave_the_sums(void **state)
{
  static const struct tide_tree_limits all[] = {{0},
                                                {.depth = 1},
                                                {.depth = 2},
                                                {.n_children = 1},
                                                {.n_children = 2},
                                                {.min_moved = 70 << 20},
                                                {.min_moved = UINT64_MAX}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, i % 2);
    struct tide_tree_walk walk;
    int64_t sum = 0;
    uint32_t n_stacks = 0;
    size_t n_open = 0, deepest = 0;
    enum tide_tree_step step;
    tide_tree_walk_init(&walk, tree, &all[i]);
    while ((step = tide_tree_walk_next(&walk)) != TIDE_TREE_END) {
      n_open += step == TIDE_TREE_ENTER;
      n_open -= step == TIDE_TREE_LEAVE;
      deepest = walk.depth > deepest ? walk.depth : deepest;
      assert_true(!all[i].n_children || walk.n_shown <= all[i].n_children);
      if (step == TIDE_TREE_ENTER)
        sum += walk.node->self;
      if (step == TIDE_TREE_REST) {
        sum += walk.rest_total;
        n_stacks += walk.rest_stacks;
      }
    }
    tide_tree_walk_done(&walk);
    assert_int_equal(n_open, 0);
    assert_int_equal(sum, view.wanted);
    assert_true(!all[i].depth || deepest == all[i].depth);
    assert_true(n_stacks <= tree->nodes[0].n_stacks);
  }
}

static void expect_golden(const char *name)
{
  tide_golden_expect(&sink.buf, name);
  tide_buf_clear(&sink.buf);
}

static void expect_width(size_t width)
{
  tide_golden_expect_width(&sink.buf, width);
}

static struct tide_tree_writing writing(void)
{
  return (struct tide_tree_writing){.view = &view,
                                    .tree = tree,
                                    .limits = {.min_moved = (uint64_t)view.whole / 200},
                                    .default_limits = true,
                                    .file = "x.tide"};
}

static void as_text(void **state)
{
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 80, .utf8 = true};
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, false);
  struct tide_tree_writing w = writing();
  tide_tree_text_write(&screen, &w);
  expect_width(80);
  expect_golden("tree.txt");
  screen.width = 60;
  screen.utf8 = false;
  tide_tree_text_write(&screen, &w);
  expect_width(60);
  expect_golden("tree_narrow.txt");
  w.limits = (struct tide_tree_limits){.depth = 3, .n_children = 2};
  w.default_limits = false;
  screen = (struct tide_screen){
      .sink = &sink, .hints = tide_cli_hint_words, .width = 160, .utf8 = true, .color = true};
  tide_tree_text_write(&screen, &w);
  expect_golden("tree_limits.txt");
  tide_tree_md_write(&screen, &w);
  expect_golden("tree.md");
}

static void within_every_width(void **state)
{
  for (size_t width = 40; width <= 160; width++)
    for (int i = 0; i < 8; i++) {
      struct tide_screen screen = {
          .sink = &sink, .hints = tide_cli_hint_words, .width = width, .utf8 = i & 1};
      grow_tree((struct tide_filter_options){0},
                (struct tide_tree_options){.inverted = i & 2, .by_line = i & 4}, i & 4);
      struct tide_tree_writing w = writing();
      tide_buf_clear(&sink.buf);
      tide_tree_text_write(&screen, &w);
      expect_width(width);
    }
}

static void as_text_inverted(void **state)
{
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 160, .utf8 = true};
  grow_tree((struct tide_filter_options){0},
            (struct tide_tree_options){.inverted = true, .by_line = true}, true);
  struct tide_tree_writing w = writing();
  tide_tree_text_write(&screen, &w);
  expect_golden("tree_inverted.txt");
  screen.width = 80;
  grow_tree((struct tide_filter_options){.callers = "Block::push"},
            (struct tide_tree_options){.inverted = true}, false);
  w = writing();
  w.callers = "Block::push";
  tide_tree_text_write(&screen, &w);
  expect_width(80);
  expect_golden("tree_callers.txt");
  grow_tree((struct tide_filter_options){.function = "nobody"}, (struct tide_tree_options){0},
            false);
  w = writing();
  tide_tree_text_write(&screen, &w);
  assert_string_equal(tide_buf_cstr(&sink.buf),
                      "indexer: none of 412.0 MiB ± 206.0 KiB at the peak\n"
                      " note: the recording is not complete; tidemark "
                      "report says what is missing\n");
}

// Indentation deeper than the screen is wide keeps to it.
static void deep_trees_stay_on_the_screen(void **state)
{
  const struct tide_name_source letters = {.lookup = letter_name};
  teardown(NULL);
  capture = random_capture(7, 8);
  profile = tide_profile_new(capture, 0);
  naming = tide_naming_new_from(profile->image, &letters);
  tide_profile_ask(profile, &(struct tide_question){.unit = TIDE_UNIT_BLOCKS});
  for (size_t i = 0; i < profile->n_sites; i++)
    profile->sites[i].weight = 1;
  profile->whole = (int64_t)profile->n_sites;
  tide_sink_init(&sink, NULL);
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, false);
  struct tide_tree_writing w = {.view = &view, .tree = tree};
  struct tide_screen screen = {
      .sink = &sink, .hints = tide_cli_hint_words, .width = 60, .utf8 = true};
  tide_tree_text_write(&screen, &w);
  expect_width(60);
  assert_non_null(strstr(tide_buf_cstr(&sink.buf), "20│ ")); // levels as a number
}

static void for_programs(void **state)
{
  grow_tree((struct tide_filter_options){0}, (struct tide_tree_options){0}, false);
  struct tide_tree_writing w = writing();
  tide_tree_json_write(&sink, &w);
  expect_golden("tree.json");
  w.limits.min_moved = 0;
  tide_tree_csv_write(&sink, &w);
  expect_golden("tree.csv");
}

UNIT_TESTS(tree_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(both_directions),
      TEST(callers_and_callees),
      TEST(filters_leave_the_sums),
      TEST(same_as_adding_up_by_hand),
      TEST(limits_save_what_nobody_sees),
      TEST(recursion_says_how_often),
      TEST(limits_leave_the_sums),
      TEST(as_text),
      TEST(within_every_width),
      TEST(as_text_inverted),
      TEST(deep_trees_stay_on_the_screen),
      TEST(for_programs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
