// SPDX-License-Identifier: Apache-2.0
//
// A file of suppressions that is parsed, and a name that each of them is tried on: refused with a
// sentence and nothing added, or every pattern answers, and the same twice.
#include "base/alloc.h"
#include "base/glob.h"
#include "view/suppressions.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct tide_diag diag = {0};
  struct tide_suppressions *suppressions = tide_suppressions_new();
  TIDE_CLEANUP_FREE char *text = tide_strndup((const char *)data, n / 2);
  TIDE_CLEANUP_FREE char *name = tide_strndup((const char *)data + n / 2, n - n / 2);
  const char *end = name + strlen(name);
  if (tide_suppressions_parse(suppressions, "x", text, &diag) && (!diag.text[0] || suppressions->n))
    abort();
  for (size_t i = 0; i < suppressions->n; i++)
    if (tide_glob_matches(suppressions->items[i].pattern, name, end) !=
        tide_glob_matches(suppressions->items[i].pattern, name, end))
      abort();
  tide_suppressions_free(suppressions);
  return 0;
}
