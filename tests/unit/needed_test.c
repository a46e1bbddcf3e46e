// SPDX-License-Identifier: Apache-2.0
//
// Which libraries a program will load, with a cache of the loader's that says what it likes. The
// program is this one, which needs libc at least.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "unit.h"

#include "attach/needed.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What a reader of texts may take for a version, before the one that is.
__attribute__((used)) static const char WORDS[] = "GNU C Library (words alone), version \0";
__attribute__((used)) static const char DOT[] = "GNU C Library (no number), version .\0";

static const char PROGRAM[] = "/proc/self/exe";

static size_t n_found(const char *cache, size_t *ret_missing)
{
  struct tide_loaded_list list;
  struct tide_diag diag;
  assert_int_equal(tide_needed_list_make(PROGRAM, NULL, cache, &list, &diag), TIDE_ERR_OK);
  size_t n = list.n;
  *ret_missing = list.n_unread;
  tide_loaded_list_done(&list);
  return n;
}

static void the_machines_cache_has_all(void **state)
{
  struct tide_loaded_list list;
  struct tide_diag diag;
  bool has_libc = false;
  (void)state;
  assert_int_equal(tide_needed_list_make(PROGRAM, NULL, NULL, &list, &diag), TIDE_ERR_OK);
  assert_int_equal(list.n_unread, 0);
  for (size_t i = 0; i < list.n; i++)
    has_libc |= strstr(list.all[i].path, "/libc.so.6") != NULL;
  assert_true(has_libc);
  TIDE_CLEANUP_FREE char *libc = tide_needed_libc(&list);
  char own[64];
  assert_true(confstr(_CS_GNU_LIBC_VERSION, own, sizeof own) > 0);
  assert_string_equal(libc, own);
  tide_loaded_list_done(&list);
}

// Every prefix that ends in another place, and every word of the head and first entries as large as
// can be: fewer are found, or as many.
static void a_damaged_cache_finds_less(void **state)
{
  char name[] = "/tmp/tidemark-needed.XXXXXX";
  enum { HEAD = 48 + 24 * 8 };
  static uint8_t bytes[1 << 20], spoilt[sizeof bytes];
  size_t missing, whole;
  (void)state;
  FILE *f = fopen("/etc/ld.so.cache", "re");
  size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f)
    fclose(f);
  if (n < HEAD)
    skip();
  whole = n_found(NULL, &missing);
  int fd = mkstemp(name);
  assert_true(fd >= 0);
  for (size_t cut = 0; cut < n; cut += n / 7 + 1) {
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bytes, cut, 0), (ssize_t)cut);
    assert_true(n_found(name, &missing) <= whole);
  }
  for (size_t at = 20; at < HEAD; at += 4) {
    memcpy(spoilt, bytes, n);
    memset(spoilt + at, 0xff, 4);
    assert_int_equal(pwrite(fd, spoilt, n, 0), (ssize_t)n);
    assert_true(n_found(name, &missing) <= whole);
  }
  close(fd);
  unlink(name);
}

UNIT_TESTS(needed_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_machines_cache_has_all),
      cmocka_unit_test(a_damaged_cache_finds_less),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
