// SPDX-License-Identifier: Apache-2.0
//
// A call is: function F, innermost of a stack but for allocators, called by C. Calls are sorted by
// F and then by C, so that what is asked of F is a run of them.
//
// The thresholds fold nothing in git, redis, perl, sqlite3, cc1, node, bash and CPython as Debian
// ships them, beyond what the built-in rules name there. As one wrapper often calls another,
// looking is repeated.
#include "view/blame.h"

#include "base/alloc.h"
#include "model/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
  STACKS_MOST = 2048, // the largest: looking up names takes time
  ROUNDS_MOST = 4,
  CALLERS_LEAST = 8,
  SIZES_LEAST = 3,
  STRAIGHT_PERCENT = 90,     // of what passes through it, at least
  ONE_CALLER_PERCENT = 50,   // of it, at most
  NAMED_SHARE_PERCENT = 5,   // of all allocations or bytes, at least, if its name speaks of memory
  UNNAMED_SHARE_PERCENT = 50 // if not
};

struct call {
  const struct tide_named_frame *function, *caller; // caller NULL: none
  bool is_straight;                                 // nothing but allocators inside of it
  uint64_t n, bytes;
};

struct ranked { // a site
  uint64_t n_alloc, b_alloc;
  uint32_t stack, row;
};

struct search {
  struct tide_naming *naming;
  struct ranked *sites; // the largest first
  size_t n_sites;
  uint64_t n_all, b_all; // of the whole image
  struct call *calls;
  size_t n_calls, cap_calls;
};

static int by_allocations(const void *left, const void *right)
{
  const struct ranked *a = left, *b = right;
  if (a->n_alloc != b->n_alloc)
    return a->n_alloc < b->n_alloc ? 1 : -1;
  if (a->stack != b->stack)
    return a->stack > b->stack ? 1 : -1;
  return (a->row > b->row) - (a->row < b->row);
}

static void keep_largest(struct search *s)
{
  if (s->n_sites)
    qsort(s->sites, s->n_sites, sizeof *s->sites, by_allocations);
  if (s->n_sites > STACKS_MOST)
    s->n_sites = STACKS_MOST;
}

// Sites come in; whenever there are twice as many as are wanted, the smaller half goes, and from
// then on what is smaller than all that stayed does not come in.
static void rank_sites(struct search *s)
{
  const struct tide_image *image = tide_naming_image(s->naming);
  bool is_full = false;
  struct ranked least = {0};
  s->sites = tide_alloc_array(2 * STACKS_MOST, sizeof *s->sites);
  for (size_t i = 0; i < image->n_sites; i++) {
    const struct ranked site = {tide_image_site_number(image, i, TIDE_COUNTER_IDX(n_alloc)),
                                tide_image_site_number(image, i, TIDE_COUNTER_IDX(b_alloc)),
                                tide_image_site_stack(image, i), (uint32_t)i};
    if (!site.n_alloc || site.stack >= image->n_frames)
      continue;
    s->n_all += site.n_alloc;
    s->b_all += site.b_alloc;
    if (is_full && by_allocations(&least, &site) < 0)
      continue;
    s->sites[s->n_sites++] = site;
    if (s->n_sites < 2 * STACKS_MOST)
      continue;
    keep_largest(s);
    least = s->sites[s->n_sites - 1];
    is_full = true;
  }
  keep_largest(s);
}

static int compare_names(const struct tide_named_frame *a, const struct tide_named_frame *b)
{
  if (!a || !b)
    return (a != NULL) - (b != NULL);
  if (!a->function || !b->function)
    return (a->function != NULL) - (b->function != NULL);
  int order = strcmp(a->function, b->function);
  return order ? order : (a->module > b->module) - (a->module < b->module);
}

static void add_call(struct search *s, const struct tide_named_frame *function,
                     const struct tide_named_frame *caller, bool is_straight,
                     const struct ranked *site)
{
  TIDE_GROW(s->calls, s->n_calls, s->cap_calls);
  s->calls[s->n_calls++] =
      (struct call){function, caller, is_straight, site->n_alloc, site->b_alloc};
}

// The first functions of a stack that are not folded, each different from the one before.
struct top {
  const struct tide_named_frame *frames[3];
  size_t n;
  bool is_straight, is_heap;
};

static struct top top_of(struct search *s, uint32_t stack)
{
  const struct tide_image *image = tide_naming_image(s->naming);
  struct top top = {.is_straight = true, .is_heap = true};
  for (uint32_t node = stack; node && top.n < 3; node = image->frames[node].parent) {
    size_t n;
    if (image->frames[node].flags & (TIDE_FRAME_PAGES | TIDE_FRAME_LOST))
      top.is_heap = false;
    const struct tide_named_frame *frames = tide_naming_of_node(s->naming, node, &n);
    for (size_t i = 0; i < n && top.n < 3; i++) {
      if (tide_layer_is_folded(frames[i].layer))
        top.is_straight &= top.n > 0 || frames[i].layer == TIDE_LAYER_ALLOCATOR;
      else if (!top.n || compare_names(top.frames[top.n - 1], &frames[i]) != 0)
        top.frames[top.n++] = &frames[i];
    }
  }
  return top;
}

