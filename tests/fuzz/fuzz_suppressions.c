// SPDX-License-Identifier: Apache-2.0
//
// A file of suppressions that is parsed, and a name that each of them is tried on: refused with a
// sentence and nothing added, or every pattern answers, and the same twice.
#include "base/alloc.h"
#include "view/suppressions.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct tide_diag diag = {0};
  struct tide_suppressions *suppressions = tide_suppressions_new();
  TIDE_CLEANUP_FREE char *text = tide_strndup((const char *)data, n / 2);
  TIDE_CLEANUP_FREE char *name = tide_strndup((const char *)data + n / 2, n - n / 2);
  if (tide_suppressions_parse(suppressions, "x", text, &diag) && (!diag.text[0] || suppressions->n))
    abort();
  for (size_t i = 0; i < suppressions->n; i++)
    if (tide_suppression_matches(suppressions->items[i].pattern, name) !=
        tide_suppression_matches(suppressions->items[i].pattern, name))
      abort();
  tide_suppressions_free(suppressions);
  return 0;
}
