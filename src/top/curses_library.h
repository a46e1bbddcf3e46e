// SPDX-License-Identifier: Apache-2.0
//
// ncurses, loaded when a terminal is to be drawn on: linked, it would cost every other command two
// fifths of the instructions of its start, for relocations.
#pragma once
#include "base/err.h"

// Without the header's macros, which call functions by their own names.
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>

#define TIDE_CURSES_FUNCTIONS(X)                                                                   \
  X(clearok)                                                                                       \
  X(curs_set)                                                                                      \
  X(del_curterm)                                                                                   \
  X(delscreen)                                                                                     \
  X(endwin)                                                                                        \
  X(getmaxx)                                                                                       \
  X(getmaxy)                                                                                       \
  X(has_colors)                                                                                    \
  X(init_pair)                                                                                     \
  X(keypad)                                                                                        \
  X(leaveok)                                                                                       \
  X(newterm)                                                                                       \
  X(nodelay)                                                                                       \
  X(noecho)                                                                                        \
  X(nonl)                                                                                          \
  X(raw)                                                                                           \
  X(resizeterm)                                                                                    \
  X(set_curterm)                                                                                   \
  X(set_escdelay)                                                                                  \
  X(set_term)                                                                                      \
  X(setupterm)                                                                                     \
  X(start_color)                                                                                   \
  X(tigetstr)                                                                                      \
  X(use_default_colors)                                                                            \
  X(waddnstr)                                                                                      \
  X(wattrset)                                                                                      \
  X(werase)                                                                                        \
  X(wget_wch)                                                                                      \
  X(wmove)                                                                                         \
  X(wrefresh)

#define TIDE_CURSES_MEMBER(name) __typeof__(name) *name;
struct tide_curses_library {
  TIDE_CURSES_FUNCTIONS(TIDE_CURSES_MEMBER)
  WINDOW **screen;  // its stdscr
  WINDOW **current; // its curscr: what it takes the terminal to show
};
#undef TIDE_CURSES_MEMBER

// Loaded once and never unloaded, by one thread at a time. Before it is, no member may be called.
extern struct tide_curses_library tide_curses_library;
enum tide_err tide_curses_load(struct tide_diag *diag);
