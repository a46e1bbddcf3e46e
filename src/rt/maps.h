// SPDX-License-Identifier: Apache-2.0
//
// /proc/self/maps, read with raw system calls and a small buffer: this may be a small stack.
#pragma once
#include "rt/base.h"

struct tide_maps {
  long fd;
  long n, at;
  const char *given; // instead of the file: text that is left
  size_t n_given;
  char buffer[512];
};

bool tide_maps_open(struct tide_maps *maps); // false: no descriptor, or no /proc
// The same of a text, which stays.
void tide_maps_open_text(struct tide_maps *maps, const char *text, size_t n);
bool tide_maps_next(struct tide_maps *maps, uint64_t *ret_lo, uint64_t *ret_hi);
// The same, past what cannot be read.
bool tide_maps_next_readable(struct tide_maps *maps, uint64_t *ret_lo, uint64_t *ret_hi);
// The same, with all that a line says.
struct tide_maps_line {
  uint64_t lo, hi, offset;
  bool readable, executable;
  char path[256]; // "" where there is none, or it is longer
};
bool tide_maps_next_line(struct tide_maps *maps, struct tide_maps_line *ret_line);
void tide_maps_close(struct tide_maps *maps);

// The range that an address is in. Quick where the kernel answers questions (from 6.11 on): with
// thousands of threads the file is long, and each new thread asks.
bool tide_maps_find(uint64_t address, uint64_t *ret_lo, uint64_t *ret_hi);
