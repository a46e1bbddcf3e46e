// SPDX-License-Identifier: Apache-2.0
//
// Opening with O_EXCL: between a look and an open somebody else may have made the file. One that is
// to be overwritten stays until the new one is whole: it is written beside it and renamed.
#define _GNU_SOURCE
#include "cli/output_file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A file in the place of an old one, with its permissions. -1: there is no room beside it.
static int open_beside(const char *path, mode_t mode, char **ret_scratch)
{
  char *scratch = tide_sprintf("%s.XXXXXX", path);
  int fd = mkostemp(scratch, O_CLOEXEC);
  if (fd >= 0 && fchmod(fd, mode & 07777) == 0) {
    *ret_scratch = scratch;
    return fd;
  }
  if (fd >= 0) {
    unlink(scratch);
    close(fd);
  }
  free(scratch);
  return -1;
}

static int open_forced(const char *path, char **ret_scratch)
{
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, W_OK) == 0) {
    int fd = open_beside(path, st.st_mode, ret_scratch);
    if (fd >= 0)
      return fd;
  }
  return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
}

// What is said to standard error goes behind what is there, wherever that leads: opened by its name
// a file would be emptied.
static int open_output(const char *path, bool force, char **ret_scratch)
{
  if (!strcmp(path, "/dev/stderr"))
    return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  return force ? open_forced(path, ret_scratch)
               : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0666);
}

enum tide_err tide_output_open(const char *path, bool force, struct tide_output *ret_output,
                               struct tide_diag *diag)
{
  struct tide_output output = {.path = path && strcmp(path, "-") != 0 ? path : NULL};
  FILE *stream = stdout;
  if (output.path) {
    int fd = open_output(path, force, &output.scratch);
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
  const char *written = output->scratch ? output->scratch : output->path;
  if (fclose(stream) != 0 && !err)
    err = tide_fail_errno(diag, "cannot write %s", name);
  if (!err && output->scratch && rename(output->scratch, output->path) != 0)
    err = tide_fail_errno(diag, "cannot write %s", name);
  struct stat st; // half a file is worse than none, but a device or a pipe is not ours to remove
  if (err && lstat(written, &st) == 0 && S_ISREG(st.st_mode))
    unlink(written);
  free(output->scratch);
  return err;
}

enum tide_err tide_output_check_apart(const char *path, const char *input, struct tide_diag *diag)
{
  struct stat a, b;
  if (!path || strcmp(path, "-") == 0 || stat(path, &a) != 0 || stat(input, &b) != 0 ||
      !S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
    return TIDE_ERR_OK;
  return tide_fail(diag, TIDE_ERR_USAGE, "%s is the capture itself; give -o another name", path);
}
