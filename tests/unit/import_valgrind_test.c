// SPDX-License-Identifier: Apache-2.0
//
// DHAT's JSON and massif.out: what valgrind, dhat-rs and we write, and what nobody should.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "import/builder.h"
#include "import_fixture.h"

#include <stdlib.h>
#include <string.h>

static void frames_are_taken_apart(void **state)
{
  static const struct {
    const char *text;
    uint64_t addr;
    const char *function, *file;
    uint32_t line;
    const char *object;
  } cases[] = {
      {"0x10917A: f (p.c:3)", 0x10917a, "f", "p.c", 3, ""},
      {"0x4845: malloc (in /usr/lib/x y.so)", 0x4845, "malloc", NULL, 0, "/usr/lib/x y.so"},
      {"0x10: a::b<c (d)>::{{closure}} (src/x.rs:12:9)", 0x10, "a::b<c (d)>::{{closure}}",
       "src/x.rs", 12, ""},
      {"0x1: operator()(int) const (a b.c:7)", 1, "operator()(int) const", "a b.c", 7, ""},
      {"0x2: ???", 2, NULL, NULL, 0, ""},
      {"0x3: ??? (in /bin/p)", 3, NULL, NULL, 0, "/bin/p"},
      {"f(int)", 0, "f(int)", NULL, 0, ""},
      {"0xzz: f", 0, "0xzz: f", NULL, 0, ""},
      {"0x5: g (x.c)", 5, "g", "x.c", 0, ""},
      {"", 0, NULL, NULL, 0, ""},
  };
  struct tide_buf scratch = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_frame_text f;
    tide_frame_text_parse(cases[i].text, strlen(cases[i].text), &scratch, &f);
    assert_int_equal(f.addr, cases[i].addr);
    assert_int_equal(f.name.line, cases[i].line);
    assert_string_equal(f.name.function ? f.name.function : "(none)",
                        cases[i].function ? cases[i].function : "(none)");
    assert_string_equal(f.name.file ? f.name.file : "(none)",
                        cases[i].file ? cases[i].file : "(none)");
    assert_string_equal(f.object, cases[i].object);
  }
  tide_buf_done(&scratch);
}

#define DHAT_HEAD(mode, lifetimes, unit)                                                           \
  "{\"dhatFileVersion\":2,\"mode\":\"" mode "\",\"verb\":\"Allocated\",\"bklt\":" lifetimes        \
  ",\"bkacc\":false,\"tu\":\"" unit "\",\"Mtu\":\"s\",\"tuth\":10,\"cmd\":\"./p 1\",\"pid\":77,"   \
  "\"te\":9000,\"tg\":4000,\"extra\":{\"a\":[1,[2,{}]]},"
#define DHAT_FRAMES                                                                                \
  "\"ftbl\":[\"[root]\",\"0x10: malloc (in /m.so)\",\"0x20: in (a.c:1)\",\"0x20: out (a.c:2)\","   \
  "\"0x30: main (a.c:\\u0033)\"]}\n"
#define DHAT_POINTS                                                                                \
  "\"pps\":[{\"tb\":300,\"tbk\":4,\"tl\":8000,\"mb\":200,\"mbk\":3,\"gb\":150,\"gbk\":2,"          \
  "\"eb\":60,\"ebk\":1,\"acc\":[-3,0],\"fs\":[1,2,3,4]},{\"tb\":8,\"tbk\":1,\"tl\":0,\"mb\":8,"    \
  "\"mbk\":1,\"gb\":0,\"gbk\":0,\"eb\":0,\"ebk\":0,\"fs\":[1,4,4]}],"

static void dhat_points_become_sites(void **state)
{
  struct tide_capture *capture =
      import_text(DHAT_HEAD("rust-heap", "true", "µs") DHAT_POINTS DHAT_FRAMES);
  const struct tide_image *image = capture->images;
  assert_string_equal(image->origin, "DHAT (rust-heap)");
  assert_int_equal(image->pid, 77);
  assert_int_equal(image->end_ns, 9000000);
  assert_int_equal(image->peak_ns, 4000000);
  assert_int_equal(image->peak_bytes, 150);
  assert_int_equal(image->peak_blocks, 2);
  assert_false(image->lacks & (TIDE_LACK_CLOCK | TIDE_LACK_LIFETIMES | TIDE_LACK_PEAK));
  assert_true(image->lacks & TIDE_LACK_TEMP);
  const struct tide_site *s = import_site(image, "malloc < in a.c:1 << out a.c:2 < main a.c:3");
  assert_non_null(s);
  assert_int_equal(s->n_alloc, 4);
  assert_int_equal(s->b_alloc, 300);
  assert_int_equal(s->n_free, 3);
  assert_int_equal(s->b_free, 240);
  assert_int_equal(s->peak_bytes, 150);
  assert_int_equal(s->high_bytes, 200);
  assert_int_equal(s->life_ns, 6000000);
  assert_int_equal(s->age_ns, 2000000);
  // The same frame twice is a recursion.
  assert_non_null(import_site(image, "malloc < main a.c:3 < main a.c:3"));
  tide_capture_free(capture);
}

