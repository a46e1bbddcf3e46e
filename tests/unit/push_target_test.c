// SPDX-License-Identifier: Apache-2.0
//
// Where profiles are pushed to, as people say it; requests; and what answers mean, hostile ones
// too.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "push/otlp.h"
#include "push/push_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static void targets(void **state)
{
  static const char *const no[] = {
      "",         "parca",           "parca=",       "=http://a", "parca=a:1", "parc=http://a",
      "http://a", "parca =http://a", "parca=ftp://a"};
  struct tide_push_target target;
  struct tide_diag diag;
  assert_int_equal(tide_push_target_parse("parca=https://me:hush@a:1/b//", &target, &diag), 0);
  assert_int_equal(target.kind, TIDE_PUSH_PARCA);
  assert_string_equal(target.url, "https://me:hush@a:1/b/"
                                  "parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw");
  assert_string_equal(target.shown, "parca at https://a:1/b");
  tide_push_target_done(&target);
  assert_int_equal(tide_push_target_parse("pyroscope=http://a", &target, &diag), 0);
  assert_string_equal(target.url, "http://a/push.v1.PusherService/Push");
  tide_push_target_done(&target);
  for (size_t i = 0; i < N(no); i++) {
    assert_int_equal(tide_push_target_parse(no[i], &target, &diag), TIDE_ERR_USAGE);
    assert_null(target.url);
  }
}

static void labels(void **state)
{
  static const char *const no[] = {"", "a", "=b", "a=", "1a=b", "a-b=c", "__name__=x", "\xc3=x"};
  struct tide_push_label label;
  struct tide_diag diag;
  char text[64] = "a_1=b=c d";
  assert_int_equal(tide_push_label_parse(text, &label, &diag), TIDE_ERR_OK);
  assert_string_equal(label.name, "a_1");
  assert_string_equal(label.value, "b=c d");
  for (size_t i = 0; i < N(no); i++) {
    snprintf(text, sizeof text, "%s", no[i]);
    assert_int_equal(tide_push_label_parse(text, &label, &diag), TIDE_ERR_USAGE);
  }
}

static void requests(void **state)
{
  struct tide_push_series series = {
      .labels = {{"b", "2"}, {"a", "1"}},
      .n_labels = 2,
      .profiles = {{(uint8_t *)"P", 1, 1}},
      .n_profiles = 1,
  };
  struct tide_diag diag;
  static const char pyroscope[] = "\x0a\x3d\x0a\x12\x0a\x09__delta__\x12\x05"
                                  "false\x0a\x12\x0a\x08__name__\x12\x06memory"
                                  "\x0a\x06\x0a\x01"
                                  "a\x12\x01"
                                  "1"
                                  "\x0a\x06\x0a\x01"
                                  "b\x12\x01"
                                  "2\x12\x03\x0a\x01P";
  static const char parca[] = "\0\0\0\0\x2f\x12\x2b\x0a\x24\x0a\x12\x0a\x08__name__\x12\x06memory"
                              "\x0a\x06\x0a\x01"
                              "a\x12\x01"
                              "1\x0a\x06\x0a\x01"
                              "b\x12\x01"
                              "2"
                              "\x12\x03\x0a\x01P\x18\x01";
  struct tide_buf body = {0};
  assert_int_equal(tide_push_encode(TIDE_PUSH_PYROSCOPE, &series, 1, &body, &diag), 0);
  assert_int_equal(body.n, sizeof pyroscope - 1);
  assert_memory_equal(body.data, pyroscope, body.n);
  tide_buf_clear(&body);
  assert_int_equal(tide_push_encode(TIDE_PUSH_PARCA, &series, 1, &body, &diag), 0);
  assert_int_equal(body.n, sizeof parca - 1);
  assert_memory_equal(body.data, parca, body.n);
  tide_buf_done(&body);
}

static enum tide_push_verdict judged(enum tide_push_kind kind, unsigned status, const void *body,
                                     size_t n, char why[320])
{
  struct tide_exchange answer = {.status = status};
  tide_buf_append(&answer.body, body, n);
  enum tide_push_verdict verdict = tide_push_judge(kind, &answer, why, 320);
  tide_exchange_done(&answer);
  return verdict;
}

