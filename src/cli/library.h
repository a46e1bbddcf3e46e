// SPDX-License-Identifier: Apache-2.0
//
// Where the recorder's library is.
#pragma once
#include "base/err.h"

// Absolute path of libtidemark.so, owned: beside the command, in the lib directory next to the
// command's own, or where the build said it would be installed.
enum tide_err tide_library_find(char **ret_path, struct tide_diag *diag);
