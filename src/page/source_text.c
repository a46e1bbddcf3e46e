// SPDX-License-Identifier: Apache-2.0
//
// See source_text.h. The file is looked at through its descriptor: what was checked is what is
// read.
#include "page/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 8 << 20 };

static enum tide_err read_all(int fd, const char *path, size_t size, struct tide_buf *text,
                              struct tide_diag *diag)
{
  size_t before = text->n, got = 0;
  uint8_t *at = tide_buf_extend(text, size);
  while (got < size) {
    ssize_t n = read(fd, at + got, size - got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return tide_fail_errno(diag, "cannot read %s", path);
    if (n == 0)
      break;
    got += (size_t)n;
  }
  text->n = before + got;
  if (got && memchr(text->data + before, 0, got)) // an empty file has no bytes to look at
    return tide_fail(diag, TIDE_ERR_FORMAT, "%s is not text", path);
  return TIDE_ERR_OK;
}

enum tide_err tide_source_text_read(const char *path, struct tide_buf *text,
                                    uint64_t *ret_changed_ns, struct tide_diag *diag)
{
  struct stat st;
  if (path[0] != '/')
    return tide_fail(diag, TIDE_ERR_NOT_FOUND, "%s: it is not known in which directory", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return tide_fail_errno(diag, "cannot read %s", path);
  enum tide_err err = TIDE_ERR_OK;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode))
    err = tide_fail(diag, TIDE_ERR_FORMAT, "%s is not a file of text", path);
  else if (st.st_size > MAX_BYTES)
    err = tide_fail(diag, TIDE_ERR_LIMIT, "%s is larger than 8 MiB", path);
  else
    err = read_all(fd, path, (size_t)st.st_size, text, diag);
  close(fd);
  if (!err)
    *ret_changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
  return err;
}
