// SPDX-License-Identifier: Apache-2.0
//
// A hooked function was called: with these registers, by this hook's number. What it returns goes
// to the caller.
#pragma once
#include "agent/arch.h"
#include "unwind/capture.h"

uint64_t tide_agent_event(const struct tide_agent_frame *frame);
