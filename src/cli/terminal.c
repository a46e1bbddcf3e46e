// SPDX-License-Identifier: Apache-2.0
//
// The environment's say in how things look: width, characters, colour.
#define _GNU_SOURCE
#include "cli/terminal.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/hint_words.h"
#include "cli/progress.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 400 };

static size_t width_of(FILE *stream)
{
  struct winsize size = {0};
  const char *columns = getenv("COLUMNS");
  long width = 0;
  if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  if (width <= 0 && columns)
    width = strtol(columns, NULL, 10);
  if (width <= 0)
    width = WIDTH_DEFAULT;
  return (size_t)(width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width);
}

static bool is_set(const char *variable)
{
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

static bool colored(FILE *stream, enum tide_color asked)
{
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  if (asked != TIDE_COLOR_AUTO)
    return asked == TIDE_COLOR_ALWAYS;
  if (no && *no)
    return false;
  if (is_set("CLICOLOR_FORCE"))
    return true;
  return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

static bool speaks_utf8(void)
{
  const char *codeset = nl_langinfo(CODESET);
  return strcasecmp(codeset, "UTF-8") == 0 || strcasecmp(codeset, "UTF8") == 0;
}

struct tide_screen tide_terminal_screen(struct tide_sink *sink, FILE *stream,
                                        const struct tide_arguments *arguments)
{
  return (struct tide_screen){
      .sink = sink,
      .width = width_of(stream),
      .utf8 = speaks_utf8(),
      .color = colored(stream, (enum tide_color)arguments->color),
      .units = (enum tide_units)arguments->units,
      .hints = tide_cli_hint_words,
  };
}

void tide_say(const char *format, ...)
{
  struct tide_buf text = {0};
  va_list args;
  va_start(args, format);
  char *line = NULL;
  if (vasprintf(&line, format, args) >= 0) {
    TIDE_CLEANUP_FREE char *clean = tide_utf8_clean(line, speaks_utf8());
    tide_buf_printf(&text, "tidemark: %s\n", clean);
    tide_progress_stop();
    fwrite(text.data, 1, text.n, stderr); // one write: lines of several processes stay whole
  }
  va_end(args);
  free(line);
  tide_buf_done(&text);
}
