// SPDX-License-Identifier: Apache-2.0
//
// Padding, inks and wrapping.
#include "report/screen.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "profile/timeline.h"

#include <string.h>

enum {
  PROSE_COLUMNS = 100, // sentences wider than this are hard to read
  NARROW_BELOW = 60,
};

static const char *const ink_codes[] = {
    [TIDE_INK_PLAIN] = "",        [TIDE_INK_STRONG] = "\x1b[1m", [TIDE_INK_FAINT] = "\x1b[2m",
    [TIDE_INK_WARN] = "\x1b[33m", [TIDE_INK_CURVE] = "\x1b[36m", [TIDE_INK_MORE] = "\x1b[33m",
    [TIDE_INK_LESS] = "\x1b[94m",
};

void tide_screen_ink(const struct tide_screen *screen, enum tide_ink ink, const char *text)
{
  bool inked = screen->color && ink != TIDE_INK_PLAIN && *text;
  if (inked)
    tide_sink_text(screen->sink, ink_codes[ink]);
  tide_sink_text(screen->sink, text);
  if (inked)
    tide_sink_text(screen->sink, "\x1b[0m");
}

static size_t blanks(const char *text, size_t columns)
{
  size_t width = tide_utf8_width(text);
  return width < columns ? columns - width : 0;
}

void tide_screen_left(const struct tide_screen *screen, enum tide_ink ink, const char *text,
                      size_t columns)
{
  tide_screen_ink(screen, ink, text);
  tide_sink_repeat(screen->sink, ' ', blanks(text, columns));
}

void tide_screen_right(const struct tide_screen *screen, enum tide_ink ink, const char *text,
                       size_t columns)
{
  tide_sink_repeat(screen->sink, ' ', blanks(text, columns));
  tide_screen_ink(screen, ink, text);
}

// A word that is wider than a line goes on in the next; gives the columns used in the last.
static size_t write_long_word(const struct tide_screen *screen, size_t hang, size_t limit,
                              const char *word)
{
  size_t used = hang;
  for (size_t n = strlen(word), length; n; word += length, n -= length) {
    char character[8] = "";
    length = tide_utf8_length(word, n);
    length = length ? length : 1; // the text is clean: never
    memcpy(character, word, length);
    size_t width = tide_utf8_width(character);
    if (used + width > limit && used > hang) {
      tide_sink_text(screen->sink, "\n");
      tide_sink_repeat(screen->sink, ' ', hang);
      used = hang;
    }
    tide_sink_text(screen->sink, character);
    used += width;
  }
  return used;
}

// The columns of the unit that follows a number ("%", "MiB", "ms)"), which stays on its line.
static size_t unit_columns(const char *word, const char *rest)
{
  static const char *const units[] = {"%",  "B",  "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB",
                                      "TB", "ns", "µs",  "us",  "ms",  "s",   "M",  "G"};
  size_t n_word = strlen(word), length = strcspn(rest, " ");
  if (!n_word || word[n_word - 1] < '0' || word[n_word - 1] > '9')
    return 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    size_t n = strlen(units[i]);
    if (length >= n && memcmp(rest, units[i], n) == 0 && (!rest[n] || strchr(" .,;:)", rest[n])))
      return 1 + length;
  }
  return 0;
}

void tide_screen_wrap(const struct tide_screen *screen, size_t hang, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, screen->utf8);
  size_t used = hang, limit = screen->width < PROSE_COLUMNS ? screen->width : PROSE_COLUMNS;
  for (char *save = NULL, *word = strtok_r(clean, " ", &save); word;
       word = strtok_r(NULL, " ", &save)) {
    size_t width = tide_utf8_width(word);
    if (used > hang && used + 1 + width + unit_columns(word, save ? save : "") > limit) {
      tide_sink_text(screen->sink, "\n");
      tide_sink_repeat(screen->sink, ' ', hang);
      used = hang;
    } else if (used > hang) {
      tide_sink_text(screen->sink, " ");
      used++;
    }
    if (hang + width > screen->width && used == hang) {
      used = write_long_word(screen, hang, screen->width, word);
    } else {
      tide_sink_text(screen->sink, word);
      used += width;
    }
  }
  tide_sink_text(screen->sink, "\n");
}

void tide_screen_paragraph(const struct tide_screen *screen, enum tide_ink ink, const char *indent,
                           const char *label, const char *text)
{
  tide_sink_text(screen->sink, indent);
  tide_screen_ink(screen, ink, label);
  tide_screen_wrap(screen, tide_utf8_width(indent) + tide_utf8_width(label), text);
}

size_t tide_screen_indent(const struct tide_screen *screen)
{
  return screen->width < NARROW_BELOW ? 4 : 11;
}

const char *tide_screen_hint(const struct tide_screen *screen, enum tide_hint hint)
{
  return screen->hints ? screen->hints(hint) : NULL;
}

const char *tide_screen_dot(const struct tide_screen *screen)
{
  return screen->utf8 ? " · " : " - ";
}
const char *tide_screen_about(const struct tide_screen *screen)
{
  return screen->utf8 ? "≈" : "~";
}
const char *tide_screen_times(const struct tide_screen *screen)
{
  return screen->utf8 ? "×" : "x";
}
const char *tide_screen_arrow(const struct tide_screen *screen)
{
  return screen->utf8 ? "→" : "->";
}

// ---- timelines ----
//
// Columns of time, the largest value of each, eight heights.

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

// ---- bars ----
//
// Eighth blocks from the left.

char *tide_bar(int64_t part, int64_t whole, size_t width, bool utf8)
{
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  struct tide_buf out = {0};
  double share = part > 0 && whole > 0 ? (double)part / (double)whole : 0;
  size_t steps = utf8 ? 8 : 1;
  size_t filled = (size_t)((share < 1 ? share : 1) * (double)(width * steps) + 0.5);
  if (part > 0 && whole > 0 && filled == 0 && utf8)
    filled = 1;
  for (; filled >= steps; filled -= steps)
    tide_buf_text(&out, utf8 ? eighths[8] : "#");
  if (filled)
    tide_buf_text(&out, eighths[filled]);
  char *text = tide_strdup(tide_buf_cstr(&out));
  tide_buf_done(&out);
  return text;
}
