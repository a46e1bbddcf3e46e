// SPDX-License-Identifier: Apache-2.0
//
// Stacks to names: inlined frames, return addresses, whom to blame, and what a line of text keeps
// of a long name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "indexer_fixture.h"
#include "model/stored_names.h"
#include "view/groups.h"
#include "view/paths.h"
#include "words/shorten.h"

#include <stdlib.h>
#include <string.h>

static struct tide_capture *capture;
static struct tide_naming *naming;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  naming = tide_naming_new_from(&capture->images[INDEXER_IMAGE], &tide_indexer_names);
  return 0;
}

static int teardown(void **state)
{
  tide_naming_free(naming);
  tide_capture_free(capture);
  return 0;
}

static void expands_inlined_frames(void **state)
{
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(naming, 3, &n);
  assert_int_equal(n, 3);
  assert_string_equal(frames[0].function, "alloc::raw_vec::RawVec<T,A>::grow_one");
  assert_string_equal(frames[2].function, "indexer::postings::Block::push");
  assert_true(frames[0].inlined && frames[1].inlined && !frames[2].inlined);
  assert_int_equal(frames[0].pc, frames[2].pc);
  assert_ptr_equal(tide_naming_of_node(naming, 6, &n), frames); // the same address, asked once
}

// Stored names win, for return addresses and for code of no module too; what they lack is asked.
static void takes_stored_names_first(void **state)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  const struct tide_frame *frame = &image->frames[3];
  struct tide_names_builder *builder = tide_names_builder_new();
  struct tide_names_frame stored = {"stored::name", "stored.rs", 9, false};
  bool is_exact = frame->flags & TIDE_FRAME_IS_EXACT;
  uint64_t addr = frame->pc - !is_exact - image->modules[frame->module].bias;
  tide_names_builder_add(builder, frame->module, addr, &stored, 1);
  image->frames[1].module = 0;
  stored.function = "_RNvNtCs1234_7mycrate3foo6jitted"; // as other tools may leave it
  tide_names_builder_add(builder, 0, image->frames[1].pc - 1, &stored, 1);
  assert_true(tide_names_builder_finish(builder, image));
  tide_names_builder_free(builder);
  struct tide_naming *again = tide_naming_new_from(image, &tide_indexer_names);
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(again, 3, &n);
  assert_int_equal(n, 1);
  assert_string_equal(frames->function, "stored::name");
  assert_string_equal(frames->file, "stored.rs");
  assert_int_equal(frames->line, 9);
  assert_string_equal(tide_naming_of_node(again, 1, &n)->function, "mycrate::foo::jitted");
  assert_string_equal(tide_naming_culprit(again, 4)->function, "indexer::dict::Builder::intern");
  tide_naming_free(again);
}

static void steps_back_from_return_addresses_only(void **state)
{
  size_t n;
  assert_non_null(tide_naming_of_node(naming, 7, &n)->function); // exact
  capture->images[INDEXER_IMAGE].frames[7].flags = 0;
  struct tide_naming *again =
      tide_naming_new_from(&capture->images[INDEXER_IMAGE], &tide_indexer_names);
  assert_null(tide_naming_of_node(again, 7, &n)->function);
  assert_int_equal(n, 1);
  tide_naming_free(again);
}

static void blames_the_first_frame_of_the_user(void **state)
{
  static const struct {
    uint32_t stack;
    const char *function;
    uint32_t line;
  } cases[] = {
      {3, "indexer::postings::Block::push", 88}, // past Vec
      {4, "indexer::dict::Builder::intern", 141},
      {14, "indexer::dict::Builder::intern", 141},
      {2, "indexer::main", 31},
      {1, "__libc_start_main", 0}, // nothing else there
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct tide_named_frame *frame = tide_naming_culprit(naming, cases[i].stack);
    assert_string_equal(frame->function, cases[i].function);
    assert_int_equal(frame->line, cases[i].line);
  }
  assert_null(tide_naming_culprit(naming, 0));
  assert_int_equal(tide_naming_culprit(naming, 8)->pc, 0x10042); // nameless, but the user's
}

// A library's frame is passed over, and named as what own code called; unless libraries are asked
// for, or there is no own code.
static void blames_own_code_through_libraries(void **state)
{
  struct tide_blame blame = tide_blame_stack(naming, 5);
  assert_string_equal(blame.culprit->function, "indexer::main");
  assert_non_null(strstr(blame.via->function, "Merge"));
  assert_null(blame.caller);
  blame = tide_blame_stack(naming, 6); // the library calls own code back
  assert_string_equal(blame.culprit->function, "indexer::postings::Block::push");
  assert_null(blame.via);
  tide_naming_set_blame(naming, TIDE_BLAMED_LIBRARY);
  blame = tide_blame_stack(naming, 5);
  assert_non_null(strstr(blame.culprit->function, "Merge"));
  assert_null(blame.via);
}

