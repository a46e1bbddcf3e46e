// SPDX-License-Identifier: Apache-2.0
//
// Sums over an image's sites: by stack for a snapshot, by kind for the totals. Unsigned, because
// the sites may come from a damaged store.
#define _GNU_SOURCE
#include "model/image_sums.h"

#include "base/alloc.h"
#include "model/pack.h"
#include "model/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_FLAGS (TIDE_FRAME_PAGES | TIDE_FRAME_LOST)

uint16_t *tide_image_root_flags(const struct tide_image *image)
{
  uint16_t *flags = tide_alloc_array(image->n_frames, sizeof *flags);
  for (size_t i = 1; i < image->n_frames; i++) {
    const struct tide_frame *frame = &image->frames[i];
    flags[i] = frame->parent ? flags[frame->parent] : frame->flags & ROOT_FLAGS;
  }
  return flags;
}

static void add_wrapping(int64_t *sum, uint64_t more)
{
  *sum = (int64_t)((uint64_t)*sum + more);
}

void tide_image_sums_live(struct tide_image_sums *sums)
{
  sums->live_blocks = (int64_t)((uint64_t)sums->before_blocks + sums->n_alloc - sums->n_free);
  sums->live_bytes = (int64_t)((uint64_t)sums->before_bytes + sums->b_alloc - sums->b_free);
}

void tide_image_heap_sums(const struct tide_image *image, struct tide_image_sums *ret_sums)
{
  struct tide_image_sums sums = {0};
  uint64_t resized = 0;
  if (image->pack) {
    *ret_sums = image->pack->sums;
    return;
  }
  TIDE_CLEANUP_FREE uint16_t *root = tide_image_root_flags(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    if (root[site.stack] & TIDE_FRAME_PAGES)
      continue;
    sums.n_alloc += site.n_alloc;
    sums.b_alloc += site.b_alloc;
    sums.n_free += site.n_free;
    sums.b_free += site.b_free;
    add_wrapping(&sums.before_blocks, (uint64_t)site.before_blocks);
    add_wrapping(&sums.before_bytes, (uint64_t)site.before_bytes);
    sums.n_resize += site.n_resize;
    resized += site.b_resize_new - site.b_resize_old;
  }
  tide_image_sums_live(&sums);
  sums.resized_bytes = (int64_t)resized;
  *ret_sums = sums;
}

void tide_image_settle_peak(struct tide_image *image)
{
  if (image->origin || image->is_part || image->lacks & TIDE_LACK_PEAK)
    return;
  uint64_t sum = 0;
  TIDE_CLEANUP_FREE uint16_t *root = tide_image_root_flags(image);
  for (size_t i = 0; i < image->n_sites; i++)
    if (!(root[tide_image_site_stack(image, i)] & TIDE_FRAME_PAGES))
      sum += tide_image_site_number(image, i, TIDE_COUNTER_IDX(peak_bytes));
  uint64_t told = (uint64_t)image->peak_bytes;
  image->peak_bytes = (int64_t)sum;
  image->peak_bound_bytes += (int64_t)(sum - told) < 0 ? told - sum : sum - told;
}

// A row for each stack that has a site, by rising stack. Most frames are no stack of their own.
struct stack_rows {
  uint32_t *row_of; // per frame, of those with a row: its index + 1; else 0
  struct tide_snapshot_row *rows;
  size_t n;
};

static struct stack_rows stack_rows_new(const struct tide_image *image)
{
  struct stack_rows all = {.row_of = tide_alloc_array(image->n_frames, sizeof *all.row_of)};
  for (size_t i = 0; i < image->n_sites; i++)
    all.row_of[tide_image_site_stack(image, i)] = 1;
  for (size_t i = 0; i < image->n_frames; i++)
    if (all.row_of[i])
      all.row_of[i] = (uint32_t)++all.n;
  all.rows = tide_alloc_array(all.n, sizeof *all.rows);
  for (size_t i = 0; i < image->n_frames; i++)
    if (all.row_of[i])
      all.rows[all.row_of[i] - 1].stack = (uint32_t)i;
  return all;
}

