// SPDX-License-Identifier: Apache-2.0
//
// Which module an address lies in. In a raw heaptrack file the program's list of modules is written
// anew whenever it changes, so an address is asked for when its frame is met, and then remembered;
// heap profiles end in one list.
#pragma once
#include "import/builder.h"

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
