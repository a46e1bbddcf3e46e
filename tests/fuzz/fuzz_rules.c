// SPDX-License-Identifier: Apache-2.0
//
// Rules and names: the first half of the input is a file of rules, the second a function's name
// that is judged by them. Neither may do more than be refused, and a name judged twice is judged
// the same.
#include "base/alloc.h"
#include "view/rules.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct tide_diag diag = {0};
  struct tide_rules *rules = tide_rules_new();
  TIDE_CLEANUP_FREE char *text = tide_strndup((const char *)data, n / 2);
  TIDE_CLEANUP_FREE char *name = tide_strndup((const char *)data + n / 2, n - n / 2);
  if (tide_rules_parse(rules, "x", text, &diag) && !diag.text[0])
    abort();
  enum tide_layer layer = tide_rules_judge(rules, name, name, name);
  if (layer != tide_rules_judge(rules, name, name, name) || layer > TIDE_LAYER_CHOSEN)
    abort();
  tide_rules_free(rules);
  return 0;
}
