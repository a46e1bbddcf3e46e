// SPDX-License-Identifier: Apache-2.0
//
// The tests of one noun, the last function of its file:
//
//   UNIT_TESTS(rules_test)
//   {
//     const struct CMUnitTest tests[] = {…};
//     return cmocka_run_group_tests(tests, NULL, NULL);
//   }
//
// Those of a module are one program (unit_main.c); meson runs it once for each noun, by name.
#pragma once

#define UNIT_TESTS(noun)                                                                           \
  int unit_##noun(void);                                                                           \
  int unit_##noun(void)
