// SPDX-License-Identifier: Apache-2.0
//
// Merged captures: sums that hold for any capture, and what is the same wherever it was loaded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "import/builder.h"
#include "indexer_fixture.h"
#include "merge/merge.h"
#include "model/image_sums.h"
#include "model/stored_names.h"
#include "profile/profile.h"
#include "tide/format.h"
#include "tide_gen.h"
#include "tide_json.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 200, SCALE = 60, MOVED = 0x31000 };

static struct tide_capture *merge(const struct tide_merge_input *parts, size_t n)
{
  struct tide_capture *merged = NULL;
  struct tide_diag diag = {0};
  if (tide_merge(parts, n, &merged, &diag))
    fail_msg("%s", diag.text);
  if (tide_capture_check(merged, &diag))
    fail_msg("%s", diag.text);
  return merged;
}

// All images of some captures, all of one program and one architecture.
struct pool {
  struct tide_capture *captures[3];
  struct tide_merge_input *parts;
  size_t n;
};

static struct pool make_pool(uint64_t seed)
{
  struct pool pool = {0};
  size_t cap = 0;
  for (size_t i = 0; i < 3; i++) {
    struct tide_capture *capture = tide_gen_capture(seed * 3 + i, SCALE);
    capture->arch = 1;
    for (size_t k = 0; k < capture->n_images; k++) {
      free(capture->images[k].exe);
      capture->images[k].exe = tide_strdup("/usr/bin/program");
      free(capture->images[k].origin);
      capture->images[k].origin = NULL;
      capture->images[k].lacks = 0;
      TIDE_GROW(pool.parts, pool.n, cap);
      pool.parts[pool.n++] = (struct tide_merge_input){capture, k};
    }
    pool.captures[i] = capture;
  }
  return pool;
}

static void pool_done(struct pool *pool)
{
  for (size_t i = 0; i < 3; i++)
    tide_capture_free(pool->captures[i]);
  free(pool->parts);
}

static const struct tide_image *image_of(const struct tide_merge_input *part)
{
  return &part->capture->images[part->image_idx];
}

static void expect_same(const struct tide_capture *a, const struct tide_capture *b)
{
  struct tide_buf left = {0}, right = {0};
  tide_json_capture(&left, a);
  tide_json_capture(&right, b);
  assert_string_equal(tide_buf_cstr(&left), tide_buf_cstr(&right));
  tide_buf_done(&left);
  tide_buf_done(&right);
}

static uint64_t two_buckets(const struct tide_image *image, const struct tide_site *site)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  tide_site_sum_buckets(image, site, sizes, lifetimes);
  return sizes[3] + lifetimes[7];
}

static void totals_are_sums(void **state)
{
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    struct pool pool = make_pool(seed);
    if (pool.n) {
      struct tide_capture *merged = merge(pool.parts, pool.n);
      struct tide_image_sums expected = {0}, sums;
      uint64_t peak = 0, hist = 0, merged_hist = 0, n_cut = 0;
      for (size_t i = 0; i < pool.n; i++) {
        const struct tide_image *image = image_of(&pool.parts[i]);
        tide_image_heap_sums(image, &sums);
        expected.n_alloc += sums.n_alloc;
        expected.b_alloc += sums.b_alloc;
        expected.n_free += sums.n_free;
        expected.b_free += sums.b_free;
        peak += (uint64_t)image->peak_bytes;
        n_cut += image->loss.n_cut;
        for (size_t k = 0; k < image->n_sites; k++)
          hist += two_buckets(image, &image->sites[k]);
      }
      assert_int_equal(merged->n_images, 1);
      const struct tide_image *image = &merged->images[0];
      tide_image_heap_sums(image, &sums);
      assert_int_equal(sums.n_alloc, expected.n_alloc);
      assert_int_equal(sums.b_alloc, expected.b_alloc);
      assert_int_equal(sums.n_free, expected.n_free);
      assert_int_equal(sums.b_free, expected.b_free);
      assert_int_equal((uint64_t)image->peak_bytes, peak);
      assert_int_equal(image->loss.n_cut, n_cut);
      for (size_t k = 0; k < image->n_sites; k++)
        merged_hist += two_buckets(image, &image->sites[k]);
      assert_int_equal(merged_hist, hist);
      tide_capture_free(merged);
    }
    pool_done(&pool);
  }
}

