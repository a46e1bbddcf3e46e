// SPDX-License-Identifier: Apache-2.0
//
// Names for a line of text (for paths see view/source_path.h). Only the text view shortens; JSON
// and exports never do. All results are owned by the caller and safe to print.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// A function within width columns: without its C++ parameter list, then with template and generic
// arguments folded to <…>, then without the trait of a Rust method, then without its middle.
char *tide_shorten_function(const char *name, size_t width, bool utf8);
