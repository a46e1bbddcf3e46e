// SPDX-License-Identifier: Apache-2.0
//
// Where the recorder's library is, and the documentation.
#pragma once
#include "base/err.h"

#define TIDE_LIBRARY_RECORDER "libtidemark.so"    // for LD_PRELOAD
#define TIDE_LIBRARY_AGENT "libtidemark-agent.so" // for a process that runs already

// Absolute path of one of them, owned: beside the command, in the lib directory next to the
// command's own, or where the build said it would be installed.
enum tide_err tide_library_find(const char *name, char **ret_path, struct tide_diag *diag);

// Where the build said that README.md and docs/ would be installed.
extern const char tide_documents_dir[];
