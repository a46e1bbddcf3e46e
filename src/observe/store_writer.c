// SPDX-License-Identifier: Apache-2.0
//
// The kernel is asked in two ways, of which either may be closed to us.
#define _GNU_SOURCE
#include "observe/store_writer.h"

#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum tide_writer_seen tide_writer_by_lease(int fd)
{
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return TIDE_WRITER_NONE;
  }
  return errno == EAGAIN ? TIDE_WRITER_SOME : TIDE_WRITER_UNKNOWN;
}

enum tide_writer_seen tide_writer_by_maps(const struct stat *st, uint32_t pid)
{
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%u/maps", pid);
  snprintf(text, sizeof text, " %ju ", (uintmax_t)st->st_ino);
  if (!tide_proc_is_ours())
    return TIDE_WRITER_UNKNOWN;
  if (access(path, R_OK))
    return errno == ENOENT ? TIDE_WRITER_NONE : TIDE_WRITER_UNKNOWN;
  return tide_proc_maps_hold(pid, text) ? TIDE_WRITER_SOME : TIDE_WRITER_NONE;
}

bool tide_store_is_written(int fd, const struct stat *st, uint32_t pid)
{
  enum tide_writer_seen by_lease = tide_writer_by_lease(fd);
  enum tide_writer_seen by_maps =
      by_lease == TIDE_WRITER_SOME ? TIDE_WRITER_SOME : tide_writer_by_maps(st, pid);
  struct tide_proc_stat process;
  if (by_lease == TIDE_WRITER_UNKNOWN && by_maps == TIDE_WRITER_UNKNOWN)
    return tide_proc_stat(pid, &process) && process.state != 'Z';
  return by_maps == TIDE_WRITER_SOME;
}
