// SPDX-License-Identifier: Apache-2.0
//
// What a text view must know of the place it is shown: how wide, which characters, which colours,
// which units. Views write through these helpers and never ask the environment themselves.
#pragma once
#include "base/hint.h"
#include "base/sink.h"
#include "base/units.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_screen {
  struct tide_sink *sink; // not owned
  size_t width;           // columns, 40 or more; all but commands and files to copy stays within
  bool utf8, color;
  enum tide_units units;
  tide_hint_words *hints; // how the reader gets to what is not shown; NULL: that is not said
};

enum tide_ink {
  TIDE_INK_PLAIN,
  TIDE_INK_STRONG,
  TIDE_INK_FAINT,
  TIDE_INK_WARN,
  TIDE_INK_CURVE,
  TIDE_INK_MORE, // told apart by signs as well: colours are never alone
  TIDE_INK_LESS,
};

// Text in an ink; nothing but the text when colour is off.
void tide_screen_ink(const struct tide_screen *screen, enum tide_ink ink, const char *text);

// The same padded with blanks to columns; ink does not count. Right puts the blanks in front.
void tide_screen_left(const struct tide_screen *screen, enum tide_ink ink, const char *text,
                      size_t columns);
void tide_screen_right(const struct tide_screen *screen, enum tide_ink ink, const char *text,
                       size_t columns);

// Text made harmless and wrapped at words, and inside those that no line has room for. The cursor
// is in column hang already; later lines start there, too.
void tide_screen_wrap(const struct tide_screen *screen, size_t hang, const char *text);

// A paragraph: "<indent><label><text>", wrapped at words, later lines under the text's start.
void tide_screen_paragraph(const struct tide_screen *screen, enum tide_ink ink, const char *indent,
                           const char *label, const char *text);

// How far what belongs to a row of a table is put in: less on a narrow screen.
size_t tide_screen_indent(const struct tide_screen *screen);

// The words for a hint; NULL: none are said here.
const char *tide_screen_hint(const struct tide_screen *screen, enum tide_hint hint);

// What sentences must know of the screen.
static inline struct tide_style tide_screen_style(const struct tide_screen *screen)
{
  return (struct tide_style){screen->units, screen->utf8, false};
}

// Of a number in a table: its bound is said above or below the table.
static inline struct tide_style tide_screen_cells(const struct tide_screen *screen)
{
  return (struct tide_style){screen->units, screen->utf8, .bounds_beside = true};
}

const char *tide_screen_dot(const struct tide_screen *screen);   // " · " or " - "
const char *tide_screen_about(const struct tide_screen *screen); // "≈" or "~"
const char *tide_screen_times(const struct tide_screen *screen); // "×" or "x"
const char *tide_screen_arrow(const struct tide_screen *screen); // "→" or "->"

// ---- timelines and bars ----

// Live bytes of an image from its start to its end, in width columns of block characters (or ASCII
// ones): each column shows the largest value within its share of time, so the peak is always there.
// Owned by the caller; NULL when the timeline has too few points to say anything.
char *tide_spark_live(const struct tide_image *image, size_t width, bool utf8);

// Bars of width columns on a scale of their own; blanks for nothing. Owned by the caller.
char *tide_spark_bars(const int64_t *values, size_t width, bool utf8);

// A curve of live bytes and the part of it that was never freed, both in width columns, on a scale
// of its own. Columns of which the larger part was never freed are drawn in dots (in digits without
// UTF-8) and in another ink; where nothing was live there is nothing.
void tide_spark_kept(const struct tide_screen *screen, const int64_t *live, const int64_t *kept,
                     size_t width);
const char *tide_spark_kept_mark(const struct tide_screen *screen); // what never freed looks like

// A share as a bar, up to width columns: full for the whole, in eighths of a column, or in whole
// ones without utf8. In eighths any share shows. Owned by the caller, not padded; "" for nothing or
// less.
char *tide_bar(int64_t part, int64_t whole, size_t width, bool utf8);
