// SPDX-License-Identifier: Apache-2.0
//
// Readers of heap profiles (gperftools, jemalloc, Go, pprof) and of folded stacks: numbers as their
// own tools give them, what a file does not hold, files that are cut or wrong. Exports of captures
// made from seeds are read and written again, and must come out as they went in.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "model/stored_names.h"
#include "tide/format.h"
#include "export/exports.h"
#include "import/importers.h"
#include "tide_gen.h"

#include <stdlib.h>
#include <string.h>

#define MAPS                                                                                       \
  "\nMAPPED_LIBRARIES:\n"                                                                          \
  "00400000-00401000 r--p 00000000 08:01 42 /bin/fixed\n"                                          \
  "00401000-00402000 r-xp 00001000 08:01 42 /bin/fixed\n"                                          \
  "7f0000000000-7f0000020000 r--p 00000000 08:01 43     /lib/lib c.so (deleted)\n"                 \
  "7f0000020000-7f0000040000 r-xp 0001f000 08:01 43     /lib/lib c.so (deleted)\n"                 \
  "7f0000040000-7f0000041000 rw-p 00000000 00:00 0 \n"                                             \
  "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"

static const char exact[] = "heap profile:    12:     4012 [   30:    90000] @ heapprofile\n"
                            "    2:     4000 [     20:    80000] @ 0x401010 0x7f0000020010\n"
                            "   10:       12 [     10:    10000] @ 0x7f0000020011 0x99\n" MAPS;

static struct tide_diag diag;

static enum tide_err import(const void *bytes, size_t n, struct tide_capture **ret_capture)
{
  diag.text[0] = '\0';
  *ret_capture = NULL;
  return tide_import_bytes(bytes, n, "x.heap", ret_capture, &diag);
}

static struct tide_capture *read_text(const char *text)
{
  struct tide_capture *capture;
  if (import(text, strlen(text), &capture))
    fail_msg("%s", diag.text);
  assert_int_equal(tide_capture_check(capture, NULL), TIDE_ERR_OK);
  return capture;
}

static void expect_refused(const char *text, const char *why)
{
  struct tide_capture *capture;
  assert_int_not_equal(import(text, strlen(text), &capture), TIDE_ERR_OK);
  assert_null(capture);
  if (!strstr(diag.text, why))
    fail_msg("not '%s': %s", why, diag.text);
}

// The site whose innermost frame is at pc.
static const struct tide_site *site_at(const struct tide_image *image, uint64_t pc)
{
  for (size_t i = 0; i < image->n_sites; i++)
    if (image->frames[image->sites[i].stack].pc == pc)
      return &image->sites[i];
  fail_msg("no site at 0x%llx", (unsigned long long)pc);
  return NULL;
}

static void expect_site(const struct tide_image *image, uint64_t pc, uint64_t blocks,
                        uint64_t bytes)
{
  const struct tide_site *site = site_at(image, pc);
  assert_int_equal(site->n_alloc - site->n_free, blocks);
  assert_int_equal(site->b_alloc - site->b_free, bytes);
}

static void exact_profiles(void **state)
{
  struct tide_capture *capture = read_text(exact);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_sites, 2);
  expect_site(image, 0x401010, 2, 4000);
  assert_int_equal(site_at(image, 0x401010)->b_alloc, 80000);
  expect_site(image, 0x7f0000020011, 10, 12);
  assert_string_equal(image->origin, "gperftools heap profile");
  assert_string_equal(image->exe, "/bin/fixed");
  assert_false(image->lacks & (TIDE_LACK_TOTAL | TIDE_LACK_LIVE | TIDE_LACK_BLOCKS));
  assert_true(image->lacks & TIDE_LACK_PEAK && image->lacks & TIDE_LACK_CLOCK);
  assert_false(capture->cut);
  tide_capture_free(capture);
}

