// SPDX-License-Identifier: Apache-2.0
//
// How far a profile can be believed, in one sentence.
#pragma once
#include "base/units.h"
#include "profile/profile.h"

struct tide_completeness_text {
  const char *label; // "complete", "incomplete" or "read from"
  char *text;        // owned: "every event (13.8 M), 10 stacks, none cut, peak exact"
  bool is_warning;
};

struct tide_completeness_text tide_completeness_text(const struct tide_profile *profile,
                                                     struct tide_style style);
