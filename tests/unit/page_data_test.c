// SPDX-License-Identifier: Apache-2.0
//
// The page's data, read by a second reader and held against the profile it was made from: every
// column, for captures made by hand and for many made from a seed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "indexer_fixture.h"
#include "merge/merge.h"
#include "page/page_data.h"
#include "page/page_sites.h"
#include "page_block.h"
#include "tide_gen.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 150, SCALE = 60 };

static struct tide_capture *capture;
static struct tide_profile *profile;
static struct tide_naming *naming;
static struct tide_page_data *data;
static struct tide_buf bytes;
static struct page_block block;

static void drop(void)
{
  page_block_done(&block);
  tide_buf_done(&bytes);
  tide_page_data_free(data);
  tide_naming_free(naming);
  tide_profile_free(profile);
  data = NULL;
  naming = NULL;
  profile = NULL;
}

static int teardown(void **state)
{
  drop();
  tide_capture_free(capture);
  capture = NULL;
  return 0;
}

static void make_of(size_t image_idx, const struct tide_name_source *names, size_t n_keep,
                    bool by_place)
{
  drop();
  const struct tide_page_options options = {
      .file = "a.tide", .n_keep = n_keep, .by_place = by_place, .limit_bytes = 1000};
  profile = tide_profile_new(capture, image_idx);
  naming = tide_naming_new_from(profile->image, names);
  data = tide_page_data_new(profile, naming, &options);
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  tide_page_data_write(data, &sink);
  bytes = sink.buf;
  assert_int_equal(bytes.n, tide_page_data_bytes(data));
  page_block_read(&block, &bytes);
}

static void make(size_t image_idx, const struct tide_name_source *names, size_t n_keep)
{
  make_of(image_idx, names, n_keep, false);
}

static size_t count(const char *column)
{
  return page_block_count(&block, column);
}

static double get(const char *column, size_t i)
{
  return page_block_get(&block, column, i);
}

static void expect(const char *column, size_t i, double expected)
{
  double held = get(column, i);
  if (held != expected)
    fail_msg("%s[%zu] is %.0f and not %.0f", column, i, held, expected);
}

static void expect_text(const char *column, size_t i, const char *expected)
{
  TIDE_CLEANUP_FREE char *text = page_block_text(&block, (size_t)get(column, i));
  struct tide_buf clean = {0};
  for (size_t n = expected ? strlen(expected) : 0, at = 0; at < n;) {
    size_t length = tide_utf8_length(expected + at, n - at);
    tide_buf_append(&clean, length ? expected + at : "\xef\xbf\xbd", length ? length : 3);
    at += length ? length : 1;
  }
  assert_string_equal(text, tide_buf_cstr(&clean));
  tide_buf_done(&clean);
}

static unsigned flags_of(const struct tide_named_frame *frame)
{
  return (frame->flags & TIDE_FRAME_GUESSED ? 2u : 0) | (frame->flags & TIDE_FRAME_CUT ? 4u : 0) |
         (frame->flags & TIDE_FRAME_PAGES ? 8u : 0) | (frame->flags & TIDE_FRAME_LOST ? 16u : 0) |
         (frame->inlined ? 32u : 0);
}

static void expect_frame(size_t i, const struct tide_named_frame *frame)
{
  expect_text("frame_function", i, frame->function);
  expect_text("frame_file", i, frame->file);
  expect("frame_line", i, frame->line);
  expect("frame_layer", i, frame->layer);
  expect("frame_flags", i, flags_of(frame));
  expect_text("module_path", (size_t)get("frame_module", i),
              tide_naming_module_path(naming, frame));
  uint64_t address = tide_naming_elf_address(naming, frame);
  expect("frame_address", i, frame->function && *frame->function ? 0 : (double)address);
}

static void expect_stack(size_t page_node, uint32_t stack)
{
  for (uint32_t node = stack; node; node = profile->image->frames[node].parent) {
    size_t n;
    const struct tide_named_frame *frames = tide_naming_of_node(naming, node, &n);
    for (size_t i = 0; i < n; i++) {
      assert_int_not_equal(page_node, 0);
      expect_frame((size_t)get("node_frame", page_node), &frames[i]);
      size_t up = (size_t)get("node_up", page_node);
      assert_in_range(up, 1, page_node);
      page_node -= up;
    }
  }
  assert_int_equal(page_node, 0);
}

