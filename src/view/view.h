// SPDX-License-Identifier: Apache-2.0
//
// A profile seen through names: which of its stacks are looked at, and which of their frames are
// shown. Whatever gathers stacks into rows or trees goes through a view, so that filters, focus and
// folding mean the same everywhere.
#pragma once
#include "profile/profile.h"
#include "view/blame.h"
#include "view/filter.h"

struct tide_view_frame {
  const struct tide_named_frame *frame; // the naming's
  uint32_t n_folded;                    // frames left out between it and the next inner one shown
};

struct tide_view {
  struct tide_profile *profile;     // asked; not owned
  struct tide_naming *naming;       // not owned
  const struct tide_filter *filter; // not owned; NULL: none
  bool all_frames;                  // fold nothing
  uint8_t *unwanted;                // per site of the profile; NULL: all are wanted
  int64_t whole;                    // the weight of all that the question is about
  int64_t wanted;                   // the part of it that the filter lets through
  // Private.
  uint8_t **bits; // per address of the naming, per frame there; NULL: not judged yet
  size_t n_bits;
  struct tide_view_frame *scratch;
  size_t cap_scratch;
};

// The profile must have been asked, and whoever asks it something else meanwhile asks it the same
// again: its sites are then in the same order. All three and the filter must outlive the view. With
// a filter every stack is named; without, only what is asked for.
void tide_view_init(struct tide_view *view, struct tide_profile *profile,
                    struct tide_naming *naming, const struct tide_filter *filter, bool all_frames);
void tide_view_done(struct tide_view *view);

// Whether site i of the profile is part of the view: one that the question is about (a heap site or
// one of events without a stack; or one of pages) and that the filter lets through.
bool tide_view_has(const struct tide_view *view, size_t site_idx);

// What shares are of: the whole or, at a peak of several threads whose stacks add up to more than
// it within its bound, what they add up to. No part is more than all of it.
int64_t tide_view_all(const struct tide_view *view);

// The frames shown of a stack, innermost first: without what is folded, hidden, or outside the
// focus; inlined functions are frames of their own. A stack of nothing but folded frames shows the
// one it is blamed on. Never more than the stack has; 0 only when all is hidden or there is no
// frame at all. Valid until the next call.
const struct tide_view_frame *tide_view_stack(struct tide_view *view, uint32_t stack,
                                              size_t *ret_n);

// Whom a stack is blamed on (view/blame.h), of the frames that are shown when runtime frames are
// folded, whether they are or not. Without a culprit when there is none, or when the naming's limit
// on look-ups does not allow to tell.
struct tide_blame tide_view_blame(struct tide_view *view, uint32_t stack);
const struct tide_named_frame *tide_view_culprit(struct tide_view *view, uint32_t stack);
