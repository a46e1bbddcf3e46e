// SPDX-License-Identifier: Apache-2.0
//
// Lines of text with fields between commas: what the tests of this folder are about.
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

struct fields {
  char **texts;
  size_t n;
};

// The fields of a line, which are the caller's to give back.
struct fields parse_line(const char *line);
void fields_done(struct fields *fields);

#ifdef __cplusplus
}
#endif
