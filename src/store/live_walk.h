// SPDX-License-Identifier: Apache-2.0
//
// Lists the live blocks of a process: of this one, or of another whose memory can be read. Neither
// stops for it. A block that comes or goes meanwhile may be listed or not; one that is there all
// the time is listed once, unless its table is rebuilt faster than it can be read: such tables are
// counted. What is read is not believed: it may lead anywhere, and takes bounded time. A walk may
// be cut into several, so that whoever keeps blocks need not keep all of them at once.
#pragma once
#include "rt/base.h"

struct tide_walk_block {
  uint64_t addr, size;
  uint32_t cell, interval;
};

struct tide_live_walk {
  uint64_t map; // address of tide_live_map in that process
  // Copies memory of that process; false: there is none.
  bool (*read)(void *context, uint64_t addr, void *to, size_t bytes);
  void (*each)(void *context, const struct tide_walk_block *block);
  void *context;
  uint64_t from;   // address: the region that it lies in is the first
  uint64_t enough; // blocks, after which the walk ends with its region; 0: all of them
};

struct tide_walk_result {
  uint64_t n_blocks;
  uint64_t n_unread; // tables
  uint64_t end;      // address up to which all are listed; UINT64_MAX: these were the last
};

// False: there is no map.
bool tide_live_walk(const struct tide_live_walk *walk, struct tide_walk_result *ret_result);
