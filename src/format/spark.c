// SPDX-License-Identifier: Apache-2.0
//
// Columns of time, the largest value of each, eight heights.
#include "format/spark.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "profile/timeline.h"

#include <string.h>

enum { TICKS_MIN = 4, HEIGHTS = 8 };

// The largest value of each column, and the peak where it was, ticks or not.
static int64_t *highest_per_column(const struct tide_image *image, size_t width)
{
  int64_t *high = tide_alloc_array(width, sizeof *high);
  TIDE_CLEANUP_FREE uint64_t *times_ns = tide_alloc_array(image->n_ticks, sizeof *times_ns);
  TIDE_CLEANUP_FREE int64_t *live_bytes = tide_alloc_array(image->n_ticks, sizeof *live_bytes);
  for (size_t i = 0; i < image->n_ticks; i++) {
    times_ns[i] = image->ticks[i].time_ns;
    live_bytes[i] = image->ticks[i].live_bytes;
  }
  tide_columns_highest(times_ns, live_bytes, image->n_ticks, image, width, high);
  size_t peak = tide_column_of(image, image->peak_ns, width);
  if (high[peak] < image->peak_bytes)
    high[peak] = image->peak_bytes;
  return high;
}

char *tide_spark_live(const struct tide_image *image, size_t width, bool utf8)
{
  static const char *const blocks[HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[HEIGHTS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
  if (image->n_ticks < TICKS_MIN || width == 0 || image->end_ns <= image->start_ns ||
      image->peak_bytes <= 0)
    return NULL;
  TIDE_CLEANUP_FREE int64_t *high = highest_per_column(image, width);
  struct tide_buf line = {0};
  for (size_t i = 0; i < width; i++) {
    double share = high[i] > 0 ? (double)high[i] / (double)image->peak_bytes : 0;
    size_t height = (size_t)(share * (HEIGHTS - 1) + 0.5);
    if (height >= HEIGHTS)
      height = HEIGHTS - 1;
    tide_buf_text(&line, utf8 ? blocks[height] : ascii[height]);
  }
  tide_buf_u8(&line, 0);
  return (char *)line.data;
}
