// SPDX-License-Identifier: Apache-2.0
//
// Names of code that programs made while they ran (just-in-time compilers), from the maps they
// wrote for perf. The maps outlive the programs, but not for long: a run keeps the names of what it
// recorded in its capture.
#pragma once
#include "model/model.h"

#define TIDE_JIT_MAPS_DIR "/tmp"

// Looks for DIR/perf-PID.map of every image that has frames in unknown code, and stores the names
// it has for them in the image. A map that cannot be of that run, by its owner or its time, is not
// believed. Gives how many addresses got a name.
size_t tide_jit_names_add(struct tide_capture *capture, const char *dir);
