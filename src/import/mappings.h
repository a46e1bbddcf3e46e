// SPDX-License-Identifier: Apache-2.0
//
// Which file of a program an address lies in.
#pragma once
#include "import/builder.h"
#include "import/stream.h"

// ---- segments ----
//
// In a raw heaptrack file the program's list of modules is written anew whenever it changes, so an
// address is asked for when its frame is met, and then remembered; heap profiles end in one list.

struct tide_segment {
  uint64_t start, end;
  uint16_t module;
};

struct tide_segments {
  struct tide_segment *items;
  size_t n, cap;
  bool sorted;
};

void tide_segments_done(struct tide_segments *segments);
void tide_segments_clear(struct tide_segments *segments);
void tide_segments_add(struct tide_segments *segments, struct tide_segment segment);
uint16_t tide_segments_find(struct tide_segments *segments, uint64_t addr); // 0: in none

// ---- lines of /proc/PID/maps ----
//
// The files of a program by the lines of /proc/PID/maps that a profile ends with, and which of them
// an address is in. Lines of one file are one module, from the first to the last; a second copy of
// it begins at offset 0 again. (In a small program that lld linked all lines have that offset.)
//
// Where the file was linked to be is not in the lines. A file mapped from its start at a low
// address is a program without position-independent code, which runs where it was linked; all
// others are taken to be linked at 0.

#define TIDE_MAPPINGS_FIXED_BELOW 0x10000000u // the kernel places nothing by chance down here

struct tide_import_mapping {
  uint64_t start, end, bias;
  uint64_t offset; // of the last line
  char *path;      // owned
};

struct tide_mappings {
  struct tide_import_mapping *items;
  size_t n, cap;
  struct tide_segments segments; // of the modules made
};

void tide_mappings_done(struct tide_mappings *mappings); // all zero is fine

// One more line. False when it is none; lines without a file are taken and forgotten.
bool tide_mappings_add(struct tide_mappings *mappings, const struct tide_stream_line *line);

// Makes the modules, once all lines are there. tide_segments_find() finds them from then on.
void tide_mappings_build(struct tide_mappings *mappings, struct tide_builder *builder);
