// SPDX-License-Identifier: Apache-2.0
//
// Words that several export formats share: for frames without a name, and for what is measured.
#pragma once
#include "base/units.h"
#include "profile/profile.h"
#include "view/naming.h"

// The function, else "libplugin.so+0x42" as its file has it, else the address; "[frames left out]"
// where the recorder cut. Owned.
char *tide_export_frame_name(const struct tide_naming *naming,
                             const struct tide_named_frame *frame);

// Stands for the frames of a site that has none to show: they were not recorded, or are hidden.
const char *tide_export_no_frames(const struct tide_profile_site *site);

// A text with what is not exact behind it, if anything is: "./indexer 12000 (incomplete: 3 of 1,204
// events not recorded, …)"; owned.
char *tide_export_with_exactness(const char *text, const struct tide_profile *profile);

// "bytes held at the peak", "blocks allocated from 1.00 s to 2.50 s"; owned.
char *tide_export_measure(const struct tide_question *question);
