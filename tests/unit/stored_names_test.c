// SPDX-License-Identifier: Apache-2.0
//
// Names stored in a capture: what is put in is found again, whatever the order, and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "model/stored_names.h"

#include <stdio.h>
#include <string.h>

struct fixture {
  struct tide_image image;
  struct tide_names_builder *builder;
};
static struct fixture f;

static int setup(void **state)
{
  f = (struct fixture){.builder = tide_names_builder_new()};
  return 0;
}

static int teardown(void **state)
{
  tide_names_builder_free(f.builder);
  tide_image_done(&f.image);
  return 0;
}

static void add(uint32_t module, uint64_t addr, const char *function)
{
  struct tide_names_frame frame = {function, "a.c", 7, false};
  tide_names_builder_add(f.builder, module, addr, &frame, 1);
}

static const char *function_at(uint32_t module, uint64_t addr)
{
  const struct tide_stored_frame *frames;
  size_t n = tide_stored_names_find(&f.image.names, module, addr, &frames);
  return n ? tide_stored_text(&f.image.names, frames[0].function) : NULL;
}

static void empty_names_find_nothing(void **state)
{
  assert_null(function_at(0, 0));
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  assert_null(function_at(0, 0));
  assert_int_equal(f.image.names.n_places, 0);
}

static void places_are_found_in_any_order(void **state)
{
  for (uint64_t i = 0; i < 5000; i++) {
    char name[32];
    uint64_t k = i * 2654435761u % 5000; // each once, in disorder
    snprintf(name, sizeof name, "f%u_%u", (unsigned)(k % 3), (unsigned)(k / 3));
    add((uint32_t)(k % 3), k / 3 * 16 + (k % 7 == 0 ? UINT64_MAX / 2 : 0), name);
  }
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  assert_int_equal(f.image.names.n_places, 5000);
  for (uint64_t k = 0; k < 5000; k++) {
    char name[32];
    uint64_t addr = k / 3 * 16 + (k % 7 == 0 ? UINT64_MAX / 2 : 0);
    snprintf(name, sizeof name, "f%u_%u", (unsigned)(k % 3), (unsigned)(k / 3));
    assert_string_equal(function_at((uint32_t)(k % 3), addr), name);
    assert_null(function_at((uint32_t)(k % 3), addr + 1));
    assert_null(function_at(3, addr));
  }
  assert_true(tide_stored_names_has_module(&f.image.names, 2));
  assert_false(tide_stored_names_has_module(&f.image.names, 3));
}

static void chains_keep_their_order_and_what_is_unknown(void **state)
{
  static const struct tide_names_frame chain[] = {
      {"push", "vec.h", 12, true}, {NULL, "", 0, true}, {"main", NULL, 3, false}};
  tide_names_builder_add(f.builder, 2, 64, chain, 3);
  tide_names_builder_add(f.builder, 2, 65, chain, 0); // says nothing
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  const struct tide_stored_frame *frames;
  assert_int_equal(tide_stored_names_find(&f.image.names, 2, 64, &frames), 3);
  assert_string_equal(tide_stored_text(&f.image.names, frames[0].function), "push");
  assert_string_equal(tide_stored_text(&f.image.names, frames[0].file), "vec.h");
  assert_true(frames[0].inlined && frames[0].line == 12);
  assert_null(tide_stored_text(&f.image.names, frames[1].function));
  assert_null(tide_stored_text(&f.image.names, frames[1].file));
  assert_string_equal(tide_stored_text(&f.image.names, frames[2].function), "main");
  assert_int_equal(tide_stored_names_find(&f.image.names, 2, 65, &frames), 0);
}

static void texts_are_stored_once(void **state)
{
  for (uint64_t i = 0; i < 1000; i++)
    add(1, i, i % 2 ? "even_handed" : "odd_one_out");
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  assert_int_equal(f.image.names.text_bytes, 1 + sizeof "even_handed" + sizeof "odd_one_out" + 4);
}

static void last_chain_of_a_place_stays(void **state)
{
  add(1, 10, "old");
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  add(1, 20, "more");
  tide_names_builder_add_all(f.builder, &f.image.names);
  add(1, 10, "new");
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  assert_int_equal(f.image.names.n_places, 2);
  assert_int_equal(f.image.names.n_frames, 2);
  assert_string_equal(function_at(1, 10), "new");
  assert_string_equal(function_at(1, 20), "more");
}

static void invented_addresses_are_equal_for_equal_chains(void **state)
{
  uint64_t addrs[600];
  for (unsigned round = 0; round < 2; round++)
    for (unsigned i = 0; i < 600; i++) {
      char name[16];
      snprintf(name, sizeof name, "f%u", i / 2);
      struct tide_names_frame chain[] = {{name, "x.py", i % 2, true}, {"run", NULL, 0, false}};
      uint64_t addr = tide_names_builder_invent(f.builder, 1, chain, 1 + i % 2);
      assert_true(addr > 0);
      if (round == 0)
        addrs[i] = addr;
      assert_int_equal(addr, addrs[i]);
      assert_true(i == 0 || addrs[i] > addrs[i - 1]);
    }
  assert_true(tide_names_builder_finish(f.builder, &f.image));
  assert_int_equal(f.image.names.n_places, 600);
  assert_string_equal(function_at(1, addrs[7]), "f3");
}

UNIT_TESTS(stored_names_test)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(empty_names_find_nothing),
      TEST(places_are_found_in_any_order),
      TEST(chains_keep_their_order_and_what_is_unknown),
      TEST(texts_are_stored_once),
      TEST(last_chain_of_a_place_stays),
      TEST(invented_addresses_are_equal_for_equal_chains),
  };
  return cmocka_run_group_tests_name("stored_names", tests, NULL, NULL);
}