static void statuses(void **state)
{
  static const struct {
    unsigned status;
    enum tide_push_verdict verdict;
  } cases[] = {{200, TIDE_PUSH_TAKEN},   {204, TIDE_PUSH_TAKEN},   {302, TIDE_PUSH_REFUSED},
               {400, TIDE_PUSH_REFUSED}, {401, TIDE_PUSH_REFUSED}, {408, TIDE_PUSH_AGAIN},
               {413, TIDE_PUSH_REFUSED}, {429, TIDE_PUSH_AGAIN},   {500, TIDE_PUSH_AGAIN},
               {503, TIDE_PUSH_AGAIN},   {0, TIDE_PUSH_REFUSED}};
  char why[320];
  for (size_t i = 0; i < N(cases); i++)
    assert_int_equal(judged(TIDE_PUSH_PYROSCOPE, cases[i].status, "x", 1, why), cases[i].verdict);
}

// The protocol names the few statuses that may be tried again, and a 200 may be a refusal.
static void otlp_answers(void **state)
{
  static const unsigned again[] = {429, 502, 503, 504}, refused[] = {302, 400, 404, 408, 500, 501};
  static const char some[] = "\x0a\x0b\x08\x03\x12\x07too old", none[] = "\x0a\x00";
  char why[320];
  enum tide_push_kind kind = TIDE_PUSH_OTLP;
  for (size_t i = 0; i < N(again); i++)
    assert_int_equal(judged(kind, again[i], "", 0, why), TIDE_PUSH_AGAIN);
  for (size_t i = 0; i < N(refused); i++)
    assert_int_equal(judged(kind, refused[i], "", 0, why), TIDE_PUSH_REFUSED);
  assert_int_equal(judged(kind, 200, "", 0, why), TIDE_PUSH_TAKEN);
  assert_int_equal(judged(kind, 200, none, sizeof none - 1, why), TIDE_PUSH_TAKEN);
  assert_int_equal(judged(kind, 200, some, sizeof some - 1, why), TIDE_PUSH_REFUSED);
  assert_string_equal(why, "it rejects 3: too old");
  struct tide_exchange answer = {.status = 200};
  tide_buf_append(&answer.body, some, sizeof some - 1);
  assert_int_equal(tide_push_n_rejected(TIDE_PUSH_OTLP, &answer), 3);
  assert_int_equal(tide_push_n_rejected(TIDE_PUSH_PYROSCOPE, &answer), 0);
  tide_exchange_done(&answer);
}

// A pprof whose bytes are not what they should be makes no request, or one without harm.
static void otlp_of_broken(void **state)
{
  static const char model[] = "\x0a\x04\x08\x01\x10\x02"         // alloc_space, bytes
                              "\x1a\x06\x08\x01\x18\x7f\x28\x03" // mapping 1
                              "\x2a\x04\x08\x01\x10\x03"         // function 1
                              "\x22\x0a\x08\x01\x10\x01\x18\x10\x22\x02\x08\x01" // location 1
                              "\x12\x06\x0a\x01\x01\x12\x01\x09"                 // sample
                              "\x32\x00\x32\x0b"
                              "alloc_space\x32\x05"
                              "bytes\x32\x01"
                              "f\x48\x64";
  struct tide_diag diag;
  uint32_t seed = 1;
  for (unsigned round = 0; round < 20000; round++) {
    uint8_t bytes[sizeof model - 1];
    struct tide_buf body = {0};
    memcpy(bytes, model, sizeof bytes);
    for (unsigned k = 0; k < round % 4; k++) {
      seed = seed * 1664525u + 1013904223u;
      bytes[(seed >> 16) % sizeof bytes] = (uint8_t)(seed >> 8);
    }
    struct tide_push_series series = {
        .profiles = {{bytes, round ? sizeof bytes - round % 7 : sizeof bytes, sizeof bytes}},
        .n_profiles = 1,
        .since_ns = 7,
    };
    enum tide_err err = tide_otlp_encode(&series, 1, &body, &diag);
    assert_true(round || !err);
    if (!round) // the time of a range is that of its beginning
      assert_non_null(memmem(body.data, body.n, "\x19\x5d\0\0\0\0\0\0\0\x20\x07", 11));
    tide_buf_done(&body);
  }
  struct tide_push_series empty = {.n_profiles = 1};
  struct tide_buf body = {0};
  assert_int_equal(tide_otlp_encode(&empty, 1, &body, &diag), TIDE_ERR_FORMAT);
  tide_buf_done(&body);
}

