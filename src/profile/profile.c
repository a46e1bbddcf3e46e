// SPDX-License-Identifier: Apache-2.0
//
// From rows per (stack, thread) to sites per stack. Rows are sorted by stack through an index, so
// a profile of 100,000 stacks is two passes over the rows and costs what the rows cost.
#define _GNU_SOURCE
#include "profile/profile.h"

#include "base/alloc.h"
#include "base/order.h"
#include "model/image_sums.h"
#include "model/stored_names.h"

#include <stdlib.h>
#include <string.h>

// parent < own index, so one pass tells for every node under which root it hangs.
static uint8_t *kinds_of_nodes(const struct tide_image *image)
{
  uint8_t *kinds = tide_alloc_array(image->n_frames, 1);
  for (size_t i = 1; i < image->n_frames; i++) {
    uint16_t flags = image->frames[i].flags;
    kinds[i] = flags & TIDE_FRAME_PAGES  ? TIDE_SITE_PAGES
               : flags & TIDE_FRAME_LOST ? TIDE_SITE_LOST
                                         : kinds[image->frames[i].parent];
  }
  return kinds;
}

// Row indexes grouped by stack: a counting sort, linear and stable.
static uint32_t *rows_by_stack(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE uint32_t *start = tide_alloc_array(image->n_frames + 1, sizeof *start);
  uint32_t *rows = tide_alloc_array(image->n_sites, sizeof *rows);
  for (size_t i = 0; i < image->n_sites; i++)
    start[tide_image_site_stack(image, i) + 1]++;
  for (size_t i = 0; i < image->n_frames; i++)
    start[i + 1] += start[i];
  for (size_t i = 0; i < image->n_sites; i++)
    rows[start[tide_image_site_stack(image, i)]++] = (uint32_t)i;
  return rows;
}

// Where another row of the same stack follows, rows[i] is not the last of its site.
static bool is_last_row(const struct tide_profile *profile, size_t i)
{
  const struct tide_image *image = profile->image;
  return i + 1 == image->n_sites || tide_image_site_stack(image, profile->rows[i]) !=
                                        tide_image_site_stack(image, profile->rows[i + 1]);
}

// Would a site have other numbers than this, the only row that it has? An age may be below zero, as
// it is rounded; times without allocations, or maxima below zero, come from a file.
static bool is_adjusted(const struct tide_site *row)
{
  struct tide_counters sum = {0};
  tide_counters_add(&sum, &row->counters);
  return sum.age_ns < 0 || memcmp(&sum, &row->counters, sizeof sum);
}

static void count_sites(const struct tide_profile *profile, size_t *ret_n_sites, size_t *ret_n_sums)
{
  size_t n_sites = 0, n_sums = 0, first = 0;
  for (size_t i = 0; i < profile->image->n_sites; i++)
    if (is_last_row(profile, i)) {
      const struct tide_site row = tide_image_site(profile->image, profile->rows[i]);
      n_sites++;
      n_sums += first < i || is_adjusted(&row);
      first = i + 1;
    }
  *ret_n_sites = n_sites;
  *ret_n_sums = n_sums;
}

static void sum_rows(const struct tide_profile *profile, const struct tide_profile_site *site,
                     struct tide_counters *ret_sum)
{
  const struct tide_image *image = profile->image;
  int64_t most = site->kind == TIDE_SITE_PAGES ? image->page_peak_bytes : image->peak_bytes;
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site row = tide_image_site(image, profile->rows[site->first_row + i]);
    tide_counters_add(ret_sum, &row.counters);
  }
  if (ret_sum->age_ns < 0)
    ret_sum->age_ns = 0;
  if (site->n_rows > 1 && ret_sum->high_bytes > most)
    ret_sum->high_bytes = most;
}

// The numbers of its only row, where they lie in the image.
static void refer_to_row(struct tide_profile_site *site, const struct tide_image *image,
                         uint32_t row)
{
  if (image->packed_sites) {
    site->is_packed = true;
    site->in_block = tide_columns_block_of(image->packed_sites, row);
    site->row = row % TIDE_COLUMNS_BLOCK_ROWS;
  } else {
    site->in_row = &image->sites[row].counters;
  }
}

static void add_to_totals(struct tide_profile *profile, const struct tide_profile_site *site)
{
  const struct tide_numbers numbers = tide_site_numbers(site);
  if (site->kind != TIDE_SITE_PAGES)
    tide_numbers_add(&profile->totals, &numbers);
  if (site->kind == TIDE_SITE_LOST)
    tide_numbers_add(&profile->lost, &numbers);
  profile->n_stacks += site->kind == TIDE_SITE_HEAP;
}

