// SPDX-License-Identifier: Apache-2.0
//
// The page in one file: what is in it can be had back, it never exceeds its limit, and nothing a
// capture says becomes markup.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/sink.h"
#include "indexer_fixture.h"
#include "page/html_report.h"
#include "page/page_data.h"
#include "page_block.h"
#include "tide_gen.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NO_LIMIT = 1 << 30, STACKS = 1500 };

static const char template[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"a; connect-src 'self'; b\">"
    "<p><!--TIDEMARK-FACTS--></p><p><!--TIDEMARK-DATA--></p>";
static const struct tide_embedded_page page = {template, sizeof template - 1};

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_sink sink;
static struct tide_html_told told;

static int teardown(void **state)
{
  tide_sink_done(&sink);
  tide_naming_free(naming);
  tide_profile_free(profile);
  tide_capture_free(capture);
  naming = NULL;
  profile = NULL;
  capture = NULL;
  return 0;
}

static enum tide_err write_html(size_t image_idx, size_t n_sides, uint64_t limit,
                                struct tide_diag *diag)
{
  tide_sink_done(&sink);
  tide_naming_free(naming);
  tide_profile_free(profile);
  profile = tide_profile_new(capture, image_idx);
  naming = tide_naming_new_from(profile->image, &tide_indexer_names);
  const struct tide_html_side side = {profile, naming, "a.tide"}, sides[] = {side, side};
  const struct tide_html_report report = {
      .page = &page, .sides = sides, .n_sides = n_sides, .limit_bytes = limit};
  tide_sink_init(&sink, NULL);
  return tide_html_report_write(&report, &sink, &told, diag);
}

static void must_write(size_t image_idx, size_t n_sides, uint64_t limit)
{
  struct tide_diag diag = {0};
  if (write_html(image_idx, n_sides, limit, &diag))
    fail_msg("%s", diag.text);
  assert_int_equal(told.n_bytes, sink.buf.n);
  assert_true(sink.buf.n <= limit);
}

static uint8_t digit_of(char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr(digits, c) : NULL;
  assert_non_null(at);
  return (uint8_t)(at - digits);
}

static struct tide_buf from_base64(const char *text, size_t n)
{
  struct tide_buf out = {0};
  assert_int_equal(n % 4, 0);
  for (; n; n -= 4, text += 4) {
    size_t n_pad = (text[3] == '=') + (text[2] == '=');
    uint32_t word = 0;
    for (size_t i = 0; i < 4; i++)
      word = word << 6 | (i < 4 - n_pad ? digit_of(text[i]) : 0);
    const uint8_t bytes[] = {(uint8_t)(word >> 16), (uint8_t)(word >> 8), (uint8_t)word};
    tide_buf_append(&out, bytes, 3 - n_pad);
    assert_true(!n_pad || n == 4);
  }
  return out;
}

static size_t n_pieces; // that data was had back from
#define MORE "<script type=\"application/octet-stream\">"

// The data of a side, inflated.
static struct tide_buf data_of(const char *id)
{
  const char *text = strstr(tide_buf_cstr(&sink.buf), id);
  assert_non_null(text);
  struct tide_buf packed = {0}, out = {0};
  do {
    text = strchr(text, '>') + 1;
    struct tide_buf piece = from_base64(text, strcspn(text, "<"));
    tide_buf_append(&packed, piece.data, piece.n);
    tide_buf_done(&piece);
    text = strchr(text, '<') + strlen("</script>\n");
    n_pieces++;
  } while (strncmp(text, MORE, strlen(MORE)) == 0);
  uLongf n = 8 << 20;
  uint8_t *room = tide_buf_extend(&out, n);
  assert_int_equal(uncompress(room, &n, packed.data, packed.n), Z_OK);
  out.n = n;
  tide_buf_done(&packed);
  return out;
}

static double sum_of(const struct page_block *block, const char *column)
{
  double sum = 0;
  for (size_t i = 0; i < page_block_count(block, column); i++)
    sum += page_block_get(block, column, i);
  return sum;
}

static void data_can_be_had_back(void **state)
{
  capture = tide_indexer_capture();
  must_write(INDEXER_IMAGE, 2, NO_LIMIT);
  assert_int_equal(told.n_gathered, 0);
  assert_int_equal(told.n_stacks, 2 * profile->n_sites);
  for (int i = 0; i < 2; i++) {
    struct tide_buf bytes = data_of(i ? "\"tidemark-data-1\"" : "\"tidemark-data-0\"");
    struct page_block block;
    page_block_read(&block, &bytes);
    assert_int_equal(page_block_count(&block, "site_node"), profile->n_sites);
    assert_true(page_block_says(&block, "\"pruned\": null"));
    page_block_done(&block);
    tide_buf_done(&bytes);
  }
}

static void a_limit_is_kept_and_all_sums_with_it(void **state)
{
  capture = tide_gen_program(1, STACKS, 20);
  must_write(0, 1, NO_LIMIT);
  size_t n_whole = sink.buf.n, n_sites = profile->n_sites;
  size_t n_by_place = 0, n_into_one = 0;
  n_pieces = 0;
  struct tide_buf whole_bytes = data_of("\"tidemark-data-0\"");
  assert_true(n_pieces > 1);
  struct page_block whole;
  page_block_read(&whole, &whole_bytes);
  for (size_t limit = n_whole; limit > n_whole / 20; limit = limit * 3 / 4) {
    must_write(0, 1, limit);
    struct tide_buf bytes = data_of("\"tidemark-data-0\"");
    struct page_block block;
    page_block_read(&block, &bytes);
    assert_true(sum_of(&whole, "row_b_alloc") == sum_of(&block, "row_b_alloc"));
    assert_true(sum_of(&whole, "row_peak_bytes") == sum_of(&block, "row_peak_bytes"));
    assert_true(sum_of(&whole, "cell_bytes") == sum_of(&block, "cell_bytes"));
    assert_true(sum_of(&whole, "hist_count") == sum_of(&block, "hist_count"));
    assert_int_equal(told.n_stacks, n_sites);
    assert_int_equal(told.n_gathered > 0, limit < n_whole);
    n_by_place += page_block_says(&block, "\"by_place\": true");
    n_into_one += page_block_says(&block, "\"by_place\": false");
    if (limit < n_whole) // and not a tenth of what it may be
      assert_true(sink.buf.n > limit / 2);
    page_block_done(&block);
    tide_buf_done(&bytes);
  }
  assert_true(n_by_place > 0 && n_into_one > 0);
  page_block_done(&whole);
  tide_buf_done(&whole_bytes);
}

// How large all of them are is guessed at first.
static void very_many_fill_the_room_there_is(void **state)
{
  capture = tide_gen_program(1, TIDE_PAGE_FIRST_OF * (TIDE_PAGE_FIRST_KEEP + 100), 3);
  must_write(0, 1, NO_LIMIT);
  size_t n_whole = sink.buf.n;
  must_write(0, 1, n_whole);
  assert_int_equal(told.n_gathered, 0);
  must_write(0, 1, n_whole / 2);
  assert_true(told.n_gathered > 0 && sink.buf.n > n_whole / 4);
  must_write(0, 1, n_whole / 20);
  assert_true(told.n_gathered > 0 && sink.buf.n > n_whole / 40);
}

static void a_limit_that_leaves_nothing_is_refused(void **state)
{
  struct tide_diag diag = {0};
  capture = tide_indexer_capture();
  assert_int_equal(write_html(INDEXER_IMAGE, 1, 1000, &diag), TIDE_ERR_LIMIT);
  assert_non_null(strstr(diag.text, "1,000 B"));
  assert_int_equal(sink.buf.n, 0);
}

static size_t count(const char *text)
{
  size_t n = 0;
  for (const char *at = tide_buf_cstr(&sink.buf); (at = strstr(at, text)); at++)
    n++;
  return n;
}

// Of any capture: what is not ours holds no tag.
static void nothing_becomes_markup(void **state)
{
  static const char hostile[] = "</script><script>alert(1)</script><!--";
  for (uint64_t seed = 0; seed < 20; seed++) {
    capture = tide_gen_capture(seed, 30);
    for (size_t i = 0; i < capture->n_images; i++) {
      free(capture->images[i].exe);
      capture->images[i].exe = tide_strdup(hostile);
      must_write(i, 1, NO_LIMIT);
      assert_int_equal(count("<script"), 2);
      assert_int_equal(count("</script"), 2);
      assert_int_equal(count("<!--"), 0);
    }
    teardown(NULL);
  }
}

static void base64_is_what_the_standard_says(void **state)
{
  static const char *const cases[][2] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\xff\xfe\xfb\xef", "//777w=="},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_sink out;
    tide_sink_init(&out, NULL);
    tide_base64_write(&out, cases[i][0], strlen(cases[i][0]));
    assert_string_equal(tide_buf_cstr(&out.buf), cases[i][1]);
    tide_sink_done(&out);
  }
  uint8_t bytes[10000];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)(i * i >> 3);
  struct tide_sink out;
  tide_sink_init(&out, NULL);
  tide_base64_write(&out, bytes, sizeof bytes);
  struct tide_buf back = from_base64((const char *)out.buf.data, out.buf.n);
  assert_int_equal(back.n, sizeof bytes);
  assert_memory_equal(back.data, bytes, sizeof bytes);
  tide_buf_done(&back);
  tide_sink_done(&out);
}

UNIT_TESTS(html_report_test)
{
#define TEST(function) cmocka_unit_test_teardown(function, teardown)
  const struct CMUnitTest tests[] = {
      TEST(data_can_be_had_back),
      TEST(a_limit_is_kept_and_all_sums_with_it),
      TEST(very_many_fill_the_room_there_is),
      TEST(a_limit_that_leaves_nothing_is_refused),
      TEST(nothing_becomes_markup),
      TEST(base64_is_what_the_standard_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
