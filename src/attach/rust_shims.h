// SPDX-License-Identifier: Apache-2.0
//
// A Rust program's own allocator is reached through four functions (store/rust_names.h), which are
// hooked. An optimizing compiler inlines them into its callers, and drops calls of those that do
// nothing; what happens there nobody can see.
#pragma once
#include "attach/families.h"

// Are all calls of them calls? Shown by debug info alone: compiled without optimization they
// themselves have nothing inlined, which optimized ones always have.
bool tide_rust_shims_are_called(const char *path, const char *debug_dirs);
