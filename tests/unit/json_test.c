// SPDX-License-Identifier: Apache-2.0
//
// The JSON writer: shape, commas, and above all that no input can break the output.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/json.h"

#include <string.h>

struct fixture {
  struct tide_sink sink;
  struct tide_json json;
};

static void begin(struct fixture *f)
{
  tide_sink_init(&f->sink, NULL);
  tide_json_init(&f->json, &f->sink);
}

static void expect(struct fixture *f, const char *expected)
{
  assert_string_equal(tide_buf_cstr(&f->sink.buf), expected);
  tide_sink_done(&f->sink);
}

static void escapes_what_must_be(void **state)
{
  struct fixture f;
  begin(&f);
  tide_json_text(&f.json, "a\"b\\c\n\r\t\x01\x1b[31m\x7f/");
  expect(&f, "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001b[31m\\u007f/\"");
}

static void keeps_utf8_and_replaces_the_rest(void **state)
{
  static const struct {
    const char *in, *out;
  } cases[] = {
      {"größe …", "\"größe …\""},
      {"a\xff"
       "b",
       "\"a\xef\xbf\xbd"
       "b\""},                                                                      // no such byte
      {"\xc3", "\"\xef\xbf\xbd\""},                                                 // cut
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                                 // overlong
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 // surrogate
      {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, // too big
      {"\xf0\x9f\xa6\x80", "\"\xf0\x9f\xa6\x80\""},
      {"", "\"\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    begin(&f);
    tide_json_text(&f.json, cases[i].in);
    expect(&f, cases[i].out);
  }
}

static void writes_embedded_nul_and_null(void **state)
{
  struct fixture f;
  begin(&f);
  tide_json_open_array(&f.json);
  tide_json_text_n(&f.json, "a\0b", 3);
  tide_json_text(&f.json, NULL);
  tide_json_close_array(&f.json);
  expect(&f, "[\n  \"a\\u0000b\",\n  null\n]");
}

static void nests_with_commas_where_due(void **state)
{
  struct fixture f;
  begin(&f);
  tide_json_open_object(&f.json);
  tide_json_put_u64(&f.json, "max", UINT64_MAX);
  tide_json_put_i64(&f.json, "min", INT64_MIN);
  tide_json_key(&f.json, "list");
  tide_json_open_array(&f.json);
  tide_json_open_object(&f.json);
  tide_json_put_bool(&f.json, "yes", true);
  tide_json_key(&f.json, "at");
  tide_json_hex(&f.json, 0xdeadbeef);
  tide_json_close_object(&f.json);
  tide_json_open_object(&f.json);
  tide_json_close_object(&f.json);
  tide_json_close_array(&f.json);
  tide_json_key(&f.json, "empty");
  tide_json_open_array(&f.json);
  tide_json_close_array(&f.json);
  tide_json_close_object(&f.json);
  tide_json_done(&f.json);
  expect(&f, "{\n  \"max\": 18446744073709551615,\n  \"min\": -9223372036854775808,\n"
             "  \"list\": [\n    {\"yes\": true, \"at\": \"0xdeadbeef\"},\n    {}\n  ],\n"
             "  \"empty\": []\n}\n");
}

// Far more than the sink buffers, to a stream and to memory: the same bytes.
static void streams_through_a_small_buffer(void **state)
{
  struct tide_sink memory, file;
  FILE *stream = tmpfile();
  struct tide_diag diag;
  assert_non_null(stream);
  tide_sink_init(&memory, NULL);
  tide_sink_init(&file, stream);
  for (int i = 0; i < 50000; i++) {
    tide_sink_printf(&memory, "line %d\n", i);
    tide_sink_printf(&file, "line %d\n", i);
  }
  assert_int_equal(tide_sink_finish(&file, "a temporary file", &diag), TIDE_ERR_OK);
  assert_int_equal(ftell(stream), memory.buf.n);
  rewind(stream);
  char *copy = test_malloc(memory.buf.n);
  assert_int_equal(fread(copy, 1, memory.buf.n, stream), memory.buf.n);
  assert_memory_equal(copy, memory.buf.data, memory.buf.n);
  test_free(copy);
  fclose(stream);
  tide_sink_done(&memory);
  tide_sink_done(&file);
}

static void tells_a_full_disk(void **state)
{
  FILE *stream = fopen("/dev/full", "w");
  struct tide_sink sink;
  struct tide_diag diag = {0};
  if (!stream)
    skip();
  tide_sink_init(&sink, stream);
  tide_sink_repeat(&sink, 'x', 200000);
  assert_int_equal(tide_sink_finish(&sink, "out.json", &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "cannot write out.json: No space left"));
  tide_sink_done(&sink);
  fclose(stream);
}

UNIT_TESTS(json_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes_what_must_be),
      cmocka_unit_test(keeps_utf8_and_replaces_the_rest),
      cmocka_unit_test(writes_embedded_nul_and_null),
      cmocka_unit_test(nests_with_commas_where_due),
      cmocka_unit_test(streams_through_a_small_buffer),
      cmocka_unit_test(tells_a_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
