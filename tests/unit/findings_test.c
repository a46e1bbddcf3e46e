// SPDX-License-Identifier: Apache-2.0
//
// Findings about captures made by hand, a rule's number at a time; and about numbers that no
// program ever had.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "leak_fixture.h"
#include "words/finding_words.h"
#include "words/residence_words.h"

#include <stdlib.h>
#include <string.h>

// The second place has large blocks, which were looked at when they were freed.
static struct tide_capture *roomy(uint64_t n_looked, uint64_t touched_bytes)
{
  enum { N = 100, LARGE = 1 << 20, AT_PEAK = 4 };
  struct tide_capture *capture = tide_leaking_capture(1);
  struct tide_image *image = capture->images;
  struct tide_site *site = &image->sites[1];
  image->has_touches = true;
  site->n_alloc = site->n_free = N;
  site->b_alloc = site->b_free = (uint64_t)N * LARGE;
  site->peak_blocks = AT_PEAK;
  site->peak_bytes = (int64_t)AT_PEAK * LARGE;
  site->n_looked = n_looked;
  site->b_looked = n_looked * LARGE;
  site->b_touched = n_looked * touched_bytes;
  image->peak_bytes += site->peak_bytes;
  image->peak_blocks += AT_PEAK;
  return capture;
}

static void a_leak_has_its_numbers_and_line(void **state)
{
  struct judged j = tide_judge(tide_leaking_capture(10));
  assert_int_equal(j.findings->n, 1);
  const struct tide_finding *found = j.findings->items;
  assert_int_equal(found->rule, TIDE_RULE_LEAK);
  assert_int_equal(found->confidence, TIDE_CONFIDENCE_HIGH);
  assert_int_equal(found->frame->line, 11);
  assert_int_equal(found->saving.value, 10 * LOOKS * BLOCK);
  assert_int_equal(found->evidence[TIDE_EVIDENCE_OF_BLOCKS], 10 * LOOKS);
  assert_int_equal(found->evidence[TIDE_EVIDENCE_OF_BYTES_PER_SECOND], 10 * LOOKS * BLOCK);
  char *text = tide_finding_sentence(found, j.naming, TIDE_STYLE_PLAIN);
  assert_string_equal(text,
                      "leaky, src/a.c:11, leaks: 240 of the 240 blocks that it allocated all "
                      "through the run were never freed, 234.4 KiB, which grew by 234.4 KiB a "
                      "second.");
  free(text);
  tide_judged_done(&j);
}

static void what_a_clean_up_frees_is_growth(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->sites[0].n_free = 10 * LOOKS;
  capture->images->sites[0].b_free = 10 * LOOKS * BLOCK;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_GROWTH);
  tide_judged_done(&j);
}

static void what_still_runs_does_not_leak(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->end_kind = TIDE_END_DETACHED;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_GROWTH);
  tide_judged_done(&j);
}

static void samples_are_less_sure(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->sampled_every_bytes = 4096;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_MEDIUM);
  struct tide_finding *finding = &j.findings->items[0];
  assert_int_equal(finding->saving.exactness, TIDE_ESTIMATED);
  tide_finding_saves(finding, TIDE_AT_MOST); // as a rule may say of what was counted
  assert_int_equal(finding->saving.exactness, TIDE_ESTIMATED);
  char *words = tide_finding_sentence(finding, j.naming, (struct tide_style){.utf8 = true});
  assert_non_null(strstr(words, "leaks: ≈ 240 of the ≈ 240 blocks"));
  free(words);
  tide_judged_done(&j);
}

static void what_lacks_is_not_judged(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->lacks = TIDE_LACK_BLOCKS | TIDE_LACK_TEMP;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->n, 0);
  assert_true(j.findings->unjudged >> TIDE_RULE_LEAK & 1);
  assert_true(j.findings->unjudged >> TIDE_RULE_TEMPORARY & 1);
  char *words = tide_findings_unjudged_words(j.findings);
  assert_non_null(strstr(words, "leak"));
  free(words);
  tide_judged_done(&j);
}

static void too_few_looks_are_said(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  for (int i = 4; i < LOOKS; i++)
    free(capture->images->snapshots[i].rows);
  capture->images->n_snapshots = 4;
  struct judged j = tide_judge(capture);
  assert_true(j.findings->is_short);
  assert_int_equal(j.findings->n, 0);
  tide_judged_done(&j);
}

