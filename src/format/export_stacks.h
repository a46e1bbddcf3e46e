// SPDX-License-Identifier: Apache-2.0
//
// Stacks as a format's texts: each distinct text has a number, and so has each distinct list of
// texts. Two stacks of a view may read alike (a library loaded again, hidden frames, events without
// a stack), and readers want them as one.
#pragma once
#include "base/intern.h"
#include "view/view.h"

// What a format writes for a frame; owned by the caller.
typedef char *tide_frame_text_fn(const struct tide_naming *naming,
                                 const struct tide_named_frame *frame);

struct tide_export_stacks {
  struct tide_view *view; // not owned
  tide_frame_text_fn *frame_text;
  struct tide_intern texts;
  struct tide_intern lists; // of numbers of texts (uint32_t), innermost first; never empty ones
  // Private.
  struct tide_intern pointers; // frames met before
  uint32_t *text_of;           // per one of them
  size_t cap_text_of;
  struct tide_buf ids;
};

void tide_export_stacks_init(struct tide_export_stacks *stacks, struct tide_view *view,
                             tide_frame_text_fn *frame_text);
void tide_export_stacks_done(struct tide_export_stacks *stacks);

// The number of a site's list.
uint32_t tide_export_stacks_add(struct tide_export_stacks *stacks,
                                const struct tide_profile_site *site);

// A list by its number; valid until the next one is added.
const uint32_t *tide_export_stacks_get(const struct tide_export_stacks *stacks, uint32_t list,
                                       size_t *ret_n);
