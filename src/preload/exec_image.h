// SPDX-License-Identifier: Apache-2.0
//
// The next image: the environment it gets. Whether it will be recorded: exec/exec_target.h.
#pragma once
#include "exec/exec_target.h"

// The preload variables for the next image. A program that builds an environment of its own for
// exec would lose us; it gets everything it asked for, and our two variables beside it.

// Remembers what this image was started with. Without follow, nothing is ever added.
void tide_exec_env_init(const char *preload, const char *options, bool follow);

// Is there no file at the path of this library, as seen from here (another root, a sandbox)?
bool tide_exec_env_library_is_gone(void);

// Does it preload a sanitizer's runtime, which must come first? Then it is not to be fixed.
bool tide_exec_env_has_sanitizer(char *const env[]);

// Bytes of scratch needed to fix env; 0: it is fine as it is.
size_t tide_exec_env_need(char *const env[]);
// The fixed environment, built in scratch.
char **tide_exec_env_fix(char *const env[], void *scratch);

// The same the other way round, for an image that is not to load us: neither of our variables.
size_t tide_exec_env_need_without(char *const env[]);
char **tide_exec_env_without(char *const env[], void *scratch);

// What of it only this library knows: a sanitizer's runtime in its environment must come first, and
// our own file may not be there to be loaded.
void tide_exec_target_heed(struct tide_exec_target *target, char *const env[]);
