// SPDX-License-Identifier: Apache-2.0
//
// What was allocated in a part of a run and never freed. A block that was held at a snapshot and
// freed later is among the late frees of its stack, so what a stack held then less those is what it
// kept for good; and what it kept of a range is that at its end less that at its beginning.
#pragma once
#include "profile/profile.h"

// Whether an image tells: nobody looked at the peak.
bool tide_kept_is_known(const struct tide_image *image, const struct tide_window *window);

// Per site of the profile, in the question's unit, of its window; it must be known.
void tide_kept_weigh(const struct tide_profile *profile, const struct tide_question *question,
                     int64_t *ret_weights);
