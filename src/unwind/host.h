// SPDX-License-Identifier: Apache-2.0
//
// What the unwinder needs of its host: which code there is, and names for stacks.
#pragma once
#include "rt/base.h"

struct tide_object;
struct tide_unwind;
struct tide_unwind_frame;

// How a walk ended: at an outermost frame, or where nothing was known.
enum tide_walk_end { TIDE_WALK_WHOLE, TIDE_WALK_BROKEN };

struct tide_unwind_host {
  // The object that holds a code address; false: none. Called in any thread and in signal handlers,
  // so it may take no lock that the program's threads hold.
  bool (*object_at)(uint64_t pc, struct tide_object *ret_object);
  // A rule is about to be made for code of an object, so before any stack through new code is
  // hashed. Fills in what of it may be read, as it was when the object was first met
  // (tide_object_measure).
  void (*object_met)(struct tide_object *object);
  // The token of the stack whose n frames are given, outermost first, hashes filled in. Called when
  // a stack is not known by the caches; u->is_new says whether anybody had asked for it before.
  void *(*stack_token)(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                       enum tide_walk_end end);
};

extern const struct tide_unwind_host *tide_unwind_host; // set before anything is unwound

// ---- loaded objects ----
//
// A loaded object: where its code is, its unwind table, and what of it may be read.

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
