// SPDX-License-Identifier: Apache-2.0
//
// tidemark export: a capture in another tool's format, to a file or standard output.
#include "base/alloc.h"
#include "cli/capture_open.h"
#include "cli/commands.h"
#include "cli/looking.h"
#include "cli/naming_open.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "format/dhat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The stream to write to; with -o a new file, which is never an existing one unless forced.
static enum tide_err open_output(const struct tide_arguments *arguments, FILE **ret_stream,
                                 struct tide_diag *diag)
{
  if (!arguments->output || strcmp(arguments->output, "-") == 0) {
    *ret_stream = stdout;
    return TIDE_ERR_OK;
  }
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (arguments->force ? O_TRUNC : O_EXCL);
  int fd = open(arguments->output, flags, 0666);
  if (fd < 0 && errno == EEXIST)
    return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it",
                     arguments->output);
  FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
  if (!stream)
    return tide_fail_errno(diag, "cannot write %s", arguments->output);
  *ret_stream = stream;
  return TIDE_ERR_OK;
}

static enum tide_err write_export(const struct tide_arguments *arguments,
                                  const struct tide_profile *profile, struct tide_diag *diag)
{
  FILE *stream = NULL;
  enum tide_err err = open_output(arguments, &stream, diag);
  if (err)
    return err;
  const char *name = stream == stdout ? "standard output" : arguments->output;
  struct tide_naming *naming = tide_naming_open(arguments, profile->image, NULL);
  struct tide_sink sink;
  tide_sink_init(&sink, stream);
  tide_dhat_write(&sink, profile, naming);
  tide_progress_stop();
  err = tide_sink_finish(&sink, name, diag);
  tide_sink_done(&sink);
  tide_naming_free(naming);
  if (stream != stdout && fclose(stream) != 0 && !err)
    err = tide_fail_errno(diag, "cannot write %s", name);
  return err;
}

int tide_cmd_export(const struct tide_arguments *arguments)
{
  struct tide_opened opened = {0};
  struct tide_diag diag = {0};
  size_t image_idx = 0;
  if (!arguments->to) {
    tide_fail(&diag, TIDE_ERR_USAGE, "export to what? --to dhat");
    return tide_cmd_failed(TIDE_ERR_USAGE, &diag);
  }
  const char *path = NULL;
  enum tide_err err = tide_looking_path(arguments, &path, &diag);
  if (!err)
    err = tide_capture_open(path, &opened, &diag);
  if (err)
    return tide_cmd_failed(err, &diag);
  if (opened.by_default)
    tide_say("reading %s", opened.path);
  err = tide_profile_pick(opened.capture, arguments->process, &image_idx, &diag);
  if (!err) {
    struct tide_profile *profile = tide_profile_new(opened.capture, image_idx);
    err = write_export(arguments, profile, &diag);
    tide_profile_free(profile);
  }
  tide_opened_done(&opened);
  return err ? tide_cmd_failed(err, &diag) : 0;
}
