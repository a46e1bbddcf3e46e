// SPDX-License-Identifier: Apache-2.0
//
// The .tide file, as specified in docs/tide-format.md. Writing is atomic (a temporary file beside
// the target, then rename), so a reader or a crash never sees half a file; reading gives whatever
// whole parts there are and says where it stopped.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"

// Writes path, or replaces it, by a file that nobody but its owner may read: captures hold command
// lines. A path that is no regular file (a pipe, a device) is written to. On failure path
// is as it was and no temporary file is left. A capture that contradicts itself (an index out of
// range, an image before its parent) is refused; a clock that stepped back between ticks or
// snapshots is held instead.
enum tide_err tide_file_write(const struct tide_capture *capture, const char *path,
                              struct tide_diag *diag);
// The same for a newer version of the capture in path, whose owner and mode stay.
enum tide_err tide_file_replace(const struct tide_capture *capture, const char *path,
                                struct tide_diag *diag);

// The same with the bytes of a whole file.
enum tide_err tide_file_put(const struct tide_buf *bytes, const char *path, struct tide_diag *diag);

// The capture in a file. A cut or damaged file with at least its first image's facts whole is a
// success with capture->cut set; anything less is an error. The caller frees the capture.
// Row 0 of modules, frames and threads is always there, strings are never NULL, and sites come with
// the stacks of the largest share of the peak first, the rows of a stack side by side.
enum tide_err tide_file_read(const char *path, struct tide_capture **ret_capture,
                             struct tide_diag *diag);

// The same from memory (fuzzing, tests); name is used in messages only.
enum tide_err tide_file_parse(const uint8_t *data, size_t n, const char *name,
                              struct tide_capture **ret_capture, struct tide_diag *diag);

// Does a file begin as a capture does?
bool tide_file_is(const char *path);

// From a packed image (model/pack.h) back to rows. Fine with an image that is not packed. All or
// nothing.
enum tide_err tide_image_unpack(struct tide_image *image, struct tide_diag *diag);