static void collect_calls(struct search *s)
{
  s->n_calls = 0;
  for (size_t i = 0; i < s->n_sites; i++) {
    struct top top = top_of(s, s->sites[i].stack);
    if (!top.is_heap || top.n < 2)
      continue;
    if (top.frames[0]->function)
      add_call(s, top.frames[0], top.frames[1], top.is_straight, &s->sites[i]);
    if (top.frames[1]->function) // it allocates through another one
      add_call(s, top.frames[1], top.n > 2 ? top.frames[2] : NULL, false, &s->sites[i]);
  }
}

static int by_function(const void *left, const void *right)
{
  const struct call *a = left, *b = right;
  int order = compare_names(a->function, b->function);
  if (!order)
    order = compare_names(a->caller, b->caller);
  return order;
}

static bool speaks_of_memory(const char *name)
{
  static const char *const words[] = {"alloc", "mem", "dup"};
  for (; *name; name++)
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
      size_t k = 0;
      while (words[i][k] && tolower((unsigned char)name[k]) == words[i][k])
        k++;
      if (!words[i][k])
        return true;
    }
  return false;
}

struct shape {                              // of one function
  uint64_t n, n_straight, b_straight, most; // most: of one caller
  size_t n_callers, n_sizes;
  uint64_t sizes[SIZES_LEAST];
};

static void note_size(struct shape *shape, const struct call *call)
{
  uint64_t size = call->n ? call->bytes / call->n : 0; // a foreign file may know bytes alone
  for (size_t i = 0; i < shape->n_sizes; i++)
    if (shape->sizes[i] == size)
      return;
  if (shape->n_sizes < SIZES_LEAST)
    shape->sizes[shape->n_sizes++] = size;
}

static struct shape shape_of(const struct call *calls, size_t n)
{
  struct shape shape = {0};
  uint64_t of_caller = 0;
  for (size_t i = 0; i < n; i++) {
    bool is_next = !i || compare_names(calls[i - 1].caller, calls[i].caller) != 0;
    of_caller = is_next ? 0 : of_caller;
    shape.n += calls[i].n;
    if (!calls[i].is_straight)
      continue;
    shape.n_callers += of_caller == 0;
    of_caller += calls[i].n;
    shape.most = of_caller > shape.most ? of_caller : shape.most;
    shape.n_straight += calls[i].n;
    shape.b_straight += calls[i].bytes;
    note_size(&shape, &calls[i]);
  }
  return shape;
}

static bool is_percent(uint64_t part, uint64_t percent, uint64_t whole)
{
  return (double)part * 100 >= (double)percent * (double)whole;
}

static bool is_wrapper(const struct search *s, const struct shape *shape, const char *function)
{
  uint64_t share = speaks_of_memory(function) ? NAMED_SHARE_PERCENT : UNNAMED_SHARE_PERCENT;
  return shape->n_callers >= CALLERS_LEAST && shape->n_sizes >= SIZES_LEAST &&
         is_percent(shape->n_straight, STRAIGHT_PERCENT, shape->n) &&
         !is_percent(shape->most, ONE_CALLER_PERCENT + 1, shape->n_straight) &&
         (is_percent(shape->n_straight, share, s->n_all) ||
          is_percent(shape->b_straight, share, s->b_all));
}

static bool fold_round(struct search *s)
{
  size_t n_before;
  tide_naming_wrappers(s->naming, &n_before);
  collect_calls(s);
  if (s->n_calls)
    qsort(s->calls, s->n_calls, sizeof *s->calls, by_function);
  for (size_t i = 0, next; i < s->n_calls; i = next) {
    for (next = i; next < s->n_calls; next++)
      if (compare_names(s->calls[i].function, s->calls[next].function) != 0)
        break;
    struct shape shape = shape_of(s->calls + i, next - i);
    if (is_wrapper(s, &shape, s->calls[i].function->function))
      tide_naming_add_wrapper(s->naming, s->calls[i].function, shape.n_callers);
  }
  size_t n_after;
  tide_naming_wrappers(s->naming, &n_after);
  return n_after > n_before;
}

void tide_wrappers_fold(struct tide_naming *naming)
{
  struct search s = {.naming = naming};
  rank_sites(&s);
  for (size_t round = 0; round < ROUNDS_MOST && fold_round(&s); round++) {
  }
  free(s.sites);
  free(s.calls);
}

static void share_one_way(struct tide_naming *to, const struct tide_naming *from)
{
  size_t n;
  const struct tide_wrapper *wrappers = tide_naming_wrappers(from, &n);
  for (size_t i = 0; i < n; i++)
    tide_naming_add_wrapper_named(to, wrappers[i].function, wrappers[i].module,
                                  wrappers[i].n_callers);
}

void tide_wrappers_share(struct tide_naming *a, struct tide_naming *b)
{
  share_one_way(a, b);
  share_one_way(b, a);
}
