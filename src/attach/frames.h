// SPDX-License-Identifier: Apache-2.0
//
// A table to search an object's unwind information by, where the linker has made none: static
// programs have .eh_frame and no .eh_frame_hdr. Ours is of the same form.
#pragma once
#include "attach/loaded.h"

struct tide_frame_table {
  const struct tide_loaded *of;
  uint64_t at; // in the process, within reach of the object
  uint8_t *bytes;
  size_t n_bytes;
};

// Makes one of table->of, and claims a place for it; bytes are the caller's. False: there is
// nothing to make it of, or no place.
bool tide_frame_table_make(struct tide_outside *outside, struct tide_frame_table *table);
