// SPDX-License-Identifier: Apache-2.0
//
// What became of the blocks of a group, from its numbers and from what it held over time:
//
//   growing     never freed, and more of them came: the part never freed rose at two or more of the
//               moments looked at, and by a tenth of it in the second half of the run
//   throughout  never freed, and all were allocated within the first tenth of the run
//   held        never freed, but neither of these
//   at the end  all freed, but none before the last tenth of the run, and none allocated in it
//
// What was never freed is known at the end; for earlier moments see profile/timeline.h.
#pragma once
#include "profile/timeline.h"
#include "view/groups.h"

extern const char *const tide_fate_words[TIDE_FATES_N]; // NULL for none; "growing", …

// Fills in the fate of every group. Groups that share stacks with others have none, nor has any
// when the capture holds too few moments.
void tide_groups_tell_fates(struct tide_groups *groups, const struct tide_image *image);
