// SPDX-License-Identifier: Apache-2.0
//
// Byte for byte: see island.h.
#include "attach/island.h"

#include "rt/arch.h"
#include "store/layout.h"

#include <string.h>

_Static_assert(TIDE_UNDO_BYTES + TIDE_ENTER_BYTES <= TIDE_ISLAND_REAL_AT, "islands overlap");
_Static_assert(TIDE_ISLAND_REAL_AT + TIDE_PAD_BYTES == TIDE_ISLAND_CODE_AT, "a pad, then code");
_Static_assert(TIDE_ISLAND_CODE_AT + TIDE_DISPLACED_BYTES <= TIDE_ISLAND_NOTE_AT, "and here");
_Static_assert(TIDE_ISLAND_NOTE_AT + sizeof(struct tide_island_note) <= TIDE_ISLAND_BYTES, "here");

// Of the machine that we run on.
#define DISPLACER                                                                                  \
  (TIDE_ARCH_ID == TIDE_ARCH_X86_64 ? &tide_displacer_x86_64 : &tide_displacer_aarch64)

const struct tide_displacer *tide_displacer(void)
{
  return DISPLACER;
}

void tide_island_write(const struct tide_island *island, uint8_t bytes[TIDE_ISLAND_BYTES])
{
  const struct tide_displacer *d = tide_displacer();
  const struct tide_displaced *displaced = island->displaced;
  struct tide_island_note note = island->note;
  note.magic = TIDE_ISLAND_MAGIC;
  memset(bytes, 0, TIDE_ISLAND_BYTES);
  memcpy(bytes, displaced->undo, displaced->n_undo);
  d->enter(bytes + displaced->n_undo, &island->way);
  memcpy(bytes + TIDE_ISLAND_REAL_AT, d->pad, sizeof d->pad);
  memcpy(bytes + TIDE_ISLAND_CODE_AT, displaced->code, displaced->n_bytes);
  memcpy(bytes + TIDE_ISLAND_NOTE_AT, &note, sizeof note);
}
