// SPDX-License-Identifier: Apache-2.0
//
// What an attach will write where: made while the process runs and from its files and memory alone,
// so that the stop itself is short. A function that cannot be hooked is listed with the reason.
//
// Three forms of a patch, the safest first:
//
//   SHORT    two bytes over the first instruction, to a near jump in padding close by
//   SINGLE   a near jump over a first instruction of as many bytes, or more
//   CHECKED  a near jump over several instructions: nothing in the function branches back among
//            them, no thread is in the middle, and no stack holds an address in there
//
// In the first two no thread can be in the middle of what is overwritten, whatever it does.
#pragma once
#include "attach/displace.h"
#include "attach/families.h"
#include "attach/island.h"
#include "attach/loaded.h"

enum tide_patch_form { TIDE_PATCH_SHORT, TIDE_PATCH_SINGLE, TIDE_PATCH_CHECKED };

struct tide_patch {
  struct tide_hookable entry;
  enum tide_patch_form form;
  uint64_t at; // where the jump is written, past the pad
  size_t n;    // bytes of it
  uint8_t old[16], jump[16];
  uint64_t hole; // where the near jump of the short form is; 0: none
  uint8_t hole_old[8], hole_jump[8];
  uint64_t island;
  struct tide_displaced displaced;
  uint32_t index; // of its hook in the agent's face
};

struct tide_refusal {
  struct tide_hookable entry;
  const char *why;
  uint64_t passes_on; // the function whose blocks it passes on; 0: it has some of its own
};

// Islands lie within reach of the functions they belong to: a region of them near each object or
// two.
struct tide_island_region {
  uint64_t at, n_bytes;
  size_t n_islands;
};

struct tide_plan {
  struct tide_patch *patches;
  size_t n_patches, patches_cap;
  struct tide_refusal *refusals;
  size_t n_refusals, refusals_cap;
  struct tide_island_region *regions;
  size_t n_regions, regions_cap;
  bool is_outdated; // an object has gone since it was listed
};

// What of these objects is hooked and how, and what cannot be: all that an attach does, of
// allocators first, then of what it needs to know besides. outside has its memory open, or else (to
// look at what may only be read about, or does not run yet) code is taken from the files. What the
// plan takes is claimed there. follows: execve, too.
void tide_plan_make(struct tide_outside *outside, const struct tide_loaded_list *objects,
                    bool follows, struct tide_plan *ret_plan);
// The same of more entries, for a plan that is made.
void tide_plan_add(struct tide_outside *outside, const struct tide_hookables *entries,
                   struct tide_plan *plan);
// Of an allocator in an object none of whose functions that give blocks are hooked, those that
// could not be, with the reason of the first: "malloc, calloc: it begins with a call"; "" when
// there is none.
void tide_plan_unhooked(const struct tide_plan *plan, char *to, size_t size);
// Every function of an allocator that cannot be hooked, those with the same reason together, and
// the loader's sign that libraries come, without which later ones are not seen; "": none.
void tide_plan_refused(const struct tide_plan *plan, char *to, size_t size);

// How much of what a process allocates would be seen.
enum tide_sight {
  TIDE_SIGHT_ALL,
  TIDE_SIGHT_PART,    // tide_plan_refused() says what not
  TIDE_SIGHT_PAGES,   // no allocator is known: what it maps alone
  TIDE_SIGHT_NOTHING, // nor that, or an allocator that cannot be hooked and nothing else
};
enum tide_sight tide_plan_sight(const struct tide_plan *plan);

void tide_plan_done(struct tide_plan *plan);

const char *tide_patch_form_words(enum tide_patch_form form);
