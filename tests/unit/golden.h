// SPDX-License-Identifier: Apache-2.0
//
// Texts compared with files of tests/golden. TIDE_GOLDEN_WRITE=1 accepts a change, once the
// difference has been looked at.
#pragma once
#include "base/buf.h"

// Fails the test when the text is not that of the golden file.
void tide_golden_expect(const struct tide_buf *text, const char *name);

// Fails the test when a line takes more than width columns.
void tide_golden_expect_width(const struct tide_buf *text, size_t width);