static void order_does_not_matter(void **state)
{
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    struct pool pool = make_pool(seed);
    if (pool.n > 1) {
      struct tide_capture *one = merge(pool.parts, pool.n);
      for (size_t i = 0; i < pool.n / 2; i++) {
        struct tide_merge_input swapped = pool.parts[i];
        pool.parts[i] = pool.parts[pool.n - 1 - i];
        pool.parts[pool.n - 1 - i] = swapped;
      }
      struct tide_capture *other = merge(pool.parts, pool.n);
      expect_same(one, other);
      tide_capture_free(one);
      tide_capture_free(other);
    }
    pool_done(&pool);
  }
}

static struct tide_capture *indexer(uint64_t moved)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  for (size_t i = 1; i < image->n_modules; i++) {
    image->modules[i].start += moved * i;
    image->modules[i].end += moved * i;
    image->modules[i].bias += moved * i;
  }
  for (size_t i = 1; i < image->n_frames; i++)
    image->frames[i].pc += moved * image->frames[i].module;
  tide_image_add_exact_snapshots(image);
  return capture;
}

static void expect_doubled(const struct tide_profile_site *one, const struct tide_profile_site *two)
{
  assert_int_equal(two->in_row->n_alloc, 2 * one->in_row->n_alloc);
  assert_int_equal(two->in_row->b_alloc, 2 * one->in_row->b_alloc);
  assert_int_equal(two->in_row->n_free, 2 * one->in_row->n_free);
  assert_int_equal(two->in_row->b_free, 2 * one->in_row->b_free);
  assert_int_equal(two->in_row->peak_bytes, 2 * one->in_row->peak_bytes);
  assert_int_equal(two->in_row->peak_blocks, 2 * one->in_row->peak_blocks);
  assert_int_equal(two->in_row->n_temp, 2 * one->in_row->n_temp);
  assert_int_equal(two->in_row->n_foreign, 2 * one->in_row->n_foreign);
  assert_int_equal(two->in_row->n_resize, 2 * one->in_row->n_resize);
  assert_int_equal(two->in_row->n_moved, 2 * one->in_row->n_moved);
  assert_int_equal(two->in_row->life_ns, 2 * one->in_row->life_ns);
  assert_int_equal(two->in_row->age_ns, 2 * one->in_row->age_ns);
  assert_int_equal(two->n_rows, one->n_rows);
  assert_int_equal(two->kind, one->kind);
}

