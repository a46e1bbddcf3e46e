// SPDX-License-Identifier: Apache-2.0
//
// The agent's face (store/agent_face.h) as the tracer fills it in: what the agent must be told of
// the process that it wakes up in.
#pragma once
#include "attach/patch.h"

// In the agent's image; NULL: it has none.
struct tide_agent_face *tide_face_of(const struct tide_agent_image *agent);

struct tide_face_options {
  uint64_t store_bytes;
  uint32_t depth_limit; // frames of a stack; 0: all
  const char *door;     // where fork children ask for stores; NULL: they do not
};

// False: it does not fit.
bool tide_face_fill(const struct tide_attachment *attachment,
                    const struct tide_face_options *options);
