// SPDX-License-Identifier: Apache-2.0
//
// The rows of one side of a diff that are threads or classes, in both units. Weights of the unit
// that was not asked for are had by asking another profile of the same image.
#include "view/diff_across.h"

#include "base/alloc.h"
#include "view/group_label.h"

#include <stdlib.h>

// A view of another profile that has the same stacks.
static void view_alike(struct tide_view *ret_view, const struct tide_view *view,
                       struct tide_profile *profile)
{
  const struct tide_image *image = profile->image;
  TIDE_CLEANUP_FREE uint8_t *has = tide_alloc_array(image->n_frames, 1);
  for (size_t i = 0; i < view->profile->n_sites; i++)
    has[view->profile->sites[i].stack] = tide_view_has(view, i);
  tide_view_init(ret_view, profile, view->naming, NULL, view->all_frames);
  ret_view->unwanted = tide_alloc_array(profile->n_sites + 1, 1);
  for (size_t i = 0; i < profile->n_sites; i++)
    ret_view->unwanted[i] = !has[profile->sites[i].stack];
}

static char *label_of(const struct tide_image *image, enum tide_group_kind kind,
                      const struct tide_group *group)
{
  const struct tide_thread_row *threads = image->threads;
  uint32_t number = group->number;
  bool is_thread = kind == TIDE_GROUP_THREAD && !group->several;
  bool known = is_thread && number && number < image->n_threads_known;
  if (known && !threads[number].name[0] && threads[number].tid != image->pid)
    return tide_strdup("(threads without a name)"); // the number is another in every run
  if (kind == TIDE_GROUP_SIZE && group->several)
    return tide_strdup("several sizes"); // which they are may differ
  return tide_group_label(image, kind, group, (struct tide_style){.utf8 = true});
}

static void add_groups(struct tide_across *across, const struct tide_image *image,
                       const struct tide_groups *groups, bool in_bytes, bool asked)
{
  for (size_t i = 0; i < groups->n; i++) {
    const struct tide_group *group = &groups->items[i];
    if (!group->measure)
      continue;
    TIDE_GROW(across->items, across->n, across->cap);
    across->items[across->n++] = (struct tide_across_row){
        .label = label_of(image, groups->kind, group),
        .row = {.number = group->several ? 0 : group->number,
                .several = group->several,
                .last = group->several ? TIDE_SIZE_CLASSES_N - 1 : 0}, // the sides may differ
        .amount = {in_bytes ? group->measure : 0, in_bytes ? 0 : group->measure,
                   asked ? group->n_stacks : 0},
    };
  }
}

void tide_across_init(struct tide_across *across, struct tide_view *view, enum tide_group_kind kind)
{
  const struct tide_profile *profile = view->profile;
  struct tide_question question = profile->question;
  bool in_bytes = question.unit == TIDE_UNIT_BYTES;
  *across = (struct tide_across){0};
  struct tide_groups *groups = tide_groups_new(view, kind);
  add_groups(across, profile->image, groups, in_bytes, true);
  tide_groups_free(groups);
  question.unit = in_bytes ? TIDE_UNIT_BLOCKS : TIDE_UNIT_BYTES;
  struct tide_profile *other = tide_profile_new(profile->capture, profile->image_idx);
  struct tide_view other_view;
  tide_profile_ask(other, &question);
  view_alike(&other_view, view, other);
  groups = tide_groups_new(&other_view, kind);
  add_groups(across, profile->image, groups, !in_bytes, false);
  tide_groups_free(groups);
  tide_view_done(&other_view);
  tide_profile_free(other);
}

void tide_across_done(struct tide_across *across)
{
  for (size_t i = 0; i < across->n; i++)
    free(across->items[i].label);
  free(across->items);
  *across = (struct tide_across){0};
}
