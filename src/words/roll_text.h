// SPDX-License-Identifier: Apache-2.0
//
// The programs of a run that were not recorded, in words. All texts are the caller's to free.
#pragma once
#include "model/model.h"
#include "base/units.h"
#include "profile/profile.h"

// "33 × rustc", "busybox".
char *tide_roll_name(const struct tide_unrecorded *row, struct tide_style style);

// "has jemalloc linked in, which the recorder cannot see into; up to 212.0 MiB RSS"
char *tide_roll_reason(const struct tide_unrecorded *row, struct tide_style style);

// All of them on a line or two: "33 × rustc (jemalloc linked in, 212.0 MiB RSS), busybox (static)";
// NULL when there are none.
char *tide_roll_summary(const struct tide_roll *roll, struct tide_style style);

// "7 of at least 40 processes recorded"
char *tide_roll_count(const struct tide_roll *roll);

// What should lead a profile's first screen and was not recorded: "rustc was hardly recorded: each
// has …". NULL: it was, or another process was asked for. *ret_row (may be NULL): which.
char *tide_roll_lead(const struct tide_profile *profile, struct tide_style style,
                     const struct tide_unrecorded **ret_row);

// What of the run the profile does not show: "7 of at least 40 processes recorded", "1 other
// process recorded in part"; NULL: nothing.
char *tide_roll_scope(const struct tide_profile *profile);
