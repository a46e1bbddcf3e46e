// SPDX-License-Identifier: Apache-2.0
//
// What changed between two recordings: matching over rebuilds, sums, verdicts; and how it is
// written, compared with golden files under tests/golden (TIDE_GOLDEN_WRITE=1 accepts a change).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/hint_words.h"
#include "diff_fixture.h"
#include "golden.h"
#include "model/image_sums.h"
#include "report/diff.h"
#include "view/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct side {
  struct tide_capture *capture;
  struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_view view;
};
static struct side before, after;
static struct tide_filter *filter;
static struct tide_diff *diff;
static struct tide_sink sink;

static void side_init(struct side *side, struct tide_capture *capture,
                      const struct tide_name_source *names)
{
  side->capture = capture;
  side->profile = tide_profile_new(capture, INDEXER_IMAGE);
  side->naming = tide_naming_new_from(side->profile->image, names);
}

static void side_done(struct side *side)
{
  tide_view_done(&side->view);
  tide_naming_free(side->naming);
  tide_profile_free(side->profile);
  tide_capture_free(side->capture);
  *side = (struct side){0};
}

static int setup(void **state)
{
  side_init(&before, tide_indexer_capture(), &tide_indexer_names);
  side_init(&after, tide_indexer_again(), &tide_indexer_again_names);
  tide_sink_init(&sink, NULL);
  return 0;
}

static int teardown(void **state)
{
  tide_sink_done(&sink);
  tide_diff_free(diff);
  diff = NULL;
  side_done(&before);
  side_done(&after);
  tide_filter_free(filter);
  filter = NULL;
  return 0;
}

static void ask(struct side *side, const struct tide_question *question)
{
  tide_profile_ask(side->profile, question);
  tide_view_done(&side->view);
  tide_view_init(&side->view, side->profile, side->naming, filter, false);
}

static void compare(struct tide_question question)
{
  ask(&before, &question);
  ask(&after, &question);
  tide_diff_free(diff);
  diff = tide_diff_new(&before.view, &after.view, TIDE_GROUP_PLACE);
}

static const struct tide_diff_place *find(const char *function)
{
  for (size_t i = 0; i < diff->n; i++) {
    const struct tide_naming *naming;
    const struct tide_named_frame *frame = tide_diff_frame(diff, &diff->places[i], &naming);
    if (frame && frame->function && strstr(frame->function, function))
      return &diff->places[i];
  }
  fail_msg("no place %s", function);
  return NULL;
}

static void expect_change(const char *function, enum tide_change kind, int64_t change)
{
  const struct tide_diff_place *place = find(function);
  assert_int_equal(tide_diff_change_kind(diff, place), kind);
  assert_int_equal(tide_diff_change(diff, place), change);
}

static void expect_sums(void)
{
  struct tide_diff_place all = tide_diff_rest(diff, 0);
  assert_int_equal(all.before.bytes + diff->open.before.bytes, diff->total.before.bytes);
  assert_int_equal(all.after.bytes + diff->open.after.bytes, diff->total.after.bytes);
  assert_int_equal(all.before.blocks, diff->total.before.blocks);
  assert_int_equal(all.after.blocks, diff->total.after.blocks);
  int64_t sum = 0;
  size_t n = 0;
  for (int kind = 0; kind < TIDE_CHANGES_N; kind++) {
    sum += diff->sums[kind];
    n += diff->counts[kind];
  }
  assert_int_equal(n, diff->n);
  assert_int_equal(sum + tide_diff_change(diff, &diff->open), tide_diff_change(diff, &diff->total));
}

static void matches_over_a_rebuild(void **state)
{
  compare((struct tide_question){0});
  expect_change("Block::push", TIDE_CHANGE_GROWN, AGAIN_PUSH_BYTES);
  expect_change("Builder::intern", TIDE_CHANGE_SHRUNK, -AGAIN_INTERN_BYTES);
  expect_change("indexer::main", TIDE_CHANGE_GONE, -AGAIN_MERGE_BYTES); // through a library
  expect_change("Cache::fill", TIDE_CHANGE_ADDED, AGAIN_NEW_BYTES);
  assert_int_equal(diff->counts[TIDE_CHANGE_GROWN], 1);
  assert_int_equal(diff->counts[TIDE_CHANGE_SHRUNK], 1);
  assert_int_equal(diff->counts[TIDE_CHANGE_GONE], 1);
  assert_int_equal(diff->counts[TIDE_CHANGE_ADDED], 1);
  assert_int_equal(diff->total.before.bytes, before.profile->image->peak_bytes);
  assert_int_equal(diff->total.after.bytes, after.profile->image->peak_bytes);
  expect_sums();
  const struct tide_diff_place *push = find("Block::push"); // two stacks on either side
  assert_int_equal(push->before.n_stacks, 2);
  assert_int_equal(push->after.blocks - push->before.blocks, 300);
  assert_int_equal(push->before_frame->line, 88);
  assert_int_equal(push->after_frame->line, 100);
  const struct tide_naming *naming;
  assert_ptr_equal(tide_diff_frame(diff, push, &naming), push->after_frame);
  assert_ptr_equal(naming, after.naming);
}

