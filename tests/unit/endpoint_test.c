// SPDX-License-Identifier: Apache-2.0
//
// Addresses of services as people write them, and what counts as a profile.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "remote/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static void words_that_are_addresses(void **state)
{
  static const char *const yes[] = {"http://a",    "HTTPS://a/b",        "a:1",     "a.b:6060/x",
                                    "[::1]:6060/", "127.0.0.1:80?debug", "a:65535/"};
  static const char *const no[] = {"",       "a",      ":80",       "a:",       "a:b",
                                   "./a:80", "x/y:80", "a:80x",     "a:123456", "[::1",
                                   "[]:",    "]:80",   "ftp://a:1", "-",        "tide:mark.1:x"};
  for (size_t i = 0; i < N(yes); i++)
    assert_true(tide_address_is(yes[i]));
  for (size_t i = 0; i < N(no); i++)
    assert_false(tide_address_is(no[i]));
}

static void a_file_of_that_name_is_a_file(void **state)
{
  FILE *file = fopen("host:80", "w");
  assert_non_null(file);
  fclose(file);
  assert_false(tide_address_is("host:80"));
  assert_int_equal(remove("host:80"), 0);
  assert_true(tide_address_is("host:80"));
}

static void addresses_completed(void **state)
{
  static const struct {
    const char *given, *asked;
    bool is_open;
  } cases[] = {
      {"a:1", "http://a:1/debug/pprof/heap", true},
      {"http://a", "http://a/debug/pprof/heap", true},
      {"https://a/", "https://a/debug/pprof/heap", true},
      {"http://a/TOKEN/", "http://a/TOKEN/debug/pprof/heap", true},
      {"http://a//", "http://a/debug/pprof/heap", true},
      {"a:1?seconds=3", "http://a:1/debug/pprof/heap?seconds=3", true},
      {"a:1/debug/pprof", "http://a:1/debug/pprof/heap", false},
      {"a:1/debug/pprof/", "http://a:1/debug/pprof/heap", false},
      {"a:1/debug/pprof/?gc=1", "http://a:1/debug/pprof/heap?gc=1", false},
      {"a:1/debug/pprof/allocs", "http://a:1/debug/pprof/allocs", false},
      {"http://a/x", "http://a/x", false},
      {"http://a/?x=/", "http://a/debug/pprof/heap?x=/", true},
  };
  for (size_t i = 0; i < N(cases); i++) {
    bool is_open = !cases[i].is_open;
    char *asked = tide_address_complete(cases[i].given, &is_open);
    assert_string_equal(asked, cases[i].asked);
    assert_int_equal(is_open, cases[i].is_open);
    free(asked);
  }
}

static void no_password_is_shown(void **state)
{
  static const char *const cases[][2] = {
      {"http://me:hush@a:1/x", "http://a:1/x"},
      {"http://me:hu@sh@a/", "http://a/"},
      {"me:hush@a", "a"},
      {"http://a/x@y", "http://a/x@y"},
      {"http://a?x@y", "http://a?x@y"},
      {"", ""},
  };
  for (size_t i = 0; i < N(cases); i++) {
    char *shown = tide_url_shown(cases[i][0]);
    assert_string_equal(shown, cases[i][1]);
    free(shown);
  }
}

static enum tide_err judged(unsigned status, const char *type, const char *body, size_t n,
                            struct tide_diag *diag)
{
  struct tide_exchange answer = {.status = status, .url = "http://a/h"};
  snprintf(answer.type, sizeof answer.type, "%s", type);
  tide_buf_append(&answer.body, body, n);
  *diag = (struct tide_diag){0};
  enum tide_err err = tide_endpoint_judge(&answer, false, diag);
  tide_exchange_done(&answer);
  return err;
}

static void what_is_a_profile(void **state)
{
  struct tide_diag diag;
  assert_int_equal(judged(200, "application/octet-stream", "\x1f\x8b", 2, &diag), TIDE_ERR_OK);
  assert_int_equal(judged(200, "", "\0", 1, &diag), TIDE_ERR_OK);
  assert_int_equal(judged(200, "text/html", "", 0, &diag), TIDE_ERR_EMPTY);
  assert_int_equal(judged(200, "TEXT/HTML; charset=x", "heap profile", 12, &diag), TIDE_ERR_FORMAT);
  assert_int_equal(judged(200, "", " \r\n\t<", 5, &diag), TIDE_ERR_FORMAT);
  assert_int_equal(judged(200, "", " \n", 2, &diag), TIDE_ERR_OK); // the importer's to refuse
  assert_int_equal(judged(404, "", "x", 1, &diag), TIDE_ERR_NOT_FOUND);
  assert_int_equal(judged(401, "", "x", 1, &diag), TIDE_ERR_UNSUPPORTED);
  assert_int_equal(diag.hint, TIDE_HINT_TOKEN);
  assert_int_equal(judged(503, "", "later\nor never", 14, &diag), TIDE_ERR_EMPTY);
  assert_non_null(strstr(diag.text, "(HTTP 503: later)"));
}

// Of what a service says in a failure nothing is shown that a terminal would act upon.
static void hostile_words(void **state)
{
  struct tide_diag diag;
  char body[256];
  for (int c = 0; c < 256; c++) {
    memset(body, 'a', sizeof body);
    body[3] = (char)c;
    assert_int_equal(judged(500, "", body, sizeof body, &diag), TIDE_ERR_UNSUPPORTED);
    for (const char *at = diag.text; *at; at++)
      assert_true(*at >= ' ' && *at < 127);
    assert_int_equal(judged(500, "", body, 4, &diag), TIDE_ERR_UNSUPPORTED);
    for (const char *at = diag.text; *at; at++)
      assert_true(*at >= ' ' && *at < 127);
  }
}

UNIT_TESTS(endpoint_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_that_are_addresses), cmocka_unit_test(a_file_of_that_name_is_a_file),
      cmocka_unit_test(addresses_completed),      cmocka_unit_test(no_password_is_shown),
      cmocka_unit_test(what_is_a_profile),        cmocka_unit_test(hostile_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