// A file that dhat-rs 0.3.3 wrote: 50 boxes of 100 bytes kept in a vector, and one that grew by
// pushes to 8 KiB and was dropped.
static void dhat_rs_is_read(void **state)
{
  struct tide_capture *capture = NULL;
  struct tide_diag diag = {0};
  if (tide_import_file(TIDE_UNIT_DIR "/import_fixtures/dhat_rs.json", &capture, &diag))
    fail_msg("%s", diag.text);
  const struct tide_image *image = capture->images;
  assert_int_equal(image->n_sites, 3);
  assert_int_equal(image->peak_bytes, 5000 + 400 + 8192);
  assert_int_equal(image->peak_blocks, 52);
  assert_false(image->lacks & (TIDE_LACK_CLOCK | TIDE_LACK_LIFETIMES));
  uint64_t n_alloc = 0, b_live = 0;
  const struct tide_site *boxes = NULL;
  for (size_t i = 0; i < image->n_sites; i++) {
    n_alloc += image->sites[i].n_alloc;
    b_live += image->sites[i].b_alloc - image->sites[i].b_free;
    if (image->sites[i].b_alloc == 5000)
      boxes = &image->sites[i];
  }
  assert_int_equal(n_alloc, 60);
  assert_int_equal(b_live, 5400);
  // Fifteen functions at one address are one place; main called it from another.
  assert_non_null(boxes);
  uint32_t outer = image->frames[boxes->stack].parent;
  assert_true(outer != 0 && image->frames[outer].parent == 0);
  assert_non_null(strstr(import_stack(image, outer), "dhat_fixture::main src/main.rs:11"));
  tide_capture_free(capture);
}

static void dhat_lacks_what_its_mode_does_not_count(void **state)
{
  struct tide_capture *capture = import_text(DHAT_HEAD(
      "ad-hoc", "false", "instrs") "\"pps\":[{\"tb\":5,\"tbk\":2,\"fs\":[4]}]," DHAT_FRAMES);
  uint32_t absent = TIDE_LACK_PEAK | TIDE_LACK_LIVE | TIDE_LACK_LIFETIMES | TIDE_LACK_CLOCK;
  assert_int_equal(capture->images->lacks & (absent | TIDE_LACK_TOTAL), absent);
  assert_int_equal(capture->images->n_snapshots, 0);
  assert_int_equal(import_site(capture->images, "main a.c:3")->b_alloc, 5);
  tide_capture_free(capture);
}

static void dhat_cut_in_its_frames_is_read(void **state)
{
  const char text[] = DHAT_HEAD("heap", "true", "µs") DHAT_POINTS DHAT_FRAMES;
  size_t n_read = import_all_cuts(text, sizeof text - 1);
  assert_true(n_read > 20 && n_read < 140);
  struct tide_capture *capture = NULL;
  size_t n = (size_t)(strstr(text, "\"0x20: out") - text);
  assert_int_equal(tide_import_bytes(text, n, "some.file", &capture, NULL), TIDE_ERR_OK);
  assert_true(capture->cut);
  assert_non_null(strstr(capture->cut_note, "at byte "));
  assert_non_null(import_site(capture->images, "malloc < in a.c:1 < ? < ?"));
  tide_capture_free(capture);
}