static double since(uint64_t time_ns)
{
  return (double)(int64_t)(time_ns - profile->image->start_ns);
}

static void expect_row(size_t i, size_t site, const struct tide_site *row)
{
  expect("row_site", i, (double)site);
  expect("row_thread", i, row->thread);
#define EXPECT_DONE(field) expect("row_" #field, i, (double)row->field);
#define EXPECT_HELD(field) EXPECT_DONE(field)
#define EXPECT_HIGH(field)
#define EXPECT_EARLIEST(field) expect("row_" #field, i, row->n_alloc ? since(row->field) : 0);
#define EXPECT_LATEST(field) EXPECT_EARLIEST(field)
#define TIDE_NUMBER(field, type, rule, ...) EXPECT_##rule(field)
#include "model/numbers.def"
}

// The frames on the way to a stack, outermost first; how many.
static size_t way_of(uint32_t stack, uint32_t ret[64])
{
  uint32_t way[64];
  size_t n = 0;
  for (uint32_t at = stack; at; at = profile->image->frames[at].parent) {
    assert_true(n < 64);
    way[n++] = at;
  }
  for (size_t i = 0; i < n; i++)
    ret[i] = way[n - 1 - i];
  return n;
}

// Where the ways of two stacks part, the lower number comes first; and what is further out.
static int by_way(const void *left, const void *right)
{
  uint32_t a[64], b[64];
  size_t n_a = way_of(((const struct tide_profile_site *)left)->stack, a);
  size_t n_b = way_of(((const struct tide_profile_site *)right)->stack, b);
  for (size_t i = 0; i < n_a && i < n_b; i++)
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  return (n_a > n_b) - (n_a < n_b);
}

// The sites of a profile in the order in which the page has them.
static void put_in_order(void)
{
  qsort(profile->sites, profile->n_sites, sizeof *profile->sites, by_way);
}

static void expect_sites(void)
{
  size_t n_rows = 0, n_hist = 0;
  assert_int_equal(count("site_node"), profile->n_sites);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    uint64_t counts[TIDE_SIZE_BUCKETS_N + TIDE_LIFE_BUCKETS_N];
    tide_profile_site_histograms(profile, site, counts, counts + TIDE_SIZE_BUCKETS_N);
    expect("site_kind", i, site->kind);
    expect("site_own_max", i, (double)site->in_row->high_bytes);
    expect_stack((size_t)get("site_node", i), site->stack);
    for (uint32_t k = 0; k < site->n_rows; k++)
      expect_row(n_rows++, i, &profile->image->sites[profile->rows[site->first_row + k]]);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      if (!counts[k])
        continue;
      expect("hist_site", n_hist, (double)i);
      expect("hist_bucket", n_hist, (double)k);
      expect("hist_count", n_hist++, (double)counts[k]);
    }
  }
  assert_int_equal(count("row_site"), n_rows);
  assert_int_equal(count("hist_site"), n_hist);
}

// The rows of a snapshot of one stack, summed.
static struct tide_snapshot_row row_of(size_t snapshot, uint32_t stack)
{
  const struct tide_snapshot *s = &profile->image->snapshots[snapshot];
  for (size_t i = 0; i < s->n_rows; i++)
    if (s->rows[i].stack == stack)
      return s->rows[i];
  return (struct tide_snapshot_row){0};
}

static double more(int64_t now, int64_t before)
{
  return (double)(int64_t)((uint64_t)now - (uint64_t)before);
}

static void expect_cells(void)
{
  size_t n = 0;
  for (size_t s = 0; s < profile->image->n_snapshots; s++) {
    size_t last = 0;
    for (size_t i = 0; i < profile->n_sites; i++) {
      struct tide_snapshot_row now = row_of(s, profile->sites[i].stack), before = {0};
      if (s)
        before = row_of(s - 1, profile->sites[i].stack);
      if (now.live_bytes == before.live_bytes && now.live_blocks == before.live_blocks &&
          !now.n_alloc && !now.b_alloc)
        continue;
      expect("cell_step", n, (double)(i - last));
      expect("cell_bytes", n, more(now.live_bytes, before.live_bytes));
      expect("cell_blocks", n, more(now.live_blocks, before.live_blocks));
      expect("cell_n_alloc", n, (double)now.n_alloc);
      expect("cell_b_alloc", n++, (double)now.b_alloc);
      last = i;
    }
    expect("snap_ns", s, since(profile->image->snapshots[s].time_ns));
    expect("snap_kind", s, profile->image->snapshots[s].kind);
    expect("snap_end", s, (double)n);
  }
  assert_int_equal(count("snap_ns"), profile->image->n_snapshots);
  assert_int_equal(count("cell_step"), n);
}

