// SPDX-License-Identifier: Apache-2.0
//
// Small files that people write: rules, suppressions.
#pragma once
#include "base/buf.h"
#include "base/err.h"

// Appends the text of a file. Refuses more than a mebibyte, and NULs: that is something else than
// what the user meant. what names it in messages: "rules".
enum tide_err tide_text_file_read(const char *path, const char *what, struct tide_buf *text,
                                  struct tide_diag *diag);
