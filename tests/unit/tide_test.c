// SPDX-License-Identifier: Apache-2.0
//
// The .tide file keeps what it is given, and gives back all it can of a file that was cut at any
// byte or damaged in any bit.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tide_capture *parse_good(const uint8_t *data, size_t n)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (tide_file_parse(data, n, "test", &capture, &diag))
    fail_msg("%s", diag.text);
  return capture;
}

static void capture_comes_back_equal(void **state)
{
  for (uint64_t seed = 0; seed < 150; seed++) {
    struct tide_capture *before = tide_gen_capture(seed, (size_t)(seed % 40) * 5);
    struct tide_buf bytes = tide_bytes_of(before);
    struct tide_capture *after = parse_good(bytes.data, bytes.n);
    assert_false(after->cut);
    assert_null(after->cut_note);
    assert_int_equal(tide_capture_check(after, NULL), TIDE_ERR_OK);
    char *a = tide_bytes_json(before), *b = tide_bytes_json(after);
    if (strcmp(a, b) != 0)
      fail_msg("seed %llu came back different", (unsigned long long)seed);
    free(a);
    free(b);
    tide_buf_done(&bytes);
    tide_capture_free(before);
    tide_capture_free(after);
  }
}

static void tables_of_many_parts_come_back_equal(void **state)
{
  struct tide_capture *before = tide_gen_program(7, 20000, 6); // 80,000 frames: two parts
  struct tide_buf bytes = tide_bytes_of(before);
  struct tide_capture *after = parse_good(bytes.data, bytes.n);
  char *a = tide_bytes_json(before), *b = tide_bytes_json(after);
  assert_true(strcmp(a, b) == 0);
  free(a);
  free(b);
  tide_buf_done(&bytes);
  tide_capture_free(before);
  tide_capture_free(after);
}

// n images, of the same program or each of another. The last was wiped of a few stacks.
static struct tide_capture *images_of(size_t n, bool same_program)
{
  struct tide_capture *capture = tide_gen_program(11, 1000, 4);
  capture->images = tide_realloc_array(capture->images, n, sizeof *capture->images);
  for (size_t i = 1; i < n; i++) {
    struct tide_capture *more = tide_gen_program(11, 1000, 4);
    capture->images[i] = more->images[0];
    more->n_images = 0;
    tide_capture_free(more);
  }
  capture->images[n - 1].n_sites -= n > 1 ? 40 : 0;
  for (size_t i = 0; i < n && !same_program; i++) {
    free(capture->images[i].exe);
    capture->images[i].exe = tide_sprintf("/bin/program%zu", i);
  }
  capture->n_images = n;
  return capture;
}

static size_t bytes_and_back(size_t n, bool same_program)
{
  struct tide_capture *before = images_of(n, same_program);
  struct tide_buf bytes = tide_bytes_of(before);
  struct tide_capture *after = parse_good(bytes.data, bytes.n);
  assert_false(after->cut);
  char *a = tide_bytes_json(before), *b = tide_bytes_json(after);
  assert_true(strcmp(a, b) == 0);
  free(a);
  free(b);
  size_t n_bytes = bytes.n;
  tide_buf_done(&bytes);
  tide_capture_free(before);
  tide_capture_free(after);
  return n_bytes;
}

static void images_of_one_program_share(void **state)
{
  size_t one = bytes_and_back(1, true), same = bytes_and_back(5, true);
  size_t apart = bytes_and_back(5, false);
  assert_true(apart > 4 * one);
  assert_true(same < 2 * one);
}

// Rows that lie in the order in which their stacks were met, at times of a coarse clock.
static void times_are_told_in_their_unit(void **state)
{
  size_t bytes[2];
  for (int coarse = 0; coarse < 2; coarse++) {
    struct tide_capture *capture = tide_gen_program(11, 3000, 4);
    struct tide_image *image = &capture->images[0];
    for (size_t i = 0; i < image->n_sites; i++) {
      uint64_t since = image->sites[i].stack * UINT64_C(30000);
      image->sites[i].first_ns = image->start_ns + since + (coarse ? 0 : i * 7919 % 10000);
      image->sites[i].last_ns = image->sites[i].first_ns + (coarse ? 0 : i * 104729 % 10000);
    }
    struct tide_buf file = tide_bytes_of(capture);
    struct tide_capture *after = parse_good(file.data, file.n);
    char *a = tide_bytes_json(capture), *b = tide_bytes_json(after);
    assert_true(strcmp(a, b) == 0);
    free(a);
    free(b);
    bytes[coarse] = file.n;
    tide_buf_done(&file);
    tide_capture_free(after);
    tide_capture_free(capture);
  }
  assert_true(bytes[1] + 3000 * 3 < bytes[0]); // 13 bits in each of two columns
}