static void sums_hold_under_every_measure(void **state)
{
  for (int measure = 0; measure < TIDE_MEASURES_N; measure++)
    for (int unit = 0; unit < 2; unit++) {
      compare((struct tide_question){.measure = (enum tide_measure)measure,
                                     .unit = (enum tide_unit)unit});
      expect_sums();
      for (size_t i = 1; i < diff->n; i++)
        assert_true(llabs(tide_diff_change(diff, &diff->places[i - 1])) >=
                    llabs(tide_diff_change(diff, &diff->places[i])));
      size_t n_changed = diff->n - diff->counts[TIDE_CHANGE_NONE];
      assert_int_equal(tide_diff_shown(diff, SIZE_MAX, 0), n_changed);
    }
}

static void the_same_is_no_change(void **state)
{
  side_done(&after);
  side_init(&after, tide_indexer_capture(), &tide_indexer_names);
  compare((struct tide_question){0});
  assert_int_equal(diff->counts[TIDE_CHANGE_NONE], diff->n);
  assert_int_equal(tide_diff_change(diff, &diff->total), 0);
  assert_int_equal(tide_diff_shown(diff, SIZE_MAX, 0), 0);
}

// The two recordings swapped give the same changes with the other sign.
static void is_symmetric(void **state)
{
  compare((struct tide_question){0});
  int64_t change = tide_diff_change(diff, &diff->total);
  size_t n = diff->n;
  tide_diff_free(diff);
  diff = tide_diff_new(&after.view, &before.view, TIDE_GROUP_PLACE);
  assert_int_equal(diff->n, n);
  assert_int_equal(tide_diff_change(diff, &diff->total), -change);
  expect_change("indexer::main", TIDE_CHANGE_ADDED, AGAIN_MERGE_BYTES);
  expect_change("Cache::fill", TIDE_CHANGE_GONE, -AGAIN_NEW_BYTES);
}

static const struct tide_diff_place *nameless(void)
{
  const struct tide_diff_place *found = NULL;
  for (size_t i = 0; i < diff->n; i++) {
    const struct tide_named_frame *frame = diff->places[i].after_frame;
    if (frame && !frame->function && frame->module == 3) {
      assert_null(found);
      found = &diff->places[i];
    }
  }
  assert_non_null(found);
  return found;
}

// Code without names is known by its address only where both sides ran the same file.
static void nameless_code(void **state)
{
  struct tide_image *old = &before.capture->images[INDEXER_IMAGE];
  struct tide_image *new = &after.capture->images[INDEXER_IMAGE];
  compare((struct tide_question){0});
  assert_true(nameless()->is_module);
  assert_int_equal(tide_diff_change_kind(diff, nameless()), TIDE_CHANGE_NONE);
  old->modules[3].build_id_len = new->modules[3].build_id_len = 2;
  compare((struct tide_question){0});
  assert_false(nameless()->is_module);
  assert_int_equal(tide_diff_change_kind(diff, nameless()), TIDE_CHANGE_NONE);
  new->frames[8].pc += 16; // another address of the same file
  tide_naming_free(after.naming);
  after.naming = tide_naming_new_from(new, &tide_indexer_again_names);
  compare((struct tide_question){0});
  assert_int_equal(tide_diff_change_kind(diff, nameless()), TIDE_CHANGE_ADDED);
}

static size_t without_files(void *context, uint32_t module, uint64_t addr,
                            struct tide_symbol_frame *out, size_t max)
{
  size_t n = tide_indexer_names.lookup(context, module, addr, out, max);
  if (n) // no inlined functions without debug info
    out[0] = (struct tide_symbol_frame){.function = out[n - 1].function};
  return n ? 1 : 0;
}

