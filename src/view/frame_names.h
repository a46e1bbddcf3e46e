// SPDX-License-Identifier: Apache-2.0
//
// Small numbers for what frames say: two frames are one name when a reader could not tell them
// apart. That is the function and its source file; without a file, the module; without a name, the
// address in its file. Lines tell apart only where asked for.
#pragma once
#include "view/naming.h"

struct tide_frame_name {
  const struct tide_named_frame *frame; // the naming's
  uint32_t name;
};

struct tide_frame_names {
  const struct tide_naming *naming;      // not owned
  bool by_line;                          // each line of a function is a name of its own
  const struct tide_named_frame **items; // by name, each the first met; [0] is NULL: no frame
  uint32_t n;
  struct tide_frame_name *frames; // every frame met; [0] is no frame
  uint32_t n_frames;
  // Private.
  uint32_t cap, cap_frames;
  uint32_t *by_text, *by_pointer; // hashes -> name, frame; 0: free
  size_t n_by_text, n_by_pointer;
};

void tide_frame_names_init(struct tide_frame_names *names, const struct tide_naming *naming,
                           bool by_line);
void tide_frame_names_done(struct tide_frame_names *names);

// The index of a frame among the frames, with its name there; 0 for NULL. Frames are told apart by
// pointer first, so that texts are compared once per frame and not once per stack.
uint32_t tide_frame_names_add(struct tide_frame_names *names, const struct tide_named_frame *frame);

// An order of names that is the same in every run.
int tide_frame_names_compare(const struct tide_frame_names *names, uint32_t a, uint32_t b);
