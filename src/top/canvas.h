// SPDX-License-Identifier: Apache-2.0
//
// A screen in memory: rows of cells, each with a character and an ink. What is drawn here can be
// put on a terminal (curses_terminal.h) or read by a test; drawing knows of neither.
#pragma once
#include "report/screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_canvas_cell {
  char text[15];     // UTF-8, with its combining marks, NUL-terminated; "": covered, or blank
  uint8_t n_columns; // 1, or 2: the next cell is covered by it, and has 0
  uint8_t ink;       // enum tide_ink
  bool is_chosen;    // drawn the other way round
};

struct tide_canvas {
  size_t n_rows, n_columns;
  struct tide_canvas_cell *cells; // row by row; owned
  bool has_cursor;                // somebody types
  size_t cursor_row, cursor_column;
};

// Blank. What it was before is forgotten; all zero is fine.
void tide_canvas_clear(struct tide_canvas *canvas, size_t n_rows, size_t n_columns);
void tide_canvas_done(struct tide_canvas *canvas);

const struct tide_canvas_cell *tide_canvas_at(const struct tide_canvas *canvas, size_t row,
                                              size_t column);

// Text from a column on, up to the edge; gives the column after it. Control characters and broken
// bytes become '?'; rows and columns that there are not are passed over.
size_t tide_canvas_put(struct tide_canvas *canvas, size_t row, size_t column, enum tide_ink ink,
                       const char *text);
// The same, ending before column past, where it is cut.
size_t tide_canvas_put_within(struct tide_canvas *canvas, size_t row, size_t column, size_t past,
                              enum tide_ink ink, const char *text);
// Ending at column past.
void tide_canvas_put_right(struct tide_canvas *canvas, size_t row, size_t past, enum tide_ink ink,
                           const char *text);

// The whole row the other way round.
void tide_canvas_choose(struct tide_canvas *canvas, size_t row);

// A row as text without the blanks at its end; owned.
char *tide_canvas_line(const struct tide_canvas *canvas, size_t row);
