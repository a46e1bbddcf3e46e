// SPDX-License-Identifier: Apache-2.0
//
// From what was sampled to an image's timeline: counts filled in between walks, the exact peak and
// end added, and nothing above the peak (a look in the middle of a thread's flush may count bytes
// twice).
#define _GNU_SOURCE
#include "observe/sample.h"

#include "base/alloc.h"
#include "model/image_sums.h"

#include <stdlib.h>
#include <string.h>

static uint64_t between(uint64_t a, uint64_t b, double share)
{
  return b > a ? a + (uint64_t)((double)(b - a) * share) : a;
}

static int64_t between_signed(int64_t a, int64_t b, double share)
{
  uint64_t rise = between(0, (uint64_t)b - (uint64_t)a, share);
  uint64_t fall = between(0, (uint64_t)a - (uint64_t)b, share);
  return (int64_t)(b > a ? (uint64_t)a + rise : (uint64_t)a - fall);
}

static int64_t at_least_zero(int64_t n)
{
  return n > 0 ? n : 0;
}

// Fills ticks (from, to) exclusive, whose ends are counted, in proportion to time. before: blocks
// that were live when the counts began.
static void fill_gap(struct tide_sample_tick *ticks, size_t from, size_t to, int64_t before)
{
  const struct tide_tick *a = &ticks[from].tick, *b = &ticks[to].tick;
  for (size_t i = from + 1; i < to; i++) {
    struct tide_tick *t = &ticks[i].tick;
    uint64_t span_ns = b->time_ns - a->time_ns;
    double share = span_ns ? (double)(t->time_ns - a->time_ns) / (double)span_ns : 1;
    t->n_alloc = between(a->n_alloc, b->n_alloc, share);
    t->b_alloc = between(a->b_alloc, b->b_alloc, share);
    t->n_free = between(a->n_free, b->n_free, share);
    t->n_resize = between(a->n_resize, b->n_resize, share);
    t->b_resized = between_signed(a->b_resized, b->b_resized, share);
    if (!ticks[i].counted && t->live_blocks == 0)
      t->live_blocks = at_least_zero((int64_t)((uint64_t)before + t->n_alloc - t->n_free));
  }
}

static uint64_t own_rss(const struct tide_sampler *sampler, const struct tide_tick *tick)
{
  uint64_t bound;
  return tide_rss_own(&sampler->rss, tick->time_ns, tick->rss_bytes, &bound);
}

static struct tide_tick nearest_tick(const struct tide_sampler *sampler, uint64_t time_ns)
{
  struct tide_tick best = {0};
  uint64_t best_gap = UINT64_MAX;
  for (size_t i = 0; i < sampler->n_ticks; i++) {
    const struct tide_tick *t = &sampler->ticks[i].tick;
    uint64_t gap = t->time_ns > time_ns ? t->time_ns - time_ns : time_ns - t->time_ns;
    if (t->rss_bytes && gap < best_gap) {
      best = *t;
      best_gap = gap;
    }
  }
  return best;
}

// The look that tells what was in memory at the peak. A heap often stays at its peak for a while,
// and its last block is touched after it was allocated: so, of all looks at a heap as large, the
// one that saw most in memory. Where there was none, the nearest in time.
static struct tide_tick look_at_peak(const struct tide_sampler *sampler,
                                     const struct tide_image *image)
{
  struct tide_tick best = {0};
  uint64_t most_bytes = 0;
  for (size_t i = 0; i < sampler->n_ticks; i++) {
    const struct tide_tick *t = &sampler->ticks[i].tick;
    uint64_t rss_bytes = own_rss(sampler, t);
    if (tide_rss_is_at_peak(image, t) && rss_bytes > most_bytes) {
      best = *t;
      most_bytes = rss_bytes;
    }
  }
  return most_bytes ? best : nearest_tick(sampler, image->peak_ns);
}

