// SPDX-License-Identifier: Apache-2.0
//
// The files of a program by the lines of /proc/PID/maps that a profile ends with, and which of them
// an address is in. Lines of one file are one module, from the first to the last; a second copy of
// it begins at offset 0 again. (In a small program that lld linked all lines have that offset.)
//
// Where the file was linked to be is not in the lines. A file mapped from its start at a low
// address is a program without position-independent code, which runs where it was linked; all
// others are taken to be linked at 0.
#pragma once
#include "import/builder.h"
#include "import/segments.h"
#include "import/source.h"

#define TIDE_MAPPINGS_FIXED_BELOW 0x10000000u // the kernel places nothing by chance down here

struct tide_mapping {
  uint64_t start, end, bias;
  uint64_t offset; // of the last line
  char *path;      // owned
};

struct tide_mappings {
  struct tide_mapping *items;
  size_t n, cap;
  struct tide_segments segments; // of the modules made
};

void tide_mappings_done(struct tide_mappings *mappings); // all zero is fine

// One more line. False when it is none; lines without a file are taken and forgotten.
bool tide_mappings_add(struct tide_mappings *mappings, const struct tide_source_line *line);

// Makes the modules, once all lines are there. tide_segments_find() finds them from then on.
void tide_mappings_build(struct tide_mappings *mappings, struct tide_builder *builder);
