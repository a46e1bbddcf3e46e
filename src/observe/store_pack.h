// SPDX-License-Identifier: Apache-2.0
//
// A store of very many stacks, whose target has ended, into a packed image (pack.h).
#pragma once
#include "observe/clock.h"
#include "model/model.h"
#include "observe/store_view.h"

// Fewer are read into rows: quicker, and the memory does not matter.
#define TIDE_PACK_CELLS 32768u

// What tide_store_read_image() makes, packed, but for the snapshots, for which the pack has what is
// needed. The store is used up. False: the store is not one that can be read in place, nothing was
// done.
bool tide_store_pack_image(struct tide_store_view *view, const struct tide_clock *clock,
                           uint64_t end_ticks, struct tide_image *ret_image);
