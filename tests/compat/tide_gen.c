// SPDX-License-Identifier: Apache-2.0
//
// Captures from a seed, see tide_gen.h.
#include "tide_gen.h"

#include "base/alloc.h"
#include "model/events.h"
#include "model/image_sums.h"
#include "model/stored_names.h"

#include <stdlib.h>
#include <string.h>

struct gen {
  uint64_t state;
  size_t scale;
};

static uint64_t next(struct gen *g) // splitmix64
{
  uint64_t z = g->state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static uint64_t below(struct gen *g, uint64_t n)
{
  return n ? next(g) % n : 0;
}

// Any 64-bit pattern: often small, sometimes an extreme.
static uint64_t any(struct gen *g)
{
  static const uint64_t extremes[] = {
      0,          1,         127,        128,        16383,     16384,          UINT32_MAX,
      1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX, INT32_MAX, UINT64_MAX - 1, 1ull << 56,
  };
  switch (below(g, 4)) {
  case 0: return 0;
  case 1: return extremes[below(g, sizeof extremes / sizeof *extremes)];
  case 2: return below(g, 1000);
  default: return next(g) >> below(g, 64);
  }
}

static int64_t any_signed(struct gen *g)
{
  return (int64_t)any(g);
}

static uint32_t any32(struct gen *g)
{
  return (uint32_t)any(g);
}

static size_t any_count(struct gen *g, size_t most)
{
  return below(g, 5) == 0 ? 0 : (size_t)below(g, most + 1);
}

// All bytes but zero: paths are not always text.
static char *any_string(struct gen *g)
{
  size_t n = any_count(g, 40);
  char *text = tide_alloc(n + 1);
  for (size_t i = 0; i < n; i++)
    text[i] = (char)(below(g, 3) ? 'a' + below(g, 26) : 1 + below(g, 255));
  return text;
}

static void gen_modules(struct gen *g, struct tide_image *image)
{
  image->n_modules = 1 + any_count(g, 20);
  image->modules = tide_alloc_array(image->n_modules, sizeof *image->modules);
  image->modules[0].path = tide_strdup("");
  for (size_t i = 1; i < image->n_modules; i++) {
    struct tide_module *m = &image->modules[i];
    *m = (struct tide_module){
        any_string(g), {0}, (uint32_t)below(g, 33), any(g), any(g), any(g), any(g), any32(g)};
    for (size_t k = 0; k < m->build_id_len; k++)
      m->build_id[k] = (uint8_t)next(g);
  }
}

static void gen_threads(struct gen *g, struct tide_image *image)
{
  image->n_threads_known = 1 + any_count(g, 9);
  image->threads = tide_alloc_array(image->n_threads_known, sizeof *image->threads);
  for (size_t i = 1; i < image->n_threads_known; i++) {
    struct tide_thread_row *t = &image->threads[i];
    t->tid = any32(g);
    t->n_owners = any32(g);
    size_t n = (size_t)below(g, sizeof t->name);
    for (size_t k = 0; k < n; k++)
      t->name[k] = (char)(1 + below(g, 255));
  }
}

static void gen_frames(struct gen *g, struct tide_image *image)
{
  image->n_frames = 1 + any_count(g, g->scale);
  image->frames = tide_alloc_array(image->n_frames, sizeof *image->frames);
  for (size_t i = 1; i < image->n_frames; i++) {
    struct tide_frame *f = &image->frames[i];
    if (i > 1 && below(g, 2)) // places repeat
      *f = image->frames[1 + below(g, i - 1)];
    else
      *f = (struct tide_frame){any(g), 0, (uint16_t)below(g, image->n_modules), (uint16_t)any(g)};
    f->parent = (uint32_t)below(g, i);
  }
}

static void gen_buckets(struct gen *g, uint64_t *buckets, unsigned n)
{
  unsigned filled = (unsigned)below(g, 3) ? (unsigned)below(g, 4) : (unsigned)below(g, n + 1);
  for (unsigned k = 0; k < filled; k++)
    buckets[below(g, n)] = any(g);
}

// One in four captures is as version 1.0 had them: without what 1.1 added.
static bool is_of_1_1(struct gen *g)
{
  return below(g, 4) != 0;
}

static void gen_sites(struct gen *g, struct tide_image *image)
{
  image->n_sites = any_count(g, g->scale);
  image->has_temp_bytes = image->n_sites && is_of_1_1(g);
  image->sites = tide_alloc_array(image->n_sites, sizeof *image->sites);
  for (size_t i = 0; i < image->n_sites; i++) {
    struct tide_site *s = &image->sites[i];
    s->stack = (uint32_t)below(g, image->n_frames);
    s->thread = (uint32_t)below(g, image->n_threads_known);
    uint64_t *unsigned_fields[] = {
        &s->n_alloc,  &s->b_alloc,      &s->n_free,   &s->b_free,  &s->life_ns,
        &s->n_temp,   &s->n_foreign,    &s->n_resize, &s->n_moved, (uint64_t *)&s->age_ns,
        &s->first_ns, &s->b_resize_old, &s->last_ns,
    };
    for (size_t k = 0; k < sizeof unsigned_fields / sizeof *unsigned_fields; k++)
      *unsigned_fields[k] = any(g);
    s->peak_blocks = any_signed(g);
    s->peak_bytes = any_signed(g);
    s->high_bytes = any_signed(g);
    uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
    gen_buckets(g, sizes, TIDE_SIZE_BUCKETS_N);
    gen_buckets(g, lifetimes, TIDE_LIFE_BUCKETS_N);
    tide_site_add_buckets(image, s, sizes, lifetimes);
    if (image->has_temp_bytes) {
      s->b_temp = any(g);
      s->b_moved = any(g);
    }
  }
}

static uint64_t later(struct gen *g, uint64_t time_ns)
{
  uint64_t rise = any(g) >> 8;
  return time_ns + rise < time_ns ? time_ns : time_ns + rise;
}

static void gen_ticks(struct gen *g, struct tide_image *image)
{
  image->n_ticks = any_count(g, g->scale);
  image->ticks = tide_alloc_array(image->n_ticks, sizeof *image->ticks);
  uint64_t time_ns = 0;
  for (size_t i = 0; i < image->n_ticks; i++) {
    time_ns = later(g, time_ns);
    image->ticks[i] = (struct tide_tick){time_ns, any_signed(g), any_signed(g), any(g), any(g),
                                         any(g),  any(g),        any_signed(g), 0,      0};
  }
}

static void gen_marks(struct gen *g, struct tide_image *image)
{
  image->n_marks = any_count(g, 5);
  image->marks = tide_alloc_array(image->n_marks, sizeof *image->marks);
  uint64_t time_ns = 0;
  for (size_t i = 0; i < image->n_marks; i++) {
    time_ns = later(g, time_ns);
    image->marks[i] = (struct tide_mark){time_ns, any_string(g)};
  }
}

static void gen_snapshots(struct gen *g, struct tide_image *image)
{
  image->n_snapshots = any_count(g, 6);
  image->has_counts = image->n_snapshots && is_of_1_1(g);
  image->snapshots = tide_alloc_array(image->n_snapshots, sizeof *image->snapshots);
  uint64_t time_ns = 0;
  for (size_t i = 0; i < image->n_snapshots; i++) {
    struct tide_snapshot *s = &image->snapshots[i];
    s->time_ns = time_ns = later(g, time_ns);
    s->kind = (enum tide_snapshot_kind)below(g, 3);
    s->rows = tide_alloc_array(image->n_frames, sizeof *s->rows);
    unsigned sparse = 1 + (unsigned)below(g, 5);
    for (uint32_t stack = 0; stack < image->n_frames; stack++) {
      struct tide_snapshot_row row = {stack, any_signed(g), any_signed(g), 0, 0};
      if (image->has_counts && below(g, 2)) {
        row.n_alloc = any(g);
        row.b_alloc = any(g);
      }
      if (below(g, sparse) == 0 &&
          (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc))
        s->rows[s->n_rows++] = row;
    }
  }
}

// By numbers of its own, so that whatever comes after is as it was before there were these.
static void gen_resizes(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 37, before->scale}, *g = &own;
  image->has_resized_bytes = image->has_temp_bytes && below(g, 4);
  image->has_tick_resizes = image->n_ticks && below(g, 4);
  for (size_t i = 0; i < image->n_sites && image->has_resized_bytes; i++)
    image->sites[i].b_resize_new = any(g);
  for (size_t i = 0; i < image->n_ticks && image->has_tick_resizes; i++) {
    image->ticks[i].n_resize = any(g);
    image->ticks[i].b_resized = any_signed(g);
  }
}

