// SPDX-License-Identifier: Apache-2.0
//
// RSS and overhead in words.
#include "words/resident_text.h"

#include "base/alloc.h"
#include "model/exactness.h"
#include "base/buf.h"

#define MIB (UINT64_C(1) << 20)
#define TELLING 20 // a twentieth more is worth a line

static uint64_t telling(uint64_t bytes)
{
  return bytes / TELLING > MIB ? bytes / TELLING : MIB;
}

bool tide_resident_has_high(const struct tide_image *image)
{
  uint64_t then = image->rss_at_peak_bytes;
  return image->max_rss_bytes && (!then || image->max_rss_bytes > then + telling(then));
}

char *tide_resident_high_words(struct tide_style style, const struct tide_image *image)
{
  char time[TIDE_UNITS_MAX], held[TIDE_UNITS_MAX];
  if (tide_image_is_merged(image))
    return tide_strdup("the highest of each process, added up");
  if (!image->has_resident || image->lacks & TIDE_LACK_CLOCK)
    return tide_strdup("at some time");
  uint64_t at_ns = image->max_rss_ns > image->start_ns ? image->max_rss_ns - image->start_ns : 0;
  tide_units_time(time, at_ns, style.utf8);
  if (image->max_rss_live_bytes < 0)
    return tide_sprintf("between two looks, by %s", time);
  return tide_sprintf(
      "at %s, when the heap held %s", time,
      tide_units_bytes(held, tide_image_bytes(image, TIDE_FIGURE_LIVE, image->max_rss_live_bytes),
                       style));
}

bool tide_resident_has_untouched(const struct tide_image *image)
{
  return image->untouched_bytes >= telling((uint64_t)image->peak_bytes);
}

char *tide_resident_untouched_why(const struct tide_image *image, struct tide_style style)
{
  char swapped[TIDE_UNITS_MAX];
  if (!image->swapped_bytes)
    return tide_strdup("never touched");
  return tide_sprintf("never touched, or swapped out (%s at most)",
                      tide_units_bytes(swapped, tide_exact((int64_t)image->swapped_bytes), style));
}

char *tide_resident_untouched_words(struct tide_style style, const struct tide_image *image)
{
  TIDE_CLEANUP_FREE char *why = tide_resident_untouched_why(image, style);
  return tide_sprintf("at least, of the heap at its peak, in memory at no look: %s", why);
}

const char *tide_resident_whose(const struct tide_image *image)
{
  if (image->rss_is_own || image->origin)
    return "";
  return image->resident_is_lost ? " perhaps with the recorder" : " with the recorder";
}

static void put_times(struct tide_buf *out, struct tide_style style, double overhead)
{
  if (overhead < 1.01)
    tide_buf_text(out, "overhead below 1 %");
  else if (overhead < 1.1)
    tide_buf_printf(out, "overhead %s %.0f %%", style.utf8 ? "≈" : "~", (overhead - 1) * 100);
  else
    tide_buf_printf(out, "overhead %s %.1f%s", style.utf8 ? "≈" : "~", overhead,
                    style.utf8 ? "×" : "x");
}

char *tide_overhead_words(struct tide_style style, const struct tide_profile *profile)
{
  char number[TIDE_UNITS_MAX];
  struct tide_buf out = {0};
  double overhead = tide_profile_overhead(profile);
  uint64_t memory = profile->image->recorder_rss_bytes;
  if (overhead > 0)
    put_times(&out, style, overhead);
  if (memory)
    tide_buf_printf(&out, "%s %s", out.n ? " and" : "overhead",
                    tide_units_bytes(number, tide_exact((int64_t)memory), style));
  if (!out.n)
    return NULL;
  tide_buf_u8(&out, 0);
  return (char *)out.data;
}
