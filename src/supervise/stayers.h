// SPDX-License-Identifier: Apache-2.0
//
// Processes that a command leaves behind and that have not come for a store: of those that have
// come the watch knows, and the others may allocate as soon as nobody records any more. The watch's
// own census follows parents to their children, and what is left behind has lost its parents. So
// all processes are looked at that were born since the command was, and one is ours
//
//  1. that has the door's name among its variables: whatever was not given others by a program of
//     its own, and did not write over them;
//  2. or whose session or process group is led by one of ours, or that maps a store that was handed
//     out: a fork child keeps a page of its parent's.
//
// Not found: one that has neither, and those that /proc does not show to us (hidden, another
// user's; all of them, where it is another pid namespace's). Nothing is done to anybody: a
// subreaper would see more, and change the parent of each.
//
// Threads: the caller's alone.
#pragma once
#include "model/model.h"
#include "supervise/kin.h"

#include <stddef.h>
#include <stdint.h>

struct tide_stayer {
  uint32_t pid;
  uint64_t born;
  char *exe;
};

struct tide_stayers {
  struct tide_stayer *items;
  size_t n, cap;
};

struct tide_stayer_search {
  struct tide_kin *kin;
  const char *door;      // its name
  uint64_t command_born; // 0: not known
};

// Those that are there now and still are some hundredths of a second later: what was about to end
// gets the time for it. The door must be open meanwhile, so that whoever allocates is recorded.
void tide_stayers_await(const struct tide_stayer_search *search, struct tide_stayers *ret_stayers);

// Puts those on the roll that no image is of. Call it when nobody can come any more.
void tide_stayers_tell(const struct tide_stayers *stayers, struct tide_capture *capture);

void tide_stayers_done(struct tide_stayers *stayers); // zeroed is fine
