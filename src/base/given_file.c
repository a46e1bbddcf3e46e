// SPDX-License-Identifier: Apache-2.0
//
// Small files are read in parts, so that a device or a large file ends at the limit. Others are
// told by their magic numbers.
#include "base/given_file.h"

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

const char *tide_file_kind(const uint8_t *head, size_t n)
{
  static const struct {
    const char *magic;
    size_t n;
    const char *kind;
  } kinds[] = {
      {"\x7f"
       "ELF",
       4, "a program or library (ELF)"},
      {"\x1f\x8b", 2, "gzip-compressed data"},
      {"\x28\xb5\x2f\xfd", 4, "zstd-compressed data"},
      {"PK\x03\x04", 4, "a zip archive"},
      {"\xfd"
       "7zXZ",
       5, "xz-compressed data"},
      {"BZh", 3, "bzip2-compressed data"},
      {"{", 1, "JSON, but no profile"},
      {"[", 1, "JSON, but no profile"},
      {"<", 1, "XML or HTML"},
      {"#!", 2, "a script"},
      {"PERFILE2", 8, "a recording of perf"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (n >= kinds[i].n && memcmp(head, kinds[i].magic, kinds[i].n) == 0)
      return kinds[i].kind;
  for (size_t i = 0; i < n; i++)
    if (head[i] == 0 || (head[i] < 0x20 && !strchr("\t\n\v\f\r\x1b", head[i])))
      return "binary data";
  return "text";
}
