// SPDX-License-Identifier: Apache-2.0
//
// What a run is called when programs of it were not recorded, who leads the first screen, and when
// a gate must not decide.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "golden.h"
#include "indexer_fixture.h"
#include "merge/merge.h"
#include "model/capture.h"
#include "profile/completeness.h"
#include "report/report.h"
#include "words/completeness_text.h"

#include <stdlib.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

static struct tide_capture *capture;

static int set_up(void **state)
{
  capture = tide_indexer_capture();
  capture->images[INDEXER_IMAGE].loss = (struct tide_loss){0};
  return 0;
}

static int tear_down(void **state)
{
  tide_capture_free(capture);
  return 0;
}

static void add(const char *exe, enum tide_why why, const char *detail, int64_t rss,
                bool is_command)
{
  struct tide_unrecorded row = {.exe = (char *)exe,
                                .detail = (char *)detail,
                                .parent = (char *)"/usr/bin/make",
                                .why = why,
                                .pid = 77,
                                .n_processes = 1,
                                .max_rss_bytes = (uint64_t)rss,
                                .is_command = is_command};
  tide_roll_add(&capture->roll, &row);
}

static bool is_complete(void)
{
  struct tide_profile *profile = tide_profile_new(capture, INDEXER_IMAGE);
  bool complete = tide_profile_is_complete(profile);
  tide_profile_free(profile);
  return complete;
}

static char *gate(size_t image_idx)
{
  struct tide_profile *profile = tide_profile_new(capture, image_idx);
  char *text = tide_completeness_gate(profile);
  tide_profile_free(profile);
  return text;
}

static void one_unrecorded_program_is_enough(void **state)
{
  assert_true(is_complete());
  add("/usr/bin/busybox", TIDE_WHY_STATIC, "", MIB, false);
  assert_false(is_complete());
  struct tide_profile *profile = tide_profile_new(capture, INDEXER_IMAGE);
  struct tide_completeness c;
  tide_completeness_judge(profile, &c);
  assert_true(c.image_is_whole && c.run_is_known && !c.run_is_whole && !c.image_is_hollow);
  assert_int_equal(c.n_recorded, 2);
  assert_int_equal(c.n_unrecorded, 1);
  tide_profile_free(profile);
  assert_null(gate(INDEXER_IMAGE)); // small: it does not change the answer
}

static void rows_are_gathered(void **state)
{
  for (int i = 0; i < 33; i++)
    add("/opt/rustc", TIDE_WHY_OWN_ALLOCATOR, "jemalloc", i * MIB, false);
  add("/opt/rustc", TIDE_WHY_STATIC, "", 5, false);
  assert_int_equal(capture->roll.n_rows, 2);
  assert_int_equal(capture->roll.rows[0].n_processes, 33);
  assert_int_equal(capture->roll.rows[0].max_rss_bytes, 32 * MIB);
  assert_int_equal(tide_roll_processes(&capture->roll), 34);
  for (int i = 0; i < 10000; i++) {
    char exe[32];
    snprintf(exe, sizeof exe, "/bin/p%d", i);
    add(exe, TIDE_WHY_STATIC, "", 1, false);
  }
  assert_int_equal(capture->roll.n_rows, TIDE_ROLL_MAX_ROWS + 1);
  assert_int_equal(tide_roll_processes(&capture->roll), 10034); // none is lost
}

static struct tide_lead lead(void)
{
  struct tide_lead found;
  tide_lead_find(capture, &found);
  return found;
}

// The fixture: sh (the command) started the indexer, which is far larger.
static void who_leads(void **state)
{
  struct tide_image *sh = &capture->images[0], *indexer = &capture->images[INDEXER_IMAGE];
  assert_int_equal(lead().image_idx, INDEXER_IMAGE); // a small wrapper around a large child
  assert_null(lead().unrecorded);
  sh->max_rss_bytes = indexer->max_rss_bytes * 2 / 3;
  assert_int_equal(lead().image_idx, 0); // the command, as large as half of the largest
  sh->max_rss_bytes = 3 * MIB;
  add("/usr/bin/busybox", TIDE_WHY_STATIC, "", 2 * MIB, false);
  assert_null(lead().unrecorded);
  add("/opt/big", TIDE_WHY_STATIC, "", (int64_t)indexer->max_rss_bytes + MIB, false);
  assert_int_equal(lead().image_idx, INDEXER_IMAGE);
  assert_string_equal(lead().unrecorded->exe, "/opt/big");
  char *why = gate(INDEXER_IMAGE);
  assert_non_null(strstr(why, "big was not recorded: it is statically linked"));
  free(why);
  assert_null(gate(0)); // whoever asks for the shell gets the shell
}

static void an_unrecorded_command_leads_however_small(void **state)
{
  add("/opt/launcher", TIDE_WHY_STATIC, "", MIB, true);
  assert_string_equal(lead().unrecorded->exe, "/opt/launcher");
  assert_int_equal(lead().image_idx, INDEXER_IMAGE);
}

// Of several processes of a program one loaded something late: that is no matter of the others.
static void what_one_process_loaded_is_its_own_matter(void **state)
{
  struct tide_image *indexer = &capture->images[INDEXER_IMAGE];
  indexer->pid = 76;
  add(indexer->exe, TIDE_WHY_LOADED_LATER, "libplugin.so", 20 * MIB, false); // pid 77
  assert_int_equal(lead().image_idx, INDEXER_IMAGE);
  assert_null(lead().unrecorded);
  assert_null(gate(INDEXER_IMAGE));
  assert_false(is_complete());
  indexer->pid = 77;
  char *why = gate(INDEXER_IMAGE);
  assert_non_null(strstr(why, "libplugin.so"));
  free(why);
}

