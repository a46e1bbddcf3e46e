// SPDX-License-Identifier: Apache-2.0
//
// tidemark export: a capture in another tool's format, to a file or standard output.
#include "base/alloc.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "export/exports.h"
#include "words/completeness_text.h"

#include <string.h>
#include <unistd.h>

static void tell_left_out(const struct tide_export_left_out *left_out)
{
  char small[TIDE_UNITS_MAX], all[TIDE_UNITS_MAX];
  tide_units_digits(small, left_out->n_stacks);
  tide_units_digits(all, left_out->n_stacks + left_out->n_kept);
  tide_say("%s of %s stacks, the smallest, are one as [other]; the sums are whole", small, all);
}

// What the file has no place for.
static void tell_inexact(const struct tide_export_format *format,
                         const struct tide_profile *profile)
{
  TIDE_CLEANUP_FREE char *words = tide_inexact_words(profile, TIDE_STYLE_PLAIN);
  if (words && !format->says_exactness)
    tide_say("%s does not tell how exact its numbers are: %s", format->word, words);
}

// Packed bytes leave a terminal unreadable.
static enum tide_err check_output(const struct tide_arguments *arguments,
                                  const struct tide_export_format *format, struct tide_diag *diag)
{
  bool to_stdout = !arguments->output || strcmp(arguments->output, "-") == 0;
  if (to_stdout && strstr(format->suffix, "gz") && isatty(STDOUT_FILENO))
    return tide_fail(diag, TIDE_ERR_USAGE, "%s is not for a terminal: -o FILE.%s writes a file",
                     format->word, format->suffix);
  return TIDE_ERR_OK;
}

static enum tide_err write_export(const struct tide_arguments *arguments,
                                  const struct tide_export_format *format,
                                  struct tide_looking *looking, struct tide_diag *diag)
{
  struct tide_output output;
  enum tide_err err = tide_output_check_apart(arguments->output, looking->opened.path, diag);
  if (!err)
    err = tide_output_open(arguments->output, arguments->force, &output, diag);
  if (err)
    return err;
  struct tide_export_left_out left_out = {0};
  const struct tide_export_options options = {
      .file = looking->opened.path,
      .no_symbols = arguments->no_symbols,
      .measure_said = arguments->sort >= 0 || arguments->at || arguments->range || arguments->by,
      .max_bytes = arguments->max_bytes,
      .max_stacks = arguments->max_stacks,
      .left_out = &left_out,
  };
  err = format->write(&output.sink, &looking->view, &options, diag);
  tide_progress_stop();
  err = tide_output_close(&output, err, diag);
  if (!err && left_out.n_stacks)
    tell_left_out(&left_out);
  if (!err)
    tell_inexact(format, looking->profile);
  return err;
}

int tide_cmd_export(const struct tide_arguments *arguments)
{
  struct tide_looking looking = {0};
  struct tide_diag diag = {0};
  if (!arguments->to) {
    tide_fail(&diag, TIDE_ERR_USAGE,
              "export to what? --to FORMAT; 'tidemark help export' lists the formats");
    return tide_cmd_failed(TIDE_ERR_USAGE, &diag);
  }
  if ((arguments->max_bytes || arguments->max_stacks) && strcmp(arguments->to, "pprof") != 0) {
    tide_fail(&diag, TIDE_ERR_USAGE, "--max-bytes and --max-stacks are for --to pprof");
    return tide_cmd_failed(TIDE_ERR_USAGE, &diag);
  }
  const char *path = NULL;
  enum tide_err err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = check_output(arguments, tide_export_find(arguments->to), &diag);
  if (!err)
    err = tide_looking_open(arguments, path, NULL, &looking, &diag);
  if (!err)
    err = write_export(arguments, tide_export_find(arguments->to), &looking, &diag);
  tide_looking_done(&looking);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
