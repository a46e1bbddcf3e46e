// SPDX-License-Identifier: Apache-2.0
//
// Names that a capture carries with it (struct tide_stored_names): found by (module, address), and
// built once. They serve captures that travel to another machine, and captures that never had
// addresses: a foreign format that knows names alone gets one module with bias 0 and an invented
// address for each distinct chain, used as the pc of frames marked TIDE_FRAME_IS_EXACT.
//
// Addresses are those of the look-up: ELF addresses, of a return address the byte before it; in
// module 0, the unknown one, the same as it ran.
#pragma once
#include "model/model.h"

// The chain stored for a place, innermost first: gives the number of frames, 0 when there is none.
size_t tide_stored_names_find(const struct tide_stored_names *names, uint32_t module, uint64_t addr,
                              const struct tide_stored_frame **ret_frames);

// The index of the place; SIZE_MAX when nothing is stored for it.
size_t tide_stored_names_place(const struct tide_stored_names *names, uint32_t module,
                               uint64_t addr);

// Is any address of the module named?
bool tide_stored_names_has_module(const struct tide_stored_names *names, uint32_t module);

// The text at a frame's offset; NULL for an unknown one (0). Lives as long as the names.
static inline const char *tide_stored_text(const struct tide_stored_names *names, uint32_t offset)
{
  return offset ? names->text + offset : NULL;
}

// The order of places; equal ones are not before each other.
static inline bool tide_stored_place_is_before(const struct tide_stored_place *a,
                                               const struct tide_stored_place *b)
{
  return a->module != b->module ? a->module < b->module : a->addr < b->addr;
}

void tide_stored_names_done(struct tide_stored_names *names); // all zero is fine; leaves all zero

// One frame of a chain handed to the builder. The texts are copied; NULL and "" mean unknown.
struct tide_names_frame {
  const char *function, *file;
  uint32_t line;
  bool inlined;
};

struct tide_names_builder;

struct tide_names_builder *tide_names_builder_new(void);
void tide_names_builder_free(struct tide_names_builder *builder); // NULL is fine

// Stores a chain of n frames for a place, in any order of places. Of several chains given for a
// place the last one stays; a chain of no frames is not kept.
void tide_names_builder_add(struct tide_names_builder *builder, uint32_t module, uint64_t addr,
                            const struct tide_names_frame *frames, size_t n);

// Stores a chain (n > 0) under an address of its own and gives that: 1, 2, 3 … in each builder.
// Equal chains of a module share one. Not to be mixed with tide_names_builder_add().
uint64_t tide_names_builder_invent(struct tide_names_builder *builder, uint32_t module,
                                   const struct tide_names_frame *frames, size_t n);

// Everything an image has stored already, so that more can be added.
void tide_names_builder_add_all(struct tide_names_builder *builder,
                                const struct tide_stored_names *names);

// Replaces the names of an image by what was built. The builder is empty afterwards. False, and the
// image as it was, when the texts are more than a capture can hold (4 GiB).
bool tide_names_builder_finish(struct tide_names_builder *builder, struct tide_image *image);
