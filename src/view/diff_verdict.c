// SPDX-License-Identifier: Apache-2.0
//
// One comparison, and the reasons not to trust it.
#include "view/diff.h"

#include "base/alloc.h"
#include "base/units.h"
#include "profile/completeness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum tide_err parse_blocks(const char *text, struct tide_threshold *ret_threshold,
                                  struct tide_diag *diag)
{
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno)
    return tide_fail(diag, TIDE_ERR_USAGE,
                     "blocks are counted here; write it as 100 or 5%%, not \"%s\"", text);
  *ret_threshold = (struct tide_threshold){.amount = number};
  return TIDE_ERR_OK;
}

enum tide_err tide_threshold_parse(const char *text, enum tide_unit unit,
                                   struct tide_threshold *ret_threshold, struct tide_diag *diag)
{
  struct tide_threshold threshold = {.is_share = text[strcspn(text, "%")] == '%'};
  struct tide_diag why = {0};
  enum tide_err err;
  if (threshold.is_share)
    err = tide_percent_parse(text, &threshold.amount, &why);
  else if (unit == TIDE_UNIT_BLOCKS)
    return parse_blocks(text, ret_threshold, diag);
  else
    err = tide_size_parse(text, &threshold.amount, &why);
  if (err)
    return tide_fail(diag, err, "%s", why.text);
  *ret_threshold = threshold;
  return TIDE_ERR_OK;
}

// How far the sum of both peaks may be off; no other number has a bound.
static uint64_t bound_of(const struct tide_diff *diff)
{
  const struct tide_profile *before = diff->before->profile, *after = diff->after->profile;
  if (after->question.measure != TIDE_MEASURE_PEAK || after->question.unit != TIDE_UNIT_BYTES)
    return 0;
  return before->image->peak_bound_bytes + after->image->peak_bound_bytes;
}

static uint64_t allowed(const struct tide_threshold *threshold, int64_t before)
{
  if (!threshold->is_share)
    return threshold->amount;
  unsigned __int128 share = before > 0 ? (unsigned __int128)(uint64_t)before : 0;
  share = share * threshold->amount / 1000000;
  return share > INT64_MAX ? INT64_MAX : (uint64_t)share;
}

enum tide_verdict tide_diff_judge(const struct tide_diff *diff,
                                  const struct tide_threshold *threshold, struct tide_diag *diag)
{
  TIDE_CLEANUP_FREE char *before_lack = tide_completeness_gate(diff->before->profile);
  TIDE_CLEANUP_FREE char *after_lack = tide_completeness_gate(diff->after->profile);
  if (before_lack || after_lack) {
    tide_fail(diag, TIDE_ERR_DAMAGED, "cannot tell whether it grew: %s: %s",
              before_lack ? "before" : "after", before_lack ? before_lack : after_lack);
    return TIDE_VERDICT_UNKNOWN;
  }
  int64_t change = tide_diff_change(diff, &diff->total);
  uint64_t least = allowed(threshold, tide_diff_measure(diff, &diff->total.before));
  uint64_t bound = bound_of(diff);
  if (change <= 0 || (uint64_t)change <= least)
    return TIDE_VERDICT_KEPT;
  if ((uint64_t)change - least > bound)
    return TIDE_VERDICT_GROWN;
  tide_fail_hint(diag, TIDE_ERR_LIMIT, TIDE_HINT_THRESHOLD,
                 "cannot tell whether it grew: the two peaks are known to %" PRIu64 " bytes",
                 bound);
  return TIDE_VERDICT_UNKNOWN;
}
