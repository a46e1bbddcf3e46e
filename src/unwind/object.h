// SPDX-License-Identifier: Apache-2.0
//
// A loaded object: where its code is, its unwind table, and what of it may be read.
#pragma once
#include "unwind/host.h"

struct tide_span {
  uint64_t start, end;
};
enum { TIDE_OBJECT_SPANS = 8 };

struct tide_object {
  uint64_t start, end;   // mapped range
  uint64_t bias;         // runtime address - ELF address
  const uint8_t *eh_hdr; // .eh_frame_hdr in memory; NULL: none
  uint64_t eh_hdr_bytes; // of one that lies outside of the object; 0: it lies within
  const char *path;      // "" for the program itself, "[vdso]"; valid while the object is loaded
  const void *identity;  // same object, same pointer (while it is loaded)
  // What of it may be read. Filled in by object_met().
  uint32_t n_readable;
  struct tide_span readable[TIDE_OBJECT_SPANS];
};

static inline bool tide_object_find(uint64_t pc, struct tide_object *ret_object)
{
  return tide_unwind_host->object_at(pc, ret_object);
}

// Finds out what of an object may be read: its segments, if its program headers are there and agree
// with the loader's idea of it, or else what /proc/self/maps says. Nothing where neither can be
// had: that costs its frames, no more.
void tide_object_measure(struct tide_object *object);

// The kernel's own page of code, which the loader's list does not hold; from the auxiliary vector.
void tide_object_set_vdso(uint64_t start);
bool tide_object_is_vdso(const struct tide_object *object);

// Is pc the first instruction of the sigreturn stub? Never faults.
bool tide_object_is_sigreturn(uint64_t pc);
