// SPDX-License-Identifier: Apache-2.0
//
// Why a process may not be traced, and the way out.
#pragma once
#include "base/err.h"

// Call it when the kernel has refused.
enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag);