static void blames_the_library_without_own_code(void **state)
{
  struct tide_rules *rules = tide_rules_new();
  struct tide_diag diag = {0};
  assert_int_equal(tide_rules_parse(rules, "x", "library function indexer::main", &diag), 0);
  tide_naming_set_rules(naming, rules);
  struct tide_blame blame = tide_blame_stack(naming, 5);
  assert_non_null(strstr(blame.culprit->function, "Merge"));
  assert_null(blame.via);
  tide_rules_free(rules);
}

static void names_the_caller_of_nameless_code(void **state)
{
  struct tide_blame blame = tide_blame_stack(naming, 8);
  assert_null(blame.culprit->function);
  assert_string_equal(blame.caller->function, "indexer::main");
  assert_null(tide_blame_stack(naming, 3).caller);
}

// By the address: own code, a crate's, the allocator's, code without a name.
static size_t name_by_chance(void *context, uint32_t module, uint64_t addr,
                             struct tide_symbol_frame *out, size_t max)
{
  static const struct tide_symbol_frame kinds[] = {
      {.function = "__libc_malloc"},
      {.function = "ring::f", .file = "/home/me/.cargo/registry/src/i-1/ring-1.0/src/lib.rs"},
      {.function = "app::f", .file = "/home/me/app/src/main.rs", .line = 3},
      {.function = NULL},
      {.function = "alloc::raw_vec::RawVec<T,A>::grow_one"},
  };
  uint64_t kind = addr / 16 % 64;
  if (kind == 3 || max < 1)
    return 0;
  *out = kinds[kind < 5 && kind != 2 ? kind : kind == 2 && module == 2 ? 2 : kind % 2];
  return 1;
}

static bool is_same(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  return (!a && !b) || (a && b && a->pc == b->pc && a->module == b->module);
}

// What is noted of one stack must not change what is said of another, in whatever order.
static void blames_the_same_whoever_was_asked_before(void **state)
{
  enum { N = 400 };
  const struct tide_name_source source = {.lookup = name_by_chance};
  struct tide_module modules[] = {
      {.path = ""}, {.path = "/usr/lib/libring.so"}, {.path = "/home/me/app/app"}};
  uint64_t chance = 88172645463325252ull;
  for (unsigned round = 0; round < 20; round++) {
    struct tide_frame frames[N] = {0};
    for (uint32_t i = 1; i < N; i++) {
      chance = chance * 6364136223846793005ull + 1442695040888963407ull;
      uint32_t by = (uint32_t)(chance >> 33);
      uint32_t parent = i > 1 && by % 8 ? i - 1 : by % i; // long stacks with branches
      frames[i] = (struct tide_frame){
          .pc = 0x1001 + by / 8 % 1024, .parent = parent, .module = 1 + (by % 29 == 0)};
    }
    struct tide_image image = {.frames = frames, .n_frames = N, .modules = modules, .n_modules = 3};
    struct tide_naming *shared = tide_naming_new_from(&image, &source);
    for (uint32_t i = 1; i < N; i++) {
      uint32_t stack = 1 + i * 7919 % (N - 1);
      struct tide_naming *fresh = tide_naming_new_from(&image, &source);
      struct tide_blame a = tide_blame_stack(shared, stack), b = tide_blame_stack(fresh, stack);
      assert_true(is_same(a.culprit, b.culprit));
      assert_true(is_same(a.via, b.via));
      assert_true(is_same(a.caller, b.caller));
      tide_naming_free(fresh);
    }
    tide_naming_free(shared);
  }
}

static void blames_the_highest_layer_where_all_is_folded(void **state)
{
  struct tide_rules *rules = tide_rules_new();
  struct tide_diag diag = {0};
  assert_int_equal(tide_rules_parse(rules, "x", "fold function indexer::*", &diag), TIDE_ERR_OK);
  tide_naming_set_rules(naming, rules);
  const struct tide_named_frame *frame = tide_naming_culprit(naming, 3);
  assert_string_equal(frame->function, "indexer::postings::Block::push"); // not Vec, not the start
  assert_int_equal(frame->layer, TIDE_LAYER_CHOSEN);
  assert_int_equal(frame[-1].layer, TIDE_LAYER_CONTAINER);
  assert_int_equal(tide_naming_culprit(naming, 1)->layer, TIDE_LAYER_START);
  tide_rules_free(rules);
}