// Likewise.
static void gen_samples(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 41, before->scale}, *g = &own;
  image->sampled_every_bytes = below(g, 2) ? any(g) : 0;
  if (!image->has_resized_bytes && image->n_sites) // it would have those columns, too
    image->sampled_every_bytes %= 2;
  image->n_pauses = below(g, 2) ? (uint32_t)below(g, 1000) : 0;
  image->paused_ns = image->n_pauses ? any(g) : 0;
  image->is_paused = image->n_pauses && below(g, 2);
  image->refused = below(g, 2) ? tide_strdup("calloc: it begins with a call") : NULL;
  image->has_samples = image->sampled_every_bytes > TIDE_SAMPLED_SOMEHOW;
  for (size_t i = 0; i < image->n_sites && image->has_samples; i++)
    image->sites[i].n_samples = any(g);
}

// Likewise.
static void gen_spreads(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 47, before->scale}, *g = &own;
  image->has_spreads = image->has_samples && below(g, 2);
  image->is_resampled = image->has_spreads && image->n_pauses % 2;
  image->sampled_now_bytes = image->is_resampled ? image->paused_ns : 0;
  for (size_t i = 0; i < image->n_sites && image->has_spreads; i++) {
    struct tide_site *site = &image->sites[i];
    site->alloc_blocks_spread = any(g);
    site->alloc_bytes_spread = any(g);
    site->live_blocks_spread = any(g);
    site->live_bytes_spread = any(g);
    site->peak_blocks_spread = any(g);
    site->peak_bytes_spread = any(g);
  }
}

