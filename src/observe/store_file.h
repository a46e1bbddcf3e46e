// SPDX-License-Identifier: Apache-2.0
//
// A store that a bare LD_PRELOAD left in a file (tidemark.<program>.<pid>.store), opened as a
// capture: exact totals, the peak and the end, but no timeline, as nobody was watching.
#pragma once
#include "base/err.h"
#include "model/model.h"

// Does the file look like a store? False also when it cannot be read.
bool tide_store_file_is(const char *path);

// The store as a capture of one image. The caller frees it with tide_capture_free(). The file may
// be of a program that still runs, was killed in the middle of an event, or damaged: every index
// is checked, and what makes no sense is left out.
enum tide_err tide_store_file_read(const char *path, struct tide_capture **ret_capture,
                                   struct tide_diag *diag);
