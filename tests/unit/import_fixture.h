// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the importers share: text in, capture out, and sites found by name.
#pragma once
#include "base/buf.h"
#include "model/model.h"
#include "import/importers.h"

// The capture in a text; fails the test when there is none.
struct tide_capture *import_text(const char *text);
// The sentence a text is refused with; the test fails when it is not. Valid until the next call.
const char *import_refused(const char *text, size_t n);
// Every cut of a text, compressed or not, is read or refused, and what is read is consistent. Gives
// how many of the cuts could be read.
size_t import_all_cuts(const char *text, size_t n);

// The frames of a stack, innermost first: "f a.c:3 < main a.c:9". Valid until the next call.
const char *import_stack(const struct tide_image *image, uint32_t node);
// The site whose stack is that; NULL when there is none.
const struct tide_site *import_site(const struct tide_image *image, const char *stack);
