// SPDX-License-Identifier: Apache-2.0
//
// Going back to the latest star only is enough, and never slow.
#include "base/glob.h"

#include <stddef.h>

bool tide_glob_matches(const char *pattern, const char *text, const char *end)
{
  const char *star = NULL, *retry = NULL;
  while (text < end) {
    if (*pattern == '*') {
      star = pattern++;
      retry = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star + 1;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return !*pattern;
}