// A program that is not position-independent runs where it was linked; a library's start is where
// its first bytes are, whatever the offset of its code.
static void files_of_addresses(void **state)
{
  struct tide_capture *capture = read_text(exact);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_modules, 3);
  const struct tide_frame *leaf = &image->frames[site_at(image, 0x401010)->stack];
  const struct tide_module *fixed = &image->modules[leaf->module];
  assert_string_equal(fixed->path, "/bin/fixed");
  assert_int_equal(fixed->bias, 0);
  assert_int_equal(fixed->start, 0x400000);
  assert_int_equal(fixed->end, 0x402000);
  const struct tide_frame *outer = &image->frames[leaf->parent];
  const struct tide_module *library = &image->modules[outer->module];
  assert_string_equal(library->path, "/lib/lib c.so");
  assert_int_equal(library->bias, 0x7f0000000000);
  assert_int_equal(library->end, 0x7f0000040000);
  leaf = &image->frames[site_at(image, 0x7f0000020011)->stack];
  assert_int_equal(image->frames[leaf->parent].module, 0);
  tide_capture_free(capture);
}

// Others than gperftools head the list of files in words of their own, and may shorten its lines.
static void memory_maps_by_another_name(void **state)
{
  struct tide_capture *capture =
      read_text("heap profile: 2: 20 [2: 20] @ heapprofile\n"
                "1: 10 [1: 10] @ 0x55550001810\n"
                "1: 10 [1: 10] @ 0x7f0000005010\n"
                "--- Memory map: ---\n"
                "  7e0000000000-7e0000008000: /lib/libfirst.so.1.0\n"
                "  55550000000-55550001000 r--p 00000000 00:00 1 /bin/small\n"
                "  55550001000-55550002000 r-xp 00001000 00:00 1 /bin/small\n"
                "  7f0000000000-7f0000008000: /lib/brief.so\n");
  const struct tide_image *image = capture->images;
  assert_false(capture->cut);
  assert_string_equal(image->exe, "/bin/small");
  uint16_t small = image->frames[site_at(image, 0x55550001810)->stack].module;
  uint16_t brief = image->frames[site_at(image, 0x7f0000005010)->stack].module;
  assert_string_equal(image->modules[small].path, "/bin/small");
  assert_string_equal(image->modules[brief].path, "/lib/brief.so");
  tide_capture_free(capture);
}

// lld's code begins in the first page of a small program, which is mapped twice then; a library
// that was loaded twice has all of its lines twice.
static void files_mapped_from_offset_0_again(void **state)
{
  struct tide_capture *capture =
      read_text("heap profile: 2: 20 [2: 20] @ heapprofile\n"
                "1: 10 [1: 10] @ 0x55550001810\n"
                "1: 10 [1: 10] @ 0x7f0000005010\n"
                "MAPPED_LIBRARIES:\n"
                "55550000000-55550001000 r--p 00000000 00:00 1 /bin/small\n"
                "55550001000-55550002000 r-xp 00000000 00:00 1 /bin/small\n"
                "55550002000-55550003000 rw-p 00000000 00:00 1 /bin/small\n"
                "7f0000000000-7f0000001000 r--p 00000000 00:00 2 /lib/twice.so\n"
                "7f0000001000-7f0000004000 r-xp 00001000 00:00 2 /lib/twice.so\n"
                "7f0000004000-7f0000005000 r--p 00000000 00:00 2 /lib/twice.so\n"
                "7f0000005000-7f0000008000 r-xp 00001000 00:00 2 /lib/twice.so\n");
  const struct tide_image *image = capture->images;
  uint16_t small = image->frames[site_at(image, 0x55550001810)->stack].module;
  uint16_t second = image->frames[site_at(image, 0x7f0000005010)->stack].module;
  assert_int_equal(image->n_modules, 4);
  assert_int_equal(image->modules[small].bias, 0x55550000000);
  assert_int_equal(image->modules[small].end, 0x55550003000);
  assert_int_equal(image->modules[second].bias, 0x7f0000004000);
  tide_capture_free(capture);
}