// Likewise.
static void gen_touches(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 43, before->scale}, *g = &own;
  image->has_touches = image->n_sites && image->has_resized_bytes && below(g, 4);
  for (size_t i = 0; i < image->n_sites && image->has_touches; i++) {
    image->sites[i].n_looked = any(g);
    image->sites[i].b_looked = any(g);
    image->sites[i].b_touched = any(g);
  }
}

// Likewise.
static void gen_reset(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 53, before->scale}, *g = &own;
  image->is_reset = image->n_sites && image->has_resized_bytes && !below(g, 3);
  for (size_t i = 0; i < image->n_sites && image->is_reset; i++) {
    image->sites[i].before_blocks = (int64_t)any(g);
    image->sites[i].before_bytes = (int64_t)any(g);
  }
}

// Likewise.
static void gen_late_frees(const struct gen *before, struct tide_image *image)
{
  struct gen own = {before->state * 31, before->scale}, *g = &own;
  size_t cap = 0;
  image->has_late_frees = below(g, 4) != 0;
  unsigned sparse = 1 + (unsigned)below(g, 20);
  for (uint32_t freed = 0; freed < image->n_snapshots && image->has_late_frees; freed++)
    for (uint32_t stack = 0; stack < image->n_frames; stack++)
      for (uint32_t born = 0; born < freed; born++) {
        if (below(g, sparse) || image->n_late_frees > 200)
          continue;
        TIDE_GROW(image->late_frees, image->n_late_frees, cap);
        image->late_frees[image->n_late_frees++] =
            (struct tide_late_free){stack, born, freed, any(g), any(g)};
      }
}

