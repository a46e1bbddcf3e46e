// SPDX-License-Identifier: Apache-2.0
//
// Padding, inks and wrapping.
#include "report/screen.h"

#include "base/alloc.h"
#include "base/utf8.h"

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