static struct tide_snapshot_row *row_of(const struct stack_rows *all, uint32_t stack)
{
  return all->row_of[stack] ? &all->rows[all->row_of[stack] - 1] : NULL;
}

// Takes away what a snapshot has counted already. Never below zero: a broken store may have had
// other numbers when it was looked at.
static void take_off(uint64_t *sum, uint64_t counted)
{
  *sum -= counted < *sum ? counted : *sum;
}

// A snapshot of the rows that say anything; takes over all of them.
static struct tide_snapshot snapshot_of(struct stack_rows *all, enum tide_snapshot_kind kind,
                                        uint64_t time_ns)
{
  struct tide_snapshot_row *rows = all->rows;
  struct tide_snapshot snapshot = {.time_ns = time_ns, .kind = kind};
  free(all->row_of);
  for (size_t i = 0; i < all->n; i++)
    if (rows[i].live_bytes || rows[i].live_blocks || rows[i].n_alloc || rows[i].b_alloc)
      rows[snapshot.n_rows++] = rows[i];
  snapshot.rows = tide_realloc_array(rows, snapshot.n_rows, sizeof *rows);
  return snapshot;
}

static struct tide_snapshot peak_snapshot(const struct tide_image *image)
{
  struct stack_rows all = stack_rows_new(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    struct tide_snapshot_row *row = row_of(&all, site.stack);
    add_wrapping(&row->live_bytes, (uint64_t)site.peak_bytes);
    add_wrapping(&row->live_blocks, (uint64_t)site.peak_blocks);
  }
  return snapshot_of(&all, TIDE_SNAPSHOT_PEAK, image->peak_ns);
}

// Counts whatever no other snapshot has counted.
static struct tide_snapshot end_snapshot(const struct tide_image *image)
{
  struct stack_rows all = stack_rows_new(image);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct tide_site site = tide_image_site(image, i);
    struct tide_snapshot_row *row = row_of(&all, site.stack);
    add_wrapping(&row->live_bytes, (uint64_t)tide_counters_live_bytes(&site.counters));
    add_wrapping(&row->live_blocks, (uint64_t)tide_counters_live_blocks(&site.counters));
    row->n_alloc += site.n_alloc;
    row->b_alloc += site.b_alloc;
  }
  for (size_t i = 0; i < image->n_snapshots; i++)
    for (size_t k = 0; k < image->snapshots[i].n_rows; k++) {
      const struct tide_snapshot_row counted = tide_snapshot_row_at(&image->snapshots[i], k);
      if (counted.stack >= image->n_frames)
        continue; // a broken store has fewer nodes than before
      struct tide_snapshot_row *row = row_of(&all, counted.stack);
      if (!row)
        continue; // or fewer cells
      take_off(&row->n_alloc, counted.n_alloc);
      take_off(&row->b_alloc, counted.b_alloc);
    }
  return snapshot_of(&all, TIDE_SNAPSHOT_END, image->end_ns);
}

static void insert(struct tide_image *image, struct tide_snapshot snapshot)
{
  size_t at = image->n_snapshots;
  while (at > 0 && image->snapshots[at - 1].time_ns > snapshot.time_ns)
    at--;
  struct tide_snapshot *place = &image->snapshots[at];
  memmove(place + 1, place, (image->n_snapshots - at) * sizeof *place);
  *place = snapshot;
  image->n_snapshots++;
}

void tide_image_add_exact_snapshots(struct tide_image *image)
{
  image->snapshots =
      tide_realloc_array(image->snapshots, image->n_snapshots + 2, sizeof *image->snapshots);
  struct tide_snapshot end = end_snapshot(image);
  if (!(image->lacks & TIDE_LACK_PEAK))
    insert(image, peak_snapshot(image));
  if (!(image->lacks & TIDE_LACK_LIVE))
    insert(image, end);
  else
    free(end.rows);
  image->has_counts = true;
}