// Of several that did, each says so itself: the others are as they are.
static void what_several_processes_loaded_is_no_matter_of_others(void **state)
{
  struct tide_image *indexer = &capture->images[INDEXER_IMAGE], *other = &capture->images[0];
  free(other->exe);
  other->exe = tide_strdup(indexer->exe);
  add(indexer->exe, TIDE_WHY_LOADED_LATER, "libplugin.so", 20 * MIB, false);
  add(indexer->exe, TIDE_WHY_LOADED_LATER, "libplugin.so", 20 * MIB, false);
  assert_int_equal(capture->roll.n_rows, 1);
  assert_int_equal(capture->roll.rows[0].n_processes, 2);
  assert_non_null(tide_image_on_roll(capture, indexer)); // of a file in which nobody says
  other->lacks |= TIDE_LACK_LATER;
  assert_null(tide_image_on_roll(capture, indexer));
  assert_non_null(tide_image_on_roll(capture, other));
  assert_null(gate(INDEXER_IMAGE));
  assert_false(is_complete());
}

static void hollow_images_do_not_lead(void **state)
{
  struct tide_image *indexer = &capture->images[INDEXER_IMAGE];
  add(indexer->exe, TIDE_WHY_OWN_ALLOCATOR, "jemalloc", 400 * MIB, false);
  assert_int_equal(lead().image_idx, 0); // something was recorded there
  assert_string_equal(lead().unrecorded->exe, indexer->exe);
  char *why = gate(INDEXER_IMAGE);
  assert_non_null(strstr(why, "has jemalloc linked in"));
  free(why);
  capture->images[0].exe[0] = 0; // the other one is no program any more
  add(capture->images[0].exe, TIDE_WHY_UNSEEN_MEMORY, "", MIB, false);
  assert_int_equal(lead().image_idx, INDEXER_IMAGE); // all are hollow: the largest
}

static void collect(void *context, const char *text)
{
  tide_buf_printf(context, "%s\n", text);
}

static void an_allocator_that_profiles_itself_is_named(void **state)
{
  static const struct {
    const char *allocator, *next;
  } cases[] = {{"jemalloc", "tidemark report FILE.heap"},
               {"Go's runtime", "/debug/pprof/heap"},
               {"tcmalloc", "HEAPPROFILE"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = tide_why_way_out(TIDE_WHY_OWN_ALLOCATOR, cases[i].allocator);
    assert_non_null(strstr(text, cases[i].next));
    free(text);
  }
  char *go = tide_why_way_out(TIDE_WHY_STATIC, "Go's runtime");
  assert_non_null(strstr(go, "/debug/pprof/heap"));
  assert_null(strstr(go, "-static")); // would not help
  free(go);
  go = tide_why_way_out(TIDE_WHY_OWN_ALLOCATOR, "Go's runtime"); // of a program with C in it
  assert_null(strstr(go, "link the allocator"));
  free(go);
  add(capture->images[INDEXER_IMAGE].exe, TIDE_WHY_OWN_ALLOCATOR, "jemalloc", MIB, false);
  capture->roll.n_refused = 3;
  struct tide_profile *profile = tide_profile_new(capture, INDEXER_IMAGE);
  struct tide_buf notes = {0};
  tide_profile_hollow_note(profile, collect, &notes);
  tide_profile_notes(profile, false, collect, &notes);
  assert_non_null(strstr(tide_buf_cstr(&notes), "MALLOC_CONF=prof:true"));
  assert_non_null(strstr(tide_buf_cstr(&notes), "3 other processes knocked and were refused"));
  tide_buf_done(&notes);
  tide_profile_free(profile);
}

static void merging_keeps_the_roll(void **state)
{
  struct tide_capture *other = tide_indexer_capture(), *sum = NULL;
  add("/opt/rustc", TIDE_WHY_OWN_ALLOCATOR, "jemalloc", MIB, false);
  const struct tide_merge_input parts[] = {{.capture = capture, .image_idx = INDEXER_IMAGE},
                                           {.capture = capture, .image_idx = 0},
                                           {.capture = other, .image_idx = INDEXER_IMAGE}};
  assert_int_equal(tide_merge(parts, 3, &sum, NULL), TIDE_ERR_OK);
  assert_true(sum->roll.is_known);
  assert_int_equal(sum->roll.n_rows, 1);
  assert_int_equal(sum->roll.rows[0].n_processes, 1); // once, though two of its images are merged
  assert_int_equal(sum->roll.n_recorded, 4);
  tide_capture_free(sum);
  other->roll.is_known = false;
  assert_int_equal(tide_merge(parts, 3, &sum, NULL), TIDE_ERR_OK);
  assert_int_equal(sum->roll.n_rows, 1); // what is known is kept
  assert_true(sum->roll.at_least);
  tide_capture_free(sum);
  tide_capture_free(other);
}

UNIT_TESTS(completeness_test)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(one_unrecorded_program_is_enough),
      TEST(rows_are_gathered),
      TEST(who_leads),
      TEST(an_unrecorded_command_leads_however_small),
      TEST(what_one_process_loaded_is_its_own_matter),
      TEST(what_several_processes_loaded_is_no_matter_of_others),
      TEST(hollow_images_do_not_lead),
      TEST(an_allocator_that_profiles_itself_is_named),
      TEST(merging_keeps_the_roll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
