// SPDX-License-Identifier: Apache-2.0
//
// Read in parts, so that a device or a large file ends at the limit.
#include "base/text_file.h"

#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20 };

static enum tide_err read_parts(FILE *file, const char *path, const char *what,
                                struct tide_buf *text, struct tide_diag *diag)
{
  char part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) {
    tide_buf_append(text, part, n);
    if (text->n > BYTES_MAX || memchr(part, 0, n))
      return tide_fail(diag, TIDE_ERR_FORMAT, "%s is no file of %s", path, what);
  }
  return ferror(file) ? tide_fail_errno(diag, "cannot read %s", path) : TIDE_ERR_OK;
}

enum tide_err tide_text_file_read(const char *path, const char *what, struct tide_buf *text,
                                  struct tide_diag *diag)
{
  FILE *file = fopen(path, "re");
  if (!file)
    return tide_fail_errno(diag, "cannot read the %s in %s", what, path);
  enum tide_err err = read_parts(file, path, what, text, diag);
  fclose(file);
  return err;
}
