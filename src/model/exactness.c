// SPDX-License-Identifier: Apache-2.0
//
// The one place that decides it. What is worst is said: an estimate of which some is lost is an
// estimate.
#include "model/exactness.h"

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

// An allocation that was not seen was not added, nor its end taken away.
static struct tide_amount with_losses(enum tide_figure figure, int64_t value)
{
  bool only_grows = figure == TIDE_FIGURE_ALLOCATED;
  return (struct tide_amount){value, only_grows ? TIDE_AT_LEAST : TIDE_WITHIN, 0};
}

struct tide_amount tide_image_bytes(const struct tide_image *image, enum tide_figure figure,
                                    int64_t bytes)
{
  bool is_counted = figure <= TIDE_FIGURE_OWN_MAX;
  if (is_lacking(image, figure))
    return (struct tide_amount){bytes, TIDE_UNKNOWN, 0};
  if (image->sampled_every_bytes && is_counted)
    return (struct tide_amount){bytes, TIDE_ESTIMATED, 0};
  if (image->loss.n_lost_busy && is_counted)
    return with_losses(figure, bytes);
  if (figure == TIDE_FIGURE_TIMES) // as late as the clock was looked at, which has no bound
    return (struct tide_amount){bytes, TIDE_WITHIN, 0};
  if (figure == TIDE_FIGURE_PEAK)
    return peak_of(image, bytes);
  if (figure == TIDE_FIGURE_OWN_MAX && tide_image_is_merged(image))
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

struct tide_amount tide_image_peak(const struct tide_image *image)
{
  return tide_image_bytes(image, TIDE_FIGURE_PEAK, image->peak_bytes);
}

struct tide_amount tide_image_rss_at_peak(const struct tide_image *image)
{
  enum tide_exactness how = image->rss_bound_bytes ? TIDE_WITHIN : TIDE_EXACT;
  return (struct tide_amount){(int64_t)image->rss_at_peak_bytes, how, image->rss_bound_bytes};
}