static void wrong_dhat_is_refused(void **state)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"{\"dhatFileVersion\":3}", "version 3 is not known"},
      {"{\"dhatFileVersion\":2}", "points or frames are missing"},
      {"{\"dhatFileVersion\":2,\"pps\":7}", "a list of points was expected"},
      {"{\"dhatFileVersion\":2,\"pps\":[{\"tb\":1}],\"ftbl\":[]}", "lacks one of its numbers"},
      {"{\"dhatFileVersion\":2,\"pps\":[{\"tb\":-1}]}", "a whole number was expected"},
      {"{\"dhatFileVersion\":2,\"pps\":[{\"tb\":99999999999999999999}]}", "a whole number"},
      {"{\"dhatFileVersion\":2,\"pps\":[{\"fs\":[4294967295]}]}", "a stack is absurd"},
      {"{\"dhatFileVersion\":2,\"cmd\":\"a\tb\"}", "a text is not as JSON has it"},
      {"{\"dhatFileVersion\":2 \"cmd\":1}", "a comma was expected, at byte 21"},
      {"{\"dhatFileVersion\":2,,}", "a key was expected"},
      {"{\"dhatFileVersion\":2,\"x\":tru!}", "a value was expected"},
      {"{\"dhatFileVersion\":2,\"x\":[1,2}", "a comma was expected"},
      {"{\"dhatFileVersion\"", "ends too early"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = import_refused(cases[i].text, strlen(cases[i].text));
    if (!strstr(said, cases[i].says))
      fail_msg("'%s' does not say '%s'", said, cases[i].says);
  }
}

static void deep_and_long_json_is_refused(void **state)
{
  struct tide_buf text = {0};
  tide_buf_text(&text, "{\"dhatFileVersion\":2,\"x\":");
  for (int i = 0; i < 100000; i++)
    tide_buf_u8(&text, '[');
  assert_non_null(strstr(import_refused((char *)text.data, text.n), "nested more than 64 deep"));
  tide_buf_clear(&text);
  tide_buf_text(&text, "{\"dhatFileVersion\":2,\"x\":\"");
  for (int i = 0; i < 3 << 20; i++)
    tide_buf_u8(&text, 'x');
  assert_non_null(strstr(import_refused((char *)text.data, text.n), "longer than a mebibyte"));
  tide_buf_done(&text);
}

// Sums past 64 bits are nonsense, but no crash.
static void absurd_dhat_numbers_are_survived(void **state)
{
#define MOST "9223372036854775807"
#define POINT                                                                                      \
  "{\"tb\":" MOST ",\"tbk\":" MOST ",\"tl\":" MOST ",\"mb\":" MOST ",\"mbk\":" MOST                \
  ",\"gb\":" MOST ",\"gbk\":" MOST ",\"eb\":1,\"ebk\":1,\"fs\":[4]}"
  struct tide_capture *capture = import_text(
      DHAT_HEAD("heap", "true", "s") "\"pps\":[" POINT "," POINT "," POINT "]," DHAT_FRAMES);
  const struct tide_image *image = capture->images;
  assert_true(image->n_sites > 0);
  for (size_t i = 0; i < image->n_sites; i++) { // what does not fit is not turned into less
    assert_true(image->sites[i].peak_bytes >= 0 && image->sites[i].peak_blocks >= 0);
    assert_true(image->sites[i].high_bytes >= 0);
  }
  assert_true(image->peak_bytes >= 0 && image->peak_blocks >= 0);
  tide_capture_free(capture);
}

#define MASSIF_HEAD "desc: --peak-inaccuracy=5.0\ncmd: ./p 1\ntime_unit: ms\n"
#define SNAPSHOT(n, time, bytes, tree)                                                             \
  "#-----------\nsnapshot=" #n "\n#-----------\ntime=" #time "\nmem_heap_B=" #bytes                \
  "\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=" tree "\n"
#define TREE                                                                                       \
  "n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"                     \
  " n2: 900 0x10: f (a.c:3)\n"                                                                     \
  "  n0: 700 0x20: main (a.c:9)\n"                                                                 \
  "  n0: 150 in 3 places, all below massif's threshold (1.00%)\n"                                  \
  " n0: 100 in 1 place, below massif's threshold (1.00%)\n"
#define MASSIF                                                                                     \
  MASSIF_HEAD SNAPSHOT(0, 0, 0, "empty") SNAPSHOT(1, 5, 1000, "peak\n" TREE)                       \
      SNAPSHOT(2, 8, 1010, "empty") SNAPSHOT(3, 9, 0, "empty")

