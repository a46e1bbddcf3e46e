// SPDX-License-Identifier: Apache-2.0
//
// Files the reader must not believe: other formats, other versions, and files built with right
// checksums and absurd contents. Each gets a clear sentence and costs little.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "tide/file.h"
#include "tide/format.h"
#include "tide_bytes.h"
#include "tide_gen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum tide_err parse(const struct tide_buf *file, struct tide_capture **ret_capture,
                           struct tide_diag *diag)
{
  *diag = (struct tide_diag){0};
  return tide_file_parse(file->data, file->n, "some.file", ret_capture, diag);
}

static void foreign_files_are_named(void **state)
{
  static const struct {
    const char *bytes;
    size_t n;
    const char *says;
  } cases[] = {
      {"", 0, "empty"},
      {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10, "gzip"},
      {"\x7f\x45\x4c\x46\x02\x01\x01\x00", 8, "ELF"},
      {"{\"dhatFileVersion\": 2}", 22, "JSON"},
      {"\x28\xb5\x2f\xfd\x00\x00\x00\x00", 8, "zstd"},
      {"desc: --time-unit=ms\n", 21, "is not a .tide capture"},
      {"\x89TIDE\n\x1a", 7, "is not a .tide capture"}, // line ends rewritten on the way
      {"\x89TIDE\r\n\x1a", 8, "cut short"},
      {"\x89", 1, "cut short"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_buf file = {(uint8_t *)(uintptr_t)cases[i].bytes, cases[i].n, 0};
    struct tide_capture *capture = NULL;
    struct tide_diag diag;
    assert_int_not_equal(parse(&file, &capture, &diag), TIDE_ERR_OK);
    assert_null(capture);
    assert_non_null(strstr(diag.text, "some.file"));
    if (!strstr(diag.text, cases[i].says))
      fail_msg("'%s' does not say '%s'", diag.text, cases[i].says);
  }
}

static void directory_and_missing_file_are_named(void **state)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  assert_int_equal(tide_file_read("/", &capture, &diag), TIDE_ERR_FORMAT);
  assert_non_null(strstr(diag.text, "directory"));
  assert_int_equal(tide_file_read("/no/such/file.tide", &capture, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, "/no/such/file.tide: No such file"));
  assert_int_equal(tide_file_read("/dev/zero", &capture, &diag), TIDE_ERR_FORMAT); // and ends
}

static void other_major_is_refused_other_minor_is_read(void **state)
{
  struct tide_capture *capture = tide_gen_program(1, 10, 1), *again = NULL;
  struct tide_buf file = tide_bytes_of(capture);
  struct tide_diag diag;
  file.data[8] = 2;
  assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_VERSION);
  assert_non_null(strstr(diag.text, "format version 2."));
  file.data[8] = 1;
  file.data[10] = 9;
  assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_OK);
  assert_false(again->cut);
  tide_capture_free(again);
  tide_capture_free(capture);
  tide_buf_done(&file);
}

// A later minor version: an unknown part between any two, and more bytes in every payload.
static void additions_of_a_later_version_are_skipped(void **state)
{
  struct tide_capture *capture = tide_gen_program(2, 50, 3), *again = NULL;
  struct tide_buf file = tide_bytes_of(capture), later = {0};
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
  uint32_t sequence = 0;
  tide_bytes_put_file_header(&later, 1, TIDE_FILE_MINOR + 1);
  for (size_t i = 0; i + 1 < n_parts; i++) {
    struct tide_buf *payload = &parts[i].payload;
    tide_buf_append(payload, "more", 4);
    parts[i].flags &= TIDE_PART_BY_STACK;
    tide_bytes_put_flagged(&later, &parts[i], sequence++, 0, true, payload->n);
    tide_bytes_put_part(&later, 77, 5, sequence++, payload, true, 1ull << 60);
  }
  struct tide_buf end = {0};
  tide_buf_varint(&end, sequence + 1);
  tide_bytes_put_part(&later, TIDE_PART_END, 0, sequence, &end, false, end.n);
  struct tide_diag diag;
  assert_int_equal(parse(&later, &again, &diag), TIDE_ERR_OK);
  if (again->cut)
    fail_msg("%s", again->cut_note);
  char *a = tide_bytes_json(capture), *b = tide_bytes_json(again);
  assert_string_equal(a, b);
  free(a);
  free(b);
  tide_buf_done(&end);
  tide_buf_done(&later);
  tide_buf_done(&file);
  tide_bytes_parts_free(parts, n_parts);
  tide_capture_free(again);
  tide_capture_free(capture);
}