// One side stripped: functions still match, by name and module.
static void debug_info_on_one_side(void **state)
{
  static const struct tide_name_source bare = {.lookup = without_files};
  side_done(&before);
  side_init(&before, tide_indexer_capture(), &bare);
  compare((struct tide_question){0});
  expect_change("Block::push", TIDE_CHANGE_GROWN, AGAIN_PUSH_BYTES);
  expect_change("Builder::intern", TIDE_CHANGE_SHRUNK, -AGAIN_INTERN_BYTES);
  assert_int_equal(diff->counts[TIDE_CHANGE_ADDED], 1);
  expect_sums();
}

static size_t moved(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                    size_t max)
{
  const char *directory = context; // each function in a file of its own, but for the last two
  static const char *const names[] = {"fill", "init", "grow", "grow"};
  static char files[2][4][32];
  unsigned which = (unsigned)(addr >> 12) - 2;
  if (module != 1 || addr < 0x2000 || addr > 0x5000)
    return 0;
  char *file = files[strcmp(directory, "v1") == 0][which];
  snprintf(file, sizeof files[0][0], "/src/%s%s/%s.c", directory, which == 3 ? "b" : "",
           names[which]);
  out[0] = (struct tide_symbol_frame){.function = names[which], .file = file, .line = 1};
  return 1;
}

// Sources in another directory: matched by the file's name, where that tells.
static void sources_moved(void **state)
{
  static const struct tide_name_source old = {.context = "v1", .lookup = moved};
  static const struct tide_name_source new = {.context = "v2", .lookup = moved};
  side_done(&before);
  side_done(&after);
  side_init(&before, tide_indexer_capture(), &old);
  side_init(&after, tide_indexer_capture(), &new);
  compare((struct tide_question){0});
  assert_int_equal(tide_diff_change_kind(diff, find("fill")), TIDE_CHANGE_NONE);
  assert_int_equal(tide_diff_change_kind(diff, find("init")), TIDE_CHANGE_NONE);
  assert_int_equal(diff->counts[TIDE_CHANGE_ADDED], 2); // two functions grow in files grow.c
  assert_int_equal(diff->counts[TIDE_CHANGE_GONE], 2);
  expect_sums();
}

static size_t clones(void *context, uint32_t module, uint64_t addr, struct tide_symbol_frame *out,
                     size_t max)
{
  static const char *const names[] = {"fill.constprop.0", "fill", "fill.isra.0.cold", "filler"};
  if (module != 1 || addr < 0x2000 || addr > 0x5000)
    return 0;
  out[0] = (struct tide_symbol_frame){.function = names[(addr >> 12) - 2]};
  return 1;
}

// What a compiler appends to a function's name does not make it another.
static void clones_are_one_function(void **state)
{
  static const struct tide_name_source source = {.lookup = clones};
  side_done(&before);
  side_done(&after);
  side_init(&before, tide_indexer_capture(), &source);
  side_init(&after, tide_indexer_again(), &source);
  compare((struct tide_question){0});
  const struct tide_diff_place *fill = find("fill");
  assert_int_equal(fill->before.n_stacks, 5);
  assert_int_equal(find("filler")->before.n_stacks, 1);
}

static void filters_apply_to_both(void **state)
{
  struct tide_filter_options options = {.function = "Builder::intern"};
  assert_int_equal(tide_filter_new(&options, &filter, NULL), TIDE_ERR_OK);
  compare((struct tide_question){0});
  assert_int_equal(tide_diff_change(diff, &diff->total), -AGAIN_INTERN_BYTES);
  assert_int_equal(diff->n, 1);
  assert_int_equal(diff->open.after.bytes, 0);
  expect_sums();
}

static enum tide_verdict judge(const char *threshold)
{
  struct tide_threshold parsed = {0};
  struct tide_diag diag = {0};
  enum tide_unit unit = diff->after->profile->question.unit;
  if (threshold && tide_threshold_parse(threshold, unit, &parsed, &diag))
    fail_msg("%s", diag.text);
  enum tide_verdict verdict = tide_diff_judge(diff, &parsed, &diag);
  assert_int_equal(verdict == TIDE_VERDICT_UNKNOWN, diag.text[0] != 0);
  return verdict;
}