// Of the same file jeprof of jemalloc 5.3 gives 1,103,980 and 524,352 bytes; of the second stack
// 4096.5 objects, a number cut off in print.
static void sampled_profiles(void **state)
{
  static const char jemalloc[] = "heap_v2/524288\n"
                                 "  t*: 2: 909120 [0: 0]\n"
                                 "  t0: 2: 909120 [0: 0]\n"
                                 "@ 0x401010 0x401020\n"
                                 "  t*: 1: 909000 [0: 0]\n"
                                 "  t0: 1: 909000 [0: 0]\n"
                                 "@ 0x401030 0x401020\n"
                                 "  t*: 1: 128 [0: 0]\n"
                                 "  t1: 1: 128 [0: 0]\n" MAPS;
  static const char tcmalloc[] = "heap profile: 2: 909120 [2: 909120] @ heap_v2/524288\n"
                                 "1: 909000 [1: 909000] @ 0x401010 0x401020\n"
                                 "1: 128 [1: 128] @ 0x401030 0x401020\n" MAPS;
  static const char *const texts[] = {jemalloc, tcmalloc};
  for (int i = 0; i < 2; i++) {
    struct tide_capture *capture = read_text(texts[i]);
    const struct tide_image *image = capture->images;
    assert_int_equal(image->n_sites, 2);
    expect_site(image, 0x401010, 1, 1103980);
    expect_site(image, 0x401030, 4097, 524352);
    assert_true(image->lacks & TIDE_LACK_TOTAL);
    assert_non_null(strstr(image->origin, "sampled every 524288 bytes"));
    assert_int_equal(image->sampled_every_bytes, 524288);
    assert_true(image->has_samples);
    assert_int_equal(site_at(image, 0x401010)->n_samples, 1);
    assert_int_equal(site_at(image, 0x401030)->n_samples, 1);
    tide_capture_free(capture);
  }
}

static void intervals_of_0_are_exact(void **state)
{
  struct tide_capture *capture = read_text("heap_v2/0\n  t*: 1: 1 [3: 3]\n@ 0x401010\n"
                                           "  t*: 1: 1 [3: 3]\n" MAPS);
  expect_site(capture->images, 0x401010, 1, 1);
  assert_int_equal(site_at(capture->images, 0x401010)->n_alloc, 3);
  assert_string_equal(capture->images->origin, "jemalloc heap profile");
  tide_capture_free(capture);
}

static void go_text(void **state)
{
  struct tide_capture *capture = read_text("heap profile: 1: 8 [2: 16] @ heap/1048576\n"
                                           "1: 8 [2: 16] @ 0x401010 0x401020\n"
                                           "#\t0x40100f\tmain.f+0x1\t/x.go:1\n"
                                           "\n# runtime.MemStats\n");
  expect_site(capture->images, 0x401010, 65537, 524292);
  assert_false(capture->cut);
  tide_capture_free(capture);
}

static void stacks_that_are_none(void **state)
{
  struct tide_capture *capture = read_text("heap profile: 1: 8 [1: 8] @ heapprofile\n"
                                           "1: 8 [1: 8] @ 0x1\n2: 8 [2: 8] @\n" MAPS);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_sites, 1);
  assert_int_equal(image->frames[image->sites[0].stack].flags, TIDE_FRAME_LOST);
  assert_int_equal(image->sites[0].n_alloc, 3);
  tide_capture_free(capture);
}

static void heap_profiles_that_are_wrong(void **state)
{
  expect_refused("heap profile: 1: 8 [1: 8] @ growthz\n", "at byte 0");
  expect_refused("heap profile: 1: 8\n", "at byte 0");
  expect_refused("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8 @ 0x1\n", "at byte 40");
  expect_refused("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 1234\n", "an address");
  expect_refused("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x11112222333344445\n",
                 "an address");
  expect_refused("heap profile: 1: 8 [1: 8] @ heapprofile\n99999999999999999999: 8 [1: 8] @ 0x12\n",
                 "expected");
  expect_refused("heap_v2/12\n  t*: 1: 2 [3: 4]\n@ 0x1\n  x\n", "at byte 35");
  expect_refused("heap_v2/99999999999999999999\n", "no interval");
}

// Wherever a file ends, it is read as far as it goes, and says that it is cut.
static void heap_profiles_that_are_cut(void **state)
{
  for (size_t n = 0; n < sizeof exact - 1; n++) {
    struct tide_capture *capture;
    char *part = tide_strndup(exact, n);
    if (import(part, n, &capture) == TIDE_ERR_OK) {
      assert_int_equal(tide_capture_check(capture, NULL), TIDE_ERR_OK);
      bool has_maps = strstr(part, "MAPPED_LIBRARIES:\n") != NULL;
      assert_true(capture->cut == !has_maps);
      assert_true(!capture->cut || strstr(capture->cut_note, "at byte "));
      tide_capture_free(capture);
    } else
      assert_true(diag.text[0] != '\0');
    free(part);
  }
}