// A file with FACTS, one image of n_frames frames, and then the given part.
static struct tide_buf file_with(uint16_t type, const struct tide_buf *payload, bool packed,
                                 uint64_t raw_bytes, size_t n_frames)
{
  struct tide_capture *capture = tide_capture_new();
  capture->n_images = 1;
  capture->images = tide_alloc(sizeof *capture->images);
  capture->images->n_frames = n_frames;
  capture->images->frames = tide_alloc_array(n_frames, sizeof *capture->images->frames);
  struct tide_buf file = tide_bytes_of(capture);
  tide_capture_free(capture);
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
  file.n = parts[n_parts - 1].start; // without END
  tide_bytes_put_part(&file, type, 0, (uint32_t)n_parts - 1, payload, packed, raw_bytes);
  tide_bytes_parts_free(parts, n_parts);
  return file;
}

// The part breaks a rule: what came before it stays, and the note names it.
static void assert_stops_at(uint16_t type, struct tide_buf *payload, const char *note)
{
  struct tide_buf file = file_with(type, payload, false, payload->n, 10);
  struct tide_capture *capture = NULL;
  struct tide_diag diag;
  assert_int_equal(parse(&file, &capture, &diag), TIDE_ERR_OK);
  assert_true(capture->cut);
  if (!strstr(capture->cut_note, note))
    fail_msg("'%s' does not say '%s'", capture->cut_note, note);
  assert_int_equal(capture->images[0].n_frames, 10);
  assert_int_equal(tide_capture_check(capture, NULL), TIDE_ERR_OK);
  tide_capture_free(capture);
  tide_buf_done(&file);
  tide_buf_clear(payload);
}

// The same behind three snapshots.
static void assert_late_frees_stop(struct tide_buf *payload, const char *note)
{
  struct tide_buf snapshots = {0}, file;
  tide_buf_varint(&snapshots, 0);
  tide_buf_varint(&snapshots, 3);
  for (int i = 0; i < 9; i++)
    tide_buf_varint(&snapshots, 0);
  file = file_with(TIDE_PART_SNAPSHOTS, &snapshots, false, snapshots.n, 10);
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
  tide_bytes_put_part(&file, TIDE_PART_LATE_FREES, 0, (uint32_t)n_parts, payload, false,
                      payload->n);
  struct tide_capture *capture = NULL;
  struct tide_diag diag;
  assert_int_equal(parse(&file, &capture, &diag), TIDE_ERR_OK);
  assert_int_equal(capture->images[0].n_snapshots, 3);
  if (!strstr(capture->cut_note, note))
    fail_msg("'%s' does not say '%s'", capture->cut_note, note);
  bool whole = strcmp(note, "the end is missing") == 0; // nothing is wrong with these
  assert_int_equal(capture->images[0].has_late_frees, whole);
  assert_int_equal(tide_capture_check(capture, NULL), TIDE_ERR_OK);
  tide_capture_free(capture);
  tide_bytes_parts_free(parts, n_parts);
  tide_buf_done(&snapshots);
  tide_buf_done(&file);
  tide_buf_clear(payload);
}

static void put_varints(struct tide_buf *out, size_t n, ...)
{
  va_list args;
  va_start(args, n);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, va_arg(args, uint64_t));
  va_end(args);
}
#define V(n) ((uint64_t)(n))

// Rows of stack, freed, age.
static void put_late_frees(struct tide_buf *out, uint64_t total, const uint64_t (*rows)[3],
                           size_t n)
{
  put_varints(out, 3, V(0), V(n), total);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i][1] - (i ? rows[i - 1][1] : 0));
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i][0]);
  for (size_t i = 0; i < n; i++)
    tide_buf_varint(out, rows[i][2]);
  for (size_t i = 0; i < 2 * n; i++)
    tide_buf_varint(out, 1);
}

static void late_frees_must_fit_the_rest(void **state)
{
  struct tide_buf p = {0};
  put_varints(&p, 2, V(0), V(1ull << 60));
  assert_late_frees_stop(&p, "claims more rows");
  put_varints(&p, 3, V(1), V(0), V(0));
  assert_late_frees_stop(&p, "continue");
  put_late_frees(&p, 2, (const uint64_t[][3]){{1, 1, 1}, {2, 2, 1}}, 2);
  assert_late_frees_stop(&p, "the end is missing");
  tide_buf_done(&p);
}

