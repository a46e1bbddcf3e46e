// SPDX-License-Identifier: Apache-2.0
//
// Files as people hand them to us: small ones that they wrote, and what one looks like that is not
// what was hoped for.
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

// Appends the text of a file that people write: rules, suppressions. Refuses more than a mebibyte,
// and NULs: that is something else than what the user meant. what names it in messages: "rules".
enum tide_err tide_text_file_read(const char *path, const char *what, struct tide_buf *text,
                                  struct tide_diag *diag);

// By the first n bytes, n > 0: "a program or library (ELF)", "gzip-compressed data", "text".
const char *tide_file_kind(const uint8_t *head, size_t n);
