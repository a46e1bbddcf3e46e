// SPDX-License-Identifier: Apache-2.0
//
// Stores that processes write to at this moment without a supervisor, by a bare LD_PRELOAD, as a
// source of captures: one file, or all files *.store of a folder, where processes come and go. Each
// is an image; those whose process has ended are left out, as what they held is held no more. A
// store is only read (store_view.h): nobody is asked, stopped or written to.
//
// Whether a process still writes to its store is the kernel's word: somebody has the file open for
// writing (a lease to read it is refused), or the process of that pid has mapped it.
//
// In a folder, which others may write to as well, files of other users are left out (but for root),
// and so are links and whatever is no regular file.
#pragma once
#include "model/capture.h"

#include <stdbool.h>

struct tide_stores_options {
  const char *path; // a store or a folder
  // What a capture that was just read still lacks; may be NULL.
  void (*complete)(struct tide_capture *capture, const char *name);
  // A file of the folder was left out, and why, in a sentence: at every reading; may be NULL.
  void (*left_out)(void *context, const char *sentence);
  void *context;
};

// Is it a store that is being written, or is about to be, or a folder? Says what else it is.
enum tide_err tide_stores_check(const char *path, bool *ret_is_folder, struct tide_diag *diag);

// The options are copied, the path, too. The context must outlive it.
struct tide_source *tide_stores_new(const struct tide_stores_options *options);
