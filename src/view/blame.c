// SPDX-License-Identifier: Apache-2.0
//
// A walk outwards. Once the innermost frame that is not folded is known and is a library's, all
// that matters is the next one of the user's own: what lies in modules that can have none, a
// system's libraries, is stepped over without looking up a name, and named afterwards where it is
// the way in.
//
// A program of the distribution has no code of the user's at all, and each of its stacks would be
// walked to the end: what was walked once is noted, so that all of them together cost one look at
// each node.
#include "view/blame.h"

#include "base/alloc.h"

#include <stdlib.h>

struct walk {
  struct tide_naming *naming;
  struct tide_blame blame;
  const struct tide_named_frame *first;    // not folded
  const struct tide_named_frame *library;  // not folded, the last met
  const struct tide_named_frame *fallback; // of the folded ones, the best
  uint32_t *skipped;                       // nodes since `library`
  size_t n_skipped, cap_skipped;
};

// Of frames that are all folded: the first of the highest layer, or a named one of the same module
// further out. "call_init in ld.so" would be true of everything before main.
static bool is_better_fallback(const struct tide_named_frame *held,
                               const struct tide_named_frame *offered)
{
  if (held->layer != offered->layer)
    return held->layer < offered->layer;
  return !held->function && offered->function && offered->module == held->module;
}

// Whether the frame ends the search.
static bool meet_frame(struct walk *w, const struct tide_named_frame *frame)
{
  if (tide_layer_is_folded(frame->layer)) {
    if (!w->fallback || is_better_fallback(w->fallback, frame))
      w->fallback = frame;
    return false;
  }
  if (!w->first)
    w->first = frame;
  if (frame->layer == TIDE_LAYER_USER || tide_naming_blamed(w->naming) == TIDE_BLAMED_LIBRARY) {
    w->blame.culprit = frame;
    return true;
  }
  w->library = frame;
  w->n_skipped = 0;
  return false;
}

static bool is_frame(const struct tide_frame *frame)
{
  return !(frame->flags & (TIDE_FRAME_CUT | TIDE_FRAME_PAGES | TIDE_FRAME_LOST | TIDE_FRAME_SCOPE));
}

// Up to the culprit; false when look-ups ran out. *node is where it is.
static bool find_culprit(struct walk *w, uint32_t *node, size_t *ret_next)
{
  const struct tide_image *image = tide_naming_image(w->naming);
  for (; *node; *node = image->frames[*node].parent) {
    size_t n;
    if (w->first && tide_naming_has_no_own(w->naming, *node))
      return true;
    if (!is_frame(&image->frames[*node]))
      continue;
    if (w->first && tide_naming_is_in_library(w->naming, *node)) {
      TIDE_GROW(w->skipped, w->n_skipped, w->cap_skipped);
      w->skipped[w->n_skipped++] = *node;
      continue;
    }
    const struct tide_named_frame *frames = tide_naming_try_node(w->naming, *node, &n);
    if (!frames)
      return false;
    for (size_t i = 0; i < n; i++)
      if (meet_frame(w, &frames[i])) {
        *ret_next = i + 1;
        return true;
      }
  }
  return true;
}

// What was stepped over last and is not folded is nearer to the culprit than what was met.
static void find_via(struct walk *w)
{
  w->blame.via = w->library;
  while (w->n_skipped) {
    size_t n;
    const struct tide_named_frame *frames =
        tide_naming_of_node(w->naming, w->skipped[--w->n_skipped], &n);
    while (n-- > 0)
      if (!tide_layer_is_folded(frames[n].layer)) {
        w->blame.via = &frames[n];
        return;
      }
  }
}

// Of a culprit without a name, from the frame behind it on.
static void find_caller(struct walk *w, uint32_t node, size_t next)
{
  const struct tide_image *image = tide_naming_image(w->naming);
  for (; node; node = image->frames[node].parent, next = 0) {
    size_t n;
    if (!is_frame(&image->frames[node]))
      continue;
    const struct tide_named_frame *frames = tide_naming_of_node(w->naming, node, &n);
    for (size_t i = next; i < n; i++)
      if (frames[i].function && !tide_layer_is_folded(frames[i].layer)) {
        w->blame.caller = &frames[i];
        return;
      }
  }
}

static struct tide_blame blame_stack(struct tide_naming *naming, uint32_t stack, bool culprit_only)
{
  struct walk w = {.naming = naming};
  uint32_t node = stack;
  size_t next = 0;
  bool is_told = find_culprit(&w, &node, &next);
  if (!is_told) {
    w.blame = (struct tide_blame){0};
  } else if (w.blame.culprit) {
    if (!culprit_only)
      find_via(&w);
  } else {
    w.blame.culprit = w.first ? w.first : w.fallback;
    node = stack;
    tide_naming_note_no_own(naming, stack);
  }
  if (!culprit_only && w.blame.culprit && !w.blame.culprit->function && w.blame.culprit->pc)
    find_caller(&w, node, next);
  free(w.skipped);
  return w.blame;
}

struct tide_blame tide_blame_stack(struct tide_naming *naming, uint32_t stack)
{
  return blame_stack(naming, stack, false);
}

// The first time with all that is looked up for the blame: which names are known when look-ups run
// out does not depend on who asked for what.
const struct tide_named_frame *tide_naming_culprit(struct tide_naming *naming, uint32_t stack)
{
  bool is_told = tide_naming_is_told(naming, stack);
  const struct tide_named_frame *culprit = blame_stack(naming, stack, is_told).culprit;
  if (culprit && !is_told)
    tide_naming_note_told(naming, stack);
  return culprit;
}

static bool is_own(const struct tide_named_frame *frame)
{
  return frame->layer == TIDE_LAYER_USER && !(frame->flags & TIDE_FRAME_CUT);
}

struct tide_blame tide_blame_frames(const struct tide_naming *naming, size_t n,
                                    const struct tide_named_frame *(*at)(void *context, size_t i),
                                    void *context)
{
  struct tide_blame blame = {0};
  size_t culprit = 0;
  bool own = tide_naming_blamed(naming) == TIDE_BLAMED_OWN;
  while (own && culprit < n && !is_own(at(context, culprit)))
    culprit++;
  if (culprit == n)
    culprit = 0;
  if (n)
    blame.culprit = at(context, culprit);
  for (size_t i = culprit; i-- > 0 && !blame.via;)
    if (!(at(context, i)->flags & TIDE_FRAME_CUT))
      blame.via = at(context, i);
  for (size_t i = culprit + 1; n && !blame.culprit->function && i < n && !blame.caller; i++)
    if (at(context, i)->function)
      blame.caller = at(context, i);
  return blame;
}
