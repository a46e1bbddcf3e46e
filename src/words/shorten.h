// SPDX-License-Identifier: Apache-2.0
//
// Names for a line of text (for paths see view/paths.h). Only the text view shortens; JSON
// and exports never do. All results are owned by the caller and safe to print.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// A function within width columns: without its C++ parameter list, then with template and generic
// arguments folded to <…>, then without the trait of a Rust method, then without what it is in,
// from the left. The function itself stays, and a closure keeps the function that it is in: only
// where that alone is too wide it loses its middle.
char *tide_shorten_function(const char *name, size_t width, bool utf8);

// A "path/file.c:12" within width columns: without directories, from the left, then without the
// middle of the file's name; the line stays. "in library.so" loses its middle.
char *tide_shorten_location(const char *location, size_t width, bool utf8);