static void wrong_late_frees_stop_the_reader(void **state)
{
  static const struct {
    uint64_t total, rows[2][3];
    const char *note;
  } wrong[] = {
      {1, {{1, 1, 1}, {2, 2, 1}}, "more late frees than there are"},
      {2, {{1, 1, 1}, {10, 2, 1}}, "no stack"},
      {2, {{1, 1, 1}, {2, 3, 1}}, "no snapshots"},
      {2, {{1, 1, 0}, {2, 2, 1}}, "no snapshots"}, // born when it was freed
      {2, {{1, 1, 2}, {2, 2, 1}}, "no snapshots"}, // born before all of them
      {2, {{1, 1, 1}, {2, UINT32_MAX, 1}}, "no snapshots"},
      {2, {{2, 2, 1}, {1, 2, 1}}, "out of order"},
      {2, {{1, 2, 1}, {1, 2, 2}}, "out of order"},
      {2, {{1, 2, 1}, {1, 2, 1}}, "out of order"}, // twice the same
  };
  struct tide_buf p = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    put_late_frees(&p, wrong[i].total, wrong[i].rows, 2);
    assert_late_frees_stop(&p, wrong[i].note);
  }
  put_varints(&p, 5, V(0), V(1), V(1), V(1), V(1));
  assert_late_frees_stop(&p, "claims more rows");
  tide_buf_done(&p);
}

// One place: its module, how many frames it claims, and the string its one frame is named by.
static void put_symbols(struct tide_buf *out, uint64_t n_strings, uint64_t module,
                        uint64_t n_frames, uint64_t function)
{
  put_varints(out, 10, V(0), V(1), n_strings, module, V(0), n_frames, function, V(0), V(0), V(0));
}

static void absurd_counts_and_indexes_stop_the_reader(void **state)
{
  struct tide_buf p = {0};
  for (uint16_t type = TIDE_PART_MODULES; type <= TIDE_PART_MARKS; type++) {
    uint64_t first = type == TIDE_PART_FRAMES ? 10 : type <= TIDE_PART_THREADS;
    put_varints(&p, 2, first, V(1ull << 60));
    assert_stops_at(type, &p, "claims more rows");
    put_varints(&p, 2, first + 1, V(0));
    assert_stops_at(type, &p, "continue");
    assert_stops_at(type, &p, "claims more rows"); // empty
  }
  put_varints(&p, 8, V(10), V(1), V(1), V(0), V(0), V(0), V(11), V(0));
  assert_stops_at(TIDE_PART_FRAMES, &p, "before its parent");
  put_varints(&p, 8, V(10), V(1), V(1), V(0), V(0), V(0), V(0), V(0));
  assert_stops_at(TIDE_PART_FRAMES, &p, "before its parent"); // its own parent
  put_varints(&p, 8, V(10), V(1), V(1), V(0), V(3), V(0), V(1), V(0));
  assert_stops_at(TIDE_PART_FRAMES, &p, "outside of all modules");
  put_varints(&p, 8, V(10), V(1), V(1), V(0), V(0), V(0), V(1), V(1));
  assert_stops_at(TIDE_PART_FRAMES, &p, "no place");
  put_varints(&p, 5, V(10), V(1), V(1ull << 50), V(0), V(0));
  assert_stops_at(TIDE_PART_FRAMES, &p, "more places");
  for (int what = 0; what < 2; what++) { // a stack, then a thread that does not exist
    put_varints(&p, 4, V(0), V(1), V(what == 0 ? 10 : 0), V(what == 1 ? 1 : 0));
    for (int i = 0; i < 18; i++)
      tide_buf_varint(&p, 0);
    assert_stops_at(TIDE_PART_SITES, &p, what == 0 ? "no stack" : "no thread");
  }
  put_varints(&p, 8, V(0), V(1), V(0), V(0), V(1), V(10), V(2), V(2));
  assert_stops_at(TIDE_PART_SNAPSHOTS, &p, "stack that does not exist");
  put_varints(&p, 5, V(0), V(1), V(0), V(0), V(1ull << 40));
  assert_stops_at(TIDE_PART_SNAPSHOTS, &p, "claims more rows");
  put_varints(&p, 8, V(0), V(2), V(UINT64_MAX), V(0), V(0), V(1), V(0), V(0));
  assert_stops_at(TIDE_PART_SNAPSHOTS, &p, "damaged"); // time beyond 64 bits
  put_varints(&p, 8, V(0), V(1), V(0), V(0), V(0), V(1ull << 40), V(0), V(0));
  assert_stops_at(TIDE_PART_SNAPSHOTS, &p, "claims more counts");
  put_varints(&p, 9, V(0), V(1), V(0), V(0), V(0), V(1), V(10), V(1), V(1));
  assert_stops_at(TIDE_PART_SNAPSHOTS, &p, "counts for a stack that does not exist");
  put_varints(&p, 4, V(0), V(1), V(0), V(5)); // a name longer than the payload
  assert_stops_at(TIDE_PART_MARKS, &p, "past the end");
  put_varints(&p, 6, V(0), V(2), V(UINT64_MAX), V(1), V(0), V(0));
  assert_stops_at(TIDE_PART_MARKS, &p, "damaged"); // time beyond 64 bits
  put_varints(&p, 2, V(0), V(1ull << 60));
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "claims more rows");
  put_varints(&p, 2, V(1), V(0));
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "continue");
  put_symbols(&p, 1ull << 50, 0, 1, 1);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "claims more strings");
  put_symbols(&p, 7, 0, 1, 1); // the numbers behind them are taken for strings
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "runs past the end");
  put_symbols(&p, 0, 5, 1, 0);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "outside of all modules");
  put_symbols(&p, 0, 0, 0, 0);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "not in order"); // no frames
  put_symbols(&p, 0, 0, UINT32_MAX, 0);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "not in order"); // more than there are bytes
  put_symbols(&p, 0, 0, 2, 0);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "more frames");
  put_symbols(&p, 0, 0, 1, 1);
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "no name");
  put_varints(&p, 9, V(0), V(2), V(0), V(0), V(0), V(2), V(0), V(1), V(1)); // the same twice
  put_varints(&p, 8, V(0), V(0), V(0), V(0), V(0), V(0), V(0), V(0));
  assert_stops_at(TIDE_PART_SYMBOLS, &p, "not in order");
  put_varints(&p, 1, V(99));
  assert_stops_at(TIDE_PART_END, &p, "counts do not agree");
  tide_buf_done(&p);
}