// Those of stacks that are sites, in the order of the image.
static void expect_late_frees(void)
{
  size_t n = 0;
  for (size_t i = 0; i < profile->image->n_late_frees; i++) {
    const struct tide_late_free *late = &profile->image->late_frees[i];
    size_t site = 0;
    while (site < profile->n_sites && profile->sites[site].stack != late->stack)
      site++;
    if (site == profile->n_sites)
      continue;
    expect("late_site", n, (double)site);
    expect("late_born", n, late->born);
    expect("late_freed", n, late->freed);
    expect("late_bytes", n, (double)late->bytes);
    expect("late_blocks", n++, (double)late->n_blocks);
  }
  assert_int_equal(count("late_site"), n);
}

static void expect_ticks(void)
{
  assert_int_equal(count("tick_ns"), profile->image->n_ticks);
  for (size_t i = 0; i < profile->image->n_ticks; i++) {
    const struct tide_tick *tick = &profile->image->ticks[i];
    expect("tick_ns", i, since(tick->time_ns));
    expect("tick_live_bytes", i, (double)tick->live_bytes);
    expect("tick_live_blocks", i, (double)tick->live_blocks);
    expect("tick_n_alloc", i, (double)tick->n_alloc);
    expect("tick_b_alloc", i, (double)tick->b_alloc);
    expect("tick_n_free", i, (double)tick->n_free);
    expect("tick_rss", i, (double)tick->rss_bytes);
    expect("tick_page_bytes", i, (double)tick->page_bytes);
  }
}

static void expect_kinds(void)
{
  assert_int_equal(count("kind_ns"), profile->image->n_rss_kinds);
  for (size_t i = 0; i < profile->image->n_rss_kinds; i++) {
    const struct tide_rss_kinds *kinds = &profile->image->rss_kinds[i];
    expect("kind_ns", i, since(kinds->time_ns));
    expect("kind_anonymous", i, (double)kinds->anonymous_bytes);
    expect("kind_files", i, (double)kinds->file_bytes);
    expect("kind_shared", i, (double)kinds->shared_bytes);
    expect("kind_swapped", i, (double)kinds->swapped_bytes);
  }
}

static void expect_all(void)
{
  put_in_order();
  expect_sites();
  expect_cells();
  expect_late_frees();
  expect_ticks();
  expect_kinds();
  expect("text_end", 0, 0);
  expect("module_path", 0, 0);
  expect("node_up", 0, 0);
}

static void add_late_frees(struct tide_image *image)
{
  image->has_late_frees = true;
  image->n_late_frees = 2;
  image->late_frees = tide_alloc_array(2, sizeof *image->late_frees);
  for (uint32_t i = 0; i < 2; i++)
    image->late_frees[i] = (struct tide_late_free){image->sites[i].stack, i, 2, 3 + i, 300 + i};
}

static void an_image_is_there_in_every_column(void **state)
{
  capture = tide_indexer_capture();
  tide_indexer_add_snapshots(capture);
  add_late_frees(&capture->images[INDEXER_IMAGE]);
  capture->images[INDEXER_IMAGE].sites[1].age_ns = (uint64_t)-5; // others freed its blocks
  capture->images[INDEXER_IMAGE].has_counts = true;
  capture->images[INDEXER_IMAGE].snapshots[1].rows[0].n_alloc = 7;
  capture->images[INDEXER_IMAGE].snapshots[1].rows[0].b_alloc = 700;
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  expect_all();
  assert_true(page_block_says(&block, "\"schema\": \"tidemark-page-2\""));
  assert_true(page_block_says(&block, "\"file\": \"a.tide\""));
  assert_true(page_block_says(&block, "\"peak_bytes\": 432013312"));
  assert_true(page_block_says(&block, "\"tid\": 41312, \"name\": \"worker|=1\", \"owners\": 3"));
  assert_true(page_block_says(&block, "\"has\": {\"temporary_bytes\": false, \"counts\": true, "
                                      "\"late_frees\": true}"));
  assert_true(page_block_says(&block, "\"overhead ≈ 1.2×"));
  assert_true(page_block_says(&block, "\"pruned\": null"));
  assert_true(page_block_says(&block, "libplugin.so has no debug info"));
}