// Of 12 moments 7 looks: the same is told, but not that it is wrong.
static void few_looks_are_less_sure(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  struct tide_image *image = capture->images;
  size_t n = 0;
  for (size_t i = 0; i < LOOKS; i++)
    if (i % 4 == 1 || i == LOOKS - 1)
      image->snapshots[n++] = image->snapshots[i];
    else
      free(image->snapshots[i].rows);
  image->n_snapshots = n;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_LEAK);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_LOW);
  assert_true(j.findings->items[0].is_note);
  char *words = tide_finding_sentence(j.findings->items, j.naming, (struct tide_style){0});
  assert_non_null(strstr(words, "keeps what it allocates"));
  free(words);
  char *title = tide_findings_title(j.findings, "prog");
  assert_non_null(strstr(title, "prog: nothing wrong found by the "));
  assert_non_null(strstr(title, " rules, 1 note"));
  free(title);
  tide_judged_done(&j);
}

// A place without a name may be what the whole program allocates through.
static void a_place_without_a_name_is_not_accused(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->frames[LEAKY].pc = 100; // of which nobody knows a name
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->n, 1);
  assert_int_equal(j.findings->items[0].rule, TIDE_RULE_LEAK);
  assert_true(j.findings->items[0].is_note);
  char *heading = tide_finding_heading(j.findings->items, (struct tide_style){0});
  assert_non_null(strstr(heading, "a note: nothing wrong by itself"));
  free(heading);
  tide_judged_done(&j);
}

// The heap is the smaller part of what the program has in memory.
static void little_of_the_memory_is_not_sure(void **state)
{
  struct tide_capture *capture = tide_leaking_capture(10);
  capture->images->page_peak_bytes = 20 * 10 * LOOKS * BLOCK;
  struct judged j = tide_judge(capture);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_LOW);
  assert_true(j.findings->items[0].is_note);
  tide_judged_done(&j);
  capture = tide_leaking_capture(10);
  capture->images->page_peak_bytes = 100 * 10 * LOOKS * BLOCK;
  j = tide_judge(capture);
  assert_int_equal(j.findings->n, 0);
  tide_judged_done(&j);
  capture = tide_leaking_capture(10);
  capture->images->page_peak_bytes = 100 * 10 * LOOKS * BLOCK;
  capture->images->max_rss_bytes = 3 * 10 * LOOKS * BLOCK; // reserved, and not used
  j = tide_judge(capture);
  assert_int_equal(j.findings->items[0].confidence, TIDE_CONFIDENCE_HIGH);
  assert_false(j.findings->items[0].is_note);
  tide_judged_done(&j);
}

// ---- numbers that no program ever had ----

static uint64_t seed;
static uint64_t any_number(void)
{
  static const uint64_t odd[] = {0, 1, 2, 1000, 1ull << 31, 1ull << 50, 1ull << 62, INT64_MAX};
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  uint64_t which = seed >> 60;
  return which < 8 ? odd[which] : which < 12 ? (uint64_t)0 - (seed >> 40) : seed >> 20 >> which;
}

static void spoil(struct tide_image *image)
{
  for (size_t i = 0; i < image->n_sites; i++) {
    uint64_t *numbers = (uint64_t *)&image->sites[i].counters;
    for (size_t k = 0; k < sizeof image->sites->counters / sizeof *numbers; k++)
      if (any_number() % 3 == 0)
        numbers[k] = any_number();
  }
  for (size_t i = 0; i < image->n_ticks; i++)
    image->ticks[i] = (struct tide_tick){any_number(), (int64_t)any_number(), (int64_t)any_number(),
                                         any_number(), any_number(),          any_number(),
                                         any_number(), (int64_t)any_number()};
  for (size_t i = 0; i < image->n_snapshots; i++) {
    image->snapshots[i].rows[0].live_blocks = (int64_t)any_number();
    image->snapshots[i].rows[0].live_bytes = (int64_t)any_number();
  }
  image->end_ns = any_number();
  image->peak_bytes = (int64_t)any_number();
  image->peak_ns = any_number();
  image->cpu_ns = any_number();
  image->untouched_bytes = any_number();
  image->has_resident = true;
}