static void make_sites(struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE uint8_t *kinds = kinds_of_nodes(image);
  size_t n_sites, n_sums, first = 0;
  count_sites(profile, &n_sites, &n_sums);
  profile->sites = tide_alloc_array(n_sites, sizeof *profile->sites);
  profile->sums = tide_alloc_array(n_sums, sizeof *profile->sums);
  struct tide_counters *sum = profile->sums;
  for (size_t i = 0; i < image->n_sites; i++) {
    if (!is_last_row(profile, i))
      continue;
    const struct tide_site row = tide_image_site(image, profile->rows[i]);
    struct tide_profile_site *site = &profile->sites[profile->n_sites++];
    *site = (struct tide_profile_site){
        .stack = row.stack,
        .kind = kinds[row.stack],
        .first_row = (uint32_t)first,
        .n_rows = (uint32_t)(i + 1 - first),
    };
    if (first < i || is_adjusted(&row)) {
      sum_rows(profile, site, sum);
      site->in_row = sum++;
    } else {
      refer_to_row(site, image, profile->rows[i]);
    }
    add_to_totals(profile, site);
    first = i + 1;
  }
}

struct tide_numbers tide_site_numbers(const struct tide_profile_site *site)
{
  struct tide_numbers numbers = {0};
  if (site->is_packed) {
    uint64_t row[TIDE_COUNTERS_N];
    tide_columns_block_row(site->in_block, site->row, TIDE_SITE_COLUMN_COUNTERS, TIDE_COUNTERS_N,
                           row);
    memcpy(&numbers.counters, row, sizeof numbers.counters);
  } else {
    numbers.counters = *site->in_row;
  }
  tide_numbers_live(&numbers);
  return numbers;
}

struct tide_profile *tide_profile_new(const struct tide_capture *capture, size_t image_idx)
{
  struct tide_profile *profile = tide_alloc(sizeof *profile);
  profile->capture = capture;
  profile->image = &capture->images[image_idx];
  profile->image_idx = image_idx;
  profile->rows = rows_by_stack(profile->image);
  make_sites(profile);
  return profile;
}

void tide_profile_free(struct tide_profile *profile)
{
  if (!profile)
    return;
  free(profile->sites);
  free(profile->sums);
  free(profile->rows);
  free(profile);
}

void tide_profile_site_histograms(const struct tide_profile *profile,
                                  const struct tide_profile_site *site,
                                  uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                                  uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N])
{
  memset(ret_sizes, 0, TIDE_SIZE_BUCKETS_N * sizeof *ret_sizes);
  memset(ret_lifetimes, 0, TIDE_LIFE_BUCKETS_N * sizeof *ret_lifetimes);
  for (uint32_t i = 0; i < site->n_rows; i++) {
    const struct tide_site row =
        tide_image_site_spread(profile->image, profile->rows[site->first_row + i]);
    tide_site_sum_buckets(profile->image, &row, ret_sizes, ret_lifetimes);
  }
}

uint64_t tide_profile_n_ended(const struct tide_image *image, uint64_t n_free,
                              const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  uint64_t n = 0;
  for (unsigned k = 0; k < TIDE_LIFE_BUCKETS_N; k++)
    n += lifetimes[k];
  return image->lacks & TIDE_LACK_LIFE_HIST ? n_free : n;
}

bool tide_profile_own_max_is_bound(const struct tide_profile *profile,
                                   const struct tide_profile_site *site)
{
  return site->n_rows > 1 || tide_image_is_merged(profile->image);
}

uint64_t tide_profile_events(const struct tide_profile *profile)
{
  return profile->totals.n_alloc + profile->totals.n_free;
}

static struct tide_cost cost_of(const struct tide_profile *profile)
{
  if (profile->capture->has_cost)
    return profile->capture->cost;
  return (struct tide_cost){profile->image->cpu_ns, profile->image->recorder_ns, 0};
}

double tide_profile_overhead(const struct tide_profile *profile)
{
  struct tide_cost cost = cost_of(profile);
  if (!cost.recorder_ns || cost.recorder_ns >= cost.cpu_ns)
    return 0;
  return ((double)cost.cpu_ns + (double)cost.supervisor_ns) /
         (double)(cost.cpu_ns - cost.recorder_ns);
}

