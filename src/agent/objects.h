// SPDX-License-Identifier: Apache-2.0
//
// Loaded objects without the loader's help: /proc/self/maps names every file that is mapped, and
// the page at its offset 0 holds the program headers.
#pragma once
#include "unwind/object.h"

bool tide_agent_object_at(uint64_t pc, struct tide_object *ret_object);
void tide_agent_each_object(void (*met)(uint64_t pc));
