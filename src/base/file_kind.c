// SPDX-License-Identifier: Apache-2.0
//
// Magic numbers of files that are taken for captures by mistake.
#include "base/file_kind.h"

#include <string.h>

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
