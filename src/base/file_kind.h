// SPDX-License-Identifier: Apache-2.0
//
// What a file looks like that is not what was hoped for.
#pragma once
#include <stddef.h>
#include <stdint.h>

// By the first n bytes, n > 0: "a program or library (ELF)", "gzip-compressed data", "text".
const char *tide_file_kind(const uint8_t *head, size_t n);
