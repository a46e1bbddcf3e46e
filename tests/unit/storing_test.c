// SPDX-License-Identifier: Apache-2.0
//
// Names put into a capture: found in this very program, kept when they are good, replaced when they
// are poor, and asked for again only where something is missing.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "view/storing.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THIS = 1, GONE = 2 };

struct fixture {
  struct tide_capture *capture;
  struct tide_image *image;
  struct tide_resolver *resolver;
  struct tide_storing storing;
  size_t n_asked;
};
static struct fixture f;

__attribute__((noinline)) static int some_function(int x)
{
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
  *(uint64_t *)context = info->dlpi_addr;
  return 1; // the first is the program
}

static void count(void *context, const char *path, size_t n_asked)
{
  f.n_asked++;
}

static int setup(void **state)
{
  char path[4096] = "";
  assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  f = (struct fixture){.capture = tide_capture_new(), .resolver = tide_resolver_new()};
  f.capture->n_images = 1;
  f.image = f.capture->images = tide_alloc(sizeof *f.image);
  f.image->n_modules = 3;
  f.image->modules = tide_alloc_array(3, sizeof *f.image->modules);
  f.image->modules[0].path = tide_strdup("");
  f.image->modules[THIS].path = tide_strdup(path);
  dl_iterate_phdr(take_bias, &f.image->modules[THIS].bias);
  f.image->modules[GONE].path = tide_strdup("/no/such/program");
  uint64_t pc = (uint64_t)(uintptr_t)some_function;
  static const uint16_t flags[] = {
      0, TIDE_FRAME_IS_EXACT, 0, TIDE_FRAME_GUESSED, TIDE_FRAME_IS_EXACT, TIDE_FRAME_PAGES};
  f.image->n_frames = 6;
  f.image->frames = tide_alloc_array(6, sizeof *f.image->frames);
  for (uint32_t i = 1; i < 6; i++) // four that are one address, two of them by returning to it
    f.image->frames[i] = (struct tide_frame){pc + !flags[i], i - 1, THIS, flags[i]};
  f.image->frames[3].pc = pc + 1;
  f.image->frames[4] = (struct tide_frame){0x1000, 3, GONE, TIDE_FRAME_IS_EXACT};
  tide_resolver_watch(f.resolver, count, NULL);
  return 0;
}

static int teardown(void **state)
{
  tide_storing_done(&f.storing);
  tide_resolver_free(f.resolver);
  tide_capture_free(f.capture);
  return 0;
}

static void store_names(void)
{
  struct tide_diag diag = {0};
  f.n_asked = 0;
  tide_storing_done(&f.storing);
  assert_int_equal(tide_storing_run(f.capture, f.resolver, &f.storing, &diag), TIDE_ERR_OK);
}

static void put(uint32_t module, uint64_t addr, const char *function, const char *file)
{
  struct tide_names_builder *builder = tide_names_builder_new();
  struct tide_names_frame frame = {function, file, file ? 7 : 0, false};
  tide_names_builder_add_all(builder, &f.image->names);
  tide_names_builder_add(builder, module, addr, &frame, 1);
  assert_true(tide_names_builder_finish(builder, f.image));
  tide_names_builder_free(builder);
}

static uint64_t here(void)
{
  return (uint64_t)(uintptr_t)some_function - f.image->modules[THIS].bias;
}

static const char *stored(uint32_t module, uint64_t addr)
{
  const struct tide_stored_frame *frames;
  return tide_stored_names_find(&f.image->names, module, addr, &frames)
             ? tide_stored_text(&f.image->names, frames[0].function)
             : NULL;
}

static void every_address_is_asked_once(void **state)
{
  assert_int_equal(some_function(1), 2);
  store_names();
  assert_int_equal(f.storing.n_addresses, 2);
  assert_int_equal(f.n_asked, 2);
  assert_int_equal(f.storing.n_named, 1);
  assert_int_equal(f.storing.n_lined, 1);
  assert_int_equal(f.storing.n_new, 1);
  assert_string_equal(stored(THIS, here()), "some_function");
  assert_null(stored(GONE, 0x1000));
}

static void what_is_missing_is_named(void **state)
{
  store_names();
  assert_int_equal(f.storing.n_lacks, 1);
  assert_string_equal(f.storing.lacks[0].path, "/no/such/program");
  assert_non_null(strstr(f.storing.lacks[0].note, "no longer there"));
  assert_int_equal(f.storing.lacks[0].n_nameless, 1);
}

static void only_what_is_missing_is_asked_again(void **state)
{
  store_names();
  store_names();
  assert_int_equal(f.n_asked, 1); // the one that is gone
  assert_int_equal(f.storing.n_new, 0);
  assert_int_equal(f.storing.n_named, 1);
  assert_string_equal(stored(THIS, here()), "some_function");
}

static void poor_names_are_replaced_and_good_ones_kept(void **state)
{
  put(THIS, here(), "by_symbol_table", NULL);
  put(GONE, 0x1000, "known_elsewhere", NULL);
  put(GONE, 0x2000, "of_no_frame", NULL);
  store_names();
  assert_int_equal(f.storing.n_new, 1);
  assert_int_equal(f.storing.n_named, 2);
  assert_string_equal(stored(THIS, here()), "some_function");
  assert_string_equal(stored(GONE, 0x1000), "known_elsewhere");
  assert_string_equal(stored(GONE, 0x2000), "of_no_frame");
  put(THIS, here(), "the_users_own", "own.c");
  store_names();
  assert_string_equal(stored(THIS, here()), "the_users_own");
}

UNIT_TESTS(storing_test)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_address_is_asked_once),
      TEST(what_is_missing_is_named),
      TEST(only_what_is_missing_is_asked_again),
      TEST(poor_names_are_replaced_and_good_ones_kept),
  };
  return cmocka_run_group_tests_name("storing", tests, NULL, NULL);
}