static void expect_end(enum tide_end_kind kind, int value, enum tide_end_kind expected, int status)
{
  struct tide_capture *a = indexer(0), *b = indexer(0);
  b->images[INDEXER_IMAGE].end_kind = kind;
  b->images[INDEXER_IMAGE].end_value = value;
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  assert_int_equal(merged->images[0].end_kind, expected);
  assert_int_equal(merged->images[0].end_value, status);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

// Whoever exited, with whatever status, frees nothing any more.
static void all_exited_or_not_known(void **state)
{
  expect_end(TIDE_END_EXITED, 0, TIDE_END_EXITED, 0);
  expect_end(TIDE_END_EXITED, 3, TIDE_END_EXITED, -1);
  expect_end(TIDE_END_SIGNALED, 9, TIDE_END_UNKNOWN, 0);
}

// Loaded elsewhere, the same program has the same stacks: each counts twice.
static void the_same_twice_is_double(void **state)
{
  for (uint64_t moved = 0; moved <= MOVED; moved += MOVED) {
    struct tide_capture *a = indexer(0), *b = indexer(moved);
    const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
    struct tide_capture *merged = merge(parts, 2);
    const struct tide_image *one = &a->images[INDEXER_IMAGE], *two = &merged->images[0];
    assert_int_equal(two->n_frames, one->n_frames);
    assert_int_equal(two->n_modules, one->n_modules);
    assert_int_equal(two->n_sites, one->n_sites);
    assert_int_equal(two->n_threads_known, one->n_threads_known);
    assert_int_equal(two->pid, 0);
    assert_true(tide_image_is_merged(two));
    assert_int_equal(two->peak_bytes, 2 * one->peak_bytes);
    assert_int_equal(two->peak_bound_bytes, one->peak_bytes + 2 * one->peak_bound_bytes);
    assert_int_equal(two->peak_ns, one->peak_ns - one->start_ns);
    assert_int_equal(two->end_ns, one->end_ns - one->start_ns);
    assert_int_equal(two->end_kind, TIDE_END_EXITED);
    assert_int_equal(two->loss.n_lost_full, 2 * one->loss.n_lost_full);
    assert_int_equal(two->cmdline_len, one->cmdline_len);
    struct tide_profile *single = tide_profile_new(a, INDEXER_IMAGE);
    struct tide_profile *twice = tide_profile_new(merged, 0);
    assert_int_equal(twice->n_sites, single->n_sites);
    for (size_t i = 0; i < single->n_sites; i++) // by rising stack, in the order they were met
      expect_doubled(&single->sites[i], &twice->sites[i]);
    assert_true(tide_profile_own_max_is_bound(twice, &twice->sites[1]));
    tide_profile_free(single);
    tide_profile_free(twice);
    tide_capture_free(merged);
    tide_capture_free(a);
    tide_capture_free(b);
  }
}

static void one_part_stays_what_it_was(void **state)
{
  struct tide_capture *a = indexer(0);
  struct tide_capture *merged = merge(&(struct tide_merge_input){a, INDEXER_IMAGE}, 1);
  const struct tide_image *one = &a->images[INDEXER_IMAGE], *same = &merged->images[0];
  assert_int_equal(same->pid, one->pid);
  assert_int_equal(same->peak_bound_bytes, one->peak_bound_bytes);
  assert_int_equal(same->n_ticks, one->n_ticks);
  assert_int_equal(same->n_frames, one->n_frames);
  assert_memory_equal(same->frames, one->frames, one->n_frames * sizeof *one->frames);
  tide_capture_free(merged);
  tide_capture_free(a);
}

static void programs_stay_apart(void **state)
{
  struct tide_capture *a = indexer(0), *b = indexer(MOVED);
  const struct tide_merge_input parts[] = {{a, 0}, {b, 1}, {a, 1}, {b, 0}};
  struct tide_capture *merged = merge(parts, 4);
  assert_int_equal(merged->n_images, 2);
  assert_string_equal(merged->images[0].exe, "/usr/bin/dash");
  assert_string_equal(merged->images[1].exe, "/home/me/indexer/target/release/indexer");
  assert_int_equal(merged->images[0].peak_bytes, 6000);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

// A build of its own is a module of its own, and comes where no other is.
static void other_builds_are_other_modules(void **state)
{
  struct tide_capture *a = indexer(0), *b = indexer(0);
  b->images[INDEXER_IMAGE].modules[1].build_id[0] ^= 1;
  b->images[INDEXER_IMAGE].peak_bytes++; // to come second
  const struct tide_merge_input parts[] = {{b, INDEXER_IMAGE}, {a, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  const struct tide_image *image = &merged->images[0];
  const struct tide_module *own = &image->modules[image->n_modules - 1];
  assert_int_equal(image->n_modules, a->images[INDEXER_IMAGE].n_modules + 1);
  assert_string_equal(own->path, image->modules[1].path);
  for (size_t i = 1; i + 1 < image->n_modules; i++)
    assert_true(own->start >= image->modules[i].end);
  const struct tide_module *from = &b->images[INDEXER_IMAGE].modules[1];
  assert_int_equal(own->bias - own->start, from->bias - from->start);
  bool found = false; // indexer::main is at the same address of its file
  for (size_t i = 1; i < image->n_frames; i++)
    found |= &image->modules[image->frames[i].module] == own &&
             image->frames[i].pc - own->bias == 0x1001;
  assert_true(found);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

static void add_snapshot(struct tide_image *image, uint64_t at_ns, int64_t live, uint64_t n_alloc)
{
  size_t n = image->n_snapshots++;
  image->snapshots =
      tide_realloc_array(image->snapshots, image->n_snapshots, sizeof *image->snapshots);
  image->snapshots[n] = (struct tide_snapshot){.time_ns = image->start_ns + at_ns, .n_rows = 1};
  image->snapshots[n].rows = tide_alloc(sizeof *image->snapshots[n].rows);
  image->snapshots[n].rows[0] = (struct tide_snapshot_row){4, live, 1, n_alloc, 10 * n_alloc};
}

static struct tide_capture *timed(uint64_t start_ns, uint64_t first_ns, uint64_t second_ns)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->end_ns += start_ns - image->start_ns;
  image->start_ns = start_ns;
  add_snapshot(image, first_ns, 100, 5);
  add_snapshot(image, second_ns, 300, 7);
  tide_image_add_exact_snapshots(image);
  return capture;
}

static void expect_row(const struct tide_image *image, size_t snapshot, uint64_t time_ns,
                       int64_t live, uint64_t n_alloc)
{
  assert_int_equal(image->snapshots[snapshot].time_ns, time_ns);
  const struct tide_snapshot_row *row = &image->snapshots[snapshot].rows[0];
  assert_int_equal(row->live_bytes, live);
  assert_int_equal(row->n_alloc, n_alloc);
  assert_int_equal(row->b_alloc, 10 * n_alloc);
}

// Parts are aligned by their starts; each holds what it last held.
static void snapshots_are_aligned(void **state)
{
  struct tide_capture *a = timed(50, 1000, 3000), *b = timed(7000, 1000, 2000);
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  const struct tide_image *image = &merged->images[0];
  assert_int_equal(image->n_snapshots, 5);
  expect_row(image, 0, 1000, 200, 10);
  expect_row(image, 1, 2000, 400, 7);
  expect_row(image, 2, 3000, 600, 7);
  TIDE_CLEANUP_FREE uint64_t *counts = tide_alloc_array(image->n_frames, sizeof *counts);
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++)
      counts[image->snapshots[i].rows[k].stack] += image->snapshots[i].rows[k].n_alloc;
  for (size_t i = 0; i < image->n_sites; i++)
    counts[image->sites[i].stack] -= image->sites[i].n_alloc;
  for (size_t i = 0; i < image->n_frames; i++)
    assert_int_equal(counts[i], 0);
  assert_true(image->has_counts);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

static struct tide_capture *sampled(uint64_t every_bytes, uint64_t n_samples)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->sampled_every_bytes = every_bytes;
  image->has_temp_bytes = image->has_resized_bytes = image->has_samples =
      every_bytes > TIDE_SAMPLED_SOMEHOW;
  image->sites[0].n_samples = n_samples;
  return capture;
}

// A sum with an estimate in it is one, whoever else is in it.
static void estimates_stay_estimates(void **state)
{
  static const struct {
    uint64_t a, b, of_sum;
  } cases[] = {{512, 512, 512},
               {512, 1024, TIDE_SAMPLED_SOMEHOW},
               {0, 512, TIDE_SAMPLED_SOMEHOW},
               {TIDE_SAMPLED_SOMEHOW, 0, TIDE_SAMPLED_SOMEHOW},
               {0, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *a = sampled(cases[i].a, 3), *b = sampled(cases[i].b, 4);
    const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
    struct tide_capture *merged = merge(parts, 2);
    const struct tide_image *image = &merged->images[0];
    assert_int_equal(image->sampled_every_bytes, cases[i].of_sum);
    assert_int_equal(image->has_samples, cases[i].of_sum > TIDE_SAMPLED_SOMEHOW);
    enum tide_exactness expected = cases[i].of_sum ? TIDE_ESTIMATED : TIDE_EXACT;
    assert_int_equal(tide_image_bytes(image, TIDE_FIGURE_LIVE, 1).exactness, expected);
    uint64_t n_samples = 0;
    for (size_t k = 0; k < image->n_sites && image->has_samples; k++)
      n_samples += image->sites[k].n_samples;
    assert_int_equal(n_samples, image->has_samples ? 7 : 0);
    tide_capture_free(merged);
    tide_capture_free(a);
    tide_capture_free(b);
  }
}

static struct tide_capture *resizing(bool known)
{
  struct tide_capture *capture = tide_indexer_capture();
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  image->has_resized_bytes = image->has_tick_resizes = known;
  image->sites[0].b_resize_new = 500;
  for (size_t i = 0; i < image->n_ticks; i++) {
    image->ticks[i].n_resize = i;
    image->ticks[i].b_resized = -(int64_t)i;
  }
  return capture;
}

static void resizes_add_up(void **state)
{
  for (int both = 0; both < 2; both++) {
    struct tide_capture *a = resizing(true), *b = resizing(both);
    const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
    struct tide_capture *merged = merge(parts, 2);
    const struct tide_image *image = &merged->images[0];
    assert_int_equal(image->has_resized_bytes, both);
    assert_int_equal(image->has_tick_resizes, both);
    assert_int_equal(image->n_ticks, a->images[INDEXER_IMAGE].n_ticks);
    for (size_t i = 0; i < image->n_ticks; i++) {
      assert_int_equal(image->ticks[i].n_resize, 2 * i);
      assert_int_equal(image->ticks[i].b_resized, -2 * (int64_t)i);
    }
    uint64_t resized = 0;
    for (size_t i = 0; i < image->n_sites; i++)
      resized += image->sites[i].b_resize_new;
    assert_int_equal(resized, 1000);
    tide_capture_free(merged);
    tide_capture_free(a);
    tide_capture_free(b);
  }
}

// What one part does not tell, nobody knows for all.
static void a_part_without_times(void **state)
{
  struct tide_capture *a = timed(50, 1000, 3000), *b = tide_indexer_capture();
  b->images[INDEXER_IMAGE].n_ticks = 0;
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  const struct tide_image *image = &merged->images[0];
  assert_int_equal(image->n_ticks, 0);
  assert_int_equal(image->n_snapshots, 2); // peak and end are always known
  assert_int_equal(image->snapshots[0].kind, TIDE_SNAPSHOT_PEAK);
  assert_int_equal(image->snapshots[1].kind, TIDE_SNAPSHOT_END);
  assert_false(image->has_counts);
  for (size_t i = 0; i < image->snapshots[1].n_rows; i++)
    assert_int_equal(image->snapshots[1].rows[i].n_alloc, 0);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

static void store_name(struct tide_image *image, uint64_t addr, const char *function)
{
  struct tide_names_builder *builder = tide_names_builder_new();
  struct tide_names_frame chain[] = {{"inner", "a.c", 3, true}, {function, "b.c", 4, false}};
  tide_names_builder_add(builder, 1, addr, chain, 2);
  assert_true(tide_names_builder_finish(builder, image));
  tide_names_builder_free(builder);
}

static void stored_names_are_kept(void **state)
{
  struct tide_capture *a = indexer(0), *b = indexer(MOVED);
  store_name(&a->images[INDEXER_IMAGE], 0x1000, "first");
  store_name(&b->images[INDEXER_IMAGE], 0x2000, "second");
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  const struct tide_stored_names *names = &merged->images[0].names;
  const struct tide_stored_frame *frames;
  assert_int_equal(names->n_places, 2);
  assert_int_equal(tide_stored_names_find(names, 1, 0x1000, &frames), 2);
  assert_string_equal(tide_stored_text(names, frames[1].function), "first");
  assert_int_equal(tide_stored_names_find(names, 1, 0x2000, &frames), 2);
  assert_string_equal(tide_stored_text(names, frames[1].function), "second");
  assert_true(frames[0].inlined && frames[1].line == 4);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

static void set_command(struct tide_image *image, const char *words, size_t n)
{
  free(image->cmdline);
  image->cmdline = tide_alloc(n + 1);
  memcpy(image->cmdline, words, n);
  image->cmdline_len = (uint32_t)n;
}

// Whole arguments that all parts begin with.
static void commands_in_common(void **state)
{
  static const struct {
    const char *a, *b, *common;
    size_t a_n, b_n;
  } cases[] = {
      {"x\0-a\0one", "x\0-a\0other", "x\0-a", 8, 10},
      {"x\0-a", "x", "x", 4, 1},
      {"x\0-a", "x\0-ab", "x", 4, 5},
      {"x", "y", "", 1, 1},
      {"x\0y", "x\0y", "x\0y", 3, 3},
      {"", "x", "", 0, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_capture *a = indexer(0), *b = indexer(0);
    set_command(&a->images[INDEXER_IMAGE], cases[i].a, cases[i].a_n);
    set_command(&b->images[INDEXER_IMAGE], cases[i].b, cases[i].b_n);
    const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
    struct tide_capture *merged = merge(parts, 2);
    const struct tide_image *image = &merged->images[0];
    size_t n = i == 0 ? 4 : i == 4 ? 3 : strlen(cases[i].common);
    assert_int_equal(image->cmdline_len, n);
    assert_memory_equal(image->cmdline, cases[i].common, n);
    tide_capture_free(merged);
    tide_capture_free(a);
    tide_capture_free(b);
  }
}

static void make_foreign(struct tide_capture *capture, const char *origin, uint32_t lacks)
{
  struct tide_image *image = &capture->images[INDEXER_IMAGE];
  free(image->origin);
  image->origin = tide_strdup(origin);
  image->lacks = lacks;
}

static bool has_snapshot(const struct tide_image *image, enum tide_snapshot_kind kind)
{
  for (size_t i = 0; i < image->n_snapshots; i++)
    if (image->snapshots[i].kind == kind)
      return true;
  return false;
}

// What another tool's file lacks is absent from the sum; what both hold is added.
static void what_a_part_lacks(void **state)
{
  struct tide_capture *a = indexer(0), *b = indexer(MOVED);
  struct tide_image *other = &b->images[INDEXER_IMAGE];
  make_foreign(b, "DHAT (heap)",
               TIDE_LACK_PEAK | TIDE_LACK_TEMP | TIDE_LACK_THREADS | TIDE_LACK_CLOCK |
                   TIDE_LACK_SIZE_HIST | TIDE_LACK_LIFE_HIST | TIDE_LACK_RESIZES);
  other->pid = 0;
  b->arch = 0;
  free(other->exe);
  other->exe = tide_strdup(""); // then it goes with the only other program
  other->cmdline_len = 0;
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_capture *merged = merge(parts, 2);
  const struct tide_image *image = &merged->images[0], *own = &a->images[INDEXER_IMAGE];
  assert_int_equal(merged->n_images, 1);
  assert_int_equal(merged->arch, 1);
  assert_string_equal(image->origin, "sum of DHAT (heap), tidemark");
  assert_true(tide_image_is_merged(image));
  assert_int_equal(image->lacks, other->lacks);
  assert_string_equal(image->exe, own->exe);
  assert_int_equal(image->cmdline_len, own->cmdline_len);
  assert_int_equal(image->peak_bytes, 0);
  assert_int_equal(image->n_ticks, 0);
  assert_false(has_snapshot(image, TIDE_SNAPSHOT_TIMED));
  assert_false(has_snapshot(image, TIDE_SNAPSHOT_PEAK));
  assert_true(has_snapshot(image, TIDE_SNAPSHOT_END));
  struct tide_image_sums whole, part;
  tide_image_heap_sums(image, &whole);
  tide_image_heap_sums(own, &part);
  assert_int_equal(whole.b_alloc, 2 * part.b_alloc);
  assert_int_equal(whole.live_bytes, 2 * part.live_bytes);
  for (size_t i = 0; i < image->n_sites; i++)
    assert_int_equal(image->sites[i].peak_bytes + (int64_t)image->sites[i].n_temp, 0);
  // And once more: the tools are told once.
  const struct tide_merge_input again[] = {{merged, 0}, {b, INDEXER_IMAGE}};
  struct tide_capture *sum = merge(again, 2);
  assert_string_equal(sum->images[0].origin, "sum of DHAT (heap), tidemark");
  tide_image_heap_sums(&sum->images[0], &whole);
  assert_int_equal(whole.b_alloc, 3 * part.b_alloc);
  tide_capture_free(sum);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

// Stacks of one frame whose names are all that is known of them; the bytes are n, n + 1, …
static struct tide_capture *named(const char *const *functions, size_t n, uint64_t n_bytes)
{
  struct tide_builder *builder = tide_builder_new("folded stacks", TIDE_LACK_PEAK);
  for (size_t i = 0; i < n; i++) {
    struct tide_names_frame frame = {.function = functions[i]};
    struct tide_import_place place = tide_builder_place(builder, 0, 0, &frame, 1);
    tide_builder_site(builder, tide_builder_node(builder, 0, place))->b_alloc = n_bytes + i;
  }
  struct tide_capture *capture = NULL;
  assert_int_equal(tide_builder_finish(builder, &capture, NULL), TIDE_ERR_OK);
  tide_builder_free(builder);
  return capture;
}

static uint64_t bytes_of(const struct tide_image *image, const char *function)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_frame *frame = &image->frames[image->sites[i].stack];
    const struct tide_stored_frame *names;
    uint64_t addr = frame->pc - image->modules[frame->module].bias;
    assert_int_equal(tide_stored_names_find(&image->names, frame->module, addr, &names), 1);
    if (strcmp(tide_stored_text(&image->names, names->function), function) == 0)
      sum += image->sites[i].b_alloc;
  }
  return sum;
}

// Every file makes up its addresses anew: the names tell what is the same.
static void made_up_addresses(void **state)
{
  static const char *const names[] = {"keep", "pass", "third", "keep"};
  struct tide_capture *a = named(names, 2, 100), *b = named(names + 1, 3, 20);
  struct tide_capture *c = named(names + 2, 1, 3);
  const struct tide_merge_input parts[] = {{a, 0}, {b, 0}, {c, 0}};
  struct tide_capture *merged = merge(parts, 3);
  const struct tide_image *image = &merged->images[0];
  assert_int_equal(image->n_sites, 3);
  assert_int_equal(bytes_of(image, "keep"), 100 + 22);
  assert_int_equal(bytes_of(image, "pass"), 101 + 20);
  assert_int_equal(bytes_of(image, "third"), 21 + 3);
  const struct tide_merge_input turned[] = {{c, 0}, {b, 0}, {a, 0}};
  struct tide_capture *other = merge(turned, 3);
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(other->images[0].sites[i].b_alloc, image->sites[i].b_alloc);
  assert_memory_equal(other->images[0].frames, image->frames, 4 * sizeof *image->frames);
  tide_capture_free(other);
  tide_capture_free(merged);
  tide_capture_free(a);
  tide_capture_free(b);
  tide_capture_free(c);
}

static void refusals(void **state)
{
  struct tide_capture *a = indexer(0), *b = indexer(0), *merged = NULL;
  const struct tide_merge_input parts[] = {{a, INDEXER_IMAGE}, {b, INDEXER_IMAGE}};
  struct tide_diag diag = {0};
  assert_int_equal(tide_merge(parts, 0, &merged, &diag), TIDE_ERR_EMPTY);
  b->arch = 2;
  assert_int_equal(tide_merge(parts, 2, &merged, &diag), TIDE_ERR_UNSUPPORTED);
  b->arch = 1;
  make_foreign(b, "folded stacks", TIDE_LACK_PEAK | TIDE_LACK_TOTAL);
  make_foreign(a, "massif.out", TIDE_LACK_LIVE | TIDE_LACK_TOTAL);
  assert_int_equal(tide_merge(parts, 2, &merged, &diag), TIDE_ERR_UNSUPPORTED);
  assert_non_null(strstr(diag.text, "folded stacks holds live"));
  assert_non_null(strstr(diag.text, "massif.out holds peak"));
  make_foreign(a, "DHAT (copy)", TIDE_LACK_LIVE | TIDE_LACK_PEAK);
  make_foreign(b, "DHAT (ad-hoc)", TIDE_LACK_LIVE | TIDE_LACK_PEAK);
  assert_int_equal(tide_merge(parts, 2, &merged, &diag), TIDE_ERR_UNSUPPORTED);
  assert_non_null(strstr(diag.text, "different things"));
  assert_null(merged);
  tide_capture_free(a);
  tide_capture_free(b);
}

UNIT_TESTS(merge_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(totals_are_sums),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(the_same_twice_is_double),
      cmocka_unit_test(all_exited_or_not_known),
      cmocka_unit_test(one_part_stays_what_it_was),
      cmocka_unit_test(programs_stay_apart),
      cmocka_unit_test(other_builds_are_other_modules),
      cmocka_unit_test(snapshots_are_aligned),
      cmocka_unit_test(resizes_add_up),
      cmocka_unit_test(estimates_stay_estimates),
      cmocka_unit_test(a_part_without_times),
      cmocka_unit_test(stored_names_are_kept),
      cmocka_unit_test(commands_in_common),
      cmocka_unit_test(what_a_part_lacks),
      cmocka_unit_test(made_up_addresses),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