static const char *name_at(const struct tide_image *image, uint32_t node)
{
  const struct tide_stored_frame *frames;
  const struct tide_frame *frame = &image->frames[node];
  if (!tide_stored_names_find(&image->names, frame->module, frame->pc, &frames))
    return NULL;
  return tide_stored_text(&image->names, frames[0].function);
}

static void folded_stacks(void **state)
{
  struct tide_capture *capture = read_text("main;f;g 10\nmain;f;g 5\r\nmain 1\n"
                                           "[stack not recorded] 3\nmain;operator new(int) 7");
  const struct tide_image *image = capture->images;
  int64_t sum = 0;
  assert_int_equal(image->n_sites, 4);
  for (size_t i = 0; i < image->n_sites; i++) {
    const char *name = name_at(image, image->sites[i].stack);
    sum += (int64_t)image->sites[i].b_alloc;
    if (name && strcmp(name, "g") == 0)
      assert_int_equal(image->sites[i].b_alloc, 15);
    if (!name)
      assert_int_equal(image->frames[image->sites[i].stack].flags, TIDE_FRAME_LOST);
  }
  assert_int_equal(sum, 26);
  assert_true(image->lacks & TIDE_LACK_BLOCKS && image->lacks & TIDE_LACK_TOTAL);
  tide_capture_free(capture);
  expect_refused("main;f\n", "not a capture");
  expect_refused("main 12\x01\n", "not a capture");
  expect_refused("main 99999999999999999999\n", "too large, at byte 0");
  struct tide_buf late = {0};
  for (int i = 0; i < 1000; i++)
    tide_buf_text(&late, "main;f 1\n");
  tide_buf_text(&late, "main;f\n");
  expect_refused(tide_buf_cstr(&late), "at byte 9000");
  tide_buf_done(&late);
}

// Rust's names are long and recursion is deep: a stack may be longer than what is looked at first.
static void long_lines_are_folded_stacks(void **state)
{
  for (size_t n_frames = 500; n_frames <= 50000; n_frames *= 100) {
    struct tide_buf text = {0};
    for (size_t i = 0; i < n_frames; i++)
      tide_buf_text(&text, "std::rt::lang_start;");
    tide_buf_text(&text, "main 10\nmain 1\n");
    struct tide_capture *capture = read_text(tide_buf_cstr(&text));
    assert_int_equal(capture->images->n_sites, 2);
    assert_int_equal(capture->images->sites[0].b_alloc, 10);
    tide_capture_free(capture);
    tide_buf_done(&text);
  }
  struct tide_buf prose = {0};
  for (int i = 0; i < 20000; i++)
    tide_buf_text(&prose, "all in one line ");
  expect_refused(tide_buf_cstr(&prose), "not a capture");
  tide_buf_done(&prose);
}

static void put(struct tide_buf *buf, unsigned field, uint64_t value)
{
  tide_buf_varint(buf, field << 3);
  tide_buf_varint(buf, value);
}

static void put_bytes(struct tide_buf *buf, unsigned field, const void *bytes, size_t n)
{
  tide_buf_varint(buf, field << 3 | 2);
  tide_buf_varint(buf, n);
  tide_buf_append(buf, bytes, n);
}

static void put_message(struct tide_buf *buf, unsigned field, struct tide_buf *inner)
{
  put_bytes(buf, field, inner->data, inner->n);
  tide_buf_clear(inner);
}

enum spoil {
  WELL,
  NO_LOCATION,
  NO_FUNCTION,
  TWO_LOCATIONS,
  FEW_VALUES,
  NO_HEAP,
  WRONG_KIND,
  LESS_THAN_NOTHING,
};