#define FRAME(text) "\x80\0\0\0" text
static void grpc(void **state)
{
  char why[320];
  static const char ok[] = "\0\0\0\0\x02xy" FRAME("\x0egrpc-status: 0");
  static const char busy[] = FRAME("\x1fGRPC-STATUS:14\r\ngrpc-message: x");
  static const char no[] = FRAME("\x10grpc-status: 3\r\n");
  static const char other[] = FRAME("\x02xy");
  enum tide_push_kind kind = TIDE_PUSH_PARCA;
  assert_int_equal(judged(kind, 200, ok, sizeof ok - 1, why), TIDE_PUSH_TAKEN);
  assert_int_equal(judged(kind, 200, busy, sizeof busy - 1, why), TIDE_PUSH_AGAIN);
  assert_non_null(strstr(why, "gRPC status 14: x"));
  assert_int_equal(judged(kind, 200, no, sizeof no - 1, why), TIDE_PUSH_REFUSED);
  assert_int_equal(judged(kind, 200, other, sizeof other - 1, why), TIDE_PUSH_REFUSED);
  assert_int_equal(judged(kind, 200, "", 0, why), TIDE_PUSH_REFUSED);
  assert_int_equal(judged(kind, 503, ok, sizeof ok - 1, why), TIDE_PUSH_AGAIN);
  for (size_t n = 0; n < sizeof ok - 1; n++) // a cut answer is no consent
    assert_int_equal(judged(kind, 200, ok, n, why), TIDE_PUSH_REFUSED);
  struct tide_exchange cut = {.status = 200, .is_cut = true};
  assert_int_equal(tide_push_judge(kind, &cut, why, sizeof why), TIDE_PUSH_AGAIN);
  assert_int_equal(tide_push_judge(TIDE_PUSH_OTLP, &cut, why, sizeof why), TIDE_PUSH_TAKEN);
  cut.is_too_large = true; // nothing of Parca says so much
  assert_int_equal(tide_push_judge(kind, &cut, why, sizeof why), TIDE_PUSH_REFUSED);
}

// Whatever a server answers is judged, and nothing of it reaches the terminal but plain text.
static void hostile_answers(void **state)
{
  static const char model[] = "\0\0\0\0\x02xy" FRAME("\x1fgrpc-status: 3\r\ngrpc-message: x");
  uint32_t seed = 1;
  for (unsigned round = 0; round < 20000; round++) {
    char bytes[sizeof model], why[320];
    memcpy(bytes, model, sizeof model);
    for (unsigned k = 0; k < 1 + round % 4; k++) {
      seed = seed * 1664525u + 1013904223u;
      bytes[(seed >> 16) % sizeof bytes] = (char)(seed >> 8);
    }
    judged((enum tide_push_kind)(round % TIDE_PUSH_KINDS_N), round % 4 ? 200 : 500, bytes,
           (seed >> 4) % sizeof bytes, why);
    for (const char *at = why; *at; at++)
      assert_true(*at >= ' ' && *at < 127);
  }
}

UNIT_TESTS(push_target_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets),      cmocka_unit_test(labels),
      cmocka_unit_test(requests),     cmocka_unit_test(statuses),
      cmocka_unit_test(grpc),         cmocka_unit_test(hostile_answers),
      cmocka_unit_test(otlp_answers), cmocka_unit_test(otlp_of_broken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
