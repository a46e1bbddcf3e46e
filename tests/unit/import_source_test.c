// SPDX-License-Identifier: Apache-2.0
//
// The stream below all importers: lines and offsets over any packing, and what becomes of streams
// that are cut, damaged, endless or bombs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "import/importers.h"
#include "import/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static void pack_gzip(const void *data, size_t n, struct tide_buf *out)
{
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  size_t bound = deflateBound(&z, n);
  z.next_in = (Bytef *)(uintptr_t)data;
  z.avail_in = (uInt)n;
  z.next_out = tide_buf_extend(out, bound);
  z.avail_out = (uInt)bound;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  out->n -= z.avail_out;
  deflateEnd(&z);
}

static void pack_zstd(const void *data, size_t n, struct tide_buf *out)
{
  size_t bound = ZSTD_compressBound(n);
  uint8_t *to = tide_buf_extend(out, bound);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out->n -= bound - ZSTD_compress2(context, to, bound, data, n);
  ZSTD_freeCCtx(context);
}

// Two members or frames, where there are such.
static void pack(enum tide_packing packing, const struct tide_buf *text, struct tide_buf *out)
{
  size_t half = text->n / 2;
  void (*one)(const void *, size_t, struct tide_buf *) =
      packing == TIDE_PACKING_GZIP ? pack_gzip : pack_zstd;
  if (packing == TIDE_PACKING_NONE) {
    tide_buf_append(out, text->data, text->n);
    return;
  }
  one(text->data, half, out);
  one(text->data + half, text->n - half, out);
}

static void numbered_lines(struct tide_buf *text, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    tide_buf_printf(text, "line %u of many\n", i);
}

static void lines_and_offsets_are_right_in_any_packing(void **state)
{
  struct tide_buf text = {0};
  numbered_lines(&text, 100000);
  for (int packing = TIDE_PACKING_NONE; packing <= TIDE_PACKING_ZSTD; packing++) {
    struct tide_buf packed = {0};
    pack((enum tide_packing)packing, &text, &packed);
    struct tide_stream *stream = tide_stream_new(packed.data, packed.n, "x");
    assert_int_equal(stream->packing, packing);
    struct tide_stream_line line;
    unsigned n = 0;
    uint64_t offset = 0;
    for (; tide_stream_line(stream, &line); n++) {
      char expected[64];
      assert_int_equal(line.n, snprintf(expected, sizeof expected, "line %u of many", n));
      assert_memory_equal(line.text, expected, line.n);
      assert_int_equal(line.offset, offset);
      assert_true(line.is_whole);
      offset += line.n + 1;
    }
    assert_int_equal(n, 100000);
    assert_int_equal(tide_stream_status(stream, NULL), TIDE_ERR_OK);
    tide_stream_free(stream);
    tide_buf_done(&packed);
  }
  tide_buf_done(&text);
}

static void a_last_line_without_end_is_told(void **state)
{
  struct tide_stream *stream = tide_stream_new("a\n\nbc", 5, "x");
  struct tide_stream_line line;
  assert_true(tide_stream_line(stream, &line) && line.n == 1 && line.is_whole);
  assert_true(tide_stream_line(stream, &line) && line.n == 0 && line.is_whole);
  assert_true(tide_stream_line(stream, &line) && line.n == 2 && !line.is_whole);
  assert_int_equal(line.offset, 3);
  assert_false(tide_stream_line(stream, &line));
  tide_stream_free(stream);
}

// Every cut of a compressed file gives a prefix of its text and, but for those between two members,
// says that it is cut.
static void cut_streams_give_what_they_have(void **state)
{
  struct tide_buf text = {0};
  numbered_lines(&text, 300);
  for (int packing = TIDE_PACKING_GZIP; packing <= TIDE_PACKING_ZSTD; packing++) {
    struct tide_buf packed = {0};
    pack((enum tide_packing)packing, &text, &packed);
    size_t n_quiet = 0;
    for (size_t n = 4; n < packed.n; n++) {
      struct tide_stream *stream = tide_stream_new(packed.data, n, "x");
      struct tide_buf got = {0};
      struct tide_diag diag = {0};
      assert_int_equal(tide_stream_rest(stream, 1 << 20, &got, &diag), TIDE_ERR_OK);
      assert_true(got.n <= text.n && (!got.n || !memcmp(got.data, text.data, got.n)));
      enum tide_err err = tide_stream_status(stream, &diag);
      n_quiet += !err;
      if (err) {
        assert_int_equal(err, TIDE_ERR_CUT);
        assert_non_null(strstr(diag.text, "cut short"));
        assert_int_equal(diag.offset, got.n);
      }
      tide_buf_done(&got);
      tide_stream_free(stream);
    }
    assert_true(n_quiet <= 2);
    tide_buf_done(&packed);
  }
  tide_buf_done(&text);
}

