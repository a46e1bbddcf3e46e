// SPDX-License-Identifier: Apache-2.0
//
// From what the user said to a capture in memory.
#pragma once
#include "base/err.h"
#include "model/model.h"

struct tide_opened {
  struct tide_capture *capture; // owned
  char *path;                   // owned
  uint64_t file_bytes;          // that it takes on disk
  size_t n_new_names;           // of made code, found now: the file does not have them
  bool by_default;              // the user named no file
  bool is_redacted;             // arguments were taken out that the file has
};

// Opens the file, "-" being standard input, or with NULL the newest capture of the current
// directory. Recognises .tide and bare store files, and those of other tools
// (import/importers.def), by their content.
enum tide_err tide_capture_open(const char *path, struct tide_opened *ret_opened,
                                struct tide_diag *diag);
void tide_opened_done(struct tide_opened *opened);

// What a capture that was just read lacks: the names of code made while the program ran, as far as
// they are on this machine, of which it gives how many are new; and what it is called.
size_t tide_capture_complete(struct tide_capture *capture, const char *name);

// The newest capture of the current directory, owned; NULL when there is none, about which
// tide_capture_none() has a sentence.
char *tide_capture_newest(void);
enum tide_err tide_capture_none(struct tide_diag *diag);
