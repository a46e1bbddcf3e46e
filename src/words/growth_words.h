// SPDX-License-Identifier: Apache-2.0
//
// How what a place holds grew, in words.
#pragma once
#include "base/units.h"
#include "profile/growth.h"

// "from 128.0 KiB at 61.0 ms to 128.0 MiB at 855 ms in 11 steps, each by half of it or more"; "to
// 64.0 KiB by 11.3 ms, at once". NULL: it did not grow, or there were too few looks. free().
char *tide_growth_words(const struct tide_growth *growth, const struct tide_image *image,
                        struct tide_style style);
