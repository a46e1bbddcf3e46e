// SPDX-License-Identifier: Apache-2.0
//
// What is known of a run apart from its stacks, as members of the open object: shared by the report
// for machines and by the page, so that both say the same.
#pragma once
#include "base/json.h"
#include "profile/profile.h"

// capture, image, images, totals, pages, completeness; file is the capture's name, or NULL. Members
// that the image lacks are left out if the writer was told (report/lacking.h).
// "mean_life_ns" of so many lives; null where none has ended.
void tide_json_mean_life(struct tide_json *json, uint64_t life_ns, uint64_t n_ended);
// "mean_age_ns" of the blocks live at the end; null where there are none, or it is not known.
void tide_json_mean_age(struct tide_json *json, int64_t age_ns, int64_t live_blocks);

void tide_profile_json_facts(struct tide_json *json, const struct tide_profile *profile,
                             const char *file);

// images: every process image of the capture, its peak and its allocations.
void tide_capture_json_images(struct tide_json *json, const struct tide_capture *capture);
