// SPDX-License-Identifier: Apache-2.0
//
// What a capture says about where it was made.
#pragma once
#include "model/model.h"

// An empty capture with version, architecture, page size, host and kernel of this machine.
struct tide_capture *tide_capture_new_here(void);

// Seccomp filters that this process is under, as in a container: those of a run are under them,
// too, and the recorder goes by what is more than that. 0 where the kernel does not tell.
unsigned tide_host_filters(void);
