// SPDX-License-Identifier: Apache-2.0
//
// What of a target is in memory, and how much of that is the recorder's. Nobody is stopped: the
// kernel tells the first in a line of text and the second page by page, for the ranges that the
// recorder has noted in the store. The second costs about 10 ns for each page of ours.
//
// /proc/PID/pagemap stays with the memory it was opened for, so it also tells whether that is still
// there: statm of a process that has replaced itself by exec is already about something else.
#pragma once
#include "observe/store_view.h"

struct tide_resident {
  uint32_t pid;              // whose files are still to be opened; 0: they were, or of nobody
  int statm_fd, pagemap_fd;  // -1: not to be had
  bool scans;                // the kernel can be asked for ranges (6.7 and later)
  uint64_t home;             // where the target has its store; 0: not known
  struct tide_range *ranges; // as of the last look
  size_t cap_ranges;
  uint64_t max_anonymous_bytes; // the most that was seen: neither of files nor of the store
};

// Opens nothing before it is asked for something: most short processes never are. 0: of nobody.
void tide_resident_open(struct tide_resident *resident, uint32_t pid);
void tide_resident_close(struct tide_resident *resident);

// All bytes in memory, the recorder's among them; 0: not known, or no longer the image's.
uint64_t tide_resident_all(struct tide_resident *resident, const struct tide_store_view *view);

// Has the process surely become another one's, by exec or by its end?
bool tide_resident_has_left(struct tide_resident *resident, const struct tide_store_view *view);

// Those of the recorder; 0: not known.
uint64_t tide_resident_recorder(struct tide_resident *resident, const struct tide_store_view *view);

// High water mark (since exec) and swapped bytes of a process, as the kernel remembers them.
struct tide_resident_marks {
  uint64_t high_bytes, swapped_bytes; // 0: not known, or none
};
struct tide_resident_marks tide_resident_marks(uint32_t pid);