static void notes_are_of_a_frames_module(void **state)
{
  struct tide_named_frame unknown = {0};
  const char *note = tide_naming_note(naming, tide_naming_culprit(naming, 8));
  assert_non_null(strstr(note, "build it with -g"));
  assert_null(tide_naming_note(naming, tide_naming_culprit(naming, 4)));
  assert_null(tide_naming_note(naming, &unknown));
  struct tide_named_frame lineless = *tide_naming_culprit(naming, 4); // where others have lines
  lineless.file = NULL;
  assert_string_equal(tide_naming_note(naming, &lineless), "indexer lacks lines for some code");
  struct tide_named_frame made = lineless; // by rustc, and so it is in every program of Rust
  made.function = "main";
  assert_null(tide_naming_note(naming, &made));
  lineless.layer = TIDE_LAYER_START; // nor will it ever have any
  assert_null(tide_naming_note(naming, &lineless));
}

static void looks_up_no_more_than_allowed(void **state)
{
  assert_int_equal(tide_naming_addresses(naming), 0);
  tide_naming_limit(naming, 1);
  assert_non_null(tide_naming_culprit(naming, 3));
  assert_null(tide_naming_culprit(naming, 4));     // would be the second
  assert_non_null(tide_naming_culprit(naming, 6)); // the address of 3 again
  assert_int_equal(tide_naming_addresses(naming), 1);
  assert_int_equal(tide_naming_address(naming, 3), tide_naming_address(naming, 6));
}

static void gathers_by_line(void **state)
{
  struct tide_profile *profile = tide_profile_new(capture, INDEXER_IMAGE);
  tide_profile_ask(profile, &(struct tide_question){0});
  struct tide_view view;
  tide_view_init(&view, profile, naming, NULL, false);
  struct tide_groups *places = tide_groups_new(&view, TIDE_GROUP_PLACE);
  assert_int_equal(places->n_stacks, 8);
  assert_int_equal(places->n_stacks_placed, 8);
  assert_int_equal(places->rest.measure, 0);
  assert_int_equal(places->n, 6);
  assert_string_equal(places->items[0].frame->function, "indexer::postings::Block::push");
  assert_int_equal(places->items[0].n_stacks, 2);
  assert_int_equal(places->items[0].measure, (190 + 64) << 20);
  int64_t sum = 0;
  for (size_t i = 0; i < places->n; i++)
    sum += places->items[i].measure;
  assert_int_equal(sum, INDEXER_PEAK_BYTES);
  tide_groups_free(places);
  tide_view_done(&view);
  tide_profile_free(profile);
}

static void expect_short(const char *name, size_t width, const char *expected)
{
  char *text = tide_shorten_function(name, width, true);
  assert_string_equal(text, expected);
  free(text);
}

static void shortens_in_order(void **state)
{
  expect_short("store::insert(std::string const&)", 60, "store::insert");
  expect_short("(anonymous namespace)::fill(int)", 60, "(anonymous namespace)::fill");
  expect_short("Job::operator()(int) const", 60, "Job::operator()");
  expect_short("work::{lambda}::operator()", 60, "work::{lambda}::operator()");
  expect_short("main::{lambda(int)#1}::operator()(int) const", 60,
               "main::{lambda(int)#1}::operator()");
  expect_short("Job::take(std::vector<int>) &&", 60, "Job::take");
  expect_short("Job::peek(int) const volatile &", 60, "Job::peek");
  expect_short("f(int (*)(char))", 60, "f");
  expect_short("pool<A, B<C>>::take(int)", 24, "pool<A, B<C>>::take");
  expect_short("pool<A, B<C>>::take(int)", 14, "pool<…>::take");
  expect_short("a::b<T>::operator<< <T>(X)", 60, "a::b<T>::operator<< <T>");
  expect_short("<app::Merge<A, B> as core::Iterator>::next", 40,
               "<app::Merge<…> as core::Iterator>::next");
}

// From the left; the function stays, and a closure is never alone.
static void keeps_the_function(void **state)
{
  const char *closure = "indexer::postings::Block::push::{{closure}}::{{closure}}";
  expect_short("indexer::postings::Block::push", 24, "…::postings::Block::push");
  expect_short("indexer::postings::Block::push", 16, "…::Block::push");
  expect_short("indexer::postings::Block::push", 11, "Block::push");
  expect_short("indexer::postings::Block::push", 6, "push");
  expect_short(closure, 40, "…::Block::push::{{closure}}::{{closure}}");
  expect_short(closure, 30, "push::{{closure}}::{{closure}}");
  expect_short(closure, 12, "push::{…}");
  expect_short("main::{lambda(int)#1}::operator()(int) const", 24, "main::{…}");
  expect_short("std::map<K, V>::insert<P>(P&&)", 20, "std::map::insert");
}

