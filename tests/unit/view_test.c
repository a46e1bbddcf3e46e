// SPDX-License-Identifier: Apache-2.0
//
// Which stacks and frames a view shows, under folding and every filter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include "unit.h"

#include "view/view.h"
#include "indexer_fixture.h"

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_filter *filter;
static struct tide_view view;

static int setup(void **state)
{
  capture = tide_indexer_capture();
  profile = tide_profile_new(capture, INDEXER_IMAGE);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  tide_profile_ask(profile, &(struct tide_question){0});
  return 0;
}

static int teardown(void **state)
{
  tide_view_done(&view);
  tide_filter_free(filter);
  filter = NULL;
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
  return 0;
}

static void look(struct tide_filter_options options, bool all_frames)
{
  struct tide_diag diag = {0};
  tide_view_done(&view);
  tide_filter_free(filter);
  filter = NULL;
  if (tide_filter_new(&options, &filter, &diag))
    fail_msg("%s", diag.text);
  tide_view_init(&view, profile, naming, filter, all_frames);
}

// The frames of a stack as "innermost < … < outermost", each with the folded ones before it.
static void expect_stack(uint32_t stack, const char *expected)
{
  size_t n, used = 0;
  char text[1024] = "";
  const struct tide_view_frame *frames = tide_view_stack(&view, stack, &n);
  for (size_t i = 0; i < n; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s%s", i ? " < " : "",
                             (int)frames[i].n_folded, "......",
                             frames[i].frame->function ? frames[i].frame->function : "?");
  assert_string_equal(text, expected);
  const struct tide_named_frame *first = n ? frames[0].frame : NULL;
  if (!view.all_frames)
    assert_ptr_equal(tide_view_culprit(&view, stack), first);
}

static void folds_what_is_not_the_users(void **state)
{
  look((struct tide_filter_options){0}, false);
  expect_stack(3, "..indexer::postings::Block::push < indexer::main");
  expect_stack(4, "indexer::dict::Builder::intern < indexer::main");
  expect_stack(1, "__libc_start_main"); // nothing else to blame
  assert_int_equal(view.wanted, view.whole);
  assert_int_equal(tide_view_all(&view), view.whole);
  view.wanted++; // a peak of several threads, within its bound
  assert_int_equal(tide_view_all(&view), view.wanted);
  view.wanted--;
  assert_int_equal(view.whole, INDEXER_PEAK_BYTES);
  look((struct tide_filter_options){0}, true);
  expect_stack(3, "alloc::raw_vec::RawVec<T,A>::grow_one < alloc::vec::Vec<T,A>::push < "
                  "indexer::postings::Block::push < indexer::main < __libc_start_main");
}

static void hides_and_focuses(void **state)
{
  look((struct tide_filter_options){.hide = "Block::push$"}, false);
  expect_stack(3, "..indexer::main");
  look((struct tide_filter_options){.focus = "^indexer::postings"}, false);
  expect_stack(3, "..indexer::postings::Block::push");
  look((struct tide_filter_options){.focus = "Vec<.*push"}, false); // shown although folded
  expect_stack(3, ".alloc::vec::Vec<T,A>::push");
  look((struct tide_filter_options){.hide = "."}, true);
  expect_stack(3, "");
}

static int64_t weight_of(const char *function)
{
  int64_t sum = 0;
  for (size_t i = 0; i < profile->n_sites; i++) {
    bool shown = false;
    size_t n;
    for (uint32_t node = profile->sites[i].stack; node;
         node = profile->image->frames[node].parent) {
      const struct tide_named_frame *frames = tide_naming_of_node(naming, node, &n);
      for (size_t k = 0; k < n; k++)
        shown |= frames[k].function && strstr(frames[k].function, function);
    }
    if (shown && profile->sites[i].kind != TIDE_SITE_PAGES)
      sum += profile->sites[i].weight;
  }
  return sum;
}

// A matched total counts each stack once, however many of its frames match.
static void counts_what_matches_once(void **state)
{
  int64_t push = weight_of("Block::push");
  assert_true(push > 0 && push < profile->whole);
  look((struct tide_filter_options){.function = "Block::push"}, false);
  assert_int_equal(view.wanted, push);
  assert_int_equal(view.whole, profile->whole);
  look((struct tide_filter_options){.focus = "Block::push"}, false);
  assert_int_equal(view.wanted, push);
  look((struct tide_filter_options){.ignore = "Block::push"}, false);
  assert_int_equal(view.wanted, profile->whole - push);
  look((struct tide_filter_options){.function = "Block::push", .file = "merge-iter"}, false);
  assert_true(view.wanted > 0 && view.wanted < push); // both in one stack
  look((struct tide_filter_options){.module = "libplugin"}, false);
  assert_true(view.wanted > 0 && view.wanted < push);
  look((struct tide_filter_options){.function = "no such thing"}, false);
  assert_int_equal(view.wanted, 0);
}

static void refuses_bad_patterns(void **state)
{
  struct tide_diag diag = {0};
  struct tide_filter *none = NULL;
  struct tide_filter_options options = {.function = "fine", .focus = "a(b"};
  assert_int_equal(tide_filter_new(&options, &none, &diag), TIDE_ERR_USAGE);
  assert_null(none);
  assert_non_null(strstr(diag.text, "--focus: \"a(b\" is no regular expression: "));
}

UNIT_TESTS(view_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(folds_what_is_not_the_users, setup, teardown),
      cmocka_unit_test_setup_teardown(hides_and_focuses, setup, teardown),
      cmocka_unit_test_setup_teardown(counts_what_matches_once, setup, teardown),
      cmocka_unit_test_setup_teardown(refuses_bad_patterns, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
