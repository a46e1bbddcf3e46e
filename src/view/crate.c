// SPDX-License-Identifier: Apache-2.0
//
// Whose code a function is, in one word.
#include "view/crate.h"

#include "base/alloc.h"
#include "view/function_path.h"

#include <string.h>

static bool is_standard(const char *path)
{
  static const char *const crates[] = {"core::", "alloc::", "std::"};
  for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
    if (strncmp(path, crates[i], strlen(crates[i])) == 0)
      return true;
  return false;
}

char *tide_crate_of(const char *function)
{
  struct tide_paths paths = {0};
  tide_function_paths(function, &paths);
  const char *best = NULL;
  for (size_t i = 0; i < paths.n; i++) {
    const char *path = tide_paths_at(&paths, i);
    if (!best || (is_standard(best) && !is_standard(path)))
      best = path;
  }
  const char *colons = best ? strstr(best, "::") : NULL;
  bool named = colons && colons > best && *best != '(' && *best != '{';
  char *crate = named ? tide_strndup(best, (size_t)(colons - best)) : NULL;
  tide_paths_done(&paths);
  return crate;
}