static void massif_snapshots_are_read(void **state)
{
  struct tide_capture *capture = import_text(MASSIF);
  const struct tide_image *image = capture->images;
  assert_false(capture->cut);
  assert_string_equal(image->exe, "./p");
  assert_int_equal(image->peak_bytes, 1010); // the largest snapshot, which has no tree
  assert_int_equal(image->peak_ns, 8000000);
  assert_int_equal(image->peak_bound_bytes, 50); // 5 %
  assert_string_equal(image->origin,
                      "massif.out (no stacks at its peak: those of 1,000 B are shown)");
  assert_int_equal(image->end_ns, 9000000);
  assert_int_equal(image->n_ticks, 4);
  assert_int_equal(image->n_snapshots, 3);
  assert_int_equal(image->snapshots[0].kind, TIDE_SNAPSHOT_TIMED);
  assert_int_equal(image->snapshots[1].kind, TIDE_SNAPSHOT_PEAK);
  assert_int_equal(image->snapshots[2].kind, TIDE_SNAPSHOT_END);
  assert_int_equal(import_site(image, "f a.c:3 < main a.c:9")->peak_bytes, 700);
  assert_int_equal(import_site(image, "f a.c:3 < (cut)")->peak_bytes, 150);
  assert_int_equal(import_site(image, "f a.c:3")->peak_bytes, 50); // no child has them
  assert_int_equal(import_site(image, "(lost)")->peak_bytes, 110); // below the threshold, and later
  uint32_t absent = TIDE_LACK_BLOCKS | TIDE_LACK_TOTAL | TIDE_LACK_TEMP;
  assert_int_equal(image->lacks & (absent | TIDE_LACK_LIVE | TIDE_LACK_PEAK | TIDE_LACK_CLOCK),
                   absent);
  tide_capture_free(capture);
}

// The command stands before what massif's files are told by, and a compiler's has many words.
static void massif_of_a_long_command_is_read(void **state)
{
  struct tide_buf text = {0};
  tide_buf_text(&text, "desc: (none)\ncmd: cc");
  for (int i = 0; i < 1000; i++)
    tide_buf_text(&text, " -I/usr/include");
  tide_buf_text(&text, "\ntime_unit: ms\n" SNAPSHOT(0, 5, 1000, "peak\n" TREE));
  struct tide_capture *capture = import_text(tide_buf_cstr(&text));
  assert_string_equal(capture->images->exe, "cc");
  assert_int_equal(capture->images->peak_bytes, 1000);
  tide_capture_free(capture);
  tide_buf_done(&text);
}

// A program that ends at its peak: massif calls an earlier snapshot the peak.
static void massif_ends_at_its_peak(void **state)
{
  struct tide_capture *capture = import_text(
      "desc: (none)\ncmd: p\ntime_unit: i\n" SNAPSHOT(0, 3, 500, "peak\nn0: 500 (heap)")
          SNAPSHOT(1, 7, 1000, "detailed\nn1: 1000 (heap)\n n0: 1000 0x20: main (a.c:9)"));
  const struct tide_image *image = capture->images;
  assert_int_equal(image->peak_bytes, 1000);
  assert_true(image->lacks & TIDE_LACK_CLOCK);
  assert_false(image->lacks & TIDE_LACK_LIVE);
  assert_int_equal(import_site(image, "main a.c:9")->b_alloc, 1000);
  assert_int_equal(image->snapshots[image->n_snapshots - 1].kind, TIDE_SNAPSHOT_END);
  tide_capture_free(capture);
}

// And where the last snapshot has no tree at all: the largest one that has stands in for it.
static void massif_ends_at_a_peak_without_a_tree(void **state)
{
  struct tide_capture *capture =
      import_text("desc: (none)\ncmd: p\ntime_unit: i\n" SNAPSHOT(0, 0, 0, "empty")
                      SNAPSHOT(1, 3, 900, "detailed\nn1: 900 (heap)\n n0: 900 0x20: main (a.c:9)")
                          SNAPSHOT(2, 7, 1000, "empty"));
  const struct tide_image *image = capture->images;
  assert_int_equal(image->peak_bytes, 1000);
  assert_int_equal(image->peak_ns, 7);
  assert_int_equal(import_site(image, "main a.c:9")->peak_bytes, 900);
  assert_int_equal(import_site(image, "(lost)")->peak_bytes, 100);
  assert_true(image->lacks & TIDE_LACK_LIVE);
  assert_string_equal(image->origin,
                      "massif.out (no stacks at its peak: those of 900 B are shown)");
  tide_capture_free(capture);
}

