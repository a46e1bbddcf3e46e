// SPDX-License-Identifier: Apache-2.0
//
// What the live map knows of a block, which stays there.
#pragma once
#include "store/live.h"
#include "store/writer.h"

static inline struct tide_block block_at(struct tide_writer *w, uint64_t addr)
{
  struct tide_block block = {0};
  tide_live_look(&w->station, addr, &block);
  return block;
}
