// SPDX-License-Identifier: Apache-2.0
//
// Chooses what of unwinding differs between architectures.
#pragma once
#if defined(__x86_64__)
#include "unwind/arch/x86_64/way_out.h"
#else
#include "unwind/arch/aarch64/way_out.h"
#endif