static void set_growth(int64_t bytes)
{
  before.capture->images[INDEXER_IMAGE].peak_bytes = 100 << 20;
  after.capture->images[INDEXER_IMAGE].peak_bytes = (100 << 20) + bytes;
  compare((struct tide_question){0});
}

static void judges_growth(void **state)
{
  struct tide_image *old = &before.capture->images[INDEXER_IMAGE];
  struct tide_image *new = &after.capture->images[INDEXER_IMAGE];
  old->peak_bound_bytes = new->peak_bound_bytes = 0;
  set_growth(1 << 20);
  assert_int_equal(judge(NULL), TIDE_VERDICT_GROWN);
  assert_int_equal(judge("1MiB"), TIDE_VERDICT_KEPT);
  assert_int_equal(judge("1048575"), TIDE_VERDICT_GROWN);
  assert_int_equal(judge("1%"), TIDE_VERDICT_KEPT);
  assert_int_equal(judge("0.99%"), TIDE_VERDICT_GROWN);
  set_growth(0);
  assert_int_equal(judge(NULL), TIDE_VERDICT_KEPT);
  set_growth(-5);
  assert_int_equal(judge(NULL), TIDE_VERDICT_KEPT);
  new->peak_bound_bytes = 1000;
  set_growth(1000);
  assert_int_equal(judge(NULL), TIDE_VERDICT_UNKNOWN);
  assert_int_equal(judge("1000"), TIDE_VERDICT_KEPT);
  set_growth(1001);
  assert_int_equal(judge(NULL), TIDE_VERDICT_GROWN);
  compare((struct tide_question){.unit = TIDE_UNIT_BLOCKS});
  assert_int_equal(judge("3"), TIDE_VERDICT_KEPT);
  after.capture->finished = false;
  assert_int_equal(judge(NULL), TIDE_VERDICT_UNKNOWN);
  after.capture->finished = true;
  old->loss.n_lost_busy = 1;
  assert_int_equal(judge(NULL), TIDE_VERDICT_UNKNOWN);
}