static void gen_names(struct gen *g, struct tide_image *image)
{
  struct tide_names_builder *builder = tide_names_builder_new();
  size_t n = any_count(g, g->scale);
  for (size_t i = 0; i < n; i++) {
    char *texts[3] = {any_string(g), any_string(g), any_string(g)};
    struct tide_names_frame chain[5];
    size_t n_chain = (size_t)below(g, 6);
    for (size_t k = 0; k < n_chain; k++)
      chain[k] =
          (struct tide_names_frame){texts[below(g, 3)], texts[below(g, 3)], any32(g), below(g, 2)};
    tide_names_builder_add(builder, (uint32_t)below(g, image->n_modules), any(g), chain, n_chain);
    for (size_t k = 0; k < 3; k++)
      free(texts[k]);
  }
  tide_names_builder_finish(builder, image);
  tide_names_builder_free(builder);
}

static void gen_image(struct gen *g, struct tide_image *image, size_t idx)
{
  uint64_t *fields[] = {
      &image->start_ns,         &image->end_ns,        &image->inherited_bytes,
      &image->peak_ns,          &image->max_rss_bytes, &image->peak_bound_bytes,
      &image->page_n_map,       &image->page_b_map,    &image->rss_at_peak_bytes,
      &image->page_n_unmap,     &image->page_b_unmap,  &image->recorder_ns,
      &image->cpu_ns,           &image->loss.n_cut,    &image->loss.n_unknown_free,
      &image->loss.n_lost_busy, &image->loss.n_broken, &image->loss.n_lost_full,
      &image->loss.n_guessed,   &image->loss.n_failed, &image->loss.n_fork_lost,
  };
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    *fields[k] = any(g);
  uint32_t *narrow[] = {&image->pid,       &image->ppid,        &image->off_reason,
                        &image->n_threads, &image->depth_limit, &image->max_live_threads,
                        &image->lacks};
  for (size_t k = 0; k < sizeof narrow / sizeof *narrow; k++)
    *narrow[k] = any32(g);
  int64_t *with_sign[] = {&image->peak_bytes, &image->peak_blocks, &image->page_live_bytes,
                          &image->page_peak_bytes};
  for (size_t k = 0; k < sizeof with_sign / sizeof *with_sign; k++)
    *with_sign[k] = any_signed(g);
  image->parent_image = (uint32_t)below(g, idx + 1);
  image->by_fork = below(g, 2);
  image->end_kind = (enum tide_end_kind)below(g, 5);
  image->end_value = (int32_t)any32(g);
  image->exe = any_string(g);
  image->origin = any_string(g);
  image->allocator = any_string(g);
  image->cmdline_len = (uint32_t)any_count(g, 60);
  image->cmdline = tide_alloc(image->cmdline_len + 1u);
  for (size_t k = 0; k < image->cmdline_len; k++)
    image->cmdline[k] = (char)below(g, 256);
  gen_modules(g, image);
  gen_threads(g, image);
  gen_frames(g, image);
  gen_sites(g, image);
  gen_ticks(g, image);
  gen_marks(g, image);
  gen_snapshots(g, image);
  gen_resizes(g, image);
  gen_samples(g, image);
  gen_spreads(g, image);
  gen_touches(g, image);
  gen_reset(g, image);
  gen_late_frees(g, image);
  gen_names(g, image);
}

