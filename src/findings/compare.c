// SPDX-License-Identifier: Apache-2.0
//
// Each finding of one run is matched with one of the other at most.
#include "findings/compare.h"

#include "base/alloc.h"
#include "view/paths.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
  return a && b ? !strcmp(a, b) : a == b;
}

static bool same_path(const char *a, const char *b)
{
  return a && b ? !strcmp(tide_shorten_path(a), tide_shorten_path(b)) : a == b;
}

static bool is_same(const struct tide_finding *a, const struct tide_finding *b)
{
  if (a->rule != b->rule || !a->frame != !b->frame)
    return false;
  return !a->frame || (same_text(a->frame->function, b->frame->function) &&
                       same_path(a->frame->file, b->frame->file));
}

void tide_findings_match(const struct tide_findings *before, const struct tide_findings *after,
                         size_t *ret_before)
{
  TIDE_CLEANUP_FREE uint8_t *taken = tide_alloc(before->n + 1);
  for (size_t i = 0; i < after->n; i++) {
    ret_before[i] = TIDE_FINDING_NONE;
    for (size_t k = 0; k < before->n && ret_before[i] == TIDE_FINDING_NONE; k++) {
      if (taken[k] || !is_same(&after->items[i], &before->items[k]))
        continue;
      taken[k] = 1;
      ret_before[i] = k;
    }
  }
}
