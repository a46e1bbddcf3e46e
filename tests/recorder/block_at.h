// SPDX-License-Identifier: Apache-2.0
//
// What the live map knows of a block, which stays there.
#pragma once
#include "store/writer.h"

static inline struct tide_block block_at(struct tide_writer *w, uint64_t addr)
{
  struct tide_live *slot = tide_live_find(&w->station, addr);
  struct tide_block block = {0};
  if (slot) {
    block = tide_live_block(tide_load_relaxed(&slot->what), tide_load_relaxed(&slot->when));
    tide_live_leave(&w->station);
  }
  return block;
}
