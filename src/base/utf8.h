// SPDX-License-Identifier: Apache-2.0
//
// Text for terminals: UTF-8 measured in columns, shortened in the middle, and made harmless. Names
// and paths come from binaries we did not build; a control character in one must not reach a
// terminal, so everything shown passes through tide_utf8_clean() or tide_utf8_fit().
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of the well-formed UTF-8 character at text; 0 when there is none (overlong forms,
// surrogates and values past U+10FFFF included). n > 0.
size_t tide_utf8_length(const char *text, size_t n);

// The text itself or, where bytes of it are not UTF-8, a copy in scratch with U+FFFD for each of
// those; valid until scratch changes.
const char *tide_utf8_mend(const char *text, struct tide_buf *scratch);

// Columns a terminal needs for text: 2 for wide East Asian characters, 0 for combining marks.
size_t tide_utf8_width(const char *text);

// An owned copy in which control characters and broken bytes are '?'; without utf8 every
// character beyond ASCII is, too.
char *tide_utf8_clean(const char *text, bool utf8);

// An owned, clean copy of at most width columns. A longer text keeps both ends around an ellipsis
// ("…", or "..." without utf8), since the tail of a qualified name or path says most.
char *tide_utf8_fit(const char *text, size_t width, bool utf8);
