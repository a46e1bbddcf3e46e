// SPDX-License-Identifier: Apache-2.0
//
// The programs of a run that were not recorded, in words. All texts are the caller's to free.
#pragma once
#include "capture/model.h"
#include "format/screen.h"

// "33 × rustc", "busybox".
char *tide_roll_name(const struct tide_unrecorded *row, const struct tide_screen *screen);

// "has jemalloc linked in, which the recorder cannot see into; up to 212.0 MiB RSS"
char *tide_roll_reason(const struct tide_unrecorded *row, const struct tide_screen *screen);

// All of them on a line or two: "33 × rustc (jemalloc linked in, 212.0 MiB RSS), busybox (static)";
// NULL when there are none.
char *tide_roll_summary(const struct tide_roll *roll, const struct tide_screen *screen);

// "7 of at least 40 processes recorded"
char *tide_roll_count(const struct tide_roll *roll);