double tide_profile_overhead_of_core(const struct tide_profile *profile)
{
  enum { WAITING_PART = 4 };
  struct tide_cost cost = cost_of(profile);
  uint64_t run_ns = profile->capture->duration_ns;
  if (!cost.recorder_ns || cost.recorder_ns >= cost.cpu_ns ||
      cost.cpu_ns - cost.recorder_ns >= run_ns / WAITING_PART)
    return 0;
  return ((double)cost.recorder_ns + (double)cost.supervisor_ns) / (double)run_ns;
}

uint64_t tide_profile_unknown_frames(const struct tide_image *image)
{
  const uint16_t no_frame = TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST;
  uint64_t n = 0;
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    const struct tide_stored_frame *name;
    uint64_t pc = frame->flags & TIDE_FRAME_IS_EXACT ? frame->pc : frame->pc - 1;
    n += frame->module == 0 && !(frame->flags & no_frame) &&
         !tide_stored_names_find(&image->names, 0, pc, &name);
  }
  return n;
}

uint64_t tide_profile_allocations(const struct tide_image *image)
{
  TIDE_CLEANUP_FREE uint8_t *kinds = kinds_of_nodes(image);
  uint64_t n = 0;
  for (size_t i = 0; i < image->n_sites; i++)
    n += kinds[tide_image_site_stack(image, i)] == TIDE_SITE_PAGES
             ? 0
             : tide_image_site_number(image, i, TIDE_COUNTER_IDX(n_alloc));
  return n;
}

// ---- what was never freed ----
//
// Sums per node of the trie; modulo 2^64, since they come from a file.

static bool is_peak(const struct tide_image *image, const struct tide_point *point)
{
  return point->given && point->snapshot != TIDE_POINT_START &&
         image->snapshots[point->snapshot].kind == TIDE_SNAPSHOT_PEAK;
}

bool tide_kept_is_known(const struct tide_image *image, const struct tide_window *window)
{
  return image->has_late_frees && !is_peak(image, &window->from) && !is_peak(image, &window->to);
}

static void add_kept_at(const struct tide_image *image, const struct tide_point *point,
                        bool in_bytes, uint64_t sign, uint64_t *of_node)
{
  if (!point->given || point->snapshot == TIDE_POINT_START)
    return;
  const struct tide_snapshot *snapshot = &image->snapshots[point->snapshot];
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    of_node[row.stack] += sign * (uint64_t)(in_bytes ? row.live_bytes : row.live_blocks);
  }
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    if (late->born <= point->snapshot && late->freed > point->snapshot)
      of_node[late->stack] -= sign * (in_bytes ? late->bytes : late->n_blocks);
  }
}

void tide_kept_weigh(const struct tide_profile *profile, const struct tide_question *question,
                     int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  add_kept_at(image, &question->window.to, in_bytes, 1, of_node);
  add_kept_at(image, &question->window.from, in_bytes, UINT64_MAX, of_node);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_weights[i] = (int64_t)of_node[profile->sites[i].stack];
}

// ---- since a reset ----

// What of the blocks from before was freed since, per node of the trie; only where that is told.
static void add_freed_of_before(const struct tide_image *image, bool in_bytes, uint64_t *of_node)
{
  for (size_t i = 0; i < image->n_late_frees && tide_reset_is_told(image); i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    if (late->born == 0) // the snapshot of the reset
      of_node[late->stack] += in_bytes ? late->bytes : late->n_blocks;
  }
}

// What was allocated since and is held; where single blocks are not told, at least.
static void weigh_since_reset(const struct tide_profile *profile, bool in_bytes,
                              int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  add_freed_of_before(image, in_bytes, of_node);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct tide_profile_site *site = &profile->sites[i];
    uint64_t live = (uint64_t)(in_bytes ? tide_site_live_bytes(site) : tide_site_live_blocks(site));
    uint64_t before = in_bytes ? (uint64_t)TIDE_OF_SITE(site, before_bytes)
                               : (uint64_t)TIDE_OF_SITE(site, before_blocks);
    int64_t since = (int64_t)(live - before + of_node[site->stack]);
    ret_weights[i] = since > 0 ? since : 0;
  }
}

static struct tide_amount amount_of(const struct tide_profile *profile, enum tide_unit unit,
                                    enum tide_figure figure, int64_t value, uint64_t spread)
{
  const struct tide_image *image = profile->image;
  if (unit == TIDE_UNIT_BLOCKS)
    return tide_with_error(tide_image_blocks(image, figure, value), image,
                           tide_error_of_blocks(spread));
  return tide_with_error(tide_image_bytes(image, figure, value), image,
                         tide_error_of_bytes(spread));
}