static void expect_location(const char *location, size_t width, const char *expected)
{
  char *text = tide_shorten_location(location, width, true);
  assert_string_equal(text, expected);
  free(text);
}

static void keeps_file_and_line(void **state)
{
  const char *deep = "library/std/src/sys/stack_overflow.rs:573";
  expect_location(deep, 41, deep);
  expect_location(deep, 31, "…/src/sys/stack_overflow.rs:573");
  expect_location(deep, 24, "…/stack_overflow.rs:573");
  expect_location(deep, 21, "stack_overflow.rs:573");
  expect_location(deep, 16, "stack…low.rs:573");
  expect_location("in libstdc++.so.6", 12, "in …c++.so.6");
}

// Line tables alone name a closure without its function.
static size_t closure_lookup(void *context, uint32_t module, uint64_t addr,
                             struct tide_symbol_frame *out, size_t max)
{
  static const struct tide_symbol_frame frames[] = {
      {"{closure#0}", "src/queue.rs", 12, true},
      {"{closure#1}", "src/main.rs", 5, true},
      {"call_once<T>", "/rustc/59807/library/core/src/ops/function.rs", 250, true},
      {"spawn", "src/main.rs", 4, true},
      {"app::main", "src/main.rs", 9, false},
  };
  memcpy(out, frames, sizeof frames);
  return sizeof frames / sizeof *frames;
}

static void names_closures_with_their_function(void **state)
{
  static const struct tide_name_source source = {.lookup = closure_lookup};
  struct tide_naming *again = tide_naming_new_from(&capture->images[INDEXER_IMAGE], &source);
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(again, 2, &n);
  assert_int_equal(n, 5);
  assert_string_equal(frames[0].function, "{closure#0} in app::main"); // no other of that file
  assert_string_equal(frames[1].function, "{closure#1} in spawn");
  assert_int_equal(frames[0].layer, TIDE_LAYER_USER);
  assert_true(tide_layer_is_folded(frames[2].layer));
  tide_naming_free(again);
}

static void leaves_out_the_trait_next(void **state)
{
  expect_short("<app::Merge<A, B> as core::Iterator>::next", 30, "app::Merge<…>::next");
  expect_short("<app::Merge<A, B> as core::Iterator>::next", 12, "Merge::next");
  expect_short("<app::Merge<A, B> as core::Iterator>::next", 9, "…::next");
  expect_short("<unbalanced as core::Iterator", 12, "…::Iterator");
}

static void shortens_paths(void **state)
{
  assert_string_equal(tide_shorten_path("/home/me/indexer/src/postings.rs"), "src/postings.rs");
  assert_string_equal(tide_shorten_path("main.c"), "main.c");
  assert_string_equal(tide_shorten_path("src/main.c"), "src/main.c");
  assert_string_equal(tide_shorten_path("/main.c"), "/main.c");
  assert_string_equal(tide_shorten_path("/rustc/5980/library/alloc/src/vec/mod.rs"),
                      "library/alloc/src/vec/mod.rs");
  assert_string_equal(
      tide_shorten_path("/home/me/.cargo/registry/src/index-1949/serde-1.0.1/src/lib.rs"),
      "serde-1.0.1/src/lib.rs");
}

UNIT_TESTS(naming_test)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(expands_inlined_frames),
      TEST(takes_stored_names_first),
      TEST(steps_back_from_return_addresses_only),
      TEST(blames_the_first_frame_of_the_user),
      TEST(blames_own_code_through_libraries),
      TEST(blames_the_library_without_own_code),
      TEST(names_the_caller_of_nameless_code),
      TEST(blames_the_highest_layer_where_all_is_folded),
      TEST(blames_the_same_whoever_was_asked_before),
      TEST(notes_are_of_a_frames_module),
      TEST(looks_up_no_more_than_allowed),
      TEST(gathers_by_line),
      cmocka_unit_test(shortens_in_order),
      cmocka_unit_test(leaves_out_the_trait_next),
      cmocka_unit_test(keeps_the_function),
      cmocka_unit_test(keeps_file_and_line),
      TEST(names_closures_with_their_function),
      cmocka_unit_test(shortens_paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