static void refuses_bad_thresholds(void **state)
{
  struct tide_threshold threshold;
  static const char *const bad[] = {"", "x", "5%%", "%", "-1", "5 % more", "1.5"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (int unit = 0; unit < 2; unit++) {
      struct tide_diag diag = {0};
      assert_int_not_equal(tide_threshold_parse(bad[i], (enum tide_unit)unit, &threshold, &diag),
                           TIDE_ERR_OK);
      assert_true(diag.text[0]);
    }
  assert_int_not_equal(tide_threshold_parse("64KiB", TIDE_UNIT_BLOCKS, &threshold, NULL),
                       TIDE_ERR_OK);
}

static void expect_golden(const char *name)
{
  tide_golden_expect(&sink.buf, name);
  tide_buf_clear(&sink.buf);
}

static void expect_width(size_t width)
{
  tide_golden_expect_width(&sink.buf, width);
}

static struct tide_screen screen(size_t width, bool utf8, bool color)
{
  return (struct tide_screen){
      .sink = &sink, .hints = tide_cli_hint_words, .width = width, .utf8 = utf8, .color = color};
}

static struct tide_diff_options options(size_t n_places, int64_t min_change, bool all)
{
  return (struct tide_diff_options){n_places, min_change, all, "old/indexer.tide",
                                    "indexer.41307.tide"};
}

static void write_text(size_t width, bool utf8, bool color, struct tide_diff_options how)
{
  struct tide_screen where = screen(width, utf8, color);
  tide_diff_text_write(&where, diff, &how);
}

static void text(void **state)
{
  compare((struct tide_question){0});
  write_text(80, true, false, options(10, 0, false));
  expect_width(80);
  expect_golden("diff_peak.txt");
  write_text(60, true, false, options(2, 0, false));
  expect_width(60);
  expect_golden("diff_narrow.txt");
  write_text(160, true, false, options(10, 6 << 20, false));
  expect_width(160);
  expect_golden("diff_wide.txt");
  write_text(80, false, false, options(10, 0, false));
  expect_width(80);
  expect_golden("diff_ascii.txt");
  write_text(80, true, true, options(3, 0, false));
  expect_golden("diff_colour.txt");
  compare((struct tide_question){.measure = TIDE_MEASURE_TOTAL, .unit = TIDE_UNIT_BLOCKS});
  write_text(120, true, false, options(10, 0, false));
  expect_golden("diff_count.txt");
}

static void text_with_notes(void **state)
{
  struct tide_image *image = &after.capture->images[INDEXER_IMAGE];
  free(image->exe);
  image->exe = tide_strdup("/opt/searcher");
  image->cmdline_len = 0; // what it was called is not known
  after.capture->finished = false;
  compare((struct tide_question){.measure = TIDE_MEASURE_LEAK});
  write_text(80, true, false, options(10, 0, false));
  expect_width(80);
  expect_golden("diff_notes.txt");
}

// Which moments answered is said of each run: they need not be the same.
static void ask_of_part(struct side *side, enum tide_measure measure, const char *range)
{
  struct tide_image *image = &side->capture->images[INDEXER_IMAGE];
  struct tide_wish wish = {.sort = (int)measure, .by = TIDE_BY_DEFAULT, .range = range};
  struct tide_question question = {.measure = measure};
  if (!image->n_snapshots)
    tide_image_add_exact_snapshots(image);
  if (range)
    assert_int_equal(tide_question_make(image, &wish, &question, NULL), TIDE_ERR_OK);
  else
    assert_int_equal(tide_point_parse(image, "40%", &question.window.to, NULL), TIDE_ERR_OK);
  ask(side, &question);
}

static void compare_parts(enum tide_measure measure, const char *range)
{
  ask_of_part(&before, measure, range);
  ask_of_part(&after, measure, range);
  tide_diff_free(diff);
  diff = tide_diff_new(&before.view, &after.view, TIDE_GROUP_PLACE);
  write_text(80, true, false, options(1, 0, false));
}

static void parts_of_two_runs(void **state)
{
  compare_parts(TIDE_MEASURE_LIVE, NULL);
  compare_parts(TIDE_MEASURE_GROWN, "peak..");
  compare_parts(TIDE_MEASURE_TOTAL, NULL);
  expect_width(80);
  expect_golden("diff_parts.txt");
}

// Two moments of one run share the capture and the names.
static void moments_of_one_run(void **state)
{
  struct tide_image *image = &before.capture->images[INDEXER_IMAGE];
  struct tide_question from = {.measure = TIDE_MEASURE_LIVE}, to = from;
  tide_image_add_exact_snapshots(image);
  assert_int_equal(tide_point_parse(image, "peak", &from.window.to, NULL), TIDE_ERR_OK);
  assert_int_equal(tide_point_parse(image, "end", &to.window.to, NULL), TIDE_ERR_OK);
  struct tide_profile *later = tide_profile_new(before.capture, INDEXER_IMAGE);
  struct tide_view view;
  ask(&before, &from);
  tide_profile_ask(later, &to);
  tide_view_init(&view, later, before.naming, NULL, false);
  diff = tide_diff_new(&before.view, &view, TIDE_GROUP_PLACE);
  expect_sums();
  assert_true(tide_diff_is_one_run(diff));
  assert_int_equal(diff->total.after.bytes, later->totals.live_bytes);
  struct tide_diff_options how = options(10, 0, false);
  how.after_file = how.before_file;
  write_text(80, true, false, how);
  expect_width(80);
  expect_golden("diff_moments.txt");
  tide_view_done(&view);
  tide_profile_free(later);
}

// Larger rows: nothing is lost, and they are told by their names.
static void rows_of_parts(void **state)
{
  static const enum tide_group_kind kinds[] = {TIDE_GROUP_FUNCTION, TIDE_GROUP_FILE,
                                               TIDE_GROUP_CRATE, TIDE_GROUP_MODULE};
  compare((struct tide_question){0});
  struct tide_diff_amount whole = diff->total.after;
  size_t n_places = diff->n;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    tide_diff_free(diff);
    diff = tide_diff_new(&before.view, &after.view, kinds[i]);
    expect_sums();
    assert_int_equal(diff->total.after.bytes, whole.bytes);
    assert_true(i == 0 ? diff->n == n_places : diff->n <= n_places - (i > 1));
    for (size_t k = 0; k < diff->n; k++)
      assert_int_equal(diff->places[k].label != NULL,
                       i > 0 && diff->places[k].kind == TIDE_DIFF_PLACE);
  }
  write_text(80, true, false, options(10, 0, false)); // by module
  struct tide_diff_options all = options(SIZE_MAX, 0, true);
  tide_diff_csv_write(&sink, diff, &all);
  struct tide_screen where = screen(80, true, false);
  tide_diff_md_write(&where, diff, &all);
  tide_diff_json_write(&sink, diff, &all);
  expect_golden("diff_by_module.txt");
}