static void gen_resident(struct gen *g, struct tide_image *image)
{
  image->has_resident = below(g, 4) != 0;
  if (!image->has_resident)
    return;
  uint64_t *fields[] = {&image->max_rss_ns, &image->recorder_rss_bytes, &image->rss_bound_bytes,
                        &image->untouched_bytes, &image->swapped_bytes};
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    *fields[k] = any(g);
  image->max_rss_live_bytes = any_signed(g);
  image->rss_is_own = below(g, 2);
}

static void gen_allocators(struct gen *g, struct tide_image *image)
{
  image->has_allocators = below(g, 4) != 0;
  image->by_agent = image->has_allocators && below(g, 2);
  if (!image->has_allocators)
    return;
  image->n_allocators = below(g, 4);
  image->allocators = tide_alloc_array(image->n_allocators, sizeof *image->allocators);
  for (size_t i = 0; i < image->n_allocators; i++)
    image->allocators[i] = (struct tide_allocator){.family = below(g, 70),
                                                   .n_alloc = any(g),
                                                   .b_alloc = any(g),
                                                   .live_blocks = any_signed(g),
                                                   .live_bytes = any_signed(g),
                                                   .peak_blocks = any_signed(g),
                                                   .peak_bytes = any_signed(g)};
}

// Behind all else, so that files of before are made as ever.
static void gen_held(struct gen *g, struct tide_image *image)
{
  size_t n_most = image->n_ticks && image->n_frames > 1 ? below(g, 4) : 0;
  uint32_t stack = 0;
  image->held = tide_alloc_array(n_most, sizeof *image->held);
  for (size_t i = 0; i < n_most && stack < image->n_frames; i++) {
    struct tide_held_bytes *held = &image->held[image->n_held++];
    *held = (struct tide_held_bytes){.stack = stack, .shift = below(g, 63)};
    held->bytes = tide_alloc_array(image->n_ticks, sizeof *held->bytes);
    uint64_t most = (uint64_t)INT64_MAX >> held->shift; // of units, and one
    for (size_t k = 0; k < image->n_ticks; k++)
      held->bytes[k] = below(g, 4) ? (int64_t)(any(g) % most << held->shift) : -1;
    stack += 1 + below(g, 5);
  }
}

// Likewise.
static void gen_rss_kinds(struct gen *g, struct tide_image *image)
{
  uint64_t time_ns = any(g) / 2;
  image->n_rss_kinds = any_count(g, 6);
  image->rss_kinds = tide_alloc_array(image->n_rss_kinds, sizeof *image->rss_kinds);
  for (size_t i = 0; i < image->n_rss_kinds; i++) {
    image->rss_kinds[i] = (struct tide_rss_kinds){time_ns, any(g), any(g), any(g), any(g)};
    time_ns += below(g, UINT64_C(1) << 40);
  }
}

static void gen_runs(struct gen *g, struct tide_residence *table)
{
  table->n_classes = any_count(g, 3);
  table->classes = tide_alloc_array(table->n_classes, sizeof *table->classes);
  for (size_t i = 0; i < table->n_classes; i++)
    table->classes[i] = (struct tide_residence_class){
        any(g), any(g), any(g), any(g), any(g), any(g), {any(g), any(g), any(g), any(g)}, any(g)};
  table->n_shared_runs = any(g);
  table->n_unclear_runs = any(g);
  for (size_t i = 0; i < table->n_sites; i += 2) {
    table->sites[i].n_sparse = any(g);
    table->sites[i].sparse = any(g);
  }
}