// ---- rows of a snapshot ----
//
// Merging sorted rows. Sums are unsigned and may wrap: they come from files and stores.

// The stack at a position of a list, or one after all others behind its end.
static uint32_t stack_at(const struct tide_snapshot_row *rows, size_t n, size_t i)
{
  return i < n ? rows[i].stack : UINT32_MAX;
}

void tide_snapshot_add_counts(struct tide_snapshot *snapshot,
                              const struct tide_snapshot_row *counts, size_t n_counts)
{
  if (n_counts == 0)
    return;
  struct tide_snapshot_row *rows = tide_alloc_array(snapshot->n_rows + n_counts, sizeof *rows);
  size_t n = 0, old = 0, more = 0;
  while (old < snapshot->n_rows || more < n_counts) {
    uint32_t own = stack_at(snapshot->rows, snapshot->n_rows, old);
    uint32_t other = stack_at(counts, n_counts, more);
    struct tide_snapshot_row row = {.stack = other};
    if (own <= other)
      row = snapshot->rows[old++];
    if (other <= own) {
      row.n_alloc += counts[more].n_alloc;
      row.b_alloc += counts[more++].b_alloc;
    }
    if (row.live_bytes || row.live_blocks || row.n_alloc || row.b_alloc)
      rows[n++] = row;
  }
  free(snapshot->rows);
  snapshot->rows = tide_realloc_array(rows, n, sizeof *rows);
  snapshot->n_rows = n;
}

// ---- what a format had ----

#define AT(field) offsetof(struct tide_numbers, field)

bool tide_number_is_kept(const struct tide_number *number, const struct tide_image *image)
{
  bool is_kept = true;
#define TIDE_NUMBER(field, ...)                                                                    \
  if (number->at == AT(field))                                                                     \
    return is_kept;
#define TIDE_NUMBER_SINCE(flag, ...) is_kept = image->flag;
#include "model/numbers.def"
  return true;
}

// ---- how exactly they are known ----
//
// The one place that decides it. What is worst is said: an estimate of which some is lost is an
// estimate.

const char *const tide_figure_words[TIDE_FIGURES_N] = {
#define X(name, word) [TIDE_FIGURE_##name] = word,
    TIDE_FIGURE_LIST(X)
#undef X
};

const char *const tide_exactness_words[] = {
    [TIDE_EXACT] = "exact",       [TIDE_WITHIN] = "within",       [TIDE_AT_MOST] = "at_most",
    [TIDE_AT_LEAST] = "at_least", [TIDE_ESTIMATED] = "estimated", [TIDE_UNKNOWN] = "unknown",
};

// What nobody knows of an image that lacks it.
static const uint32_t needs[TIDE_FIGURES_N] = {
    [TIDE_FIGURE_ALLOCATED] = TIDE_LACK_TOTAL,
    [TIDE_FIGURE_LIVE] = TIDE_LACK_LIVE,
    [TIDE_FIGURE_PEAK] = TIDE_LACK_PEAK,
    [TIDE_FIGURE_OWN_MAX] = TIDE_LACK_PEAK | TIDE_LACK_TOTAL,
    [TIDE_FIGURE_TIMES] = TIDE_LACK_TIMES,
};

static bool is_lacking(const struct tide_image *image, enum tide_figure figure)
{
  if (figure == TIDE_FIGURE_SAMPLES)
    return !image->has_samples;
  if (figure == TIDE_FIGURE_LOOKED)
    return !image->has_touches;
  if (figure == TIDE_FIGURE_MAPPED)
    return image->origin;
  return image->lacks & needs[figure];
}

