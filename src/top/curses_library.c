// SPDX-License-Identifier: Apache-2.0
//
// Finding ncurses, its functions and its two windows. Those of terminfo are in another library,
// which it brings along.
#include "top/curses_library.h"

#include <dlfcn.h>

#define LIBRARY_NAME "libncursesw.so.6"

struct tide_curses_library tide_curses_library;

static bool is_loaded;

enum tide_err tide_curses_load(struct tide_diag *diag)
{
  if (is_loaded)
    return TIDE_ERR_OK;
  void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return tide_fail(diag, TIDE_ERR_NOT_FOUND,
                     LIBRARY_NAME " cannot be loaded, which draws on terminals: install "
                                  "libncursesw6; 'tidemark report' writes a table without it");
#define FIND(member, name)                                                                         \
  if (!(*(void **)&tide_curses_library.member = dlsym(handle, name)))                              \
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, LIBRARY_NAME " has no %s", name);
#define FIND_FUNCTION(name) FIND(name, #name)
  TIDE_CURSES_FUNCTIONS(FIND_FUNCTION)
  FIND(screen, "stdscr")
  FIND(current, "curscr")
#undef FIND_FUNCTION
#undef FIND
  is_loaded = true;
  return TIDE_ERR_OK;
}