static void gen_residence(struct gen *g, struct tide_residence *table, size_t n_frames)
{
  uint64_t *fields[] = {
      &table->rss_before,    &table->rss_after,   &table->asked,          &table->untouched,
      &table->swapped,       &table->zeros,       &table->huge_pool,      &table->huge,
      &table->trim,          &table->trim_top,    &table->purge,          &table->pinned,
      &table->edges,         &table->thread_tops, &table->n_pinned_pages, &table->n_shared_pins,
      &table->n_resyncs,     &table->skipped,     &table->n_unread,       &table->n_sites_left,
      &table->left_resident,
  };
  for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
    *fields[k] = any(g);
  for (int k = 0; k < TIDE_RESIDENCE_KINDS; k++)
    table->rows[k] = any(g);
  table->is_bounded = below(g, 2);
  table->has_recorder = below(g, 2);
  table->heap = (enum tide_residence_heap)below(g, 4);
  table->n_arenas = any_count(g, 3);
  table->arenas = tide_alloc_array(table->n_arenas, sizeof *table->arenas);
  for (size_t i = 0; i < table->n_arenas; i++)
    table->arenas[i] = (struct tide_residence_arena){below(g, 2), (uint32_t)any(g), any(g), any(g),
                                                     any(g),      any(g),           any(g), any(g)};
  table->n_files = any_count(g, 3);
  table->files = tide_alloc_array(table->n_files, sizeof *table->files);
  for (size_t i = 0; i < table->n_files; i++) {
    char *path = any_string(g);
    table->files[i] = (struct tide_residence_file){path ? path : tide_strdup(""), any(g), any(g),
                                                   n_frames > 1 ? below(g, (uint32_t)n_frames) : 0};
  }
  table->n_sites = n_frames > 1 ? any_count(g, 4) : 0;
  table->sites = tide_alloc_array(table->n_sites, sizeof *table->sites);
  for (size_t i = 0; i < table->n_sites; i++)
    table->sites[i] = (struct tide_residence_site){.stack = below(g, (uint32_t)n_frames),
                                                   .is_mapped = below(g, 2),
                                                   .n_blocks = any(g),
                                                   .asked = any(g),
                                                   .resident = any(g),
                                                   .untouched = any(g),
                                                   .n_pinned = any(g),
                                                   .pinned = any(g),
                                                   .n_large = any(g),
                                                   .large_asked = any(g),
                                                   .large_touched = any(g)};
  table->bucket_bytes = any(g);
  table->n_map = any_count(g, 5);
  table->map = tide_alloc_array(table->n_map, sizeof *table->map);
  for (size_t i = 0; i < table->n_map; i++)
    table->map[i] = (struct tide_residence_bucket){any(g), any(g), any(g), any(g)};
  gen_runs(g, table);
  table->swapped_blocks = below(g, 2) ? any(g) : 0;
  for (size_t i = 0; i < table->n_sites && table->swapped_blocks; i += 2)
    table->sites[i].swapped = any(g);
}

static void gen_residences(struct gen *g, struct tide_image *image)
{
  image->n_residences = below(g, 3);
  image->residences = tide_alloc_array(image->n_residences, sizeof *image->residences);
  for (size_t i = 0; i < image->n_residences; i++) {
    gen_residence(g, &image->residences[i], image->n_frames);
    image->residences[i].time_ns = i * 1000 + below(g, 1000);
  }
}

static void gen_cost(struct gen *g, struct tide_capture *capture)
{
  capture->has_cost = below(g, 4) != 0;
  if (!capture->has_cost)
    return;
  capture->cost.cpu_ns = any(g);
  capture->cost.recorder_ns = any(g);
  capture->cost.supervisor_ns = any(g);
}

static void gen_facts(struct gen *g, struct tide_capture *capture)
{
  capture->tool_version = any_string(g);
  capture->arch = any32(g);
  capture->kernel_page_bytes = any32(g);
  capture->hostname = any_string(g);
  capture->kernel = any_string(g);
  capture->start_realtime_ns = any(g);
  capture->duration_ns = any(g);
  capture->finished = below(g, 2);
  capture->n_images_left_out = any32(g);
  capture->taken = below(g, 2) ? any_string(g) : NULL;
  if (capture->taken && !*capture->taken) { // the same as none
    free(capture->taken);
    capture->taken = NULL;
  }
}

