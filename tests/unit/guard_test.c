// SPDX-License-Identifier: Apache-2.0
//
// Who is let in: tokens, Host against rebinding, Origin. And when a file is read again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "serve/guard.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static struct tide_guard guard_at(const char *address)
{
  struct tide_guard guard = {.port = 4711};
  struct tide_diag diag;
  snprintf(guard.address, sizeof guard.address, "%s", address);
  assert_int_equal(tide_guard_draw(&guard, &diag), TIDE_ERR_OK);
  return guard;
}

static void tokens(void **state)
{
  struct tide_guard one = guard_at("127.0.0.1"), other = guard_at("127.0.0.1");
  assert_int_equal(strlen(one.token), TIDE_TOKEN_CHARS);
  assert_int_equal(strspn(one.token, "0123456789abcdef"), TIDE_TOKEN_CHARS);
  assert_string_not_equal(one.token, other.token);
  assert_string_not_equal(one.ticket, other.ticket);
  assert_string_not_equal(one.ticket, one.token);
}

static void paths(void **state)
{
  struct tide_guard guard = guard_at("127.0.0.1");
  char url[TIDE_TOKEN_MAX + 32];
  snprintf(url, sizeof url, "/%s/data/0", guard.token);
  assert_string_equal(tide_guard_path(&guard, url), "/data/0");
  snprintf(url, sizeof url, "/%s", guard.token);
  assert_string_equal(tide_guard_path(&guard, url), "");
  snprintf(url, sizeof url, "/%s/", guard.token);
  assert_string_equal(tide_guard_path(&guard, url), "/");

  static const char *const wrong[] = {"", "/", "//", "/facts", "/..", "x"};
  for (size_t i = 0; i < N(wrong); i++)
    assert_null(tide_guard_path(&guard, wrong[i]));
  snprintf(url, sizeof url, "/%sx/facts", guard.token);
  assert_null(tide_guard_path(&guard, url));
  snprintf(url, sizeof url, "//%s/facts", guard.token);
  assert_null(tide_guard_path(&guard, url));
  for (size_t i = 0; i < TIDE_TOKEN_CHARS; i++) {
    snprintf(url, sizeof url, "/%s/facts", guard.token);
    url[1 + i] ^= 1;
    assert_null(tide_guard_path(&guard, url));
    snprintf(url, sizeof url, "/%.*s", (int)i, guard.token); // a part of it
    assert_null(tide_guard_path(&guard, url));
  }
  snprintf(url, sizeof url, "/%s", guard.ticket);
  assert_true(tide_guard_is_ticket(&guard, url));
  assert_null(tide_guard_path(&guard, url));
  snprintf(url, sizeof url, "/%s/", guard.ticket);
  assert_false(tide_guard_is_ticket(&guard, url));
  snprintf(url, sizeof url, "/%s", guard.token);
  assert_false(tide_guard_is_ticket(&guard, url));
  // A guard that never drew one lets nobody in.
  struct tide_guard none = {0};
  char zeros[TIDE_TOKEN_CHARS + 2] = "/";
  assert_null(tide_guard_path(&none, zeros));
  assert_false(tide_guard_is_ticket(&none, zeros));
}

static void hosts(void **state)
{
  static const struct {
    const char *address, *host;
    bool fine;
  } cases[] = {
      {"127.0.0.1", "127.0.0.1:4711", true},
      {"127.0.0.1", "localhost:4711", true},
      {"127.0.0.1", "LOCALHOST:4711", true},
      {"127.0.0.1", "127.8.9.1:4711", true},
      {"127.0.0.1", "[::1]:4711", true},
      {"127.0.0.1", NULL, false},
      {"127.0.0.1", "", false},
      {"127.0.0.1", ":4711", false},
      {"127.0.0.1", "[]:4711", false},
      {"127.0.0.1", "127.0.0.1", true}, // the port is what somebody forwards it as
      {"127.0.0.1", "localhost", true},
      {"127.0.0.1", "[::1]", true},
      {"127.0.0.1", "[::1", false},
      {"127.0.0.1", "[::1]x", false},
      {"127.0.0.1", "[::1]:", false},
      {"127.0.0.1", "[", false},
      {"127.0.0.1", "[127.0.0.1]:4711", false},
      {"127.0.0.1", "[localhost]", false},
      {"127.0.0.1", "evil.example", false},
      {"127.0.0.1", "127.0.0.1.evil.example", false},
      {"127.0.0.1", "127.0.0.1:", false},
      {"127.0.0.1", "127.0.0.1:4712", true},
      {"127.0.0.1", "127.0.0.1:4711x", false},
      {"127.0.0.1", "127.0.0.1:+4711", false},
      {"127.0.0.1", "::1:4711", false},
      {"127.0.0.1", "evil.example:4711", false},
      {"127.0.0.1", "localhost.evil.example:4711", false},
      {"127.0.0.1", "127.0.0.1.evil.example:4711", false},
      {"127.0.0.1", "localhost:4711@evil.example:4711", false},
      {"127.0.0.1", "192.0.2.7:4711", false},
      {"127.0.0.1", "0.0.0.0:4711", false},
      {"192.0.2.7", "192.0.2.7:4711", true},
      {"192.0.2.7", "192.0.2.8:4711", false},
      {"192.0.2.7", "box.example:4711", false},
      {"0.0.0.0", "192.0.2.7:4711", true},
      {"0.0.0.0", "evil.example:4711", false},
      {"::", "[2001:db8::1]:4711", true},
      {"::", "[192.0.2.7]:4711", false},
      {"::", "evil.example:4711", false},
      {"::1", "[::1]:4711", true},
  };
  for (size_t i = 0; i < N(cases); i++) {
    struct tide_guard guard = guard_at(cases[i].address);
    if (tide_guard_host(&guard, cases[i].host) != cases[i].fine)
      fail_msg("at %s: Host %s", cases[i].address, cases[i].host);
  }
  char longest[1000];
  memset(longest, 'a', sizeof longest);
  strcpy(longest + sizeof longest - 6, ":4711");
  struct tide_guard guard = guard_at("127.0.0.1");
  assert_false(tide_guard_host(&guard, longest));
}

