// SPDX-License-Identifier: Apache-2.0
//
// Columns of time, the largest value of each, eight heights.
#include "format/spark.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

enum { TICKS_MIN = 4, HEIGHTS = 8 };

static size_t column_of(const struct tide_image *image, uint64_t time_ns, size_t width)
{
  uint64_t span = image->end_ns - image->start_ns;
  if (time_ns <= image->start_ns)
    return 0;
  double share = (double)(time_ns - image->start_ns) / (double)span;
  size_t column = (size_t)(share * (double)width);
  return column < width ? column : width - 1;
}

static void raise_to(int64_t *high, size_t column, int64_t bytes)
{
  if (high[column] < bytes)
    high[column] = bytes;
}

// The largest value of each column; one without a point of its own holds what was last known.
static int64_t *highest_per_column(const struct tide_image *image, size_t width)
{
  int64_t *high = tide_alloc_array(width, sizeof *high);
  int64_t last = 0;
  size_t filled = 0;
  for (size_t i = 0; i < image->n_ticks; i++) {
    size_t column = column_of(image, image->ticks[i].time_ns, width);
    for (; filled < column; filled++)
      raise_to(high, filled + 1, last);
    last = image->ticks[i].live_bytes;
    raise_to(high, column, last);
  }
  for (; filled + 1 < width; filled++)
    raise_to(high, filled + 1, last);
  raise_to(high, column_of(image, image->peak_ns, width), image->peak_bytes);
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
