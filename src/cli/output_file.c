// SPDX-License-Identifier: Apache-2.0
//
// Opening with O_EXCL: between a look and an open somebody else may have made the file.
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum tide_err tide_output_open(const char *path, bool force, struct tide_output *ret_output,
                               struct tide_diag *diag)
{
  struct tide_output output = {.path = path && strcmp(path, "-") != 0 ? path : NULL};
  FILE *stream = stdout;
  if (output.path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST)
      return tide_fail(diag, TIDE_ERR_EXISTS, "%s exists already; -f overwrites it", path);
    stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream)
      return tide_fail_errno(diag, "cannot write %s", path);
  }
  tide_sink_init(&output.sink, stream);
  *ret_output = output;
  return TIDE_ERR_OK;
}

enum tide_err tide_output_close(struct tide_output *output, enum tide_err err,
                                struct tide_diag *diag)
{
  const char *name = output->path ? output->path : "standard output";
  FILE *stream = output->sink.file;
  if (!err)
    err = tide_sink_finish(&output->sink, name, diag);
  tide_sink_done(&output->sink);
  if (!output->path)
    return err;
  if (fclose(stream) != 0 && !err)
    err = tide_fail_errno(diag, "cannot write %s", name);
  struct stat st; // half a file is worse than none, but a device or a pipe is not ours to remove
  if (err && lstat(output->path, &st) == 0 && S_ISREG(st.st_mode))
    unlink(output->path);
  return err;
}