struct tide_amount tide_profile_live(const struct tide_profile *profile, enum tide_unit unit)
{
  const struct tide_numbers *totals = &profile->totals;
  bool in_bytes = unit == TIDE_UNIT_BYTES;
  return amount_of(profile, unit, TIDE_FIGURE_LIVE,
                   in_bytes ? totals->live_bytes : totals->live_blocks,
                   in_bytes ? totals->live_bytes_spread : totals->live_blocks_spread);
}

struct tide_amount tide_profile_allocated(const struct tide_profile *profile, enum tide_unit unit)
{
  const struct tide_numbers *totals = &profile->totals;
  bool in_bytes = unit == TIDE_UNIT_BYTES;
  return amount_of(profile, unit, TIDE_FIGURE_ALLOCATED,
                   (int64_t)(in_bytes ? totals->b_alloc : totals->n_alloc),
                   in_bytes ? totals->alloc_bytes_spread : totals->alloc_blocks_spread);
}

int64_t tide_profile_kept(const struct tide_profile *profile, enum tide_unit unit)
{
  bool in_bytes = unit == TIDE_UNIT_BYTES;
  if (!profile->image->is_reset)
    return in_bytes ? profile->totals.live_bytes : profile->totals.live_blocks;
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  uint64_t sum = 0;
  weigh_since_reset(profile, in_bytes, weights);
  for (size_t i = 0; i < profile->n_sites; i++)
    sum += profile->sites[i].kind == TIDE_SITE_PAGES ? 0 : (uint64_t)weights[i];
  return (int64_t)sum;
}

// ---- weighing the sites ----
//
// Weighing the sites of a profile. Whole runs are answered from the cells' own numbers, which are
// exact; parts of a run from the snapshots.

// Per node of the trie, in the unit asked for; signed in meaning, modulo 2^64.
struct sums {
  uint64_t *of_node;
  bool in_bytes;
};

static void add_live(struct sums *sums, const struct tide_image *image,
                     const struct tide_point *point)
{
  if (point->snapshot == TIDE_POINT_START)
    return;
  const struct tide_snapshot *snapshot = &image->snapshots[point->snapshot];
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    sums->of_node[row.stack] += (uint64_t)(sums->in_bytes ? row.live_bytes : row.live_blocks);
  }
}

static void add_counts(struct sums *sums, const struct tide_image *image,
                       const struct tide_window *window)
{
  size_t first, past;
  tide_window_snapshots(image, window, &first, &past);
  for (size_t s = first; s < past; s++)
    for (size_t i = 0; i < image->snapshots[s].n_rows; i++) {
      const struct tide_snapshot_row row = tide_snapshot_row_at(&image->snapshots[s], i);
      sums->of_node[row.stack] += sums->in_bytes ? row.b_alloc : row.n_alloc;
    }
}

// What was allocated in a range and is held at its end, exactly: what more is held then than at the
// beginning, and as much again as went of what was held at the beginning.
static void weigh_grown_exactly(const struct tide_profile *profile,
                                const struct tide_question *question, int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  const struct tide_point *from = &question->window.from, *to = &question->window.to;
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  TIDE_CLEANUP_FREE uint64_t *before = tide_alloc_array(image->n_frames, sizeof *before);
  TIDE_CLEANUP_FREE uint64_t *after = tide_alloc_array(image->n_frames, sizeof *after);
  add_live(&(struct sums){before, in_bytes}, image, from);
  add_live(&(struct sums){after, in_bytes}, image, to);
  for (size_t i = 0; i < image->n_late_frees; i++) {
    const struct tide_late_free *late = &image->late_frees[i];
    if (late->born <= from->snapshot && late->freed > from->snapshot && late->freed <= to->snapshot)
      after[late->stack] += in_bytes ? late->bytes : late->n_blocks;
  }
  for (size_t i = 0; i < profile->n_sites; i++) {
    uint32_t stack = profile->sites[i].stack;
    ret_weights[i] = (int64_t)(after[stack] - before[stack]);
  }
}

// The same where single blocks are not known: at least what the stack holds at the end beyond the
// least it held at any look since the beginning. What was there before can be no more than that
// least, so this never overstates, and is exact where nothing from before was freed, or all of it.
struct span {
  uint64_t now;
  int64_t least;
  size_t n_looks, looked; // how many looks found something, and which was the last
};

