// SPDX-License-Identifier: Apache-2.0
//
// A file of budgets: refused with a sentence that names a line and nothing added, or budgets that
// can be asked about any program; and the same when it is read twice.
#include "base/alloc.h"
#include "check/budgets.h"
#include "check/toml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_once(const char *text, struct tide_budgets *budgets)
{
  struct tide_diag diag = {0};
  if (tide_budgets_parse(budgets, "x", text, &diag) &&
      (strncmp(diag.text, "x:", 2) != 0 || budgets->n || budgets->baseline || budgets->has_growth))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  TIDE_CLEANUP_FREE char *text = tide_strndup((const char *)data, n);
  struct tide_toml document = {0};
  struct tide_budgets budgets = {0}, again = {0};
  struct tide_diag diag = {0};
  bool is_toml = !tide_toml_parse("x", text, &document, &diag);
  tide_toml_done(&document);
  read_once(text, &budgets);
  read_once(text, &again);
  if (budgets.n != again.n || (budgets.n && !is_toml))
    abort();
  for (size_t i = 0; i < budgets.n; i++) {
    const struct tide_heap_budget *budget = &budgets.items[i];
    if (!budget->line ||
        (budget->program && !tide_budget_is_about(&budgets, budget, budget->program)))
      abort();
    tide_budget_is_about(&budgets, budget, "prog");
  }
  tide_budgets_done(&budgets);
  tide_budgets_done(&again);
  return 0;
}
