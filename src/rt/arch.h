// SPDX-License-Identifier: Apache-2.0
//
// The one place that chooses between architectures; everything that differs lives in arch/.
#pragma once
#if defined(__x86_64__)
#include "rt/arch/x86_64/cpu.h"
#elif defined(__aarch64__)
#include "rt/arch/aarch64/cpu.h"
#else
#error "tidemark records x86_64 and aarch64 only"
#endif