static void gen_roll(struct gen *g, struct tide_roll *roll)
{
  roll->is_known = below(g, 4) != 0;
  if (!roll->is_known)
    return;
  roll->at_least = below(g, 2);
  roll->command_pid = any32(g);
  roll->n_recorded = any(g);
  roll->n_refused = any(g);
  roll->n_rows = any_count(g, 5);
  roll->rows = tide_alloc_array(roll->n_rows, sizeof *roll->rows);
  for (size_t i = 0; i < roll->n_rows; i++)
    roll->rows[i] = (struct tide_unrecorded){
        .exe = any_string(g),
        .detail = any_string(g),
        .parent = any_string(g),
        .why = (enum tide_why)below(g, TIDE_WHY_N),
        .is_command = below(g, 2),
        .pid = any32(g),
        .n_processes = any(g),
        .start_ns = any(g),
        .end_ns = any(g),
        .max_rss_bytes = any(g),
        .recorded_bytes = any(g),
    };
}

static void gen_events(struct gen *g, struct tide_image *image)
{
  struct tide_event_row *rows = NULL;
  size_t n = below(g, 3) ? any_count(g, 40) : 0, cap = 0;
  uint32_t n_frames = image->n_frames ? (uint32_t)image->n_frames : 1;
  uint32_t n_threads = image->n_threads_known ? (uint32_t)image->n_threads_known : 1;
  for (size_t i = 0; i < n; i++) {
    TIDE_GROW(rows, i, cap);
    rows[i] = (struct tide_event_row){.stack = below(g, n_frames),
                                      .thread = below(g, n_threads),
                                      .n = any(g),
                                      .weight = any(g),
                                      .first_ns = any(g),
                                      .last_ns = any(g)};
  }
  tide_image_set_events(image, rows, n);
}

struct tide_capture *tide_gen_capture(uint64_t seed, size_t scale)
{
  struct gen g = {seed * 0x2545f4914f6cdd1dull + 1, scale};
  struct tide_capture *capture = tide_capture_new();
  gen_facts(&g, capture);
  capture->n_images = any_count(&g, 4);
  capture->images = tide_alloc_array(capture->n_images, sizeof *capture->images);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_image(&g, &capture->images[i], i);
  for (size_t i = 1; i < capture->n_images; i += 2) { // images of one program share in the file
    free(capture->images[i].exe);
    capture->images[i].exe = tide_strdup(capture->images[i - 1].exe);
  }
  gen_roll(&g, &capture->roll);
  gen_cost(&g, capture);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_resident(&g, &capture->images[i]);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_allocators(&g, &capture->images[i]);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_residences(&g, &capture->images[i]);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_events(&g, &capture->images[i]);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_held(&g, &capture->images[i]);
  for (size_t i = 0; i < capture->n_images; i++)
    gen_rss_kinds(&g, &capture->images[i]);
  return capture;
}

// A site as programs have them: a few sizes, lifetimes around one magnitude.
static void program_site(struct gen *g, struct tide_image *image, struct tide_site *s,
                         uint32_t stack)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N] = {0}, lifetimes[TIDE_LIFE_BUCKETS_N] = {0};
  unsigned size_log2 = 4 + (unsigned)below(g, 10), life_log2 = 8 + (unsigned)below(g, 20);
  *s = (struct tide_site){.stack = stack, .thread = 1};
  s->n_alloc = 1 + (next(g) >> (44 + below(g, 20)));
  s->b_alloc = s->n_alloc << size_log2;
  uint64_t n_live = below(g, 4) ? 0 : below(g, s->n_alloc + 1);
  s->n_free = s->n_alloc - n_live;
  s->b_free = s->b_alloc - (n_live << size_log2);
  s->peak_blocks = (int64_t)(below(g, 3) ? 0 : below(g, s->n_alloc + 1));
  s->peak_bytes = s->peak_blocks << size_log2;
  s->high_bytes = s->peak_bytes + ((int64_t)below(g, 4) << size_log2);
  s->life_ns = s->n_free * (next(g) >> (64 - life_log2));
  s->age_ns = (int64_t)(n_live * (next(g) >> 34));
  s->n_temp = below(g, 2) ? 0 : below(g, s->n_free + 1);
  s->b_temp = s->n_temp << size_log2;
  s->first_ns = next(g) >> 34;
  s->last_ns = s->first_ns + (next(g) >> 36);
  sizes[size_log2 - 2] = s->n_alloc;
  lifetimes[life_log2] = s->n_free / 2;
  lifetimes[life_log2 + 1] = s->n_free - s->n_free / 2;
  tide_site_add_buckets(image, s, sizes, lifetimes);
}

