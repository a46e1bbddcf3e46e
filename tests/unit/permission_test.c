// SPDX-License-Identifier: Apache-2.0
//
// Why a process may not be traced, and the way out, for whatever the kernel may have looked at:
// machines with each setting of yama are hard to come by.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "attach/sandbox.h"

#include <string.h>

static const struct tide_permission PLAIN = {
    .pid = 7, .is_of_us = true, .is_in_our_namespace = true};

static void expect_told(const struct tide_permission *permission, const char *words,
                        const char *way_out)
{
  struct tide_diag diag = {0};
  assert_int_not_equal(tide_permission_tell(permission, &diag), TIDE_ERR_OK);
  if (!strstr(diag.text, words) || !strstr(diag.text, way_out))
    fail_msg("not '%s' and '%s': %s", words, way_out, diag.text);
}

static void yama_has_four_settings(void **state)
{
  struct tide_permission p = PLAIN;
  (void)state;
  expect_told(&p, "without CAP_SYS_PTRACE", "run this as root");
  p.yama_scope = 1;
  expect_told(&p, "ptrace_scope is 1", "sudo sysctl kernel.yama.ptrace_scope=0");
  p.yama_scope = 2;
  expect_told(&p, "ptrace_scope is 2", "run this as root, or record");
  p.is_able = true;
  expect_told(&p, "a security module", "its log says which rule");
  p.yama_scope = 3;
  expect_told(&p, "ptrace_scope is 3", "'tidemark run'");
}

static void another_users_is_no_matter_of_yama(void **state)
{
  struct tide_permission p = PLAIN;
  (void)state;
  p.yama_scope = 1;
  p.is_of_us = false;
  expect_told(&p, "is another user's", "as that user, or as root");
  p.is_of_us = true;
  p.is_undumpable = true;
  expect_told(&p, "keeps others out", "run this as root");
}

static void who_traces_comes_first(void **state)
{
  struct tide_permission p = PLAIN;
  (void)state;
  p.yama_scope = 3;
  p.tracer = UINT32_MAX; // nobody's number
  expect_told(&p, "traced already, by process 4294967295 (?)", "tidemark detach 7");
}

static void namespaces_and_filters(void **state)
{
  struct tide_permission p = PLAIN;
  (void)state;
  p.is_able = p.are_we_filtered = true;
  expect_told(&p, "under a seccomp filter", "attach from outside");
  p.is_in_our_namespace = false;
  expect_told(&p, "user namespace", "root outside of it");
}

UNIT_TESTS(permission_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(yama_has_four_settings),
      cmocka_unit_test(another_users_is_no_matter_of_yama),
      cmocka_unit_test(who_traces_comes_first),
      cmocka_unit_test(namespaces_and_filters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