// The peaks of several add up to what they held together at most.
static struct tide_amount peak_of(const struct tide_image *image, int64_t bytes)
{
  enum tide_exactness how = tide_image_is_merged(image) ? TIDE_AT_MOST : TIDE_WITHIN;
  if (!image->peak_bound_bytes)
    return tide_exact(bytes);
  return (struct tide_amount){bytes, how, image->peak_bound_bytes};
}

static bool has_losses(const struct tide_image *image)
{
  return image->loss.n_lost_busy || image->off_reason ||
         image->lacks & (TIDE_LACK_UNHOOKED | TIDE_LACK_LATER);
}

// An allocation that was not seen was not added, nor its end taken away. Where all were seen up to
// some moment, a maximum of until then has been.
static struct tide_amount with_losses(const struct tide_image *image, enum tide_figure figure,
                                      int64_t value)
{
  bool was_whole = image->off_reason && !image->loss.n_lost_busy && !image->peak_bound_bytes &&
                   !(image->lacks & (TIDE_LACK_UNHOOKED | TIDE_LACK_LATER));
  bool only_grows = figure == TIDE_FIGURE_ALLOCATED ||
                    (was_whole && (figure == TIDE_FIGURE_PEAK || figure == TIDE_FIGURE_OWN_MAX));
  return (struct tide_amount){value, only_grows ? TIDE_AT_LEAST : TIDE_WITHIN, 0};
}

// Of a block of s bytes that is one of T in the mean, the variance is s (T - s/2 + ...): it is less
// than T for each byte.
static uint64_t error_at_most(const struct tide_image *image, int64_t bytes)
{
  double size = fabs((double)bytes), every = (double)image->sampled_every_bytes;
  return image->has_spreads ? (uint64_t)fmin(ceil(sqrt(size * every)), 0x1p62) : 0;
}

struct tide_amount tide_with_error(struct tide_amount amount, const struct tide_image *image,
                                   uint64_t error)
{
  if (amount.exactness == TIDE_ESTIMATED && image->has_spreads)
    amount.bound = error;
  return amount;
}

struct tide_amount tide_image_bytes(const struct tide_image *image, enum tide_figure figure,
                                    int64_t bytes)
{
  bool is_counted = figure <= TIDE_FIGURE_OWN_MAX;
  if (is_lacking(image, figure))
    return (struct tide_amount){bytes, TIDE_UNKNOWN, 0};
  if (image->sampled_every_bytes && is_counted)
    return (struct tide_amount){bytes, TIDE_ESTIMATED, error_at_most(image, bytes)};
  if (image->n_pauses && is_counted) // what came and went meanwhile may have been more
    return (struct tide_amount){bytes, TIDE_AT_LEAST, 0};
  if (has_losses(image) && is_counted)
    return with_losses(image, figure, bytes);
  if (figure == TIDE_FIGURE_TIMES) // as late as the clock was looked at, which has no bound
    return (struct tide_amount){bytes, TIDE_WITHIN, 0};
  if (figure == TIDE_FIGURE_PEAK)
    return peak_of(image, bytes);
  if (figure == TIDE_FIGURE_OWN_MAX && (tide_image_is_merged(image) || image->is_reset))
    return (struct tide_amount){bytes, TIDE_AT_MOST, 0};
  return tide_exact(bytes);
}

struct tide_amount tide_image_blocks(const struct tide_image *image, enum tide_figure figure,
                                     int64_t blocks)
{
  struct tide_amount amount = tide_image_bytes(image, figure, blocks);
  if (image->lacks & TIDE_LACK_BLOCKS)
    amount.exactness = TIDE_UNKNOWN;
  amount.bound = 0;
  return amount;
}

// The sum over its rows, where those are at hand.
struct tide_amount tide_image_peak(const struct tide_image *image)
{
  uint64_t spread = 0;
  struct tide_amount peak = tide_image_bytes(image, TIDE_FIGURE_PEAK, image->peak_bytes);
  if (!image->has_spreads || !image->sites)
    return peak;
  for (size_t i = 0; i < image->n_sites; i++)
    spread += image->sites[i].peak_bytes_spread;
  return tide_with_error(peak, image, tide_error_of_bytes(spread));
}