// Tidemark's own time is not in it before the end: it is not the number that will be told then.
static void overhead_of_a_program_that_runs(void **state)
{
  capture = tide_indexer_capture();
  capture->finished = false;
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  assert_true(page_block_says(&block, "\"overhead in the program ≈ 1.2×"));
}

// Many times as much as next to nothing is little.
static void overhead_of_a_program_that_waits(void **state)
{
  static const struct {
    uint64_t run_ns;
    const char *says;
  } cases[] = {{20000000, "\"overhead ≈ 4.0×"},
               {80000000, "\"overhead ≈ 19 % of a core"},
               {8000000000, "\"overhead below 1 % of a core"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    capture = tide_indexer_capture();
    capture->has_cost = true;
    capture->cost = (struct tide_cost){10000000, 5000000, 10000000};
    capture->duration_ns = cases[i].run_ns;
    make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
    assert_true(page_block_says(&block, cases[i].says));
    teardown(NULL);
  }
}

// Whatever was asked of a profile before.
static void the_order_of_sites_does_not_depend_on_questions(void **state)
{
  capture = tide_indexer_capture();
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  const struct tide_page_options options = {.file = "a.tide", .n_keep = TIDE_PAGE_KEEP_ALL};
  tide_profile_ask(profile, &(struct tide_question){.measure = TIDE_MEASURE_TOTAL});
  struct tide_page_data *again = tide_page_data_new(profile, naming, &options);
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  tide_page_data_write(again, &sink);
  assert_int_equal(sink.buf.n, bytes.n);
  assert_memory_equal(sink.buf.data, bytes.data, bytes.n);
  tide_sink_done(&sink);
  tide_page_data_free(again);
}

static void crates_are_told(void **state)
{
  capture = tide_indexer_capture();
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  size_t n_met = 0;
  for (size_t i = 0; i < count("frame_function"); i++) {
    TIDE_CLEANUP_FREE char *function = page_block_text(&block, (size_t)get("frame_function", i));
    if (strcmp(function, "indexer::dict::Builder::intern") == 0) {
      expect_text("frame_crate", i, "indexer");
      n_met++;
    } else if (strcmp(function, "__libc_start_main") == 0) {
      expect("frame_crate", i, 0);
      n_met++;
    }
  }
  assert_int_equal(n_met, 3); // intern is there twice: once it is guessed
}

static void an_empty_image_is_a_block(void **state)
{
  capture = tide_indexer_capture();
  make(0, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  expect_all();
  assert_int_equal(count("site_node"), 0);
  assert_int_equal(count("node_up"), 1);
}

static void what_lacks_is_absent(void **state)
{
  capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->lacks = TIDE_LACK_PEAK | TIDE_LACK_THREADS | TIDE_LACK_CLOCK;
  image->origin = tide_strdup("another tool");
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  expect_all();
  assert_true(page_block_says(&block, "\"lacks\": [\"peak\", \"threads\", \"clock\"]"));
  assert_true(page_block_says(&block, "\"allocated_bytes\""));
  assert_false(page_block_says(&block, "\"peak_bound_bytes\""));
  assert_false(page_block_says(&block, "\"peak_ns\""));
  assert_true(page_block_says(&block, "\"threads\": [{"));
}

static void merged_images_are_there_too(void **state)
{
  struct tide_capture *part = tide_indexer_capture(), *merged = NULL;
  tide_indexer_add_snapshots(part);
  struct tide_diag diag = {0};
  const struct tide_merge_input parts[] = {{part, INDEXER_IMAGE}, {part, INDEXER_IMAGE}};
  if (tide_merge(parts, 2, &merged, &diag))
    fail_msg("%s", diag.text);
  tide_capture_free(part);
  capture = merged;
  make(0, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  expect_all();
  assert_true(page_block_says(&block, "\"pid\": 0"));
}

// Of any numbers, up to the largest and below zero; tables may be empty.
static void any_capture_is_told_exactly(void **state)
{
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    capture = tide_gen_capture(seed, SCALE);
    for (size_t i = 0; i < capture->n_images; i++) {
      make(i, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
      expect_all();
    }
    teardown(NULL);
  }
}

static char *huge_name;

static size_t hostile_lookup(void *context, uint32_t module, uint64_t addr,
                             struct tide_symbol_frame *out, size_t max)
{
  static const char *const names[] = {
      "</script><script>alert(1)</script>",
      "\"'`><img src=x onerror=alert(1)>",
      "\x01\x02\x1b[31m",
      "\xff\xfe\xed\xa0\x80\xf4\x90\x80\x80",
      "<!--TIDEMARK-DATA-->",
  };
  const char *name = addr % 6 == 5 ? huge_name : names[addr % 6];
  out[0] = (struct tide_symbol_frame){name, name, 1, false};
  return 1;
}

static void hostile_names_stay_what_they_are(void **state)
{
  static const struct tide_name_source hostile = {.lookup = hostile_lookup};
  enum { HUGE_BYTES = 100 << 10 };
  huge_name = tide_alloc(HUGE_BYTES + 1);
  memset(huge_name, 'x', HUGE_BYTES);
  capture = tide_indexer_capture();
  make(INDEXER_IMAGE, &hostile, TIDE_PAGE_KEEP_ALL);
  expect_all();
  free(huge_name);
}

static void a_string_of_a_file_is_found(void **state)
{
  capture = tide_indexer_capture();
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  size_t n_found = 0;
  for (size_t i = 0; i < count("text_end") + 3; i++) {
    TIDE_CLEANUP_FREE char *file = tide_page_data_file(data, (uint32_t)i);
    n_found += file != NULL;
    if (file)
      assert_int_equal(*file, '/');
  }
  assert_int_equal(n_found, 7);
}

struct sums { // of everything that must not change when stacks are gathered
  double rows[4][32];
  double hist[TIDE_SIZE_BUCKETS_N + TIDE_LIFE_BUCKETS_N];
  double cells[8][4];
};

#define SUM_DONE(field) "row_" #field,
#define SUM_HELD(field) SUM_DONE(field)
#define SUM_HIGH(field)
#define SUM_EARLIEST(field)
#define SUM_LATEST(field)
static const char *const row_columns[] = {
#define TIDE_NUMBER(field, type, rule, ...) SUM_##rule(field)
#include "model/numbers.def"
};

// Pages apart from the heap: of_pages says which.
static struct sums sum_up(bool of_pages)
{
  static const char *const cell_columns[] = {"cell_bytes", "cell_blocks", "cell_n_alloc",
                                             "cell_b_alloc"};
  struct sums sums = {0};
  for (size_t i = 0; i < count("row_site"); i++)
    if ((get("site_kind", (size_t)get("row_site", i)) == TIDE_SITE_PAGES) == of_pages)
      for (size_t k = 0; k < sizeof row_columns / sizeof *row_columns; k++)
        sums.rows[(size_t)get("row_thread", i)][k] += get(row_columns[k], i);
  for (size_t i = 0; i < count("hist_site"); i++)
    if ((get("site_kind", (size_t)get("hist_site", i)) == TIDE_SITE_PAGES) == of_pages)
      sums.hist[(size_t)get("hist_bucket", i)] += get("hist_count", i);
  for (size_t s = 0, i = 0; s < count("snap_end"); s++)
    for (size_t site = 0; i < (size_t)get("snap_end", s); i++) {
      site += (size_t)get("cell_step", i);
      if ((get("site_kind", site) == TIDE_SITE_PAGES) == of_pages)
        for (size_t k = 0; k < 4; k++)
          sums.cells[s][k] += get(cell_columns[k], i);
    }
  return sums;
}

static void gathering_keeps_all_sums(void **state)
{
  capture = tide_indexer_capture();
  tide_indexer_add_snapshots(capture);
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  struct sums heap = sum_up(false), pages = sum_up(true);
  for (size_t n_keep = 0; n_keep + 1 < profile->n_sites; n_keep++) { // one is lost
    make(INDEXER_IMAGE, &tide_indexer_names, n_keep);
    struct sums heap_now = sum_up(false), pages_now = sum_up(true);
    assert_memory_equal(&heap, &heap_now, sizeof heap);
    assert_memory_equal(&pages, &pages_now, sizeof pages);
    assert_in_range(count("site_node"), n_keep, n_keep + 3);
    size_t n_other = 0;
    for (size_t i = 0; i < count("site_node"); i++) {
      size_t frame = (size_t)get("node_frame", (size_t)get("site_node", i));
      n_other += get("site_node", i) > 0 && get("frame_flags", frame) == TIDE_FRAME_PRUNED;
    }
    assert_in_range(n_other, 1, 2);
    assert_true(page_block_says(&block, "\"of\": 9, \"by_place\": false, \"limit_bytes\": 1000"));
  }
}

// What is allocated at the innermost frame of each stack that is the user's, by its name; of what
// is gathered into one, nothing.
struct place {
  char name[200];
  double b_alloc, peak_bytes, cell_bytes;
};

static struct place *place_of(struct place *places, size_t *n, size_t site)
{
  char name[sizeof places->name] = "";
  for (size_t node = (size_t)get("site_node", site); node; node -= (size_t)get("node_up", node)) {
    size_t frame = (size_t)get("node_frame", node);
    TIDE_CLEANUP_FREE char *function =
        page_block_text(&block, (size_t)get("frame_function", frame));
    if (*name && get("frame_layer", frame) > 0)
      continue;
    memset(name, 0, sizeof name);
    snprintf(name, sizeof name, "%s:%.0f", function, get("frame_line", frame));
    if (get("frame_layer", frame) == 0)
      break;
  }
  for (size_t i = 0; i < *n; i++)
    if (strcmp(places[i].name, name) == 0)
      return &places[i];
  memcpy(places[*n].name, name, sizeof name);
  return &places[(*n)++];
}

static int by_name(const void *left, const void *right)
{
  return strcmp(((const struct place *)left)->name, ((const struct place *)right)->name);
}

static size_t sum_places(struct place places[16])
{
  size_t n = 0;
  memset(places, 0, 16 * sizeof *places);
  for (size_t i = 0; i < count("row_site"); i++) {
    size_t site = (size_t)get("row_site", i);
    if (get("site_kind", site) != TIDE_SITE_HEAP)
      continue;
    struct place *place = place_of(places, &n, site);
    place->b_alloc += get("row_b_alloc", i);
    place->peak_bytes += get("row_peak_bytes", i);
  }
  for (size_t s = 0, i = 0; s < count("snap_end"); s++)
    for (size_t site = 0; i < (size_t)get("snap_end", s); i++) {
      site += (size_t)get("cell_step", i);
      if (get("site_kind", site) == TIDE_SITE_HEAP)
        place_of(places, &n, site)->cell_bytes += get("cell_bytes", i) * (double)(s + 1);
    }
  qsort(places, n, sizeof *places, by_name);
  return n;
}

static void gathering_by_place_keeps_every_place(void **state)
{
  struct place places[16], now[16];
  capture = tide_indexer_capture();
  tide_indexer_add_snapshots(capture);
  make(INDEXER_IMAGE, &tide_indexer_names, TIDE_PAGE_KEEP_ALL);
  struct sums heap = sum_up(false), pages = sum_up(true);
  size_t n = sum_places(places), n_gathered = 0;
  assert_in_range(n, 4, 16);
  for (size_t n_keep = 0; n_keep + 1 < profile->n_sites; n_keep++) {
    make_of(INDEXER_IMAGE, &tide_indexer_names, n_keep, true);
    struct sums heap_now = sum_up(false), pages_now = sum_up(true);
    assert_memory_equal(&heap, &heap_now, sizeof heap);
    assert_memory_equal(&pages, &pages_now, sizeof pages);
    assert_int_equal(sum_places(now), n);
    assert_memory_equal(now, places, sizeof places);
    assert_true(page_block_says(&block, "\"by_place\": true"));
    n_gathered += data->n_gathered;
  }
  assert_true(n_gathered > 0);
}

// Stack 3 holds most at the peak, 5 allocates most often; 14 is small in every measure.
static void what_matters_least_goes_first(void **state)
{
  capture = tide_indexer_capture();
  make(INDEXER_IMAGE, &tide_indexer_names, 4); // these, the one with the most leaks, and pages
  TIDE_CLEANUP_FREE char *inner =
      page_block_text(&block, (size_t)get("frame_function",
                                          (size_t)get("node_frame", (size_t)get("site_node", 0))));
  assert_string_equal(inner, "alloc::raw_vec::RawVec<T,A>::grow_one");
  assert_int_equal(data->n_stacks, 9);
  for (size_t i = 0; i < count("row_b_alloc"); i++)
    if (get("row_n_alloc", i) == 13129000)
      return;
  fail_msg("the stack that allocates most often was gathered");
}

static void an_offer_holds_no_tags(void **state)
{
  capture = tide_indexer_capture();
  free(capture->images[1].exe);
  capture->images[1].exe = tide_strdup("</script><b>\"\xff");
  const struct tide_page_capture captures[] = {{capture, "<i>.tide", 1}};
  const struct tide_page_offer offer = {.captures = captures, .n_captures = 1, .version = 3};
  struct tide_sink sink;
  tide_sink_init(&sink, NULL);
  tide_page_offer_write(&sink, &offer);
  const char *text = tide_buf_cstr(&sink.buf);
  assert_null(strchr(text, '<'));
  assert_non_null(strstr(text, "\"file\": \"\\u003ci>.tide\""));
  assert_non_null(strstr(text, "\\u003c/script>\\u003cb>\\\"\xef\xbf\xbd"));
  assert_non_null(strstr(text, "\"largest\": 1"));
  assert_non_null(strstr(text, "\"live\": false, \"version\": 3, \"sources\": false, "
                               "\"editor\": null}"));
  tide_sink_done(&sink);
}

static void columns_are_as_narrow_as_can_be(void **state)
{
  static const struct {
    double values[3];
    enum tide_page_type type;
  } cases[] = {
      {{0, 255, 1}, TIDE_PAGE_U8},
      {{256, 0, 1}, TIDE_PAGE_U16},
      {{1, 65536, 4294967295.0}, TIDE_PAGE_U32},
      {{1, 4294967296.0, 3}, TIDE_PAGE_F64},
      {{-1, 127, -128}, TIDE_PAGE_I8},
      {{200, -1, 7}, TIDE_PAGE_I16},
      {{40000, -1, 7}, TIDE_PAGE_I32},
      {{4294967295.0, -1, 7}, TIDE_PAGE_F64},
      {{1, 18446744073709551615.0, -9223372036854775808.0}, TIDE_PAGE_F64},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_page_column column = {0};
    for (size_t k = 0; k < 3; k++)
      tide_page_column_add(&column, cases[i].values[k]);
    assert_int_equal(column.type, cases[i].type);
    for (size_t k = 0; k < 3; k++)
      assert_true(tide_page_column_get(&column, k) == cases[i].values[k]);
    assert_int_equal(column.bytes.n, 3 * tide_page_type_bytes(column.type));
    tide_page_column_done(&column);
  }
}

UNIT_TESTS(page_data_test)
{
#define TEST(function) cmocka_unit_test_teardown(function, teardown)
  const struct CMUnitTest tests[] = {
      TEST(an_image_is_there_in_every_column),
      TEST(overhead_of_a_program_that_runs),
      TEST(overhead_of_a_program_that_waits),
      TEST(the_order_of_sites_does_not_depend_on_questions),
      TEST(crates_are_told),
      TEST(an_empty_image_is_a_block),
      TEST(what_lacks_is_absent),
      TEST(merged_images_are_there_too),
      TEST(any_capture_is_told_exactly),
      TEST(hostile_names_stay_what_they_are),
      TEST(a_string_of_a_file_is_found),
      TEST(gathering_keeps_all_sums),
      TEST(gathering_by_place_keeps_every_place),
      TEST(what_matters_least_goes_first),
      TEST(an_offer_holds_no_tags),
      TEST(columns_are_as_narrow_as_can_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
