// SPDX-License-Identifier: Apache-2.0
//
// tidemark symbolize: puts names into a capture. The file is replaced by rename or not at all, and
// never by one that knows less than it did.
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/opening.h"
#include "cli/terminal.h"
#include "observe/store_read.h"
#include "tide/file.h"
#include "view/storing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTES_MAX = 6 };

static bool is_same_file(const char *a, const char *b)
{
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// May the capture be written where it was asked for?
static enum tide_err check_symbolize_arguments(const struct tide_arguments *arguments,
                                               const struct tide_opened *opened,
                                               struct tide_diag *diag)
{
  const char *output = arguments->output;
  bool in_place = !output || is_same_file(output, opened->path);
  if (in_place && tide_store_file_is(opened->path))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED, "%s is a store, not a capture: name one with -o",
                     opened->path);
  if (in_place && !tide_file_is(opened->path))
    return tide_fail(diag, TIDE_ERR_UNSUPPORTED,
                     "%s is a file of another tool: name a capture to write with -o", opened->path);
  if (in_place && opened->capture->cut)
    return tide_fail(diag, TIDE_ERR_DAMAGED,
                     "%s is damaged; with -o, what is left of it is written to another file",
                     opened->path);
  if (opened->capture->from_later)
    return tide_fail(diag, TIDE_ERR_VERSION,
                     "%s was written by a newer tidemark and holds what this one would lose: "
                     "use the newer one",
                     opened->path);
  if (output && !arguments->force && access(output, F_OK) == 0)
    return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", output);
  return TIDE_ERR_OK;
}

static void write_lacks(const struct tide_screen *screen, const struct tide_storing *storing)
{
  size_t n_said = 0, n_homeless = 0;
  for (size_t i = 0; i < storing->n_lacks; i++) {
    const struct tide_lack *lack = &storing->lacks[i];
    char count[TIDE_UNITS_MAX];
    if (!*lack->path)
      n_homeless += lack->n_nameless;
    if (!*lack->note || n_said == NOTES_MAX)
      continue;
    TIDE_CLEANUP_FREE char *text =
        tide_sprintf("%s (%s %s)", lack->note, tide_units_digits(count, lack->n_lineless),
                     lack->n_lineless == 1 ? "address" : "addresses");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
    n_said++;
  }
  if (n_homeless) {
    char count[TIDE_UNITS_MAX];
    TIDE_CLEANUP_FREE char *text = tide_sprintf("%s %s in no file: code made while the program ran",
                                                tide_units_digits(count, n_homeless),
                                                n_homeless == 1 ? "address is" : "addresses are");
    tide_screen_paragraph(screen, TIDE_INK_WARN, "  ", "note: ", text);
  }
}

static uint64_t size_of(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void say_stored(const struct tide_arguments *arguments, const struct tide_storing *storing,
                       const char *saved)
{
  char named[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX], lined[TIDE_UNITS_MAX], size[TIDE_UNITS_MAX];
  struct tide_sink sink;
  tide_sink_init(&sink, stderr);
  struct tide_screen screen = tide_terminal_screen(&sink, stderr, arguments);
  tide_sink_printf(&sink, "tidemark: %s of %s addresses have names, %s have lines\n",
                   tide_units_digits(named, storing->n_named),
                   tide_units_digits(all, storing->n_addresses),
                   tide_units_digits(lined, storing->n_lined));
  write_lacks(&screen, storing);
  if (saved)
    tide_sink_printf(
        &sink, "  saved %s (%s)\n", saved,
        tide_units_bytes(size, tide_exact((int64_t)size_of(saved)), tide_screen_style(&screen)));
  else
    tide_sink_text(&sink, "  nothing new to store; the file is as it was\n");
  tide_sink_finish(&sink, "standard error", NULL); // nobody to tell if it is gone
  tide_sink_done(&sink);
}

static enum tide_err symbolize(const struct tide_arguments *arguments, struct tide_opened *opened,
                               struct tide_diag *diag)
{
  struct tide_storing storing = {0};
  struct tide_resolver *resolver = tide_resolver_open(arguments);
  enum tide_err err = tide_storing_run(opened->capture, resolver, &storing, diag);
  tide_resolver_free(resolver);
  tide_progress_stop();
  if (err)
    return err;
  const char *output = arguments->output ? arguments->output : opened->path;
  bool is_needed = storing.n_new || opened->n_new_names || opened->is_redacted || arguments->output;
  if (opened->capture->cut)
    opened->capture->finished = false; // the rest of it is lost for good
  if (is_needed)
    err = is_same_file(output, opened->path) ? tide_file_replace(opened->capture, output, diag)
                                             : tide_file_write(opened->capture, output, diag);
  if (!err)
    say_stored(arguments, &storing, is_needed ? output : NULL);
  tide_storing_done(&storing);
  return err;
}

int tide_cmd_symbolize(const struct tide_arguments *arguments)
{
  struct tide_opened opened = {0};
  struct tide_diag diag = {0};
  enum tide_err err = tide_looking_capture(arguments, &opened, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  err = check_symbolize_arguments(arguments, &opened, &diag);
  if (!err)
    err = symbolize(arguments, &opened, &diag);
  tide_opened_done(&opened);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
