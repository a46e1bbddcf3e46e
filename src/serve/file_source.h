// SPDX-License-Identifier: Apache-2.0
//
// A file that is looked at again and again, as a source of captures. A capture is replaced at once,
// by a new file under its name; another tool's file, or a store, is written to in place. So a file
// of another identity is read at once, one that only grew when it has come to rest, or after a
// while in any case. A file that is damaged or gone by then gives nothing but a sentence.
#pragma once
#include "model/capture.h"

// How captures are read; the command line knows.
struct tide_file_opener {
  void *context;
  enum tide_err (*open)(void *context, const char *path, struct tide_capture **ret_capture,
                        struct tide_diag *diag);
};

// The opener must outlive the source.
struct tide_source *tide_file_source_new(const char *path, const struct tide_file_opener *opener);
