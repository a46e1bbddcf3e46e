// SPDX-License-Identifier: Apache-2.0
//
// The crate or outermost namespace of a function.
#pragma once

// By its demangled name: owned, and NULL when there is none, as in C. Of a type and a trait the one
// that is not the standard library's.
char *tide_crate_of(const char *function);