// One in twelve stacks changes from one snapshot to the next; every sixth of them allocates in
// between and is as it was.
static void program_snapshots(struct gen *g, struct tide_image *image, size_t n_snapshots)
{
  TIDE_CLEANUP_FREE struct tide_snapshot_row *now = tide_alloc_array(image->n_sites, sizeof *now);
  image->snapshots = tide_alloc_array(n_snapshots, sizeof *image->snapshots);
  image->n_snapshots = n_snapshots;
  for (size_t i = 0; i < n_snapshots; i++) {
    struct tide_snapshot *s = &image->snapshots[i];
    s->time_ns = i * 10000000 + below(g, 1000000);
    s->rows = tide_alloc_array(image->n_sites, sizeof *s->rows);
    for (size_t k = 0; k < image->n_sites; k++) {
      now[k].stack = image->sites[k].stack;
      if (below(g, 12) == 0) {
        now[k].live_blocks = (int64_t)(next(g) >> (48 + below(g, 16)));
        now[k].live_bytes = now[k].live_blocks * (int64_t)(16 << below(g, 6));
        now[k].n_alloc = (uint64_t)now[k].live_blocks;
      } else {
        now[k].n_alloc = below(g, 6) ? 0 : next(g) >> (48 + below(g, 16));
      }
      now[k].b_alloc = now[k].n_alloc * 48;
      if (now[k].live_blocks || now[k].n_alloc)
        s->rows[s->n_rows++] = now[k];
    }
  }
}

struct tide_capture *tide_gen_program(uint64_t seed, size_t n_stacks, size_t n_snapshots)
{
  struct gen g = {seed, n_stacks};
  struct tide_capture *capture = tide_capture_new();
  capture->finished = true;
  capture->n_images = 1;
  capture->images = tide_alloc(sizeof *capture->images);
  struct tide_image *image = capture->images;
  image->end_ns = n_snapshots * 10000000;
  gen_modules(&g, image);
  for (size_t i = 1; i < image->n_modules; i++)
    image->modules[i].bias = 0x555555554000ull - i * 0x10000;
  image->n_threads_known = 2;
  image->threads = tide_alloc_array(2, sizeof *image->threads);
  image->n_frames = 1 + 4 * n_stacks;
  image->frames = tide_alloc_array(image->n_frames, sizeof *image->frames);
  for (uint32_t i = 1; i < image->n_frames; i++) {
    uint64_t place = below(&g, 1 + n_stacks / 8);
    image->frames[i].pc = 0x555555554000ull + place * 37;
    image->frames[i].module = (uint16_t)(place % image->n_modules);
    image->frames[i].parent = i - 1 - (uint32_t)below(&g, i < 40 ? i : 40);
  }
  image->n_sites = n_stacks;
  image->sites = tide_alloc_array(n_stacks, sizeof *image->sites);
  for (uint32_t i = 0; i < n_stacks; i++)
    program_site(&g, image, &image->sites[i], 4 * i + 1 + (uint32_t)below(&g, 4));
  image->has_temp_bytes = image->has_resized_bytes = image->has_touches = n_stacks > 0;
  image->has_counts = n_snapshots > 0;
  program_snapshots(&g, image, n_snapshots);
  return capture;
}
