// SPDX-License-Identifier: Apache-2.0
//
// A cell as it is now, while its thread goes on.
#include "ask/now.h"

#include <string.h>

struct tide_cell tide_now_cell(uint32_t id, uint32_t slot)
{
  const struct tide_cell *c = &tide_store.cells[id];
  const struct tide_pairs *waiting = slot < tide_store.n_slots ? &tide_slot_at(slot)->pairs : NULL;
  struct tide_cell cell = {0};
  for (int tries = 0; tries < 16; tries++) {
    struct tide_pairs before = {0}, after = {0};
    if (waiting)
      memcpy(&before, waiting, sizeof before);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(&cell, c, sizeof cell);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!waiting || before.cell != id || cell.stamp.interval != before.interval)
      return cell;
    memcpy(&after, waiting, sizeof after);
    if (memcmp(&before, &after, sizeof before))
      continue;
    cell.n_alloc += before.n_ended + (before.open > 0);
    cell.b_alloc += before.b_ended + (before.open ? before.open - 1 : 0);
    cell.n_free += before.n_ended;
    cell.b_free += before.b_ended;
    return cell;
  }
  return cell;
}

bool tide_now_is_of_heap(uint32_t stack)
{
  while (stack >= TIDE_NODE_FIRST)
    stack = tide_now_outer(stack);
  return stack != TIDE_NODE_ROOT_PAGES;
}

const char *tide_now_text(uint32_t offset, size_t *ret_n)
{
  const struct tide_area *area = &tide_store.areas.text;
  *ret_n = 0;
  if (offset >= area->capacity)
    return "";
  const char *text = tide_table_at(area, offset) + offset;
  uint64_t n_most = (offset < area->n_near ? area->n_near : area->capacity) - offset;
  while (*ret_n < n_most && text[*ret_n])
    ++*ret_n;
  return text;
}