enum appended { SITES_1_1, SNAPSHOTS_1_1, SITES_1_3, TIMELINE_1_3, SITES_1_6, APPENDED_N };

static void set_appended(struct tide_image *image, enum appended what, bool with)
{
  image->has_temp_bytes = what == SITES_1_3 || what == SITES_1_6 || with;
  image->has_counts = with;
  image->has_resized_bytes = what == SITES_1_6 || (what == SITES_1_3 && with);
  image->has_touches = what == SITES_1_6 && with;
  image->has_tick_resizes = with;
}

// The second half of a table.
static enum tide_part_type encode_rest(struct tide_buf *out, struct tide_image *image,
                                       enum appended what, size_t from)
{
  switch (what) {
  case SNAPSHOTS_1_1:
    tide_encode_snapshots(out, image, &(struct tide_snapshot_place){from, 0});
    return TIDE_PART_SNAPSHOTS;
  case TIMELINE_1_3:
    tide_encode_timeline(out, image, from, image->n_ticks - from);
    return TIDE_PART_TIMELINE;
  default:
    tide_encode_sites(out, image, image->sites + from, from, image->n_sites - from);
    return TIDE_PART_SITES;
  }
}

static size_t *rows_of(struct tide_image *image, enum appended what)
{
  return what == SNAPSHOTS_1_1  ? &image->n_snapshots
         : what == TIMELINE_1_3 ? &image->n_ticks
                                : &image->n_sites;
}

