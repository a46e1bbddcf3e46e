// SPDX-License-Identifier: Apache-2.0
//
// Where there is room in a process, for machines that are not this one: aarch64 maps up to 48 bits
// of address, and its jumps span 128 MiB.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "attach/patch.h"

#define JUMP (UINT64_C(1) << 27)
#define ROOM (UINT64_C(1) << 20)

static char none[] = "", vsyscall[] = "[vsyscall]";

// A program, its libraries and its stack, as the kernel places them.
static struct tide_mapping arm[] = {
    {.lo = 0xaaaac8d10000, .hi = 0xaaaac8d12000, .path = none},
    {.lo = 0xffffa1e00000, .hi = 0xffffa1fa0000, .path = none},
    {.lo = 0xffffa1fb0000, .hi = 0xffffa2000000, .path = none},
    {.lo = 0xffffe5a10000, .hi = 0xffffe5a31000, .path = none},
};
static struct tide_mapping intel[] = {
    {.lo = 0x55d0c0000000, .hi = 0x55d0c0004000, .path = none},
    {.lo = 0x7f10a1e00000, .hi = 0x7f10a2000000, .path = none},
    {.lo = 0x7ffce5a10000, .hi = 0x7ffce5a31000, .path = none},
    {.lo = 0xffffffffff600000, .hi = 0xffffffffff601000, .path = vsyscall},
};

static void expect_gap(struct tide_mapping *mappings, size_t n, uint64_t near, uint64_t reach)
{
  const struct tide_outside outside = {.memory_fd = -1, .mappings = mappings, .n_mappings = n};
  uint64_t at = tide_outside_gap(&outside, near, ROOM, reach);
  assert_int_not_equal(at, 0);
  assert_true((at > near ? at - near : near - at) < reach);
  for (size_t i = 0; i < n; i++)
    assert_true(at + ROOM <= mappings[i].lo || at >= mappings[i].hi);
  assert_true(at < mappings[n - 1].lo);
}

static void gaps_are_near_libraries_wherever_those_are(void **state)
{
  (void)state;
  expect_gap(arm, 4, 0xffffa1e80000, JUMP);
  expect_gap(arm, 4, 0xaaaac8d11000, JUMP);
  expect_gap(intel, 4, 0x7f10a1e80000, UINT64_C(1) << 31);
}

// Where the addresses of a process end differs from one kernel to the next.
static void nothing_lies_above_the_stack(void **state)
{
  (void)state;
  expect_gap(arm, 4, 0xffffe5a30000, UINT64_MAX);
  expect_gap(intel, 4, 0x7ffce5a30000, UINT64_MAX);
  expect_gap(intel, 3, 0x7ffce5a30000, UINT64_MAX);
}

static void there_is_a_cave_near_everybody(void **state)
{
  (void)state;
  struct tide_loaded loaded[] = {
      {.code_hi = 0xaaaac8d10a04},                              // the program
      {.code_hi = 0xffffa1f90ff8},                              // full to the end of its page
      {.code_hi = 0xffffa1fa0a04}, {.code_hi = 0xffffa1fb0a04}, // next to it
      {.code_hi = 0xffff81fb0a04},                              // far below
  };
  const struct tide_outside outside = {.memory_fd = -1, .mappings = arm, .n_mappings = 4};
  const struct tide_loaded_list objects = {.all = loaded, .n = sizeof loaded / sizeof *loaded};
  struct tide_caves caves = tide_attachment_find_caves(&outside, &objects);
  assert_int_equal(caves.n, 3);
  assert_int_equal(caves.at[0], 0xaaaac8d10a10);
  assert_int_equal(caves.at[1], 0xffffa1fa0a10);
  assert_int_equal(caves.at[2], 0xffff81fb0a10);
}

UNIT_TESTS(outside_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gaps_are_near_libraries_wherever_those_are),
      cmocka_unit_test(nothing_lies_above_the_stack),
      cmocka_unit_test(there_is_a_cave_near_everybody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
