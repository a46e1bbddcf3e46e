// SPDX-License-Identifier: Apache-2.0
//
// A list of what is mapped, handed to an agent whose process sees no /proc.
#pragma once
#include "attach/outside.h"

struct tide_given_maps {
  uint64_t at, n_bytes; // where it is to be; 0: there is none
  char *text;           // owned; as /proc/self/maps has it
  uint64_t n_text;
};

// False: it is not needed, or there is no room.
bool tide_given_maps_make(struct tide_outside *outside, struct tide_given_maps *ret);
