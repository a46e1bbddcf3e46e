// SPDX-License-Identifier: Apache-2.0
//
// Has it grown? The total of what is compared, by more than a threshold, and by more than what the
// recordings leave open.
#pragma once
#include "view/diff.h"

struct tide_threshold { // all zero: any growth is too much
  bool is_share;
  uint64_t amount; // bytes or blocks; of a share, millionths of what was before
};

enum tide_verdict { TIDE_VERDICT_KEPT, TIDE_VERDICT_GROWN, TIDE_VERDICT_UNKNOWN };

// "64KiB", "5%"; with blocks a bare number instead of a size.
enum tide_err tide_threshold_parse(const char *text, enum tide_unit unit,
                                   struct tide_threshold *ret_threshold, struct tide_diag *diag);

// UNKNOWN when a recording is damaged, unfinished, lost events or is not of the program that the
// answer would be about (profile/completeness.h), or when the growth of a peak is
// within the bounds that the peaks are known to; diag then says why.
enum tide_verdict tide_diff_judge(const struct tide_diff *diff,
                                  const struct tide_threshold *threshold, struct tide_diag *diag);