static void first_rows_are_always_there(void **state)
{
  struct tide_capture *before = tide_capture_new();
  before->n_images = 1;
  before->images = tide_alloc(sizeof *before->images);
  struct tide_buf bytes = tide_bytes_of(before);
  struct tide_capture *after = parse_good(bytes.data, bytes.n);
  assert_int_equal(after->n_images, 1);
  assert_int_equal(after->images[0].n_modules, 1);
  assert_string_equal(after->images[0].modules[0].path, "");
  assert_int_equal(after->images[0].n_frames, 1);
  assert_int_equal(after->images[0].n_threads_known, 1);
  assert_string_equal(after->images[0].exe, "");
  assert_string_equal(after->hostname, "");
  tide_buf_done(&bytes);
  tide_capture_free(before);
  tide_capture_free(after);
}

static void clock_that_stepped_back_is_held(void **state)
{
  struct tide_capture *before = tide_capture_new();
  before->n_images = 1;
  struct tide_image *image = before->images = tide_alloc(sizeof *before->images);
  image->n_ticks = 40000; // several parts
  image->ticks = tide_alloc_array(image->n_ticks, sizeof *image->ticks);
  for (size_t i = 0; i < image->n_ticks; i++)
    image->ticks[i].time_ns = i * 10 - i % 7 * 11;
  image->ticks[0].time_ns = 0;
  struct tide_buf bytes = tide_bytes_of(before);
  struct tide_capture *after = parse_good(bytes.data, bytes.n);
  assert_false(after->cut);
  assert_int_equal(after->images[0].n_ticks, image->n_ticks);
  uint64_t held_ns = 0;
  for (size_t i = 0; i < image->n_ticks; i++) {
    held_ns = image->ticks[i].time_ns > held_ns ? image->ticks[i].time_ns : held_ns;
    assert_int_equal(after->images[0].ticks[i].time_ns, held_ns);
  }
  tide_buf_done(&bytes);
  tide_capture_free(before);
  tide_capture_free(after);
}

static bool has_all_parts(const struct tide_image *image)
{
  return image->n_modules > 1 && image->n_threads_known > 1 && image->n_frames > 2 &&
         image->n_sites > 2 && image->n_ticks > 1 && image->n_snapshots > 1 && image->n_marks > 1 &&
         image->has_counts && image->has_temp_bytes && image->names.n_places > 1 &&
         image->has_late_frees && image->n_late_frees > 1 && image->has_resized_bytes &&
         image->has_tick_resizes;
}

// The next from *seed on of two images, the last of which has every kind of part.
static struct tide_capture *next_with_all_parts(uint64_t *seed)
{
  for (;;) {
    struct tide_capture *capture = tide_gen_capture((*seed)++, 12);
    if (capture->n_images == 2 && has_all_parts(&capture->images[1]))
      return capture;
    tide_capture_free(capture);
  }
}

// A capture whose file is small and has every kind of part for two images. One made by chance is
// rare: it is put together of two.
static struct tide_capture *small_capture(void)
{
  uint64_t seed = 1000;
  struct tide_capture *capture = next_with_all_parts(&seed), *other = next_with_all_parts(&seed);
  struct tide_image first = capture->images[0];
  capture->images[0] = other->images[1];
  capture->images[0].parent_image = first.parent_image;
  other->images[1] = first;
  tide_capture_free(other);
  return capture;
}

static size_t amount_of(const struct tide_capture *capture)
{
  size_t n = capture->n_images;
  for (size_t i = 0; i < capture->n_images; i++) {
    const struct tide_image *image = &capture->images[i];
    n += image->n_modules + image->n_threads_known + image->n_frames + image->n_sites +
         image->n_ticks + image->n_marks + image->n_snapshots + image->names.n_places +
         image->n_late_frees;
  }
  return n;
}