static void look_at_snapshot(struct span *of_node, const struct tide_image *image, size_t at,
                             bool in_bytes)
{
  const struct tide_snapshot *snapshot = &image->snapshots[at];
  for (size_t i = 0; i < snapshot->n_rows; i++)
    of_node[tide_snapshot_row_at(snapshot, i).stack].now = 0;
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    const struct tide_snapshot_row row = tide_snapshot_row_at(snapshot, i);
    of_node[row.stack].now += (uint64_t)(in_bytes ? row.live_bytes : row.live_blocks);
  }
  for (size_t i = 0; i < snapshot->n_rows; i++) {
    struct span *span = &of_node[tide_snapshot_row_at(snapshot, i).stack];
    int64_t now = (int64_t)span->now;
    if (!span->n_looks || now < span->least)
      span->least = now;
    span->n_looks += span->looked != at + 1;
    span->looked = at + 1;
  }
}

static void weigh_grown_at_least(const struct tide_profile *profile,
                                 const struct tide_question *question, int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  size_t first = question->window.from.snapshot, last = question->window.to.snapshot;
  TIDE_CLEANUP_FREE struct span *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  for (size_t s = first; s <= last; s++)
    look_at_snapshot(of_node, image, s, question->unit == TIDE_UNIT_BYTES);
  for (size_t i = 0; i < profile->n_sites; i++) {
    const struct span *span = &of_node[profile->sites[i].stack];
    bool always = span->n_looks == last - first + 1;
    uint64_t held = span->looked == last + 1 ? span->now : 0;
    ret_weights[i] = (int64_t)(held - (always ? (uint64_t)span->least : 0));
  }
}

static void weigh_window(const struct tide_profile *profile, const struct tide_question *question,
                         int64_t *ret_weights)
{
  const struct tide_image *image = profile->image;
  const struct tide_window *window = &question->window;
  TIDE_CLEANUP_FREE uint64_t *of_node = tide_alloc_array(image->n_frames, sizeof *of_node);
  struct sums sums = {of_node, question->unit == TIDE_UNIT_BYTES};
  if (question->measure == TIDE_MEASURE_TOTAL)
    add_counts(&sums, image, window);
  else
    add_live(&sums, image, &window->to);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_weights[i] = (int64_t)of_node[profile->sites[i].stack];
}

int64_t tide_profile_weight(const struct tide_profile_site *site,
                            const struct tide_question *question)
{
  bool in_bytes = question->unit == TIDE_UNIT_BYTES;
  switch (question->measure) {
  case TIDE_MEASURE_PEAK:
    if (question->of_pages)
      return TIDE_OF_SITE(site, high_bytes);
    return in_bytes ? TIDE_OF_SITE(site, peak_bytes) : TIDE_OF_SITE(site, peak_blocks);
  case TIDE_MEASURE_LIVE:
    return in_bytes ? tide_site_live_bytes(site) : tide_site_live_blocks(site);
  case TIDE_MEASURE_GROWN: // from nothing, or from the reset, to the end
  case TIDE_MEASURE_LEAK:
    return in_bytes ? tide_site_live_bytes(site) - TIDE_OF_SITE(site, before_bytes)
                    : tide_site_live_blocks(site) - TIDE_OF_SITE(site, before_blocks);
  case TIDE_MEASURE_TOTAL:
    return (int64_t)(in_bytes ? TIDE_OF_SITE(site, b_alloc) : TIDE_OF_SITE(site, n_alloc));
  case TIDE_MEASURE_TEMP:
    return (int64_t)(in_bytes ? TIDE_OF_SITE(site, b_temp) : TIDE_OF_SITE(site, n_temp));
  case TIDE_MEASURES_N: break;
  }
  return 0;
}

void tide_profile_weigh(const struct tide_profile *profile, const struct tide_question *question,
                        int64_t *ret_weights)
{
  const struct tide_window *window = &question->window;
  bool of_part = window->from.given || window->to.given;
  bool from_start = !window->from.given || window->from.snapshot == TIDE_POINT_START;
  if (of_part && question->measure == TIDE_MEASURE_GROWN && !from_start) {
    if (tide_question_is_bound(profile->image, question))
      weigh_grown_at_least(profile, question, ret_weights);
    else
      weigh_grown_exactly(profile, question, ret_weights);
  } else if (of_part && question->measure == TIDE_MEASURE_LEAK) {
    tide_kept_weigh(profile, question, ret_weights);
  } else if (of_part) {
    weigh_window(profile, question, ret_weights);
  } else if (profile->image->is_reset && tide_measure_is_of_new(question->measure)) {
    weigh_since_reset(profile, question->unit == TIDE_UNIT_BYTES, ret_weights);
  } else {
    for (size_t i = 0; i < profile->n_sites; i++)
      ret_weights[i] = tide_profile_weight(&profile->sites[i], question);
  }
}