static void nothing_breaks_on_any_numbers(void **state)
{
  for (seed = 1; seed < 500u * 7919u; seed += 7919) {
    uint64_t kept = seed;
    struct tide_capture *capture = tide_leaking_capture(10);
    spoil(capture->images);
    struct judged j = tide_judge(capture);
    for (size_t i = 0; i < j.findings->n; i++) {
      free(tide_finding_sentence(&j.findings->items[i], j.naming, TIDE_STYLE_PLAIN));
      free(tide_finding_saving_words(&j.findings->items[i], TIDE_STYLE_PLAIN));
      for (int k = 0; k < TIDE_EVIDENCES_N; k++)
        assert_true(j.findings->items[i].evidence[k] >= 0);
    }
    tide_judged_done(&j);
    seed = kept;
  }
}

// Two arenas keep 60 MiB free from an early table on; the RSS is as high to the end, or rises. A
// table of a heap that moved meanwhile tells nothing.
static void check_table_of_rss(uint64_t later_bytes, bool is_stale, bool is_blurred)
{
  const uint64_t mib = 1 << 20;
  struct tide_capture *capture = tide_leaking_capture(10);
  struct tide_image *image = capture->images;
  image->has_resident = true;
  for (int i = 0; i < LOOKS; i++)
    image->ticks[i].rss_bytes = i < LOOKS / 2 ? 70 * mib : later_bytes;
  image->residences = tide_alloc(sizeof *image->residences);
  image->n_residences = 1;
  struct tide_residence *table = image->residences;
  table->time_ns = RUN_MS * MS / 10;
  table->rows[TIDE_RESIDENCE_FREE] = 60 * mib;
  table->rows[TIDE_RESIDENCE_BLOCKS] = 10 * mib;
  table->sum = 70 * mib;
  table->rss_before = (is_blurred ? 50 : 68) * mib;
  table->rss_after = 70 * mib;
  table->heap = TIDE_HEAP_GLIBC;
  table->has_recorder = true;
  table->n_arenas = 2;
  table->arenas = tide_alloc_array(2, sizeof *table->arenas);
  for (int i = 0; i < 2; i++)
    table->arenas[i] =
        (struct tide_residence_arena){.is_main = !i, .in_use = 5 * mib, .free = 30 * mib};
  struct judged j = tide_judge(capture);
  const struct tide_finding *found = NULL;
  for (size_t i = 0; i < j.findings->n; i++)
    if (j.findings->items[i].rule == TIDE_RULE_ARENAS)
      found = &j.findings->items[i];
  assert_int_equal(found != NULL, !is_blurred);
  TIDE_CLEANUP_FREE char *text =
      found ? tide_finding_sentence(found, j.naming, TIDE_STYLE_PLAIN) : tide_strdup("");
  assert_int_equal(strstr(text, "later 187.0 MiB were resident, and nobody looked") != NULL,
                   is_stale);
  tide_judged_done(&j);
}

static void a_table_of_before_says_so(void **state)
{
  check_table_of_rss(UINT64_C(70) << 20, false, false);
  check_table_of_rss(UINT64_C(187) << 20, true, false);
  check_table_of_rss(UINT64_C(70) << 20, false, true);
}

static const struct tide_finding *untouched_of(const struct judged *j)
{
  for (size_t i = 0; i < j->findings->n; i++)
    if (j->findings->items[i].rule == TIDE_RULE_UNTOUCHED)
      return &j->findings->items[i];
  return NULL;
}