static void file_cut_anywhere_gives_what_was_whole(void **state)
{
  struct tide_capture *capture = small_capture();
  struct tide_buf bytes = tide_bytes_of(capture);
  size_t n_parts, most = 0;
  struct tide_bytes_part *parts = tide_bytes_parts(&bytes, &n_parts);
  assert_int_equal(parts[1].type, TIDE_PART_IMAGE);
  size_t readable_from = parts[1].start + parts[1].n;
  for (size_t n = 0; n <= bytes.n; n++) {
    uint8_t *exact = malloc(n ? n : 1); // so that reading past the end is seen
    memcpy(exact, bytes.data, n);
    struct tide_capture *cut = NULL;
    struct tide_diag diag = {0};
    enum tide_err err = tide_file_parse(exact, n, "cut.tide", &cut, &diag);
    free(exact);
    assert_int_equal(err == TIDE_ERR_OK, n >= readable_from);
    if (err) {
      assert_non_null(strstr(diag.text, "cut.tide"));
      continue;
    }
    assert_int_equal(cut->cut, n < bytes.n);
    assert_int_equal(cut->cut_note != NULL, n < bytes.n);
    char where[64];
    snprintf(where, sizeof where, "cut at byte %zu, ", n);
    assert_true(!cut->cut || strstr(cut->cut_note, where));
    assert_int_equal(tide_capture_check(cut, NULL), TIDE_ERR_OK);
    assert_true(amount_of(cut) >= most);
    most = amount_of(cut);
    tide_capture_free(cut);
  }
  assert_int_equal(most, amount_of(capture));
  tide_bytes_parts_free(parts, n_parts);
  tide_buf_done(&bytes);
  tide_capture_free(capture);
}

static void flipped_bit_is_noticed_or_harmless(void **state)
{
  struct tide_capture *capture = small_capture();
  struct tide_buf bytes = tide_bytes_of(capture);
  char *truth = tide_bytes_json(capture);
  for (size_t bit = 0; bit < bytes.n * 8; bit++) {
    struct tide_capture *flipped = NULL;
    struct tide_diag diag = {0};
    bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    enum tide_err err = tide_file_parse(bytes.data, bytes.n, "test", &flipped, &diag);
    bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (err) {
      assert_true(diag.text[0] != 0);
      continue;
    }
    assert_int_equal(tide_capture_check(flipped, NULL), TIDE_ERR_OK);
    if (!flipped->cut) {
      char *seen = tide_bytes_json(flipped);
      assert_string_equal(seen, truth);
      free(seen);
    }
    tide_capture_free(flipped);
  }
  free(truth);
  tide_buf_done(&bytes);
  tide_capture_free(capture);
}

// Of one large image among small ones, the large one's tables come first in the file.
static void cut_file_keeps_the_largest_image(void **state)
{
  struct tide_capture *capture = tide_gen_program(9, 100, 0);
  capture->images = tide_realloc_array(capture->images, 8, sizeof *capture->images);
  struct tide_image *large = &capture->images[7];
  *large = capture->images[0];
  large->peak_bytes = 1000;
  for (size_t i = 0; i < 7; i++) {
    struct tide_capture *small = tide_gen_program(10 + i, 50, 0);
    capture->images[i] = small->images[0];
    small->n_images = 0;
    tide_capture_free(small);
  }
  capture->n_images = 8;
  struct tide_buf bytes = tide_bytes_of(capture);
  struct tide_capture *cut = parse_good(bytes.data, bytes.n / 2);
  assert_true(cut->cut);
  assert_int_equal(cut->n_images, 8);
  assert_int_equal(cut->images[7].n_sites, 100);
  assert_int_equal(cut->images[6].n_sites, 0);
  tide_buf_done(&bytes);
  tide_capture_free(cut);
  tide_capture_free(capture);
}

// A cut file can be written again and is then whole, though it holds less.
static void cut_file_can_be_written_again(void **state)
{
  struct tide_capture *capture = small_capture();
  struct tide_buf bytes = tide_bytes_of(capture);
  struct tide_capture *cut = parse_good(bytes.data, bytes.n / 2);
  assert_true(cut->cut);
  struct tide_buf again = tide_bytes_of(cut);
  struct tide_capture *after = parse_good(again.data, again.n);
  assert_false(after->cut);
  assert_int_equal(amount_of(after), amount_of(cut));
  tide_buf_done(&again);
  tide_buf_done(&bytes);
  tide_capture_free(after);
  tide_capture_free(cut);
  tide_capture_free(capture);
}

static struct tide_buf bytes_in_pieces(const struct tide_capture *capture, size_t n_rows)
{
  size_t rows = tide_snapshot_rows;
  tide_snapshot_rows = n_rows;
  struct tide_buf bytes = tide_bytes_of(capture);
  tide_snapshot_rows = rows;
  return bytes;
}

static void assert_same_snapshots(const struct tide_image *a, const struct tide_image *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(a->snapshots[i].time_ns, b->snapshots[i].time_ns);
    assert_int_equal(a->snapshots[i].kind, b->snapshots[i].kind);
    assert_int_equal(a->snapshots[i].n_rows, b->snapshots[i].n_rows);
    for (size_t k = 0; k < a->snapshots[i].n_rows; k++)
      assert_memory_equal(&a->snapshots[i].rows[k], &b->snapshots[i].rows[k],
                          sizeof *a->snapshots[i].rows);
  }
}

