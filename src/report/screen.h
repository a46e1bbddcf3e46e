// SPDX-License-Identifier: Apache-2.0
//
// What a text view must know of the place it is shown: how wide, which characters, which colours,
// which units. Views write through these helpers and never ask the environment themselves.
#pragma once
#include "base/hint.h"
#include "base/sink.h"
#include "base/units.h"

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