// What sites are put in order by, the last thing that tells first.
enum rank { BY_STACK, BY_ALLOCATIONS, BY_ALLOCATED, BY_WEIGHT, BY_KIND, RANKS_N };

static uint64_t rank_of(const struct tide_profile_site *site, enum rank rank)
{
  switch (rank) {
  case BY_STACK: return site->stack;
  case BY_ALLOCATIONS: return tide_order_falling((int64_t)TIDE_OF_SITE(site, n_alloc));
  case BY_ALLOCATED: return tide_order_falling((int64_t)TIDE_OF_SITE(site, b_alloc));
  case BY_WEIGHT: return tide_order_falling(site->weight);
  case BY_KIND: return site->kind == TIDE_SITE_PAGES;
  case RANKS_N: break;
  }
  return 0;
}

// Sites go to their places in circles: each begins with one that is put aside.
static void put_in_order(struct tide_profile_site *sites, size_t n, uint32_t *order)
{
  for (size_t i = 0; i < n; i++) {
    const struct tide_profile_site aside = sites[i];
    size_t to = i;
    while (order[to] != i) {
      size_t from = order[to];
      sites[to] = sites[from];
      order[to] = (uint32_t)to;
      to = from;
    }
    sites[to] = aside;
    order[to] = (uint32_t)to;
  }
}

static bool are_by_stack(const struct tide_profile *profile)
{
  size_t i = 1;
  while (i < profile->n_sites && profile->sites[i - 1].stack < profile->sites[i].stack)
    i++;
  return i >= profile->n_sites;
}

static void sort_sites(struct tide_profile *profile)
{
  size_t n = profile->n_sites;
  TIDE_CLEANUP_FREE uint32_t *order = tide_order_new(n);
  TIDE_CLEANUP_FREE uint64_t *keys = tide_alloc_array(n, sizeof *keys);
  for (enum rank rank = are_by_stack(profile) ? BY_STACK + 1 : BY_STACK; rank < RANKS_N; rank++) {
    for (size_t i = 0; i < n; i++)
      keys[i] = rank_of(&profile->sites[i], rank);
    tide_order_by(order, n, keys);
  }
  put_in_order(profile->sites, n, order);
}

// Under the question asked.
static void weigh_sites(struct tide_profile *profile)
{
  TIDE_CLEANUP_FREE int64_t *weights = tide_alloc_array(profile->n_sites, sizeof *weights);
  tide_profile_weigh(profile, &profile->question, weights);
  for (size_t i = 0; i < profile->n_sites; i++)
    profile->sites[i].weight = weights[i];
}

// Of the whole run. What goes on is of the image: asking has noted it.
static bool is_same(const struct tide_question *a, const struct tide_question *b)
{
  bool has_window =
      a->window.from.given || a->window.to.given || b->window.from.given || b->window.to.given;
  return !has_window && a->measure == b->measure && a->unit == b->unit &&
         a->at_least == b->at_least && a->of_pages == b->of_pages && a->of_events == b->of_events;
}

void tide_profile_ask_anew(struct tide_profile *profile, const struct tide_question *question)
{
  if (!profile->is_asked || !is_same(&profile->question, question))
    tide_profile_ask(profile, question);
}

void tide_profile_ask(struct tide_profile *profile, const struct tide_question *question)
{
  profile->is_asked = true;
  profile->question = *question;
  weigh_sites(profile);
  profile->question.goes_on |= profile->image->end_kind == TIDE_END_DETACHED;
  profile->whole = 0;
  if (question->measure == TIDE_MEASURE_PEAK && question->unit == TIDE_UNIT_BYTES &&
      !question->of_pages)
    profile->whole = profile->image->peak_bytes; // what the report calls the peak
  else
    for (size_t i = 0; i < profile->n_sites; i++)
      if (tide_question_is_about(question, profile->sites[i].kind))
        profile->whole += profile->sites[i].weight;
  sort_sites(profile);
}