static void damaged_streams_say_so(void **state)
{
  struct tide_buf text = {0};
  numbered_lines(&text, 5000);
  for (int packing = TIDE_PACKING_GZIP; packing <= TIDE_PACKING_ZSTD; packing++) {
    struct tide_buf packed = {0};
    pack((enum tide_packing)packing, &text, &packed);
    memset(packed.data + packed.n / 4, 0xa5, 16);
    struct tide_stream *stream = tide_stream_new(packed.data, packed.n, "some.file");
    struct tide_buf got = {0};
    struct tide_diag diag = {0};
    tide_stream_rest(stream, 1 << 20, &got, &diag);
    assert_int_equal(tide_stream_status(stream, &diag), TIDE_ERR_DAMAGED);
    assert_non_null(strstr(diag.text, "some.file"));
    assert_non_null(strstr(diag.text, "damaged"));
    tide_buf_done(&got);
    tide_stream_free(stream);
    tide_buf_done(&packed);
  }
  tide_buf_done(&text);
}

static void endless_lines_are_refused(void **state)
{
  size_t n = 2 * (size_t)TIDE_STREAM_MAX_LINE;
  char *text = tide_alloc(n);
  memset(text, 'x', n);
  struct tide_stream *stream = tide_stream_new(text, n, "x");
  struct tide_stream_line line;
  struct tide_diag diag = {0};
  assert_false(tide_stream_line(stream, &line));
  assert_int_equal(tide_stream_status(stream, &diag), TIDE_ERR_LIMIT);
  assert_non_null(strstr(diag.text, "at byte 0"));
  tide_stream_free(stream);
  free(text);
}

// A frame of zeros unpacks 30,000-fold; a few hundred of them are past all limits.
static void bombs_are_refused(void **state)
{
  enum { FRAME = 64 << 20 };
  uint8_t *zeros = tide_alloc(FRAME);
  struct tide_buf frame = {0}, bomb = {0};
  pack_zstd(zeros, FRAME, &frame);
  free(zeros);
  assert_true(FRAME / frame.n > TIDE_SOURCE_MAX_RATIO);
  for (uint64_t i = 0; i < TIDE_SOURCE_FREE_BYTES / FRAME + 2; i++)
    tide_buf_append(&bomb, frame.data, frame.n);
  struct tide_stream *stream = tide_stream_new(bomb.data, bomb.n, "bomb.zst");
  while (tide_stream_fill(stream, 1))
    stream->at = stream->end;
  struct tide_diag diag = {0};
  assert_int_equal(tide_stream_status(stream, &diag), TIDE_ERR_LIMIT);
  assert_non_null(strstr(diag.text, "bomb.zst unpacks to far more"));
  assert_true(diag.offset <= TIDE_SOURCE_FREE_BYTES + (1 << 20));
  tide_stream_free(stream);
  tide_buf_done(&frame);
  tide_buf_done(&bomb);
}

static void what_is_no_capture_is_named(void **state)
{
  static const struct {
    const char *bytes;
    size_t n;
    const char *says;
  } cases[] = {
      {"", 0, "empty"},
      {"\x7f\x45\x4c\x46\x02\x01\x01\x00", 8, "ELF"},
      {"{\"hello\": 2}", 12, "JSON, but no profile"},
      {"hello\n", 6, "text"},
      {"a\0b", 3, "binary data"},
      {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10, "cut short"},
      {"\x89TIDE\n\x1a", 7, "binary data"}, // line ends rewritten on the way
      {"\x89TIDE\r\n\x1a", 8, "cut short"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = NULL;
    struct tide_diag diag = {0};
    assert_int_not_equal(
        tide_import_bytes(cases[i].bytes, cases[i].n, "some.file", &capture, &diag), TIDE_ERR_OK);
    assert_null(capture);
    assert_non_null(strstr(diag.text, "some.file"));
    if (!strstr(diag.text, cases[i].says))
      fail_msg("'%s' does not say '%s'", diag.text, cases[i].says);
  }
}

static void missing_files_and_directories_are_named(void **state)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  assert_int_equal(tide_import_file("/no/such/file", &capture, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "cannot open /no/such/file"));
  assert_int_equal(tide_import_file("/", &capture, &diag), TIDE_ERR_FORMAT);
  assert_non_null(strstr(diag.text, "directory"));
}

UNIT_TESTS(import_source_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_and_offsets_are_right_in_any_packing),
      cmocka_unit_test(a_last_line_without_end_is_told),
      cmocka_unit_test(cut_streams_give_what_they_have),
      cmocka_unit_test(damaged_streams_say_so),
      cmocka_unit_test(endless_lines_are_refused),
      cmocka_unit_test(bombs_are_refused),
      cmocka_unit_test(what_is_no_capture_is_named),
      cmocka_unit_test(missing_files_and_directories_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
