// SPDX-License-Identifier: Apache-2.0
//
// Which loaded object holds a code address, and where its unwind table is. Lock-free and safe in a
// signal handler: _dl_find_object (glibc 2.35) takes no lock, unlike dl_iterate_phdr, which must
// never be called from a hook (its lock may be held by a thread that waits for us).
#pragma once
#include "rt/base.h"

struct tide_span {
  uint64_t start, end;
};
enum { TIDE_OBJECT_SPANS = 8 };

struct tide_object {
  uint64_t start, end;   // mapped range
  uint64_t bias;         // runtime address - ELF address
  const uint8_t *eh_hdr; // .eh_frame_hdr in memory; NULL: none
  const char *path;      // "" for the program itself, "[vdso]"; valid while the object is loaded
  const void *identity;  // same object, same pointer (while it is loaded)
  // What of it may be read. Filled in by tide_object_seen().
  uint32_t n_readable;
  struct tide_span readable[TIDE_OBJECT_SPANS];
};

bool tide_object_find(uint64_t pc, struct tide_object *ret_object);

// Supplied by the user of this module: called whenever a rule is about to be made for code of an
// object, so before any stack through new code is hashed. Gives what of it may be read, as it was
// when the object was first met (tide_object_measure).
void tide_object_seen(struct tide_object *object);

// Finds out what of an object may be read: its segments, if its program headers are there and agree
// with the loader's idea of it, or else what /proc/self/maps says. Nothing where neither can be
// had: that costs its frames, no more.
void tide_object_measure(struct tide_object *object);

// The kernel's own page of code, which the loader's list does not hold; from the auxiliary vector.
void tide_object_set_vdso(uint64_t start);

// Is pc the first instruction of the sigreturn stub? Never faults.
bool tide_object_is_sigreturn(uint64_t pc);
