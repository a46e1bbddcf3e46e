// SPDX-License-Identifier: Apache-2.0
//
// The loader's objects.
#pragma once
#include "unwind/object.h"

// As tide_host has them.
bool tide_loader_object_at(uint64_t pc, struct tide_object *ret_object);
void tide_loader_each_object(void (*met)(uint64_t pc));
