// SPDX-License-Identifier: Apache-2.0
//
// The same groups as a report's (view/groups.h), or rows as a diff's (view/diff.h).
#include "check/culprits.h"

#include "base/alloc.h"
#include "view/blame.h"
#include "view/diff.h"
#include "view/groups.h"

#include <stdlib.h>
#include <string.h>

static void add_culprit(struct tide_judged *judged, const struct tide_naming *naming,
                        const struct tide_named_frame *frame, int64_t value, int64_t before)
{
  if (judged->n_culprits == TIDE_CULPRITS_MAX) {
    judged->n_more++;
    return;
  }
  judged->culprits[judged->n_culprits++] = (struct tide_culprit){
      .function = frame ? tide_strdup(frame->function) : NULL,
      .file = frame ? tide_strdup(frame->file) : NULL,
      .line = frame ? frame->line : 0,
      .module = frame ? tide_strdup(tide_naming_module(naming, frame)) : NULL,
      .value = value,
      .before = before,
  };
}

// Stacks that do not have what the budget is about are no part of the view.
static void view_site(struct tide_view *view, const char *pattern)
{
  uint8_t *matches = tide_bounds_match(view->profile, view->naming, pattern);
  for (size_t i = 0; i < view->profile->n_sites; i++)
    matches[i] = !matches[i];
  view->unwanted = matches;
}

static void find_places(const struct tide_check_input *input, struct tide_judged *judged)
{
  const struct tide_capture *capture = input->files[judged->file_idx].capture;
  struct tide_profile *profile = tide_profile_new(capture, judged->image_idx);
  struct tide_naming *naming = input->name(input->context, profile->image);
  struct tide_bounds bounds;
  struct tide_question question;
  struct tide_view view;
  // Of RSS nobody knows the places: the heap's at its peak are the nearest.
  if (!tide_bounds_find(profile, naming, judged->budget, &bounds, &question))
    question = (struct tide_question){.measure = TIDE_MEASURE_PEAK};
  tide_profile_ask_anew(profile, &question);
  tide_view_init(&view, profile, naming, NULL, false);
  if (judged->budget->site)
    view_site(&view, judged->budget->site);
  struct tide_groups *groups = tide_groups_new(&view, TIDE_GROUP_PLACE);
  for (size_t i = 0; i < groups->n; i++)
    if (groups->items[i].measure > 0)
      add_culprit(judged, naming, groups->items[i].frame, groups->items[i].measure, 0);
  tide_groups_free(groups);
  tide_view_done(&view);
  tide_naming_free(naming);
  tide_profile_free(profile);
}

struct side { // of a comparison
  struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_view view;
};

static void side_open(const struct tide_check_input *input, const struct tide_heap_budget *budget,
                      const struct tide_capture *capture, size_t image_idx, struct side *ret_side)
{
  struct tide_bounds bounds;
  struct tide_question question;
  *ret_side = (struct side){.profile = tide_profile_new(capture, image_idx)};
  ret_side->naming = input->name(input->context, ret_side->profile->image);
  tide_bounds_find(ret_side->profile, ret_side->naming, budget, &bounds, &question);
  tide_profile_ask(ret_side->profile, &question);
}

static void side_done(struct side *side)
{
  tide_view_done(&side->view);
  tide_naming_free(side->naming);
  tide_profile_free(side->profile);
}

// The process of the program that used most in the baseline; n_images: none.
static size_t find_image(const struct tide_check_input *input, const struct tide_judged *judged)
{
  const struct tide_capture *baseline = input->baseline;
  size_t found = baseline->n_images;
  int64_t most = 0;
  for (size_t i = 0; i < baseline->n_images; i++) {
    struct tide_bounds bounds;
    struct tide_question question;
    if (strcmp(tide_check_program(&baseline->images[i]), judged->program) != 0)
      continue;
    struct tide_profile *profile = tide_profile_new(baseline, i);
    tide_bounds_find(profile, NULL, judged->budget, &bounds, &question);
    tide_profile_free(profile);
    if (found == baseline->n_images || bounds.value > most) {
      found = i;
      most = bounds.value;
    }
  }
  return found;
}

static void compare_sides(struct side *before, struct side *after, struct tide_judged *judged)
{
  struct tide_diff *diff = tide_diff_new(&before->view, &after->view, TIDE_GROUP_PLACE);
  for (size_t i = 0; i < diff->n; i++) {
    const struct tide_diff_place *place = &diff->places[i];
    const struct tide_naming *naming = NULL;
    const struct tide_named_frame *frame = tide_diff_frame(diff, place, &naming);
    if (tide_diff_change(diff, place) > 0)
      add_culprit(judged, naming, frame, tide_diff_measure(diff, &place->after),
                  tide_diff_measure(diff, &place->before));
  }
  tide_diff_free(diff);
}

static void find_grown(const struct tide_check_input *input, struct tide_judged *judged)
{
  struct side before, after;
  size_t image_idx = find_image(input, judged);
  if (image_idx == input->baseline->n_images)
    return;
  side_open(input, judged->budget, input->baseline, image_idx, &before);
  side_open(input, judged->budget, input->files[judged->file_idx].capture, judged->image_idx,
            &after);
  tide_wrappers_share(before.naming, after.naming);
  tide_view_init(&before.view, before.profile, before.naming, NULL, false);
  tide_view_init(&after.view, after.profile, after.naming, NULL, false);
  // Built anew since, as a rule: every place would be told to be new.
  judged->is_unmatched = tide_bounds_is_nameless(before.profile, before.naming) &&
                         !tide_bounds_is_nameless(after.profile, after.naming);
  if (!judged->is_unmatched)
    compare_sides(&before, &after, judged);
  side_done(&after);
  side_done(&before);
  if (judged->is_unmatched)
    find_places(input, judged);
}

void tide_culprits_find(const struct tide_check_input *input, struct tide_judged *judged)
{
  if (judged->budget->is_growth)
    find_grown(input, judged);
  else
    find_places(input, judged);
}
