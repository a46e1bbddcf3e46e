// SPDX-License-Identifier: Apache-2.0
//
// What a filter says of a frame is kept per address, since stacks share most of their frames; what
// it says of a stack is gathered along the trie, where a node has all that its parent has.
#include "view/view.h"

#include "base/alloc.h"

#include <stdlib.h>

static uint8_t *bits_of(struct tide_view *view, uint32_t node)
{
  size_t n, address = tide_naming_address(view->naming, node);
  if (address >= view->n_bits) {
    size_t more = tide_naming_addresses(view->naming) * 2;
    view->bits = tide_realloc_array(view->bits, more, sizeof *view->bits);
    for (size_t i = view->n_bits; i < more; i++)
      view->bits[i] = NULL;
    view->n_bits = more;
  }
  if (view->bits[address])
    return view->bits[address];
  const struct tide_named_frame *frames = tide_naming_of_node(view->naming, node, &n);
  uint8_t *bits = tide_alloc(n);
  for (size_t i = 0; i < n; i++)
    bits[i] = (uint8_t)tide_filter_judge(view->filter, view->naming, &frames[i]);
  return view->bits[address] = bits;
}

static bool is_frame(const struct tide_frame *frame)
{
  return !(frame->flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST));
}

static void judge_stacks(struct tide_view *view)
{
  const struct tide_image *image = view->profile->image;
  TIDE_CLEANUP_FREE uint8_t *along = tide_alloc_array(image->n_frames, 1);
  for (uint32_t node = 1; node < image->n_frames; node++) {
    along[node] = along[image->frames[node].parent];
    if (!is_frame(&image->frames[node]))
      continue;
    size_t n;
    const uint8_t *bits = bits_of(view, node);
    tide_naming_of_node(view->naming, node, &n);
    for (size_t i = 0; i < n; i++)
      along[node] |= bits[i];
  }
  view->unwanted = tide_alloc_array(view->profile->n_sites + 1, 1);
  for (size_t i = 0; i < view->profile->n_sites; i++)
    view->unwanted[i] = !tide_filter_wants(view->filter, along[view->profile->sites[i].stack]);
}

void tide_view_init(struct tide_view *view, struct tide_profile *profile,
                    struct tide_naming *naming, const struct tide_filter *filter, bool all_frames)
{
  *view = (struct tide_view){
      .profile = profile,
      .naming = naming,
      .filter = filter,
      .all_frames = all_frames,
      .whole = profile->whole,
  };
  if (!tide_filter_is_empty(filter))
    judge_stacks(view);
  for (size_t i = 0; i < profile->n_sites; i++)
    if (tide_view_has(view, i))
      view->wanted += profile->sites[i].weight;
}

void tide_view_done(struct tide_view *view)
{
  for (size_t i = 0; i < view->n_bits; i++)
    free(view->bits[i]);
  free(view->bits);
  free(view->unwanted);
  free(view->scratch);
  *view = (struct tide_view){0};
}

bool tide_view_has(const struct tide_view *view, size_t site_idx)
{
  const struct tide_profile *profile = view->profile;
  return tide_question_is_about(&profile->question, profile->sites[site_idx].kind) &&
         !(view->unwanted && view->unwanted[site_idx]);
}

int64_t tide_view_all(const struct tide_view *view)
{
  return view->wanted > view->whole ? view->wanted : view->whole;
}

struct gathering { // of one stack
  size_t n;
  uint32_t n_folded; // since the last frame shown
  size_t focus_n;    // frames shown up to the outermost one in focus
  bool has_callee;   // met the one whose callers are looked at
};

// What is inside the innermost frame whose callers are looked at is not part of the picture.
static void start_at_callee(struct gathering *g)
{
  if (g->has_callee)
    return;
  *g = (struct gathering){.has_callee = true};
}

static void gather_node(struct tide_view *view, struct gathering *g, uint32_t node)
{
  size_t n;
  const struct tide_named_frame *frames = tide_naming_of_node(view->naming, node, &n);
  const uint8_t *bits = tide_filter_is_empty(view->filter) ? NULL : bits_of(view, node);
  for (size_t i = 0; i < n; i++) {
    bool folded = !view->all_frames && tide_layer_is_folded(frames[i].layer);
    bool in_focus = bits && bits[i] & (TIDE_FILTER_FOCUS | TIDE_FILTER_CALLEES);
    bool is_callee = bits && bits[i] & TIDE_FILTER_CALLERS;
    if (is_callee)
      start_at_callee(g);
    if (bits && bits[i] & TIDE_FILTER_HIDE) {
      // left out and forgotten: the reader asked for that
    } else if (folded && !in_focus && !is_callee) {
      g->n_folded++;
    } else {
      TIDE_GROW(view->scratch, g->n, view->cap_scratch);
      view->scratch[g->n++] = (struct tide_view_frame){&frames[i], g->n_folded};
      g->n_folded = 0;
    }
    if (in_focus)
      g->focus_n = g->n;
  }
}

const struct tide_view_frame *tide_view_stack(struct tide_view *view, uint32_t stack, size_t *ret_n)
{
  const struct tide_image *image = view->profile->image;
  struct gathering g = {0};
  for (uint32_t node = stack; node; node = image->frames[node].parent)
    if (is_frame(&image->frames[node]))
      gather_node(view, &g, node);
  if (g.focus_n)
    g.n = g.focus_n;
  const struct tide_named_frame *blamed = NULL;
  if (g.n == 0 && g.n_folded)
    blamed = tide_naming_culprit(view->naming, stack);
  if (blamed) {
    TIDE_GROW(view->scratch, g.n, view->cap_scratch);
    view->scratch[g.n++] = (struct tide_view_frame){blamed, g.n_folded - 1};
  }
  *ret_n = g.n;
  return view->scratch;
}

static const struct tide_named_frame *frame_at(void *frames, size_t i)
{
  return ((const struct tide_view_frame *)frames)[i].frame;
}

struct tide_blame tide_view_blame(struct tide_view *view, uint32_t stack)
{
  if (tide_filter_is_empty(view->filter))
    return tide_blame_stack(view->naming, stack); // looks up no more than it must
  size_t n;
  bool all_frames = view->all_frames;
  view->all_frames = false;
  tide_view_stack(view, stack, &n);
  view->all_frames = all_frames;
  return tide_blame_frames(view->naming, n, frame_at, view->scratch);
}

const struct tide_named_frame *tide_view_culprit(struct tide_view *view, uint32_t stack)
{
  return tide_filter_is_empty(view->filter) ? tide_naming_culprit(view->naming, stack)
                                            : tide_view_blame(view, stack).culprit;
}