static bool is_piece(const struct tide_bytes_part *part)
{
  return part->type == TIDE_PART_SNAPSHOTS && part->flags & TIDE_PART_GOES_ON;
}

// A snapshot in pieces is whole, or it is not there.
static void snapshots_in_pieces_come_back_whole(void **state)
{
  for (size_t n_rows = 1; n_rows < 40; n_rows += n_rows) {
    struct tide_capture *capture = tide_gen_program(11, 400, 4);
    struct tide_buf bytes = bytes_in_pieces(capture, n_rows);
    size_t n_parts, n_pieces = 0;
    struct tide_bytes_part *parts = tide_bytes_parts(&bytes, &n_parts);
    for (size_t i = 2; i < n_parts; i++) {
      struct tide_capture *cut = parse_good(bytes.data, parts[i].start);
      assert_true(cut->cut);
      assert_same_snapshots(cut->images, capture->images, cut->images->n_snapshots);
      n_pieces += is_piece(&parts[i]);
      tide_capture_free(cut);
    }
    assert_true(n_pieces > 0);
    struct tide_capture *whole = parse_good(bytes.data, bytes.n);
    assert_false(whole->cut);
    assert_int_equal(whole->images->n_snapshots, capture->images->n_snapshots);
    assert_same_snapshots(whole->images, capture->images, capture->images->n_snapshots);
    tide_capture_free(whole);
    tide_bytes_parts_free(parts, n_parts);
    tide_buf_done(&bytes);
    tide_capture_free(capture);
  }
}

// The same parts, all snapshots said to go on, or none.
static struct tide_capture *with_flag(const struct tide_buf *bytes, bool goes_on)
{
  struct tide_buf file = {0};
  size_t n_parts;
  struct tide_bytes_part *parts = tide_bytes_parts(bytes, &n_parts);
  tide_bytes_put_file_header(&file, TIDE_FILE_MAJOR, TIDE_FILE_MINOR);
  for (size_t i = 0; i < n_parts; i++) {
    if (parts[i].type == TIDE_PART_SNAPSHOTS)
      parts[i].flags = goes_on ? TIDE_PART_GOES_ON : 0;
    tide_bytes_put_flagged(&file, &parts[i], (uint32_t)i, 0, false, parts[i].payload.n);
  }
  struct tide_capture *capture = parse_good(file.data, file.n);
  tide_bytes_parts_free(parts, n_parts);
  tide_buf_done(&file);
  return capture;
}

static void pieces_that_do_not_fit_are_refused(void **state)
{
  struct tide_capture *capture = tide_gen_program(11, 60, 4);
  struct tide_buf pieces = bytes_in_pieces(capture, 7), whole = bytes_in_pieces(capture, 1000);
  struct tide_capture *one = tide_gen_program(11, 60, 1);
  struct tide_buf last = bytes_in_pieces(one, 7);
  struct tide_capture *without_end = with_flag(&last, true);
  assert_non_null(strstr(without_end->cut_note, "a snapshot has no end"));
  assert_int_equal(without_end->images->n_snapshots, 0);
  struct tide_capture *not_alone = with_flag(&whole, true);
  assert_non_null(strstr(not_alone->cut_note, "a snapshot in pieces is not alone"));
  assert_int_equal(not_alone->images->n_snapshots, 0);
  struct tide_capture *not_marked = with_flag(&pieces, false);
  assert_non_null(strstr(not_marked->cut_note, "does not continue"));
  tide_capture_free(without_end);
  tide_capture_free(not_alone);
  tide_capture_free(not_marked);
  tide_buf_done(&last);
  tide_buf_done(&pieces);
  tide_buf_done(&whole);
  tide_capture_free(one);
  tide_capture_free(capture);
}

UNIT_TESTS(tide_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(capture_comes_back_equal),
      cmocka_unit_test(tables_of_many_parts_come_back_equal),
      cmocka_unit_test(images_of_one_program_share),
      cmocka_unit_test(snapshots_in_pieces_come_back_whole),
      cmocka_unit_test(pieces_that_do_not_fit_are_refused),
      cmocka_unit_test(times_are_told_in_their_unit),
      cmocka_unit_test(first_rows_are_always_there),
      cmocka_unit_test(clock_that_stepped_back_is_held),
      cmocka_unit_test(file_cut_anywhere_gives_what_was_whole),
      cmocka_unit_test(flipped_bit_is_noticed_or_harmless),
      cmocka_unit_test(cut_file_keeps_the_largest_image),
      cmocka_unit_test(cut_file_can_be_written_again),
  };
  return cmocka_run_group_tests_name("tide", tests, NULL, NULL);
}