// A table with what a version appended in one part and without it in the next, or the other way
// round.
static void parts_of_a_table_have_the_same_columns(void **state)
{
  for (int i = 0; i < 2 * APPENDED_N; i++) {
    enum appended what = (enum appended)(i / 2);
    struct tide_capture *capture = tide_gen_program(4, 40, 4), *again = NULL;
    struct tide_image *image = capture->images;
    image->n_ticks = 6;
    image->ticks = tide_alloc_array(image->n_ticks, sizeof *image->ticks);
    size_t *rows = rows_of(image, what), n_rows = *rows, n_snapshots = image->n_snapshots, n_parts;
    set_appended(image, what, i % 2);
    image->n_snapshots = what == SNAPSHOTS_1_1 ? n_snapshots : 0;
    *rows = n_rows / 2;
    struct tide_buf file = tide_bytes_of(capture), more = {0};
    *rows = n_rows;
    set_appended(image, what, !(i % 2));
    enum tide_part_type type = encode_rest(&more, image, what, n_rows / 2);
    struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
    file.n = parts[n_parts - 1].start; // without END
    struct tide_bytes_part rest = {
        .type = (uint16_t)type,
        .flags = type == TIDE_PART_SITES ? TIDE_PART_BY_STACK : 0,
        .payload = more,
    };
    tide_bytes_put_flagged(&file, &rest, (uint32_t)n_parts - 1, 0, true, more.n);
    struct tide_diag diag;
    assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_OK);
    assert_non_null(strstr(again->cut_note, "other columns"));
    assert_int_equal(*rows_of(&again->images[0], what), n_rows / 2);
    image->n_snapshots = n_snapshots;
    tide_bytes_parts_free(parts, n_parts);
    tide_buf_done(&more);
    tide_buf_done(&file);
    tide_capture_free(again);
    tide_capture_free(capture);
  }
}

static void assert_refused(struct tide_buf *file)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag;
  assert_int_equal(parse(file, &capture, &diag), TIDE_ERR_LIMIT);
  assert_null(capture);
  assert_non_null(strstr(diag.text, "some.file"));
  tide_buf_done(file);
}

static void decompression_bombs_are_refused(void **state)
{
  struct tide_buf payload = {0};
  tide_buf_u8(&payload, 0);
  struct tide_buf file = file_with(TIDE_PART_SITES, &payload, true, 1ull << 62, 2);
  assert_refused(&file);
  tide_buf_clear(&payload);
  memset(tide_buf_extend(&payload, 100u << 20), 0, 100u << 20); // some 10 KB packed
  file = file_with(TIDE_PART_SITES, &payload, true, payload.n, 2);
  assert_true(file.n < 100000);
  assert_refused(&file);
  // Fits the part limit, but each row of 20 bytes would take 768.
  tide_buf_clear(&payload);
  put_varints(&payload, 2, V(0), V(1000000));
  memset(tide_buf_extend(&payload, 20u << 20), 0, 20u << 20);
  file = file_with(TIDE_PART_SITES, &payload, true, payload.n, 2);
  assert_refused(&file);
  tide_buf_done(&payload);
}

// 2,000 rows once, and then thousands of snapshots that say "as before".
static void snapshot_bombs_are_refused(void **state)
{
  struct tide_buf payload = {0};
  put_varints(&payload, 5, V(0), V(4096), V(0), V(0), V(2000));
  for (int i = 0; i < 2000; i++)
    tide_buf_varint(&payload, 0);
  for (int i = 0; i < 4000; i++)
    tide_buf_varint(&payload, 2);
  for (int i = 1; i < 4096; i++)
    put_varints(&payload, 3, V(0), V(0), V(0));
  struct tide_buf file = file_with(TIDE_PART_SNAPSHOTS, &payload, true, payload.n, 3000);
  assert_refused(&file);
  tide_buf_done(&payload);
}

// Thousands of snapshots in which nothing is alive and thousands of stacks counted.
static void count_bombs_are_refused(void **state)
{
  struct tide_buf payload = {0};
  put_varints(&payload, 2, V(0), V(4096));
  memset(tide_buf_extend(&payload, 3 * 4096), 0, 3 * 4096);
  for (int i = 0; i < 4096; i++) {
    tide_buf_varint(&payload, 2000);
    memset(tide_buf_extend(&payload, 2000), 0, 2000);
    memset(tide_buf_extend(&payload, 4000), 1, 4000);
  }
  struct tide_buf file = file_with(TIDE_PART_SNAPSHOTS, &payload, true, payload.n, 3000);
  assert_refused(&file);
  tide_buf_done(&payload);
}

// Two images of one program, of which the second's parts are packed behind the first's.
static struct tide_capture *twins(void)
{
  struct tide_capture *capture = tide_gen_program(3, 200, 3), *other = tide_gen_program(3, 200, 3);
  capture->images = tide_realloc_array(capture->images, 2, sizeof *capture->images);
  capture->images[1] = other->images[0];
  capture->n_images = 2;
  other->n_images = 0;
  tide_capture_free(other);
  return capture;
}

