// SPDX-License-Identifier: Apache-2.0
//
// A text is made once per frame, however many stacks go through it.
#include "format/export_stacks.h"

#include "base/alloc.h"
#include "format/export_words.h"

#include <stdlib.h>

void tide_export_stacks_init(struct tide_export_stacks *stacks, struct tide_view *view,
                             tide_frame_text_fn *frame_text)
{
  *stacks = (struct tide_export_stacks){.view = view, .frame_text = frame_text};
}

void tide_export_stacks_done(struct tide_export_stacks *stacks)
{
  tide_intern_done(&stacks->texts);
  tide_intern_done(&stacks->lists);
  tide_intern_done(&stacks->pointers);
  free(stacks->text_of);
  tide_buf_done(&stacks->ids);
  *stacks = (struct tide_export_stacks){0};
}

static uint32_t text_of(struct tide_export_stacks *stacks, const struct tide_named_frame *frame)
{
  size_t n_before = stacks->pointers.n;
  uint32_t at = tide_intern_add(&stacks->pointers, &frame, sizeof frame);
  if (stacks->pointers.n > n_before) {
    TIDE_CLEANUP_FREE char *text = stacks->frame_text(stacks->view->naming, frame);
    TIDE_GROW(stacks->text_of, n_before, stacks->cap_text_of);
    stacks->text_of[at] = tide_intern_text(&stacks->texts, text);
  }
  return stacks->text_of[at];
}

static void push(struct tide_export_stacks *stacks, uint32_t text)
{
  tide_buf_append(&stacks->ids, &text, sizeof text);
}

uint32_t tide_export_stacks_add(struct tide_export_stacks *stacks,
                                const struct tide_profile_site *site)
{
  size_t n;
  const struct tide_view_frame *frames = tide_view_stack(stacks->view, site->stack, &n);
  tide_buf_clear(&stacks->ids);
  if (n == 0)
    push(stacks, tide_intern_text(&stacks->texts, tide_export_no_frames(site)));
  for (size_t i = 0; i < n; i++)
    push(stacks, text_of(stacks, frames[i].frame));
  return tide_intern_add(&stacks->lists, stacks->ids.data, stacks->ids.n);
}

// Lists lie one after another in one buffer, so that each is aligned as the first one is.
const uint32_t *tide_export_stacks_get(const struct tide_export_stacks *stacks, uint32_t list,
                                       size_t *ret_n)
{
  const void *ids = tide_intern_get(&stacks->lists, list, ret_n);
  *ret_n /= sizeof(uint32_t);
  return ids;
}
