// SPDX-License-Identifier: Apache-2.0
//
// A share as a bar of text.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Up to width columns: full for the whole, in eighths of a column, or in whole ones without utf8.
// In eighths any share shows. Owned by the caller, not padded; "" for nothing or less.
char *tide_bar(int64_t part, int64_t whole, size_t width, bool utf8);
