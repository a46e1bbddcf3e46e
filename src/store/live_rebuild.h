// SPDX-License-Identifier: Apache-2.0
//
// Making tables, and replacing them by others that fit their blocks better. Private to the live
// map.
#pragma once
#include "store/live_map.h"

enum { TIDE_LIVE_DIRECT_BYTES = 36 << 20 }; // that direct tables take beyond what they need

// A block that has to have a place.
struct tide_newcomer {
  uint64_t key, what;
};

// Gives a region its first table, of the form and size that the last one had use for. False: no
// memory.
bool tide_live_table_first(struct tide_station *s, uint64_t *region);

// Replaces a table by one that fits what lives in it and one block more (NULL: none). The caller is
// in no region. False: it cannot be done.
bool tide_live_rebuild(struct tide_station *self, uint64_t *region,
                       const struct tide_newcomer *more);

// The kernel gave memory, or did not.
void tide_live_note_refusal(const void *memory);
