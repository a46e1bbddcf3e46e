// SPDX-License-Identifier: Apache-2.0
//
// Characters into cells.
#include "top/canvas.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tide_canvas_clear(struct tide_canvas *canvas, size_t n_rows, size_t n_columns)
{
  if (canvas->n_rows != n_rows || canvas->n_columns != n_columns) {
    free(canvas->cells);
    canvas->cells = tide_alloc_array(n_rows * n_columns + 1, sizeof *canvas->cells);
    canvas->n_rows = n_rows;
    canvas->n_columns = n_columns;
  }
  for (size_t i = 0; i < n_rows * n_columns; i++)
    canvas->cells[i] = (struct tide_canvas_cell){.n_columns = 1};
  canvas->has_cursor = false;
}

void tide_canvas_done(struct tide_canvas *canvas)
{
  free(canvas->cells);
  *canvas = (struct tide_canvas){0};
}

const struct tide_canvas_cell *tide_canvas_at(const struct tide_canvas *canvas, size_t row,
                                              size_t column)
{
  return &canvas->cells[row * canvas->n_columns + column];
}

static struct tide_canvas_cell *cell_at(struct tide_canvas *canvas, size_t row, size_t column)
{
  return &canvas->cells[row * canvas->n_columns + column];
}

// A mark over the character before it; where there is no room it is left out.
static void add_combining(struct tide_canvas_cell *cell, const char *text, size_t n)
{
  size_t have = strlen(cell->text);
  if (have && have + n < sizeof cell->text) {
    memcpy(cell->text + have, text, n);
    cell->text[have + n] = 0;
  }
}

size_t tide_canvas_put_within(struct tide_canvas *canvas, size_t row, size_t column, size_t past,
                              enum tide_ink ink, const char *text)
{
  TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(text, true);
  size_t edge = past < canvas->n_columns ? past : canvas->n_columns;
  size_t first = column;
  if (row >= canvas->n_rows)
    return column;
  for (const char *at = clean; *at;) {
    size_t n = tide_utf8_length(at, strlen(at));
    n = n ? n : 1;
    char one[8];
    snprintf(one, sizeof one, "%.*s", (int)n, at);
    size_t width = tide_utf8_width(one);
    at += n;
    if (!width) {
      if (column > first)
        add_combining(cell_at(canvas, row, column - 1), one, n);
      continue;
    }
    if (column + width > edge)
      break;
    struct tide_canvas_cell *cell = cell_at(canvas, row, column);
    *cell = (struct tide_canvas_cell){.n_columns = (uint8_t)width, .ink = (uint8_t)ink};
    snprintf(cell->text, sizeof cell->text, "%s", one);
    if (width == 2)
      *cell_at(canvas, row, column + 1) = (struct tide_canvas_cell){.ink = (uint8_t)ink};
    column += width;
  }
  return column;
}

size_t tide_canvas_put(struct tide_canvas *canvas, size_t row, size_t column, enum tide_ink ink,
                       const char *text)
{
  return tide_canvas_put_within(canvas, row, column, SIZE_MAX, ink, text);
}

void tide_canvas_put_right(struct tide_canvas *canvas, size_t row, size_t past, enum tide_ink ink,
                           const char *text)
{
  size_t width = tide_utf8_width(text);
  tide_canvas_put_within(canvas, row, past > width ? past - width : 0, past, ink, text);
}

void tide_canvas_choose(struct tide_canvas *canvas, size_t row)
{
  for (size_t i = 0; row < canvas->n_rows && i < canvas->n_columns; i++)
    cell_at(canvas, row, i)->is_chosen = true;
}

char *tide_canvas_line(const struct tide_canvas *canvas, size_t row)
{
  struct tide_buf line = {0};
  size_t n_shown = 0;
  for (size_t i = 0; i < canvas->n_columns; i++) {
    const struct tide_canvas_cell *cell = tide_canvas_at(canvas, row, i);
    tide_buf_text(&line, cell->text[0] ? cell->text : cell->n_columns ? " " : "");
    if (cell->text[0] && strcmp(cell->text, " ") != 0)
      n_shown = line.n;
  }
  char *text = tide_strndup((const char *)tide_buf_cstr(&line), n_shown);
  tide_buf_done(&line);
  return text;
}
