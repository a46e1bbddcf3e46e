// SPDX-License-Identifier: Apache-2.0
//
// Whether a process may be traced, why not, and the way out.
#pragma once
#include "base/err.h"

// Asks the kernel, without touching the process. Fails with the reason.
enum tide_err tide_permission_check(uint32_t pid, struct tide_diag *diag);

// When the kernel has refused.
enum tide_err tide_permission_explain(uint32_t pid, struct tide_diag *diag);
