// SPDX-License-Identifier: Apache-2.0
//
// See pack.h.
#include "model/pack.h"

#include "base/alloc.h"

#include <stdlib.h>

#define WIDE UINT32_MAX // as n_alloc

void tide_pack_stacks_done(struct tide_pack_stacks *stacks)
{
  free(stacks->items);
  free(stacks->wides);
  *stacks = (struct tide_pack_stacks){0};
}

void tide_pack_free(struct tide_pack *pack)
{
  if (!pack)
    return;
  tide_buf_done(&pack->tables);
  tide_buf_done(&pack->snapshots);
  tide_pack_stacks_done(&pack->stacks);
  free(pack);
}

struct tide_pack_stack tide_pack_stack_at(const struct tide_pack_stacks *stacks, size_t i)
{
  const struct tide_pack_narrow *s = &stacks->items[i];
  if (s->n_alloc == WIDE)
    return stacks->wides[s->b_alloc];
  return (struct tide_pack_stack){s->stack,      s->now_bytes,   s->now_blocks,
                                  s->peak_bytes, s->peak_blocks, s->end_bytes,
                                  s->end_blocks, s->n_alloc,     s->b_alloc};
}

static struct tide_pack_narrow narrow_of(const struct tide_pack_stack *s)
{
  return (struct tide_pack_narrow){
      s->stack,
      (int32_t)s->now_bytes,
      (int32_t)s->now_blocks,
      (int32_t)s->peak_bytes,
      (int32_t)s->peak_blocks,
      (int32_t)s->end_bytes,
      (int32_t)s->end_blocks,
      (uint32_t)s->n_alloc,
      (uint32_t)s->b_alloc,
  };
}

static bool is_narrow(const struct tide_pack_stack *s)
{
  struct tide_pack_narrow n = narrow_of(s);
  return n.now_bytes == s->now_bytes && n.now_blocks == s->now_blocks &&
         n.peak_bytes == s->peak_bytes && n.peak_blocks == s->peak_blocks &&
         n.end_bytes == s->end_bytes && n.end_blocks == s->end_blocks && n.n_alloc == s->n_alloc &&
         n.b_alloc == s->b_alloc && n.n_alloc != WIDE;
}

// One that was wide stays so.
void tide_pack_stack_set(struct tide_pack_stacks *stacks, size_t i,
                         const struct tide_pack_stack *stack)
{
  struct tide_pack_narrow *item = &stacks->items[i];
  if (item->n_alloc == WIDE) {
    stacks->wides[item->b_alloc] = *stack;
  } else if (is_narrow(stack)) {
    *item = narrow_of(stack);
  } else {
    TIDE_GROW(stacks->wides, stacks->n_wides, stacks->cap_wides);
    *item = (struct tide_pack_narrow){
        .stack = stack->stack, .n_alloc = WIDE, .b_alloc = (uint32_t)stacks->n_wides};
    stacks->wides[stacks->n_wides++] = *stack;
  }
}

void tide_pack_stack_add(struct tide_pack_stacks *stacks, const struct tide_pack_stack *stack)
{
  TIDE_GROW(stacks->items, stacks->n, stacks->cap);
  stacks->items[stacks->n] = (struct tide_pack_narrow){0};
  tide_pack_stack_set(stacks, stacks->n++, stack);
}
