// SPDX-License-Identifier: Apache-2.0
//
// The text of a source file, for a page that shows its lines. The path comes from debug info or
// from another tool's file, so it may be anything: only whole paths of regular files are read, of
// bounded size and without a NUL; nothing waits for a pipe or a device.
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum tide_err tide_source_text_read(const char *path, struct tide_buf *text,
                                    uint64_t *ret_changed_ns, struct tide_diag *diag);