// Samples before the tables they refer to, ids with gaps, numbers unpacked: all of that is allowed.
static struct tide_buf make_pprof(enum spoil spoil)
{
  static const char *const strings[] = {"",         "inuse_objects", "count", "inuse_space",
                                        "bytes",    "/bin/program",  "inner", "outer",
                                        "/src/a.c", "abcdef0123",    "cpu"};
  struct tide_buf out = {0}, in = {0}, line = {0};
  for (int i = 0; i < 2; i++) {
    put(&in, 1, spoil == NO_HEAP ? 10 : i ? 3 : 1);
    put(&in, 2, i ? 4 : 2);
    put_message(&out, 1, &in);
  }
  put(&in, 1, spoil == NO_LOCATION ? 8 : 7);
  put(&in, 1, 900);
  put(&in, 2, 3);
  if (spoil != FEW_VALUES)
    put(&in, 2, spoil == LESS_THAN_NOTHING ? -UINT64_C(4096) : 4096);
  put_message(&out, 2, &in);
  if (spoil == WRONG_KIND)
    put(&out, 3, 1);
  for (int i = 0; i < (spoil == TWO_LOCATIONS ? 3 : 2); i++) {
    put(&in, 1, i ? 900 : 7);
    put(&in, 2, 1);
    put(&in, 3, i ? 0x7f0000001020 : 0x7f0000001010);
    for (int k = 0; k < 2 - i && i < 2; k++) {
      put(&line, 1, spoil == NO_FUNCTION ? 77 : k || i ? 4 : 2);
      put(&line, 2, 10 + (unsigned)k);
      put_message(&in, 4, &line);
    }
    put_message(&out, 4, &in);
  }
  for (unsigned i = 0; i < 2; i++) {
    put(&in, 1, i ? 4 : 2);
    put(&in, 2, i ? 7 : 6);
    put(&in, 4, 8);
    put_message(&out, 5, &in);
  }
  const uint64_t mapping[] = {1, 0x7f0000000000, 0x7f0000002000, 0, 5, 9};
  for (unsigned i = 0; i < 6; i++)
    put(&in, i + 1, mapping[i]);
  put_message(&out, 3, &in);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
    put_bytes(&out, 6, strings[i], strlen(strings[i]));
  tide_buf_done(&in);
  tide_buf_done(&line);
  return out;
}

static void pprof_profiles(void **state)
{
  struct tide_buf bytes = make_pprof(WELL);
  struct tide_capture *capture;
  if (import(bytes.data, bytes.n, &capture))
    fail_msg("%s", diag.text);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_sites, 1);
  expect_site(image, 0x1010, 3, 4096);
  const struct tide_frame *leaf = &image->frames[image->sites[0].stack];
  assert_string_equal(image->modules[leaf->module].path, "/bin/program");
  assert_memory_equal(image->modules[leaf->module].build_id, "\xab\xcd\xef\x01\x23", 5);
  const struct tide_stored_frame *frames;
  assert_int_equal(tide_stored_names_find(&image->names, leaf->module, leaf->pc, &frames), 2);
  assert_string_equal(tide_stored_text(&image->names, frames[0].function), "inner");
  assert_string_equal(tide_stored_text(&image->names, frames[1].function), "outer");
  assert_true(frames[0].inlined && !frames[1].inlined && frames[1].line == 11);
  assert_string_equal(name_at(image, leaf->parent), "outer");
  assert_true(image->lacks & TIDE_LACK_TOTAL && !(image->lacks & TIDE_LACK_BLOCKS));
  tide_capture_free(capture);
  tide_buf_done(&bytes);
}

// jemalloc_pprof has said where a mapping's code is linked to be, which is not always its offset.
static void pprof_comments_of_mappings(void **state)
{
  static const struct {
    const char *comment;
    uint64_t addr;
  } cases[] = {{"executableInfo=3;0;1000", 0x2010},
               {"executableInfo=3;0;", 0x1010},
               {"executableInfo=3;0;ffffffffffffffff", 0x1010},
               {"said by nobody;0;1000", 0x1010}};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    struct tide_buf bytes = make_pprof(WELL);
    struct tide_capture *capture;
    put_bytes(&bytes, 6, cases[i / 2].comment, strlen(cases[i / 2].comment));
    if (i % 2)
      put(&bytes, 13, 11);
    else
      put_bytes(&bytes, 13, "\x0b", 1); // packed
    if (import(bytes.data, bytes.n, &capture))
      fail_msg("%s", diag.text);
    expect_site(capture->images, cases[i / 2].addr, 3, 4096);
    tide_capture_free(capture);
    tide_buf_done(&bytes);
  }
}