static void wrong_massif_says_where(void **state)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {MASSIF_HEAD, "it holds no snapshot"},
      {MASSIF_HEAD "snapshot=0\ntime=x\n", "a number was expected, at byte 64"},
      {MASSIF_HEAD "snapshot=0\nmem_heap_B=99999999999999999999\n", "a number was expected"},
      {MASSIF_HEAD "snapshot=0\nhello\n", "a line of a tree was expected"},
      {MASSIF_HEAD "snapshot=0\n n0: 5 0x1: f (a.c:1)\n", "hangs in the air"},
      {MASSIF_HEAD "snapshot=0\nn0: 5 (heap)\n n0: 5 0x1: f (a.c:1)\n", "hangs in the air"},
      {MASSIF_HEAD "snapshot=0\nn1: 5 (heap)\n   n0: 5 0x1: f (a.c:1)\n", "hangs in the air"},
      {MASSIF_HEAD "snapshot=0\nn1: 5 (heap)\nn1: 5 (heap)\n", "hangs in the air"},
      {MASSIF_HEAD "snapshot=0\nn1: x\n", "a node has no bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *said = import_refused(cases[i].text, strlen(cases[i].text));
    if (!strstr(said, cases[i].says))
      fail_msg("'%s' does not say '%s'", said, cases[i].says);
  }
}

static void deep_massif_trees_are_refused(void **state)
{
  struct tide_buf text = {0};
  tide_buf_text(&text, MASSIF_HEAD "snapshot=0\n");
  for (int depth = 0; depth < 2000; depth++)
    tide_buf_printf(&text, "%*sn1: 8 0x%x: f (a.c:1)\n", depth, "", depth + 1);
  assert_non_null(strstr(import_refused((char *)text.data, text.n), "1023 calls deep"));
  tide_buf_done(&text);
}

static void cut_massif_is_told(void **state)
{
  const char text[] = MASSIF;
  assert_true(import_all_cuts(text, sizeof text - 1) > 100);
  struct tide_capture *capture = NULL;
  size_t n = (size_t)(strstr(text, "  n0: 150") - text);
  assert_int_equal(tide_import_bytes(text, n, "some.file", &capture, NULL), TIDE_ERR_OK);
  assert_true(capture->cut);
  assert_non_null(strstr(capture->cut_note, "in the middle of a tree"));
  assert_int_equal(capture->images->n_ticks, 1); // the snapshot that is whole
  tide_capture_free(capture);
  n = (size_t)(strstr(text, "  n0: 150") - text) + 3;
  assert_int_equal(tide_import_bytes(text, n, "some.file", &capture, NULL), TIDE_ERR_OK);
  assert_non_null(strstr(capture->cut_note, "in the middle of a line"));
  assert_int_equal(capture->images->n_ticks, 1);
  tide_capture_free(capture);
}

// As an editor of another system leaves it: a mark in front, and returns.
static void massif_with_returns_is_read(void **state)
{
  const char text[] = MASSIF;
  struct tide_buf other = {0};
  tide_buf_text(&other, "\xef\xbb\xbf");
  for (const char *c = text; *c; c++)
    tide_buf_printf(&other, *c == '\n' ? "\r%c" : "%c", *c);
  struct tide_capture *capture = import_text(text), *again = NULL;
  assert_int_equal(tide_import_bytes(other.data, other.n, "other", &again, NULL), TIDE_ERR_OK);
  assert_false(again->cut);
  assert_string_equal(again->images->exe, capture->images->exe);
  assert_int_equal(again->images->n_frames, capture->images->n_frames);
  assert_int_equal(again->images->n_ticks, capture->images->n_ticks);
  assert_int_equal(again->images->peak_bytes, capture->images->peak_bytes);
  assert_int_equal(again->images->names.text_bytes, capture->images->names.text_bytes);
  tide_capture_free(capture);
  tide_capture_free(again);
  tide_buf_done(&other);
}

UNIT_TESTS(import_valgrind_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_are_taken_apart),
      cmocka_unit_test(dhat_points_become_sites),
      cmocka_unit_test(dhat_rs_is_read),
      cmocka_unit_test(dhat_lacks_what_its_mode_does_not_count),
      cmocka_unit_test(dhat_cut_in_its_frames_is_read),
      cmocka_unit_test(wrong_dhat_is_refused),
      cmocka_unit_test(deep_and_long_json_is_refused),
      cmocka_unit_test(absurd_dhat_numbers_are_survived),
      cmocka_unit_test(massif_snapshots_are_read),
      cmocka_unit_test(massif_of_a_long_command_is_read),
      cmocka_unit_test(massif_ends_at_its_peak),
      cmocka_unit_test(massif_ends_at_a_peak_without_a_tree),
      cmocka_unit_test(wrong_massif_says_where),
      cmocka_unit_test(deep_massif_trees_are_refused),
      cmocka_unit_test(cut_massif_is_told),
      cmocka_unit_test(massif_with_returns_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