struct tide_amount tide_image_rss_at_peak(const struct tide_image *image)
{
  enum tide_exactness how = image->rss_bound_bytes ? TIDE_WITHIN : TIDE_EXACT;
  return (struct tide_amount){(int64_t)image->rss_at_peak_bytes, how, image->rss_bound_bytes};
}

// ---- histograms ----
//
// A mask and the counts behind it are walked together, lowest bucket first.

// Adds the counts of a mask's buckets to a histogram; gives the first count behind them.
static const uint64_t *spread(uint64_t mask, const uint64_t *counts, uint64_t *buckets)
{
  for (; mask; mask &= mask - 1)
    buckets[__builtin_ctzll(mask)] += *counts++;
  return counts;
}

void tide_site_sum_buckets(const struct tide_image *image, const struct tide_site *site,
                           uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  const uint64_t *counts = tide_site_counts(image, site);
  counts = spread(site->size_mask, counts, sizes);
  spread(site->life_mask, counts, lifetimes);
}

uint64_t *tide_site_reserve_buckets(struct tide_image *image, struct tide_site *site)
{
  struct tide_counts *all = &image->counts;
  unsigned n = tide_site_n_counts(site);
  if (!n)
    return NULL;
  if (n > all->cap - all->n) {
    all->cap = all->cap + all->cap / 2 + n + 64;
    all->items = tide_realloc_array(all->items, all->cap, sizeof *all->items);
  }
  site->first_count = all->n;
  all->n += n;
  uint64_t *counts = all->items + site->first_count;
  counts[0] = counts[n - 1] = 0; // there are seldom more
  if (n > 2)
    memset(counts + 1, 0, (n - 2) * sizeof *counts);
  return counts;
}

static uint64_t mask_of(const uint64_t *buckets, unsigned n)
{
  uint64_t mask = 0;
  for (unsigned k = 0; k < n; k++)
    mask |= (uint64_t)(buckets[k] != 0) << k;
  return mask;
}

static uint64_t *gather_counts(uint64_t mask, const uint64_t *buckets, uint64_t *counts)
{
  for (; mask; mask &= mask - 1)
    *counts++ = buckets[__builtin_ctzll(mask)];
  return counts;
}

void tide_site_add_buckets(struct tide_image *image, struct tide_site *site,
                           const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                           const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N])
{
  uint64_t size_sums[TIDE_SIZE_BUCKETS_N], life_sums[TIDE_LIFE_BUCKETS_N];
  memcpy(size_sums, sizes, sizeof size_sums);
  memcpy(life_sums, lifetimes, sizeof life_sums);
  tide_site_sum_buckets(image, site, size_sums, life_sums);
  unsigned n_before = tide_site_n_counts(site);
  site->size_mask = (uint32_t)mask_of(size_sums, TIDE_SIZE_BUCKETS_N);
  site->life_mask = mask_of(life_sums, TIDE_LIFE_BUCKETS_N);
  if (tide_site_n_counts(site) > n_before)
    tide_site_reserve_buckets(image, site);
  if (!image->counts.items)
    return; // none has any
  uint64_t *counts = image->counts.items + site->first_count;
  counts = gather_counts(site->size_mask, size_sums, counts);
  gather_counts(site->life_mask, life_sums, counts);
}

uint64_t tide_image_widest_gap_ns(const struct tide_image *image)
{
  uint64_t last_ns = image->start_ns, widest_ns = 0;
  for (size_t i = 0; i <= image->n_snapshots; i++) {
    uint64_t at_ns = i < image->n_snapshots ? image->snapshots[i].time_ns : image->end_ns;
    if (at_ns <= last_ns)
      continue;
    widest_ns = at_ns - last_ns > widest_ns ? at_ns - last_ns : widest_ns;
    last_ns = at_ns;
  }
  return widest_ns;
}
