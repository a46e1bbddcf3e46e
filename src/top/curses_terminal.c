// SPDX-License-Identifier: Apache-2.0
//
// ncurses, behind a canvas. It is opened on /dev/tty, so that output of ours and of the command can
// go anywhere else. Signals are left alone: with a recording in this process they are blocked, so
// the size is asked for instead of waiting for a signal about it.
#define _GNU_SOURCE
#include "top/curses_terminal.h"

#include "base/alloc.h"
#include "top/curses_library.h"
#include "top/top.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TERMINAL "/dev/tty"
#define NC tide_curses_library

struct tide_curses {
  FILE *in, *out;
  SCREEN *screen;
  bool has_color;
};

// Without colours these are told apart by their brightness, and by what they say.
enum { PAIR_WARN = 1, PAIR_CURVE, PAIR_MORE, PAIR_LESS };

// Of the terminal that was set up, by its name in terminfo.
static bool has_capability(const char *name)
{
  const char *text = NC.tigetstr(name);
  return text && text != (const char *)-1;
}

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
  enum tide_err err = tide_curses_load(diag);
  if (err) {
    close(fd);
    return err;
  }
  bool is_known = NC.setupterm(term, fd, &why) == OK;
  bool moves = is_known && has_capability("cup") && has_capability("clear");
  if (is_known)
    NC.del_curterm(NC.set_curterm(NULL));
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
  curses->has_color = color && NC.has_colors() && NC.start_color() == OK;
  if (!curses->has_color)
    return;
  NC.use_default_colors();
  NC.init_pair(PAIR_WARN, COLOR_YELLOW, -1);
  NC.init_pair(PAIR_CURVE, COLOR_CYAN, -1);
  NC.init_pair(PAIR_MORE, COLOR_YELLOW, -1);
  NC.init_pair(PAIR_LESS, COLOR_BLUE, -1);
}

enum tide_err tide_curses_open(bool color, struct tide_curses **ret_curses, struct tide_diag *diag)
{
  struct tide_curses *curses = tide_alloc(sizeof *curses);
  curses->in = fopen(TERMINAL, "re");
  curses->out = fopen(TERMINAL, "we");
  if (curses->in && curses->out)
    curses->screen = NC.newterm(NULL, curses->out, curses->in);
  if (!curses->screen) {
    tide_curses_close(curses);
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "the terminal cannot be drawn on");
  }
  NC.set_term(curses->screen);
  NC.raw();
  NC.noecho();
  NC.nonl();
  NC.set_escdelay(25);
  NC.keypad(*NC.screen, TRUE);
  NC.nodelay(*NC.screen, TRUE);
  NC.leaveok(*NC.screen, FALSE);
  NC.curs_set(0);
  prepare_colors(curses, color);
  *ret_curses = curses;
  return TIDE_ERR_OK;
}

void tide_curses_close(struct tide_curses *curses)
{
  if (!curses)
    return;
  if (curses->screen) {
    NC.curs_set(1);
    NC.endwin();
    NC.delscreen(curses->screen);
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

static void get_size(int *ret_rows, int *ret_columns)
{
  *ret_rows = NC.getmaxy(*NC.screen);
  *ret_columns = NC.getmaxx(*NC.screen);
}

void tide_curses_size(struct tide_curses *curses, size_t *ret_rows, size_t *ret_columns)
{
  struct winsize size = {0};
  int n_rows, n_columns;
  get_size(&n_rows, &n_columns);
  if (!ioctl(fileno(curses->out), TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
      (size.ws_row != n_rows || size.ws_col != n_columns)) {
    NC.resizeterm(size.ws_row, size.ws_col);
    NC.clearok(*NC.current, TRUE);
    get_size(&n_rows, &n_columns);
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
    got = NC.wget_wch(*NC.screen, &code);
  while (got == KEY_CODE_YES && code == KEY_RESIZE); // which tide_curses_size() has made
  return got == ERR ? TIDE_TOP_KEY_NONE : got == KEY_CODE_YES ? key_of(code) : (unsigned)code;
}

static attr_t color_of(unsigned pair)
{
  return NCURSES_BITS(pair, 0) & A_COLOR;
}

static attr_t attributes_of(const struct tide_curses *curses, const struct tide_canvas_cell *cell)
{
  attr_t attributes = cell->is_chosen ? A_REVERSE : A_NORMAL;
  switch ((enum tide_ink)cell->ink) {
  case TIDE_INK_PLAIN: return attributes;
  case TIDE_INK_STRONG: return attributes | A_BOLD;
  case TIDE_INK_FAINT: return attributes | (cell->is_chosen ? A_NORMAL : A_DIM);
  case TIDE_INK_WARN: return attributes | A_BOLD | (curses->has_color ? color_of(PAIR_WARN) : 0);
  case TIDE_INK_CURVE: return attributes | (curses->has_color ? color_of(PAIR_CURVE) : 0);
  case TIDE_INK_MORE: return attributes | (curses->has_color ? color_of(PAIR_MORE) : 0);
  case TIDE_INK_LESS: return attributes | (curses->has_color ? color_of(PAIR_LESS) : 0);
  }
  return attributes;
}

void tide_curses_show(struct tide_curses *curses, const struct tide_canvas *canvas)
{
  WINDOW *screen = *NC.screen;
  NC.werase(screen);
  for (size_t row = 0; row < canvas->n_rows; row++)
    for (size_t at = 0; at < canvas->n_columns; at++) {
      const struct tide_canvas_cell *cell = tide_canvas_at(canvas, row, at);
      if (!cell->n_columns || (!cell->text[0] && !cell->is_chosen))
        continue;
      NC.wattrset(screen, (int)attributes_of(curses, cell));
      if (NC.wmove(screen, (int)row, (int)at) == OK)
        NC.waddnstr(screen, cell->text[0] ? cell->text : " ", -1);
    }
  NC.wattrset(screen, A_NORMAL);
  NC.curs_set(canvas->has_cursor);
  if (canvas->has_cursor)
    NC.wmove(screen, (int)canvas->cursor_row, (int)canvas->cursor_column);
  NC.wrefresh(screen);
}

void tide_curses_spoil(struct tide_curses *curses)
{
  (void)curses;
  NC.clearok(*NC.current, TRUE);
}
