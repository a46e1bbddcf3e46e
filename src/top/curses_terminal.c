// SPDX-License-Identifier: Apache-2.0
//
// ncurses, behind a canvas. It is opened on /dev/tty, so that output of ours and of the command can
// go anywhere else. Signals are left alone: with a recording in this process they are blocked, so
// the size is asked for instead of waiting for a signal about it.
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "top/curses_terminal.h"

#include "base/alloc.h"
#include "top/top.h"

#include <curses.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#define TERMINAL "/dev/tty"

struct tide_curses {
  FILE *in, *out;
  SCREEN *screen;
  bool has_color;
};

// Without colours these are told apart by their brightness, and by what they say.
enum { PAIR_WARN = 1, PAIR_CURVE, PAIR_MORE, PAIR_LESS };

enum tide_err tide_curses_check(struct tide_diag *diag)
{
  const char *term = getenv("TERM");
  int fd = open(TERMINAL, O_RDWR | O_NOCTTY | O_CLOEXEC), why = 0;
  if (fd < 0)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "top needs a terminal, and there is none; 'tidemark report' writes a table, "
                     "'tidemark view' shows a page");
  if (!term || !*term || strcmp(term, "dumb") == 0) {
    close(fd);
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "this terminal (TERM=%s) cannot be drawn on; 'tidemark report' writes a "
                     "table, 'tidemark view' shows a page",
                     term ? term : "");
  }
  bool is_known = setupterm(term, fd, &why) == OK;
  bool moves = is_known && cursor_address && clear_screen;
  if (is_known)
    del_curterm(cur_term);
  close(fd);
  if (!moves)
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "the terminal '%s' is not known here, or cannot be drawn on: try TERM=xterm, "
                     "or install its description (ncurses-term)",
                     term);
  return TIDE_ERR_OK;
}

static void prepare_colors(struct tide_curses *curses, bool color)
{
  curses->has_color = color && has_colors() && start_color() == OK;
  if (!curses->has_color)
    return;
  use_default_colors();
  init_pair(PAIR_WARN, COLOR_YELLOW, -1);
  init_pair(PAIR_CURVE, COLOR_CYAN, -1);
  init_pair(PAIR_MORE, COLOR_YELLOW, -1);
  init_pair(PAIR_LESS, COLOR_BLUE, -1);
}

enum tide_err tide_curses_open(bool color, struct tide_curses **ret_curses, struct tide_diag *diag)
{
  struct tide_curses *curses = tide_alloc(sizeof *curses);
  curses->in = fopen(TERMINAL, "re");
  curses->out = fopen(TERMINAL, "we");
  if (curses->in && curses->out)
    curses->screen = newterm(NULL, curses->out, curses->in);
  if (!curses->screen) {
    tide_curses_close(curses);
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "the terminal cannot be drawn on");
  }
  set_term(curses->screen);
  raw();
  noecho();
  nonl();
  set_escdelay(25);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  leaveok(stdscr, FALSE);
  curs_set(0);
  prepare_colors(curses, color);
  *ret_curses = curses;
  return TIDE_ERR_OK;
}

void tide_curses_close(struct tide_curses *curses)
{
  if (!curses)
    return;
  if (curses->screen) {
    curs_set(1);
    endwin();
    delscreen(curses->screen);
  }
  if (curses->in)
    fclose(curses->in);
  if (curses->out)
    fclose(curses->out);
  free(curses);
}

int tide_curses_fd(const struct tide_curses *curses)
{
  return fileno(curses->in);
}

void tide_curses_size(struct tide_curses *curses, size_t *ret_rows, size_t *ret_columns)
{
  struct winsize size = {0};
  int n_rows, n_columns;
  getmaxyx(stdscr, n_rows, n_columns);
  if (!ioctl(fileno(curses->out), TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
      (size.ws_row != n_rows || size.ws_col != n_columns)) {
    resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
    getmaxyx(stdscr, n_rows, n_columns);
  }
  *ret_rows = (size_t)n_rows;
  *ret_columns = (size_t)n_columns;
}

static unsigned key_of(wint_t code)
{
  switch (code) {
  case KEY_UP: return TIDE_TOP_KEY_UP;
  case KEY_DOWN: return TIDE_TOP_KEY_DOWN;
  case KEY_PPAGE: return TIDE_TOP_KEY_PAGE_UP;
  case KEY_NPAGE: return TIDE_TOP_KEY_PAGE_DOWN;
  case KEY_HOME: return TIDE_TOP_KEY_HOME;
  case KEY_END: return TIDE_TOP_KEY_END;
  case KEY_LEFT: return TIDE_TOP_KEY_LEFT;
  case KEY_RIGHT: return TIDE_TOP_KEY_RIGHT;
  case KEY_ENTER: return TIDE_TOP_KEY_ENTER;
  case KEY_BACKSPACE: return TIDE_TOP_KEY_BACKSPACE;
  default: return TIDE_TOP_KEY_OTHER;
  }
}

unsigned tide_curses_key(struct tide_curses *curses)
{
  wint_t code;
  (void)curses;
  int got;
  do
    got = get_wch(&code);
  while (got == KEY_CODE_YES && code == KEY_RESIZE); // which tide_curses_size() has made
  return got == ERR ? TIDE_TOP_KEY_NONE : got == KEY_CODE_YES ? key_of(code) : (unsigned)code;
}

static attr_t attributes_of(const struct tide_curses *curses, const struct tide_canvas_cell *cell)
{
  attr_t attributes = cell->is_chosen ? A_REVERSE : A_NORMAL;
  switch ((enum tide_ink)cell->ink) {
  case TIDE_INK_PLAIN: return attributes;
  case TIDE_INK_STRONG: return attributes | A_BOLD;
  case TIDE_INK_FAINT: return attributes | (cell->is_chosen ? A_NORMAL : A_DIM);
  case TIDE_INK_WARN: return attributes | A_BOLD | (curses->has_color ? COLOR_PAIR(PAIR_WARN) : 0);
  case TIDE_INK_CURVE: return attributes | (curses->has_color ? COLOR_PAIR(PAIR_CURVE) : 0);
  case TIDE_INK_MORE: return attributes | (curses->has_color ? COLOR_PAIR(PAIR_MORE) : 0);
  case TIDE_INK_LESS: return attributes | (curses->has_color ? COLOR_PAIR(PAIR_LESS) : 0);
  }
  return attributes;
}

void tide_curses_show(struct tide_curses *curses, const struct tide_canvas *canvas)
{
  erase();
  for (size_t row = 0; row < canvas->n_rows; row++)
    for (size_t at = 0; at < canvas->n_columns; at++) {
      const struct tide_canvas_cell *cell = tide_canvas_at(canvas, row, at);
      if (!cell->n_columns || (!cell->text[0] && !cell->is_chosen))
        continue;
      attrset((int)attributes_of(curses, cell));
      mvaddstr((int)row, (int)at, cell->text[0] ? cell->text : " ");
    }
  attrset(A_NORMAL);
  curs_set(canvas->has_cursor);
  if (canvas->has_cursor)
    move((int)canvas->cursor_row, (int)canvas->cursor_column);
  refresh();
}

void tide_curses_spoil(struct tide_curses *curses)
{
  (void)curses;
  clearok(curscr, TRUE);
}
