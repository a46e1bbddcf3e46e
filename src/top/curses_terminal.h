// SPDX-License-Identifier: Apache-2.0
//
// A canvas on the user's terminal, and the keys that come from it, by ncurses. One thread at a
// time, and one terminal in a process.
#pragma once
#include "base/err.h"
#include "top/canvas.h"

struct tide_curses;

// Can it be done here? Refuses, with what to do, where there is no terminal or one that cannot move
// its cursor. Changes nothing.
enum tide_err tide_curses_check(struct tide_diag *diag);

// Takes the terminal over. Ctrl-C and the like are keys from now on.
enum tide_err tide_curses_open(bool color, struct tide_curses **ret_curses, struct tide_diag *diag);
// Gives it back as it was. NULL is fine.
void tide_curses_close(struct tide_curses *curses);

// Readable when a key may be had; and when the terminal is gone.
int tide_curses_fd(const struct tide_curses *curses);
// As large as it is now. Whoever looks now and then needs no signal.
void tide_curses_size(struct tide_curses *curses, size_t *ret_rows, size_t *ret_columns);
// The next key, as top.h has them; TIDE_TOP_KEY_NONE: none is there.
unsigned tide_curses_key(struct tide_curses *curses);
// Puts it on the screen: what is there already is not written again.
void tide_curses_show(struct tide_curses *curses, const struct tide_canvas *canvas);
// Writes all of it at the next show.
void tide_curses_spoil(struct tide_curses *curses);