static void pprof_profiles_that_are_wrong(void **state)
{
  static const struct {
    enum spoil spoil;
    const char *why;
  } cases[] = {{NO_LOCATION, "refers to no location, at byte 14"},
               {NO_FUNCTION, "a line is of no function, at byte "},
               {TWO_LOCATIONS, "two locations have one id, at byte "},
               {FEW_VALUES, "another number of values than there are kinds, at byte 14"},
               {NO_HEAP, "not of a heap"},
               {LESS_THAN_NOTHING, "the difference of two profiles"},
               {WRONG_KIND, "not a capture"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_buf bytes = make_pprof(cases[i].spoil);
    struct tide_capture *capture;
    assert_int_not_equal(import(bytes.data, bytes.n, &capture), TIDE_ERR_OK);
    if (!strstr(diag.text, cases[i].why))
      fail_msg("not '%s': %s", cases[i].why, diag.text);
    tide_buf_done(&bytes);
  }
}

static void pprof_profiles_that_are_cut(void **state)
{
  struct tide_buf bytes = make_pprof(WELL);
  for (size_t n = 1; n < bytes.n; n++) {
    struct tide_capture *capture;
    uint8_t *part = tide_alloc(n); // so that a sanitizer sees its end
    memcpy(part, bytes.data, n);
    if (import(part, n, &capture) == TIDE_ERR_OK)
      tide_capture_free(capture);
    else
      assert_true(diag.text[0] != '\0');
    free(part);
  }
  tide_buf_done(&bytes);
}

// The top-level fields of a profile one by one, back to front: what comes last refers to nothing
// that came before it, which is as good an order as any.
static struct tide_buf turned_round(const struct tide_buf *bytes)
{
  struct tide_buf out = {0};
  size_t starts[64], n = 0;
  struct tide_cursor c = tide_cursor_make(bytes->data, bytes->n);
  while (tide_cursor_left(&c)) {
    starts[n++] = (size_t)(c.at - bytes->data);
    uint64_t tag = tide_cursor_varint(&c), value = tide_cursor_varint(&c);
    if (tag & 2)
      tide_cursor_bytes(&c, (size_t)value);
  }
  for (size_t i = n, end = bytes->n; i-- > 0; end = starts[i])
    if (bytes->data[starts[i]] >> 3 != 6)
      tide_buf_append(&out, bytes->data + starts[i], end - starts[i]);
  for (size_t i = 0; i < n; i++) // but for strings, whose order is their meaning
    if (bytes->data[starts[i]] >> 3 == 6)
      tide_buf_append(&out, bytes->data + starts[i],
                      (i + 1 < n ? starts[i + 1] : bytes->n) - starts[i]);
  return out;
}

static void pprof_messages_come_in_any_order(void **state)
{
  struct tide_buf bytes = make_pprof(WELL), back = turned_round(&bytes);
  struct tide_capture *capture;
  assert_int_equal(back.n, bytes.n);
  // Kinds of values are the one thing whose order counts beside strings: they have changed places.
  if (import(back.data, back.n, &capture))
    fail_msg("%s", diag.text);
  expect_site(capture->images, 0x1010, 4096, 3);
  tide_capture_free(capture);
  tide_buf_done(&back);
  tide_buf_done(&bytes);
}

// The same stack again, under whatever labels, is one stack.
static void pprof_samples_add_up(void **state)
{
  struct tide_buf bytes = make_pprof(WELL), in = {0}, label = {0};
  struct tide_capture *capture;
  for (uint64_t i = 0; i < 100; i++) {
    put(&in, 1, 7);
    put(&in, 1, 900);
    put(&label, 1, 4);
    put(&label, 3, i);
    put_message(&in, 3, &label);
    put(&in, 2, 1);
    put(&in, 2, 10);
    put_message(&bytes, 2, &in);
  }
  if (import(bytes.data, bytes.n, &capture))
    fail_msg("%s", diag.text);
  assert_int_equal(capture->images[0].n_sites, 1);
  expect_site(capture->images, 0x1010, 103, 5096);
  tide_capture_free(capture);
  tide_buf_done(&in);
  tide_buf_done(&label);
  tide_buf_done(&bytes);
}

// What a message claims to be long is not believed before it is there.
static void absurd_pprof_messages(void **state)
{
  static const struct {
    uint64_t claimed;
    size_t there;
    enum tide_err err;
    const char *why;
  } cases[] = {{UINT64_MAX, 10, TIDE_ERR_CUT, "the profile breaks off"},
               {1ull << 40, 10, TIDE_ERR_CUT, "the profile breaks off"},
               {100, 99, TIDE_ERR_CUT, "the profile breaks off"},
               {17 << 20, 17 << 20, TIDE_ERR_LIMIT, "a message of 17825792 bytes is too long"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_buf bytes = make_pprof(WELL);
    struct tide_capture *capture;
    tide_buf_varint(&bytes, 6 << 3 | 2);
    tide_buf_varint(&bytes, cases[i].claimed);
    memset(tide_buf_extend(&bytes, cases[i].there), 'x', cases[i].there);
    assert_int_equal(import(bytes.data, bytes.n, &capture), cases[i].err);
    if (!strstr(diag.text, cases[i].why))
      fail_msg("not '%s': %s", cases[i].why, diag.text);
    tide_buf_done(&bytes);
  }
}

static size_t no_name(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                      size_t max)
{
  return 0;
}

// Empty when the capture cannot be said in the format.
static struct tide_buf export_by(const struct tide_capture *capture, const char *word, int sort)
{
  const struct tide_name_source none = {.lookup = no_name};
  const struct tide_export_options options = {0};
  struct tide_question question;
  struct tide_sink sink;
  struct tide_view view = {0};
  tide_sink_init(&sink, NULL);
  struct tide_naming *naming = tide_naming_new_from(capture->images, &none);
  struct tide_profile *profile = tide_profile_new(capture, 0);
  const struct tide_wish wish = {.sort = sort};
  if (tide_question_make(capture->images, &wish, &question, &diag) == TIDE_ERR_OK) {
    tide_profile_ask(profile, &question);
    tide_view_init(&view, profile, naming, NULL, true);
    tide_export_find(word)->write(&sink, &view, &options, &diag);
  }
  tide_view_done(&view);
  tide_profile_free(profile);
  tide_naming_free(naming);
  struct tide_buf out = sink.buf;
  return out;
}

static struct tide_buf export(const struct tide_capture *capture, const char *word)
{
  return export_by(capture, word, -1);
}

static int by_text(const void *left, const void *right)
{
  return strcmp(*(char *const *)left, *(char *const *)right);
}

// Lines of equal weight come in the order of the capture.
static void sort_lines(struct tide_buf *text)
{
  size_t n = 0, cap = 0;
  char **lines = NULL;
  struct tide_buf sorted = {0};
  tide_buf_cstr(text);
  for (char *at = (char *)text->data, *line; (line = strsep(&at, "\n")) && *line;) {
    TIDE_GROW(lines, n, cap);
    lines[n++] = line;
  }
  if (n)
    qsort(lines, n, sizeof *lines, by_text);
  for (size_t i = 0; i < n; i++)
    tide_buf_printf(&sorted, "%s\n", lines[i]);
  free(lines);
  tide_buf_done(text);
  *text = sorted;
}

static bool same_bytes(const struct tide_buf *a, const struct tide_buf *b)
{
  return a->n == b->n && (!a->n || memcmp(a->data, b->data, a->n) == 0);
}

static struct tide_capture *again(const struct tide_buf *bytes, const char *word)
{
  struct tide_capture *capture;
  if (import(bytes->data, bytes->n, &capture))
    fail_msg("%s: %s", word, diag.text);
  assert_int_equal(tide_capture_check(capture, NULL), TIDE_ERR_OK);
  return capture;
}

static void round_trip(const struct tide_capture *capture, const char *word, bool by_line)
{
  struct tide_buf first = export(capture, word);
  struct tide_capture *read = again(&first, word);
  struct tide_buf second = export(read, word);
  if (by_line) {
    sort_lines(&first);
    sort_lines(&second);
  }
  if (!same_bytes(&first, &second))
    fail_msg("%s: not as it was", word);
  tide_capture_free(read);
  tide_buf_done(&first);
  tide_buf_done(&second);
}

static void expect_same_stacks(const struct tide_capture *a, const struct tide_capture *b)
{
  static const int sorts[] = {TIDE_MEASURE_LIVE, TIDE_MEASURE_TOTAL, TIDE_SORT_COUNT};
  for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
    struct tide_buf before = export_by(a, "folded", sorts[i]);
    struct tide_buf after = export_by(b, "folded", sorts[i]);
    sort_lines(&before);
    sort_lines(&after);
    assert_true(same_bytes(&before, &after));
    tide_buf_done(&before);
    tide_buf_done(&after);
  }
}

// The order of samples and files may be another one, so they are compared as text. The format has
// the call's address where a capture has that of the return, so the first time only sums are.
static void round_trip_of_pprof(const struct tide_capture *capture)
{
  struct tide_buf first = export(capture, "pprof");
  struct tide_capture *read = again(&first, "pprof");
  struct tide_buf second = export(read, "pprof");
  struct tide_capture *read_again = again(&second, "pprof");
  expect_same_stacks(read, read_again);
  uint64_t written_ns = capture->start_realtime_ns + capture->images->end_ns;
  assert_int_equal(read->start_realtime_ns, written_ns);
  assert_int_equal(read_again->start_realtime_ns, written_ns);
  struct tide_buf before = export(capture, "gperftools"), after = export(read, "gperftools");
  const char *line = tide_buf_cstr(&before);
  assert_memory_equal(line, tide_buf_cstr(&after), (size_t)(strchr(line, '\n') - line));
  tide_capture_free(read);
  tide_capture_free(read_again);
  tide_buf_done(&first);
  tide_buf_done(&second);
  tide_buf_done(&before);
  tide_buf_done(&after);
}

// Massif folds what is small and has no time below a millisecond; DHAT merges stacks that read
// alike. What is left after that must stay.
static void settles(const struct tide_capture *capture, const char *word)
{
  struct tide_buf first = export(capture, word);
  struct tide_capture *read = again(&first, word);
  struct tide_buf second = export(read, word);
  struct tide_capture *read_again = again(&second, word);
  struct tide_buf third = export(read_again, word);
  if (!same_bytes(&second, &third))
    fail_msg("%s: does not settle", word);
  tide_capture_free(read);
  tide_capture_free(read_again);
  tide_buf_done(&first);
  tide_buf_done(&second);
  tide_buf_done(&third);
}

static void exports_come_back(void **state)
{
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct tide_capture *capture = tide_gen_program(seed, 7 * seed, seed % 4);
    struct tide_image *image = capture->images;
    for (size_t i = 1; i < image->n_modules; i++) { // no two at one address, none without one
      struct tide_module *module = &image->modules[i];
      module->start = module->bias = 0x555555554000ull + i * 0x100000000ull;
      module->end = module->start + 0x10000000;
      module->generation = 0;
      free(module->path);
      module->path = tide_sprintf("/lib/lib%zu.so", i);
    }
    for (size_t i = 1; i < image->n_frames; i++)
      image->frames[i].pc += image->frames[i].module * 0x100000000ull;
    for (size_t i = 0; i < image->n_snapshots; i++)
      image->snapshots[i].time_ns = (i + 1) * 5000000;
    image->peak_ns = image->end_ns = (image->n_snapshots + 1) * 5000000;
    capture->start_realtime_ns = 1700000000000000000;
    round_trip(capture, "gperftools", false);
    round_trip(capture, "jemalloc", false);
    round_trip_of_pprof(capture);
    round_trip(capture, "folded", true);
    settles(capture, "massif");
    settles(capture, "dhat");
    tide_capture_free(capture);
  }
}

UNIT_TESTS(heap_import_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_profiles),
      cmocka_unit_test(files_of_addresses),
      cmocka_unit_test(memory_maps_by_another_name),
      cmocka_unit_test(files_mapped_from_offset_0_again),
      cmocka_unit_test(sampled_profiles),
      cmocka_unit_test(intervals_of_0_are_exact),
      cmocka_unit_test(go_text),
      cmocka_unit_test(stacks_that_are_none),
      cmocka_unit_test(heap_profiles_that_are_wrong),
      cmocka_unit_test(heap_profiles_that_are_cut),
      cmocka_unit_test(folded_stacks),
      cmocka_unit_test(long_lines_are_folded_stacks),
      cmocka_unit_test(pprof_profiles),
      cmocka_unit_test(pprof_comments_of_mappings),
      cmocka_unit_test(pprof_profiles_that_are_wrong),
      cmocka_unit_test(pprof_profiles_that_are_cut),
      cmocka_unit_test(pprof_messages_come_in_any_order),
      cmocka_unit_test(pprof_samples_add_up),
      cmocka_unit_test(absurd_pprof_messages),
      cmocka_unit_test(exports_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
