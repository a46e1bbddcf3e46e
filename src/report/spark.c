// SPDX-License-Identifier: Apache-2.0
//
// Columns of time, the largest value of each, eight heights.
#include "report/spark.h"

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

static const char *const blocks[HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii[HEIGHTS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
// Dots have four heights.
static const char *const dots[HEIGHTS] = {"⣀", "⣀", "⣤", "⣤", "⣶", "⣶", "⣿", "⣿"};
static const char *const digits[HEIGHTS] = {"1", "2", "3", "4", "5", "6", "7", "8"};

char *tide_spark_live(const struct tide_image *image, size_t width, bool utf8)
{
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

static int64_t highest(const int64_t *values, size_t n)
{
  int64_t high = 0;
  for (size_t i = 0; i < n; i++)
    high = values[i] > high ? values[i] : high;
  return high;
}

static size_t height_of(int64_t value, int64_t high)
{
  return (size_t)((double)value / (double)high * (HEIGHTS - 1) + 0.5);
}

char *tide_spark_bars(const int64_t *values, size_t width, bool utf8)
{
  int64_t high = highest(values, width);
  struct tide_buf out = {0};
  for (size_t i = 0; i < width; i++) {
    const char *const *marks = utf8 ? blocks : ascii;
    tide_buf_text(&out, values[i] > 0 ? marks[height_of(values[i], high)] : " ");
  }
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}

void tide_spark_kept(const struct tide_screen *screen, const int64_t *live, const int64_t *kept,
                     size_t width)
{
  int64_t high = highest(live, width);
  for (size_t i = 0; i < width; i++) {
    if (live[i] <= 0) {
      tide_sink_text(screen->sink, " ");
      continue;
    }
    bool is_kept = kept[i] > live[i] / 2;
    const char *const *marks = screen->utf8 ? is_kept ? dots : blocks : is_kept ? digits : ascii;
    tide_screen_ink(screen, is_kept ? TIDE_INK_WARN : TIDE_INK_CURVE,
                    marks[height_of(live[i], high)]);
  }
}

const char *tide_spark_kept_mark(const struct tide_screen *screen)
{
  return screen->utf8 ? dots[HEIGHTS - 2] : "1-8";
}