static void what_large_blocks_did_not_use_is_found(void **state)
{
  (void)state;
  static const struct {
    uint64_t n_looked, touched_bytes, swapped_bytes;
    bool is_known, fires;
    enum tide_confidence confidence;
  } cases[] = {
      {100, 4096, 0, true, true, TIDE_CONFIDENCE_HIGH},
      {100, 0, 0, true, true, TIDE_CONFIDENCE_HIGH},
      {50, 4096, 0, true, true, TIDE_CONFIDENCE_MEDIUM}, // of half of them nothing is known
      {19, 4096, 0, true, false, 0},                     // too few of 100
      {0, 0, 0, true, false, 0},                         // none was looked at: not known
      {100, 4096, 0, false, false, 0},
      {100, 4096, 1, true, false, 0}, // what is swapped out was touched
      {100, 600000, 0, true, false, 0},
      {100, 1 << 20, 0, true, false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = roomy(cases[i].n_looked, cases[i].touched_bytes);
    capture->images->swapped_bytes = cases[i].swapped_bytes;
    capture->images->has_touches = cases[i].is_known;
    struct judged j = tide_judge(capture);
    const struct tide_finding *finding = untouched_of(&j);
    assert_int_equal(finding != NULL, cases[i].fires);
    if (finding) {
      int64_t each = (1 << 20) - (int64_t)cases[i].touched_bytes;
      assert_int_equal(finding->confidence, cases[i].confidence);
      assert_int_equal(finding->saving.value, 4 * each);
      assert_int_equal(finding->saving.exactness, TIDE_ESTIMATED);
      assert_int_equal(finding->evidence[TIDE_EVIDENCE_OF_TOUCHED_BYTES], cases[i].touched_bytes);
    }
    tide_judged_done(&j);
  }
}

static void what_is_missing_is_said(void **state)
{
  (void)state;
  static const struct {
    uint64_t n_lost, n_broken;
    bool is_cut, has_roll, is_open;
    const char *said; // NULL: nothing
    int steps;        // of confidence
  } cases[] = {
      {0, 0, false, false, false, NULL, 0},
      {1, 0, false, false, true, "; not every event of it was recorded with its whole stack.", 1},
      {0, 1, false, true, false, "; not every event of it was recorded with its whole stack.", 0},
      {1, 0, true, true, true, "; the file is damaged, and there may be more.", 1},
      {0, 0, false, true, false, "; some processes of the run went unrecorded.", 0},
      {0, 0, false, true, true, "; the run went on after that, and there may be more.", 0},
      {0, 0, false, false, true, "; the run went on after that, and there may be more.", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = roomy(100, 4096);
    struct tide_image *image = capture->images;
    image->loss.n_lost_full = cases[i].n_lost;
    image->loss.n_broken = cases[i].n_broken;
    capture->cut = cases[i].is_cut;
    capture->finished = !cases[i].is_open;
    capture->roll.n_rows = cases[i].has_roll;
    capture->roll.rows = cases[i].has_roll ? tide_alloc(sizeof *capture->roll.rows) : NULL;
    struct judged j = tide_judge(capture);
    const struct tide_finding *finding = untouched_of(&j);
    assert_non_null(finding);
    assert_int_equal(finding->confidence, TIDE_CONFIDENCE_HIGH - cases[i].steps);
    char *words = tide_finding_sentence(finding, j.naming, (struct tide_style){0});
    if (cases[i].said)
      assert_non_null(strstr(words, cases[i].said));
    else
      assert_null(strchr(words, ';') ? strstr(words, "recorded") : NULL);
    free(words);
    tide_judged_done(&j);
  }
}

static void a_backlog_names_its_queue(void **state)
{
  (void)state;
  const struct tide_named_frame send = {.function = "std::sync::mpsc::Sender<T>::send"};
  struct tide_finding finding = {.rule = TIDE_RULE_BACKLOG, .queue = &send};
  for (int known = 1; known >= 0; known--) {
    char *words = tide_finding_sentence(&finding, NULL, (struct tide_style){0});
    const char *said =
        strstr(words, "in the mean; the queue is that of std::sync::mpsc::Sender<T>::");
    assert_int_equal(said != NULL, known);
    free(words);
    finding.queue = NULL;
  }
}

// 42 MiB and 666 MiB are not two blocks of 354 MiB each.
static void blocks_are_of_a_mean_size(void **state)
{
  (void)state;
  static const struct {
    int64_t n_blocks, n_items;
    const char *said;
  } cases[] = {
      {1, 0, "of its 742,391,808 B at the peak, 1 block, at least 1,000 B was never in memory."},
      {2, 0, "2 blocks of 371,195,904 B in the mean, at least 1,000 B was"},
      {48, 16, "at the peak, 46,399,488 B in 3 blocks for each of 16 instances, at least"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_finding finding = {.rule = TIDE_RULE_UNTOUCHED, .saving = tide_exact(1000)};
    finding.evidence[TIDE_EVIDENCE_OF_BYTES] = 742391808;
    finding.evidence[TIDE_EVIDENCE_OF_BLOCKS] = cases[i].n_blocks;
    finding.evidence[TIDE_EVIDENCE_OF_BLOCK_BYTES] = 742391808 / cases[i].n_blocks;
    if (cases[i].n_items) {
      finding.has = 1ull << TIDE_EVIDENCE_OF_ITEMS;
      finding.evidence[TIDE_EVIDENCE_OF_ITEMS] = cases[i].n_items;
      finding.evidence[TIDE_EVIDENCE_OF_PLACES] = cases[i].n_blocks / cases[i].n_items;
      finding.evidence[TIDE_EVIDENCE_OF_ITEM_BYTES] = 742391808 / cases[i].n_items;
    }
    struct tide_style style = {.units = TIDE_UNITS_BYTES};
    char *words = tide_finding_sentence(&finding, NULL, style);
    assert_non_null(strstr(words, cases[i].said));
    free(words);
  }
}

// Where a trim gives back next to nothing, it is not what the reader is sent for.
static void trimming_is_advised_where_it_helps(void **state)
{
  (void)state;
  static const int64_t free_bytes = 192 << 20;
  static const struct {
    int64_t trim_bytes;
    bool is_advised;
  } cases[] = {{0, false}, {4096, false}, {96 << 20, true}, {192 << 20, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_finding finding = {.rule = TIDE_RULE_FRAGMENTED};
    finding.has = 1ull << TIDE_EVIDENCE_OF_TRIM_BYTES | 1ull << TIDE_EVIDENCE_OF_FREE_BYTES;
    finding.evidence[TIDE_EVIDENCE_OF_FREE_BYTES] = free_bytes;
    finding.evidence[TIDE_EVIDENCE_OF_TRIM_BYTES] = cases[i].trim_bytes;
    bool is_advised = strstr(tide_finding_advice(&finding), "malloc_trim") != NULL;
    assert_int_equal(is_advised, cases[i].is_advised);
  }
}

// What lies between the blocks that are known may be blocks from before the process was attached
// to, unless the allocator's own lists were read.
static void what_may_be_in_use_is_not_called_free(void **state)
{
  (void)state;
  static const struct {
    enum tide_residence_heap heap;
    bool is_attached, fires;
  } cases[] = {{TIDE_HEAP_JEMALLOC, false, true},
               {TIDE_HEAP_JEMALLOC, true, false},
               {TIDE_HEAP_RECORDED, true, false},
               {TIDE_HEAP_GLIBC, true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = roomy(100, 1 << 20);
    struct tide_image *image = capture->images;
    image->lacks |= cases[i].is_attached ? TIDE_LACK_BEFORE : 0;
    image->residences = tide_alloc(sizeof *image->residences);
    image->n_residences = 1;
    struct tide_residence *table = image->residences;
    *table = (struct tide_residence){.heap = cases[i].heap, .has_recorder = true};
    table->rows[TIDE_RESIDENCE_BLOCKS] = 4 << 20;
    table->rows[TIDE_RESIDENCE_FREE] = table->pinned = 64 << 20;
    table->sum = table->rss_before = table->rss_after = 68 << 20;
    image->n_ticks = 0; // a process that runs
    struct judged j = tide_judge(capture);
    bool fires = false;
    for (size_t k = 0; k < j.findings->n; k++)
      fires |= j.findings->items[k].rule == TIDE_RULE_FRAGMENTED;
    assert_int_equal(fires, cases[i].fires);
    char *words = tide_residence_bands_words(image, table, (struct tide_style){0});
    bool is_doubted = strstr(words, ", or in blocks from before, 64.0 MiB") != NULL;
    assert_int_equal(is_doubted, !cases[i].fires);
    free(words);
    tide_judged_done(&j);
  }
}

// Blocks that are resized once each where few are allocated: as a program has it whose strings are
// made in one place and grow in another. Of 10,000 chains of one step nothing is said, nor of two
// of 10,000 steps: no container doubles so often, and others have resized the blocks since.
static void blocks_from_elsewhere_are_counted(void **state)
{
  static const struct {
    uint64_t n_taken, n_chains; // of 20,002 blocks, 20,000 by resizes
  } cases[] = {{0, 0}, {19000, 1002}, {19600, 402}, {20000, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = tide_leaking_capture(10);
    struct tide_image *image = capture->images;
    struct tide_site *site = &image->sites[1];
    site->n_alloc = site->n_free = 20002;
    site->b_alloc = site->b_free = 20002 * BLOCK;
    site->n_resize = 20000;
    site->b_resize_old = 20000 * BLOCK;
    site->b_resize_new = 20000 * BLOCK * 2;
    site->life_mask = 1 << 12;
    site->first_count = 0;
    image->counts = (struct tide_counts){tide_alloc(sizeof *image->counts.items), 1, 1};
    image->counts.items[0] = 20002 - cases[i].n_taken;
    struct judged j = tide_judge(capture);
    const struct tide_finding *found = NULL;
    for (size_t k = 0; k < j.findings->n; k++)
      if (j.findings->items[k].rule == TIDE_RULE_RESERVE)
        found = &j.findings->items[k];
    assert_int_equal(found != NULL, cases[i].n_chains != 0);
    if (found)
      assert_int_equal(found->evidence[TIDE_EVIDENCE_OF_CONTAINERS], cases[i].n_chains);
    tide_judged_done(&j);
  }
}

// The only table is of when the heap was full; what became of it ticks alone have seen.
static void what_no_table_saw_is_judged_by_ticks(void **state)
{
  const uint64_t mib = 1 << 20;
  static const struct {
    int64_t asked_mib, live_mib; // at the table, and at the end
    uint64_t rss_mib;            // at the end; 95 at the peak
    bool fires;
    int unseen_from, unseen_to; // percent of the run without a look
  } cases[] = {{80, 10, 95, true, 0, 0},
               {80, 78, 95, false, 0, 0},
               {10, 10, 150, true, 0, 0},
               {80, 10, 16, false, 0, 0},
               {80, 30, 51, true, 0, 0}, // by the table 2 MiB are
                                         // beside the heap, not 15
               {80, 10, 95, true, 40, 90},
               {80, 10, 95, false, 20, 90}}; // for how long it was so
                                             // nobody knows
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *capture = tide_leaking_capture(10);
    struct tide_image *image = capture->images;
    image->has_resident = true;
    for (int k = 0; k < LOOKS; k++) {
      bool is_late = k > LOOKS / 4;
      image->snapshots[k].rows[0].live_blocks = 10; // nothing grows
      image->snapshots[k].rows[0].live_bytes = 10 * BLOCK;
      image->ticks[k].live_bytes = (is_late ? cases[i].live_mib : 80) * (int64_t)mib;
      bool is_seen =
          k * 100 < cases[i].unseen_from * LOOKS || k * 100 >= cases[i].unseen_to * LOOKS;
      image->ticks[k].rss_bytes = is_seen ? (is_late ? cases[i].rss_mib : 95) * mib : 0;
    }
    image->residences = tide_alloc(sizeof *image->residences);
    image->n_residences = 1;
    *image->residences = (struct tide_residence){.time_ns = RUN_MS * MS / 10,
                                                 .asked = (uint64_t)cases[i].asked_mib * mib,
                                                 .sum = 95 * mib,
                                                 .heap = TIDE_HEAP_GLIBC,
                                                 .has_recorder = true};
    image->residences->rows[TIDE_RESIDENCE_BLOCKS] = 93 * mib;
    image->residences->rows[TIDE_RESIDENCE_FILES] = 2 * mib;
    struct judged j = tide_judge(capture);
    const struct tide_finding *found = NULL;
    for (size_t k = 0; k < j.findings->n; k++)
      if (j.findings->items[k].rule == TIDE_RULE_FRAGMENTED)
        found = &j.findings->items[k];
    assert_int_equal(found != NULL, cases[i].fires);
    if (found) {
      assert_int_equal(found->confidence, TIDE_CONFIDENCE_LOW);
      assert_true(found->is_note);
    }
    tide_judged_done(&j);
  }
}

UNIT_TESTS(findings_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_large_blocks_did_not_use_is_found),
      cmocka_unit_test(what_is_missing_is_said),
      cmocka_unit_test(a_backlog_names_its_queue),
      cmocka_unit_test(blocks_are_of_a_mean_size),
      cmocka_unit_test(trimming_is_advised_where_it_helps),
      cmocka_unit_test(what_may_be_in_use_is_not_called_free),
      cmocka_unit_test(a_leak_has_its_numbers_and_line),
      cmocka_unit_test(what_a_clean_up_frees_is_growth),
      cmocka_unit_test(what_still_runs_does_not_leak),
      cmocka_unit_test(samples_are_less_sure),
      cmocka_unit_test(what_lacks_is_not_judged),
      cmocka_unit_test(too_few_looks_are_said),
      cmocka_unit_test(few_looks_are_less_sure),
      cmocka_unit_test(a_place_without_a_name_is_not_accused),
      cmocka_unit_test(little_of_the_memory_is_not_sure),
      cmocka_unit_test(a_table_of_before_says_so),
      cmocka_unit_test(blocks_from_elsewhere_are_counted),
      cmocka_unit_test(what_no_table_saw_is_judged_by_ticks),
      cmocka_unit_test(nothing_breaks_on_any_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
