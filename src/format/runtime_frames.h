// SPDX-License-Identifier: Apache-2.0
//
// Which frames are plumbing: allocators, the C library, language runtimes and containers, thread
// start. A site is blamed on its first frame that is not.
#pragma once
#include <stdbool.h>

// function and file may be NULL; module is the base name of the object, never NULL.
bool tide_frame_is_runtime(const char *function, const char *file, const char *module);
