// SPDX-License-Identifier: Apache-2.0
//
// What a capture says about where it was made.
#pragma once
#include "capture/model.h"

// An empty capture with version, architecture, page size, host and kernel of this machine.
struct tide_capture *tide_capture_new_here(void);
