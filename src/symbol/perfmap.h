// SPDX-License-Identifier: Apache-2.0
//
// Names of code that a program made while it ran, from the map it wrote for perf:
// /tmp/perf-PID.map, a line for each piece of code, "START SIZE NAME", the numbers in hex. Such
// maps grow large, and few of their lines are of interest: the addresses come first, then the text
// goes by, piece by piece, and of each address the last name given stays. Code moves and its place
// is used again; what was said last is the best guess.
#pragma once
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct tide_perfmap;

// The addresses wanted are copied; their order does not matter.
struct tide_perfmap *tide_perfmap_new(const uint64_t *addrs, size_t n);
void tide_perfmap_free(struct tide_perfmap *map); // NULL is fine

// The next piece of the text, cut anywhere. Lines that are not of the map's form are passed over.
void tide_perfmap_feed(struct tide_perfmap *map, const char *text, size_t n);
void tide_perfmap_end(struct tide_perfmap *map); // the last line need not end in a newline

// The name given last to code that holds a wanted address, NULL when there is none. Lives as long
// as the map, unless it is fed more.
const char *tide_perfmap_name(const struct tide_perfmap *map, uint64_t addr);

// What engines put into a name besides the function. V8 writes "JS:*name file:line:column", where
// the sign tells how the code was compiled: the same function, whatever the sign. CPython writes
// "py::name:file".
struct tide_perfmap_place {
  char *function; // owned, as file; never NULL
  char *file;     // NULL when the name has none
  uint32_t line;  // of the function's start; 0: not known
};
void tide_perfmap_split(const char *name, struct tide_perfmap_place *ret_place);
void tide_perfmap_place_done(struct tide_perfmap_place *place);
