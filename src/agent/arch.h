// SPDX-License-Identifier: Apache-2.0
//
// What differs from one architecture to the next.
#pragma once

#if defined(__x86_64__)
#include "agent/arch/x86_64/frame.h"
#elif defined(__aarch64__)
#include "agent/arch/aarch64/frame.h"
#endif
