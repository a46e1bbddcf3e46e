// SPDX-License-Identifier: Apache-2.0
//
// Functions between a Rust program and its global allocator: __rust_alloc and its kin, which are
// the program's own where it has a #[global_allocator], else jumps to __rdl_alloc, of the standard
// library. Older compilers write these names, newer ones a path with a hash of themselves before
// them: _RNvCsfLfy6EI15iL_7___rustc12___rust_alloc.
//
// Freestanding: included by the recorder and by the command.
#pragma once
#include <stddef.h>

enum { TIDE_RUST_NAME_BYTES = 48, TIDE_RUST_PATH_BYTES = 40 };

// Behind "7___rustc"; NULL: the name has no such path.
static inline const char *tide_rust_path_end(const char *name)
{
  static const char CRATE[] = "7___rustc";
  if (name[0] != '_' || (name[1] != 'R' && name[1] != 'Z'))
    return NULL;
  for (size_t at = 2; at < TIDE_RUST_PATH_BYTES && name[at]; at++) {
    size_t n = 0;
    while (CRATE[n] && name[at + n] == CRATE[n])
      n++;
    if (!CRATE[n])
      return name + at + n;
  }
  return NULL;
}

// The name without that path, in the buffer; any other as it is.
static inline const char *tide_rust_plain_name(const char *name, char buffer[TIDE_RUST_NAME_BYTES])
{
  const char *at = tide_rust_path_end(name);
  size_t n = 0;
  if (!at)
    return name;
  for (; *at >= '0' && *at <= '9' && n < TIDE_RUST_NAME_BYTES; at++)
    n = n * 10 + (size_t)(*at - '0');
  // What begins with an underscore has one more between it and its length.
  if (name[1] == 'R' && *at == '_')
    at++;
  if (!n || n >= TIDE_RUST_NAME_BYTES)
    return name;
  for (size_t i = 0; i < n; i++) {
    if (!at[i])
      return name;
    buffer[i] = at[i];
  }
  buffer[n] = 0;
  return buffer;
}