static void root_that_is_none_is_noticed(void **state)
{
  enum { ITSELF, ANOTHER_TYPE, NO_ROOT, WAYS };
  struct tide_capture *capture = twins();
  for (int way = 0; way < WAYS; way++) {
    struct tide_buf file = tide_bytes_of(capture);
    size_t n_parts, at = 0, before = 0;
    struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
    for (size_t i = 0; i < n_parts; i++)
      if (parts[i].flags & TIDE_PART_BEHIND) {
        before = at;
        at = i;
      }
    assert_true(before && parts[before].flags & TIDE_PART_BEHIND);
    parts[at].type = way == NO_ROOT ? parts[before].type : parts[at].type;
    parts[at].flags = TIDE_PART_BEHIND;
    uint32_t root = way == ITSELF ? (uint32_t)at : way == ANOTHER_TYPE ? 1 : (uint32_t)before;
    file.n = parts[at].start;
    tide_bytes_put_flagged(&file, &parts[at], (uint32_t)at, root, true, parts[at].payload.n);
    struct tide_capture *again = NULL;
    struct tide_diag diag;
    assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_OK);
    assert_non_null(strstr(again->cut_note, "packed behind is not there"));
    tide_capture_free(again);
    tide_bytes_parts_free(parts, n_parts);
    tide_buf_done(&file);
  }
  tide_capture_free(capture);
}

static void unit_of_nothing_is_noticed(void **state)
{
  struct tide_bytes_part part = {.type = TIDE_PART_SITES, .flags = TIDE_PART_BY_STACK};
  struct tide_capture *capture = twins(), *again = NULL;
  struct tide_buf file = tide_bytes_of(capture);
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
  put_varints(&part.payload, 3, V(capture->images[1].n_sites), V(0), V(0));
  part.image = 1;
  file.n = parts[n_parts - 1].start; // without END
  tide_bytes_put_flagged(&file, &part, (uint32_t)n_parts - 1, 0, false, part.payload.n);
  struct tide_diag diag;
  assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_OK);
  assert_non_null(strstr(again->cut_note, "unit of time is none"));
  tide_bytes_parts_free(parts, n_parts);
  tide_buf_done(&part.payload);
  tide_buf_done(&file);
  tide_capture_free(again);
  tide_capture_free(capture);
}

static void missing_part_is_noticed(void **state)
{
  struct tide_capture *capture = tide_gen_program(3, 50, 3), *again = NULL;
  struct tide_buf file = tide_bytes_of(capture);
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(&file, &n_parts);
  size_t gone = 4; // somewhere after the image's facts
  memmove(file.data + parts[gone].start, file.data + parts[gone + 1].start,
          file.n - parts[gone + 1].start);
  file.n -= parts[gone].n;
  struct tide_diag diag;
  assert_int_equal(parse(&file, &again, &diag), TIDE_ERR_OK);
  assert_true(again->cut);
  assert_non_null(strstr(again->cut_note, "missing"));
  tide_bytes_parts_free(parts, n_parts);
  tide_buf_done(&file);
  tide_capture_free(again);
  tide_capture_free(capture);
}

UNIT_TESTS(tide_hostile_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(foreign_files_are_named),
      cmocka_unit_test(directory_and_missing_file_are_named),
      cmocka_unit_test(other_major_is_refused_other_minor_is_read),
      cmocka_unit_test(additions_of_a_later_version_are_skipped),
      cmocka_unit_test(absurd_counts_and_indexes_stop_the_reader),
      cmocka_unit_test(late_frees_must_fit_the_rest),
      cmocka_unit_test(wrong_late_frees_stop_the_reader),
      cmocka_unit_test(parts_of_a_table_have_the_same_columns),
      cmocka_unit_test(decompression_bombs_are_refused),
      cmocka_unit_test(snapshot_bombs_are_refused),
      cmocka_unit_test(count_bombs_are_refused),
      cmocka_unit_test(missing_part_is_noticed),
      cmocka_unit_test(root_that_is_none_is_noticed),
      cmocka_unit_test(unit_of_nothing_is_noticed),
  };
  return cmocka_run_group_tests_name("tide_hostile", tests, NULL, NULL);
}