// The sampled ticks in order, with one at the start of the image (all zero, not kept), one at its
// peak and one at its end. Counts are known at the first, the last and wherever a walk was made.
static struct tide_sample_tick *lay_out(const struct tide_sampler *sampler,
                                        const struct tide_image *image, size_t *ret_n)
{
  struct tide_sample_tick *out = tide_alloc_array(sampler->n_ticks + 3, sizeof *out);
  size_t n = 0;
  out[n++] = (struct tide_sample_tick){.tick.time_ns = image->start_ns, .counted = true};
  struct tide_tick close = look_at_peak(sampler, image);
  struct tide_sample_tick peak = {.tick = {
                                      .time_ns = image->peak_ns,
                                      .live_bytes = image->peak_bytes,
                                      .live_blocks = image->peak_blocks,
                                      .rss_bytes = own_rss(sampler, &close),
                                      .page_bytes = close.page_bytes,
                                  }};
  bool has_peak = image->peak_bytes <= 0;
  for (size_t i = 0; i < sampler->n_ticks; i++) {
    struct tide_sample_tick t = sampler->ticks[i];
    if (t.tick.time_ns < image->start_ns || t.tick.time_ns > image->end_ns)
      continue;
    if (!has_peak && t.tick.time_ns >= image->peak_ns) {
      out[n++] = peak;
      has_peak = true;
    }
    t.tick.rss_bytes = own_rss(sampler, &t.tick);
    if (t.tick.live_bytes > image->peak_bytes)
      t.tick.live_bytes = image->peak_bytes;
    out[n++] = t;
  }
  if (!has_peak)
    out[n++] = peak;
  struct tide_image_sums sums;
  tide_image_heap_sums(image, &sums);
  out[n++] = (struct tide_sample_tick){.tick =
                                           {
                                               .time_ns = image->end_ns,
                                               .live_bytes = sums.live_bytes,
                                               .live_blocks = sums.live_blocks,
                                               .n_alloc = sums.n_alloc,
                                               .b_alloc = sums.b_alloc,
                                               .n_free = sums.n_free,
                                               .page_bytes = image->page_live_bytes,
                                               .n_resize = sums.n_resize,
                                               .b_resized = sums.resized_bytes,
                                           },
                                       .counted = true};
  *ret_n = n;
  return out;
}

static void fill_ticks(const struct tide_sampler *sampler, struct tide_image *image)
{
  size_t n;
  TIDE_CLEANUP_FREE struct tide_sample_tick *ticks = lay_out(sampler, image, &n);
  const struct tide_tally *had = sampler->before ? &sampler->before->heap : NULL;
  int64_t before = had ? (int64_t)(had->n_alloc - had->n_free) : 0;
  for (size_t i = 1, counted = 0; i < n; i++)
    if (ticks[i].counted) {
      fill_gap(ticks, counted, i, before);
      counted = i;
    }
  image->ticks = tide_alloc_array(n - 1, sizeof *image->ticks);
  image->n_ticks = n - 1;
  image->has_tick_resizes = image->has_resized_bytes;
  TIDE_CLEANUP_FREE struct tide_top_tick *tops = tide_alloc_array(n, sizeof *tops);
  for (size_t i = 1; i < n; i++) {
    image->ticks[i - 1] = ticks[i].tick;
    tops[i - 1] = (struct tide_top_tick){ticks[i].tops, ticks[i].n_tops};
  }
  tide_tops_fill_image(tops, image);
}

static void fill_rows(struct tide_sampler *sampler, struct tide_image *image)
{
  if (image->pack) {
    tide_sampler_pack_snapshots(sampler, image);
  } else {
    tide_sampler_fill_snapshots(sampler, image);
    tide_image_add_exact_snapshots(image);
  }
  tide_sampler_fill_late_frees(sampler, image);
}

void tide_sampler_fill_image(struct tide_sampler *sampler, struct tide_image *image, bool is_brief)
{
  if (image->peak_ns > image->end_ns)
    image->peak_ns = image->end_ns;
  fill_ticks(sampler, image);
  if (!is_brief)
    fill_rows(sampler, image);
  struct tide_tick near = look_at_peak(sampler, image);
  tide_rss_fill_image(&sampler->rss, &near, image);
}
