// SPDX-License-Identifier: Apache-2.0
//
// What a tracer that was killed, or another command, has put on a process: found by the jumps at
// the beginnings of its functions, which lead to islands with notes. Whatever does not agree in
// every part with what we would have written is somebody else's, and not touched.
#pragma once
#include "attach/patch.h"

// The plan as it was carried out, and the agent as it lies there. False: nothing of ours is there.
bool tide_leftovers_find(const struct tide_outside *outside, const struct tide_hookables *entries,
                         struct tide_agent_image *agent, struct tide_plan *ret_plan);
