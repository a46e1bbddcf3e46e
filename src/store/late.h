// SPDX-License-Identifier: Apache-2.0
//
// Late frees: blocks that end in another interval than the one they began in. Only these take a
// cold path; a block that lives shortly never comes here.
//
//     interval    4         | 5              | 6
//     block x     malloc .................... free     a late free of x's cell, born in 4
//     block y                 malloc ... free          not late
//
// A row counts the late frees of one cell and one interval of birth. Rows are in chunks, which go
// round between the threads of the target and the supervisor:
//
//       free ---- a thread takes it ----> taken ---- its interval is over ----> closed
//         ^                            (rows are added)                            |
//         +----------------------- the supervisor has read it --------------------+
//
// Each thread counts into chunks of its own. It finds a row again by a small private index, and the
// latest few rows without that. The index is a hint: a row that is not found is made once more, and
// whoever reads adds the two. A thread closes the chunks of an interval with its first late free in
// another one, and when it ends. A thread without late frees keeps its chunks, which nobody writes
// then, and a reader at the end takes them as they are.
#pragma once
#include "store/store.h"

#define TIDE_LATE_RECENT 64u
#define TIDE_LATE_CHUNKS (1u << 13) // the most a store has
struct tide_lates {
  uint32_t interval; // of the chunks
  uint32_t chunk;    // index + 1 of the latest; 0: none
  uint32_t n_rows;   // of that one
  uint32_t *index;   // rows by key: their places; NULL: none yet
  uint32_t index_mask, index_used;
  struct {
    uint64_t key; // 0: none
    struct tide_late_row *row;
  } recent[TIDE_LATE_RECENT]; // by some bits of the key
};

void tide_late_attach(void); // no chunk of the store just attached is anybody's

// Leaves the chunks to the supervisor.
void tide_late_close(struct tide_lates *l);

TIDE_HOT uint32_t tide_late_recent(uint64_t key)
{
  return (uint32_t)(key ^ key >> 32) % TIDE_LATE_RECENT; // neighbours in cell and in birth
}

struct tide_late_row *tide_late_row_by_index(struct tide_lates *l, uint64_t key, uint32_t interval);

// Where the end of a block is counted that was born in another interval than this; NULL: there is
// no room. Of a program whose blocks live long nearly all come here. To be asked for before
// anything is counted: it may take a while, and a thread that is killed then has counted all or
// nothing.
TIDE_HOT struct tide_late_row *tide_late_row(struct tide_lates *l, uint32_t cell, uint32_t born,
                                             uint32_t interval)
{
  uint64_t key = TIDE_LATE_KEY(cell, born);
  uint32_t i = tide_late_recent(key);
  if (TIDE_UNLIKELY(l->interval != interval || l->recent[i].key != key))
    return tide_late_row_by_index(l, key, interval);
  return l->recent[i].row;
}
