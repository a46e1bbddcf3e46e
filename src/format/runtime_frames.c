// SPDX-License-Identifier: Apache-2.0
//
// The built-in rules asked for one frame.
#include "format/runtime_frames.h"

#include "format/rules.h"

bool tide_frame_is_runtime(const char *function, const char *file, const char *module)
{
  return tide_rules_judge(NULL, function, file, module) != TIDE_LAYER_USER;
}
