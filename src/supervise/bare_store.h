// SPDX-License-Identifier: Apache-2.0
//
// The store of a process that records without a supervisor, by a bare LD_PRELOAD: a file that it
// has mapped. Whoever may write to the file may switch its recording (observe/switches.h).
#pragma once
#include "base/err.h"
#include "observe/store_view.h"

// A store to write to, locked against others who would. TIDE_ERR_NOT_FOUND: the process has none,
// or its mappings are not told to us (ret_is_hidden). *ret_path is the file's, to be freed.
enum tide_err tide_bare_store_open(uint32_t pid, struct tide_store_view *ret_view, char **ret_path,
                                   bool *ret_is_hidden, struct tide_diag *diag);
