// SPDX-License-Identifier: Apache-2.0
//
// Captures from files of any kind we know: ours, and those of other tools. Told by content, never
// by name; gzip and zstd are taken off on the way. To add a format, see importers.def.
#pragma once
#include "import/stream.h"
#include "model/model.h"

// Readers take what is whole: a file that ends early gives a capture with `cut` set wherever
// something was learned from it. On failure diag names the file, what is wrong, and the byte.
#define IMPORT(prefix, words)                                                                      \
  bool tide_##prefix##_recognise(const uint8_t *head, size_t n);                                   \
  enum tide_err tide_##prefix##_read(struct tide_stream *stream,                                   \
                                     struct tide_capture **ret_capture, struct tide_diag *diag);
#include "import/importers.def"
#undef IMPORT

enum tide_err tide_import_file(const char *path, struct tide_capture **ret_capture,
                               struct tide_diag *diag);
// The same from memory (fuzzing, tests); name is used in messages only.
enum tide_err tide_import_bytes(const void *bytes, size_t n, const char *name,
                                struct tide_capture **ret_capture, struct tide_diag *diag);
