// SPDX-License-Identifier: Apache-2.0
//
// Names and paths for a line of text. Only the text view shortens; JSON and exports never do. All
// results are owned by the caller and safe to print.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// A function within width columns: without its C++ parameter list, then with template and generic
// arguments folded to <…>, then without the trait of a Rust method, then without its middle.
char *tide_shorten_function(const char *name, size_t width, bool utf8);

// A source path as people say it: crate and path for Rust dependencies, else the last two parts.
const char *tide_shorten_path(const char *path);