// Threads and classes: whatever is asked nothing is lost, and every row has its name.
static void rows_that_cut_across(void **state)
{
  for (int kind = TIDE_GROUP_THREAD; kind <= TIDE_GROUP_LIFETIME; kind++)
    for (int measure = 0; measure < TIDE_MEASURES_N; measure++)
      for (int unit = 0; unit < 2; unit++) {
        compare((struct tide_question){.measure = (enum tide_measure)measure,
                                       .unit = unit ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES});
        struct tide_diff_place whole = diff->total;
        tide_diff_free(diff);
        diff = tide_diff_new(&before.view, &after.view, (enum tide_group_kind)kind);
        expect_sums();
        assert_int_equal(diff->total.before.bytes, whole.before.bytes);
        assert_int_equal(diff->total.after.bytes, whole.after.bytes);
        assert_int_equal(diff->total.after.blocks, whole.after.blocks);
        for (size_t k = 0; k < diff->n; k++)
          assert_non_null(diff->places[k].label);
      }
  compare((struct tide_question){.measure = TIDE_MEASURE_TOTAL});
  struct tide_diff_options all = options(SIZE_MAX, 0, true);
  for (int kind = TIDE_GROUP_THREAD; kind <= TIDE_GROUP_LIFETIME; kind++) {
    tide_diff_free(diff);
    diff = tide_diff_new(&before.view, &after.view, (enum tide_group_kind)kind);
    write_text(80, kind != TIDE_GROUP_LIFETIME, false, options(10, 0, false));
    tide_diff_csv_write(&sink, diff, &all);
  }
  struct tide_screen where = screen(80, true, false);
  tide_diff_md_write(&where, diff, &all);
  tide_diff_json_write(&sink, diff, &all);
  expect_golden("diff_across.txt");
}

static void within_every_width(void **state)
{
  for (size_t width = 40; width <= 160; width++)
    for (int kind = 0; kind <= TIDE_GROUP_LIFETIME; kind++) {
      compare((struct tide_question){.measure = (enum tide_measure)(kind % TIDE_MEASURES_N)});
      tide_diff_free(diff);
      diff = tide_diff_new(&before.view, &after.view, (enum tide_group_kind)kind);
      tide_buf_clear(&sink.buf);
      write_text(width, kind % 2, false, options(kind % 3 ? SIZE_MAX : 2, 0, kind % 2 == 0));
      expect_width(width);
      tide_diff_free(diff); // nothing changed
      diff = tide_diff_new(&before.view, &before.view, (enum tide_group_kind)kind);
      write_text(width, true, false, options(SIZE_MAX, 0, false));
      expect_width(width);
    }
}

static void for_programs(void **state)
{
  compare((struct tide_question){0});
  struct tide_diff_options all = options(SIZE_MAX, 0, true), few = options(2, 0, false);
  tide_diff_csv_write(&sink, diff, &all);
  expect_golden("diff.csv");
  tide_diff_csv_write(&sink, diff, &few);
  expect_golden("diff_few.csv");
  struct tide_screen where = screen(80, true, false);
  tide_diff_md_write(&where, diff, &few);
  expect_golden("diff.md");
  tide_diff_json_write(&sink, diff, &all);
  expect_golden("diff.json");
}

static void nothing_changed(void **state)
{
  side_done(&after);
  side_init(&after, tide_indexer_capture(), &tide_indexer_names);
  compare((struct tide_question){.measure = TIDE_MEASURE_TOTAL});
  write_text(80, true, false, options(10, 0, false));
  expect_golden("diff_same.txt");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TESTS(diff_test)
{
  const struct CMUnitTest tests[] = {
      CASE(matches_over_a_rebuild), CASE(sums_hold_under_every_measure),
      CASE(the_same_is_no_change),  CASE(is_symmetric),
      CASE(nameless_code),          CASE(debug_info_on_one_side),
      CASE(sources_moved),          CASE(clones_are_one_function),
      CASE(filters_apply_to_both),  CASE(judges_growth),
      CASE(refuses_bad_thresholds), CASE(text),
      CASE(text_with_notes),        CASE(moments_of_one_run),
      CASE(parts_of_two_runs),      CASE(for_programs),
      CASE(nothing_changed),        CASE(rows_of_parts),
      CASE(rows_that_cut_across),   CASE(within_every_width),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