static void origins(void **state)
{
  assert_true(tide_guard_origin(NULL, "127.0.0.1:4711"));
  assert_true(tide_guard_origin("http://127.0.0.1:4711", "127.0.0.1:4711"));
  assert_true(tide_guard_origin("http://localhost:4712", "localhost:4712"));
  static const char *const wrong[] = {
      "",
      "null",
      "http://",
      "https://127.0.0.1:4711",
      "http://127.0.0.1",
      "http://127.0.0.1:80",
      "http://127.0.0.1:4711/x",
      "http://localhost:4711",
      "http://127.0.0.1:4712",
      "http://evil.example",
      "http://evil.example:4711",
      "file://",
  };
  for (size_t i = 0; i < N(wrong); i++)
    assert_false(tide_guard_origin(wrong[i], "127.0.0.1:4711"));
}

static void chosen_tokens(void **state)
{
  static const char *const wrong[] = {"",
                                      "short",
                                      "has a space in it, and more",
                                      "0123456789abcde",
                                      "0123456789abcdef/",
                                      "0123456789abcd\xc3\xa9"};
  struct tide_guard guard = {0};
  struct tide_diag diag = {0};
  for (size_t i = 0; i < N(wrong); i++)
    assert_int_equal(tide_guard_set_token(&guard, wrong[i], &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_guard_set_token(&guard, "0123456789-._~AZ", &diag), TIDE_ERR_OK);
  assert_int_equal(tide_guard_draw(&guard, &diag), TIDE_ERR_OK);
  assert_string_equal(guard.token, "0123456789-._~AZ");
  assert_string_equal(tide_guard_path(&guard, "/0123456789-._~AZ/metrics"), "/metrics");
  char longest[TIDE_TOKEN_MAX + 2];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  assert_int_equal(tide_guard_set_token(&guard, longest, &diag), TIDE_ERR_USAGE);
  assert_int_equal(tide_guard_set_token(&guard, longest + 1, &diag), TIDE_ERR_OK);
}

static void bearers(void **state)
{
  struct tide_guard guard = {0}, none = {0};
  struct tide_diag diag = {0};
  assert_int_equal(tide_guard_set_token(&guard, "0123456789abcdef", &diag), TIDE_ERR_OK);
  assert_true(tide_guard_bearer(&guard, "Bearer 0123456789abcdef"));
  assert_true(tide_guard_bearer(&guard, "bearer 0123456789abcdef"));
  static const char *const wrong[] = {
      "",
      "Bearer",
      "Bearer ",
      "Bearer 0123456789abcdeg",
      "Bearer 0123456789abcde",
      "Bearer 0123456789abcdefg",
      "Basic 0123456789abcdef",
      "0123456789abcdef",
  };
  for (size_t i = 0; i < N(wrong); i++)
    assert_false(tide_guard_bearer(&guard, wrong[i]));
  assert_false(tide_guard_bearer(&guard, NULL));
  assert_false(tide_guard_bearer(&none, "Bearer "));
  assert_false(tide_guard_is_cross_site(NULL));
  assert_false(tide_guard_is_cross_site("none"));
  assert_false(tide_guard_is_cross_site("same-origin"));
  assert_true(tide_guard_is_cross_site("cross-site"));
  assert_true(tide_guard_is_cross_site("same-site"));
}

static void loopback(void **state)
{
  assert_true(tide_guard_is_loopback("127.0.0.1"));
  assert_true(tide_guard_is_loopback("127.255.255.254"));
  assert_true(tide_guard_is_loopback("::1"));
  assert_false(tide_guard_is_loopback("0.0.0.0"));
  assert_false(tide_guard_is_loopback("::"));
  assert_false(tide_guard_is_loopback("128.0.0.1"));
  assert_false(tide_guard_is_loopback("localhost"));
  assert_false(tide_guard_is_loopback("127.1"));
}

UNIT_TESTS(guard_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens),  cmocka_unit_test(paths),    cmocka_unit_test(hosts),
      cmocka_unit_test(origins), cmocka_unit_test(loopback), cmocka_unit_test(chosen_tokens),
      cmocka_unit_test(bearers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
