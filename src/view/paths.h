// SPDX-License-Identifier: Apache-2.0
//
// Whose code a function is, from its demangled name: the paths of the crate, namespace or type that
// it was written for, without generic arguments, parameters and return types.
//
//   std::vector<int> app::rows<int>(long)        app::rows
//   void std::vector<int>::push_back(int&&)      std::vector::push_back
//   <app::Row as core::fmt::Display>::fmt        app::Row::fmt and core::fmt::Display::fmt
//   <&T as app::Measure>::bytes                  app::Measure::bytes
//   <[u8]>::to_vec                               core::to_vec: only core may do that
//
// An implementation of a trait has two paths, since either crate may have written it. Type
// parameters, primitives, references, slices and tuples belong to nobody and have none.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

enum {
  TIDE_PATHS_MAX = 8
}; // nested `<<A as B>::C as D>` have more than two; further ones are lost

struct tide_paths {
  struct tide_buf text;          // the paths, each with its NUL
  size_t starts[TIDE_PATHS_MAX]; // offsets in text
  size_t n;
  size_t trait_at;     // index of the trait's path in "<Type as Trait>::f"; n: there is none
  bool has_parameters; // a list of them ended the name, as in C++ only
};

// paths starts as {0} and may be used again; the text is kept until the next call.
void tide_function_paths(const char *function, struct tide_paths *paths);
void tide_paths_done(struct tide_paths *paths);

static inline const char *tide_paths_at(const struct tide_paths *paths, size_t i)
{
  return (const char *)paths->text.data + paths->starts[i];
}

// ---- crates and namespaces ----

// The crate or outermost namespace of a function by its demangled name: owned, and NULL when there
// is none, as in C. Of a type and a trait the one
// that is not the standard library's.
char *tide_crate_of(const char *function);

// ---- source files ----
//
// Source paths without what depends on where a program was built. This is what text shows, and by
// what the places of two builds are matched.

// A source path as people say it: crate and path for Rust dependencies, else the last two parts. A
// tail of path.
const char *tide_shorten_path(const char *path);
