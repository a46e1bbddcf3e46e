// SPDX-License-Identifier: Apache-2.0
//
// Each process is looked at once, by all budgets, and gone before the next: a run may have
// thousands. What a budget was worst at is kept as the index of an image, which is opened again for
// the places (check/culprits.c).
#include "check/judge.h"

#include "base/alloc.h"
#include "check/culprits.h"
#include "check/moments.h"
#include "model/capture.h"

#include <stdlib.h>
#include <string.h>

// ---- one process ----

static enum tide_ruling rule(const struct tide_bounds *bounds, int64_t limit)
{
  if (bounds->least != TIDE_NO_LEAST && bounds->least > limit)
    return TIDE_RULING_BROKEN;
  if (bounds->most != TIDE_NO_MOST && bounds->most <= limit)
    return TIDE_RULING_KEPT;
  return TIDE_RULING_UNKNOWN;
}

// Broken is worse than not known, which is worse than kept; of one kind, the larger value.
static bool is_worse(const struct tide_judged *judged, enum tide_ruling ruling, int64_t value,
                     int64_t limit)
{
  static const int ranks[TIDE_RULINGS_N] = {0, 2, 1};
  if (!judged->program)
    return true;
  if (ranks[ruling] != ranks[judged->ruling])
    return ranks[ruling] > ranks[judged->ruling];
  return value - limit > judged->bounds.value - judged->limit;
}

static void take_process(struct tide_judged *judged, const struct tide_image *image,
                         size_t image_idx, const struct tide_bounds *bounds, int64_t limit)
{
  enum tide_ruling ruling = rule(bounds, limit);
  judged->n_processes++;
  judged->has_match |= bounds->has_match;
  judged->n_broken += ruling == TIDE_RULING_BROKEN;
  judged->n_unknown += ruling == TIDE_RULING_UNKNOWN;
  if (!is_worse(judged, ruling, bounds->value, limit))
    return;
  free(judged->program);
  judged->program = tide_strdup(tide_check_program(image));
  judged->image_idx = image_idx;
  judged->bounds = *bounds;
  judged->limit = limit;
  judged->ruling = ruling;
  judged->doubts = ruling == TIDE_RULING_UNKNOWN ? bounds->doubts : 0;
}

// Of several processes that are kept as one sum: each of them had that at most.
static void share_out(struct tide_bounds *bounds)
{
  bounds->least = TIDE_NO_LEAST;
  bounds->doubts |= tide_doubt_bit(TIDE_DOUBT_LEFT_OUT);
}

static bool bounds_of_process(struct tide_profile *profile, struct tide_naming *naming,
                              const struct tide_heap_budget *budget, struct tide_bounds *ret_bounds)
{
  struct tide_question question;
  if (budget->from && !tide_span_has_marks(profile->image, budget))
    return false;
  tide_bounds_find(profile, naming, budget, ret_bounds, &question);
  if (tide_image_is_rest(profile->capture, profile->image))
    share_out(ret_bounds);
  return true;
}

// ---- growth ----
//
// Of each program the process that used most, in both runs.

struct most_of {       // the processes of a program
  const char *program; // of an image
  size_t image_idx;
  struct tide_bounds bounds;
};

struct grown { // what one budget is about
  struct most_of *items;
  size_t n, cap;
};

static int64_t larger_of(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static void grown_take(struct grown *grown, const char *program, size_t image_idx,
                       const struct tide_bounds *bounds)
{
  size_t i = 0;
  while (i < grown->n && strcmp(grown->items[i].program, program) != 0)
    i++;
  if (i == grown->n) {
    TIDE_GROW(grown->items, grown->n, grown->cap);
    grown->items[grown->n++] = (struct most_of){program, image_idx, *bounds};
    return;
  }
  struct most_of *item = &grown->items[i];
  if (bounds->value > item->bounds.value) {
    item->image_idx = image_idx;
    item->bounds.value = bounds->value;
  }
  item->bounds.least = larger_of(item->bounds.least, bounds->least);
  item->bounds.most = larger_of(item->bounds.most, bounds->most);
  item->bounds.doubts |= bounds->doubts;
}

// What the baseline allows: as much, and millionths more.
static int64_t allowed_of(int64_t before, uint64_t ppm)
{
  if (before == TIDE_NO_LEAST || before == TIDE_NO_MOST || before <= 0)
    return before == TIDE_NO_MOST ? TIDE_NO_MOST : larger_of(before, 0);
  unsigned __int128 more = (unsigned __int128)(uint64_t)before * ppm / 1000000;
  more += (uint64_t)before;
  return more >= INT64_MAX ? TIDE_NO_MOST : (int64_t)more;
}

static const struct tide_unrecorded *unrecorded_of(const struct tide_capture *capture,
                                                   const struct tide_budgets *budgets,
                                                   const struct tide_heap_budget *budget);

// What processes of the program used at most in the baseline.
static bool find_before(const struct tide_check_input *input, const struct tide_heap_budget *budget,
                        const char *program, struct tide_bounds *ret_bounds)
{
  const struct tide_capture *baseline = input->baseline;
  struct grown grown = {0};
  for (size_t i = 0; i < baseline->n_images; i++) {
    struct tide_bounds bounds;
    if (strcmp(tide_check_program(&baseline->images[i]), program) != 0)
      continue;
    struct tide_profile *profile = tide_profile_new(baseline, i);
    bool is_found = bounds_of_process(profile, NULL, budget, &bounds);
    tide_profile_free(profile);
    if (is_found)
      grown_take(&grown, program, i, &bounds);
  }
  bool found = grown.n;
  if (found)
    *ret_bounds = grown.items[0].bounds;
  // A process of it that nobody recorded may have used more.
  const struct tide_heap_budget alone = {.what = budget->what, .program = (char *)program};
  if (unrecorded_of(baseline, NULL, &alone)) {
    ret_bounds->most = TIDE_NO_MOST;
    ret_bounds->doubts |= tide_doubt_bit(TIDE_DOUBT_BASELINE);
  }
  free(grown.items);
  return found;
}

static void judge_growth(const struct tide_check_input *input, const struct tide_capture *capture,
                         const struct most_of *after, struct tide_judged *judged)
{
  const struct tide_heap_budget *budget = judged->budget;
  struct tide_bounds before = {.least = TIDE_NO_LEAST, .most = TIDE_NO_MOST};
  bool found = find_before(input, budget, after->program, &before);
  int64_t limit = allowed_of(before.value, budget->limit);
  struct tide_bounds bounds = after->bounds;
  enum tide_ruling ruling = TIDE_RULING_UNKNOWN;
  int64_t least_allowed = found ? allowed_of(before.least, budget->limit) : TIDE_NO_LEAST;
  int64_t most_allowed = found ? allowed_of(before.most, budget->limit) : TIDE_NO_MOST;
  if (!found || before.least == TIDE_NO_LEAST)
    least_allowed = TIDE_NO_LEAST;
  if (most_allowed != TIDE_NO_MOST && bounds.least != TIDE_NO_LEAST && bounds.least > most_allowed)
    ruling = TIDE_RULING_BROKEN;
  else if (least_allowed != TIDE_NO_LEAST && bounds.most != TIDE_NO_MOST &&
           bounds.most <= least_allowed)
    ruling = TIDE_RULING_KEPT;
  judged->n_processes++;
  judged->n_broken += ruling == TIDE_RULING_BROKEN;
  judged->n_unknown += ruling == TIDE_RULING_UNKNOWN;
  if (!is_worse(judged, ruling, bounds.value, limit))
    return;
  free(judged->program);
  judged->program = tide_strdup(after->program);
  judged->image_idx = after->image_idx;
  judged->bounds = bounds;
  judged->before = before;
  judged->limit = limit;
  judged->ruling = ruling;
  judged->doubts = 0;
  if (ruling == TIDE_RULING_UNKNOWN)
    judged->doubts =
        bounds.doubts | (!found || before.doubts ? tide_doubt_bit(TIDE_DOUBT_BASELINE) : 0);
}

// ---- the run ----

// A process that the budget is about and that was not recorded, as far as is known; NULL: none.
// budgets NULL: no other one says it of that program alone.
static const struct tide_unrecorded *unrecorded_of(const struct tide_capture *capture,
                                                   const struct tide_budgets *budgets,
                                                   const struct tide_heap_budget *budget)
{
  const struct tide_roll *roll = &capture->roll;
  for (size_t i = 0; i < roll->n_rows; i++) {
    const struct tide_unrecorded *row = &roll->rows[i];
    bool is_nameless = !row->exe || !*row->exe || roll->at_least;
    if (tide_why_is_partial(row->why))
      continue; // its image says so
    if (is_nameless ||
        (budgets ? tide_budget_is_about(budgets, budget, tide_check_base_name(row->exe))
                 : strcmp(budget->program, tide_check_base_name(row->exe)) == 0))
      return row;
  }
  return NULL;
}

// Fork children that could not be recorded are of their parent's program.
static const struct tide_image *parent_of_lost(const struct tide_capture *capture,
                                               const struct tide_budgets *budgets,
                                               const struct tide_heap_budget *budget)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (capture->images[i].loss.n_fork_lost &&
        tide_budget_is_about(budgets, budget, tide_check_program(&capture->images[i])))
      return &capture->images[i];
  return NULL;
}

// Files before format 1.6 name how many small processes were not kept, and nothing of them.
static bool leaves_out(const struct tide_capture *capture)
{
  for (size_t i = 0; i < capture->n_images; i++)
    if (tide_image_is_rest(capture, &capture->images[i]))
      return false;
  return capture->n_images_left_out;
}

static void doubt_run(struct tide_judged *judged, enum tide_doubt why)
{
  if (judged->ruling == TIDE_RULING_BROKEN)
    return; // and stays so
  judged->ruling = TIDE_RULING_UNKNOWN;
  judged->doubts |= tide_doubt_bit(why);
}

static void judge_run(const struct tide_check_input *input, const struct tide_capture *capture,
                      struct tide_judged *judged)
{
  const struct tide_unrecorded *row = unrecorded_of(capture, input->budgets, judged->budget);
  const struct tide_image *parent = parent_of_lost(capture, input->budgets, judged->budget);
  if (row || parent)
    doubt_run(judged, TIDE_DOUBT_UNRECORDED);
  if (row && judged->ruling == TIDE_RULING_UNKNOWN) {
    judged->who = tide_strdup(row->exe && *row->exe ? tide_check_base_name(row->exe) : "a program");
    judged->why = tide_why_sentence(row->why, row->detail);
  } else if (parent && judged->ruling == TIDE_RULING_UNKNOWN) {
    judged->who = tide_sprintf("a child of %s", tide_check_program(parent));
  }
  if (leaves_out(capture))
    doubt_run(judged, TIDE_DOUBT_LEFT_OUT);
  if (!judged->n_processes && !row)
    doubt_run(judged, judged->budget->from ? TIDE_DOUBT_NO_MARK : TIDE_DOUBT_NOBODY);
  if (input->command_failed)
    doubt_run(judged, TIDE_DOUBT_COMMAND);
}

// ---- a capture ----

static struct tide_judged *judged_of(struct tide_judgement *judgement, size_t budget_idx)
{
  return &judgement->items[judgement->n + budget_idx];
}

static bool wants_names(const struct tide_check_input *input, const char *program)
{
  for (size_t i = 0; i < input->budgets->n; i++)
    if (input->budgets->items[i].site &&
        tide_budget_is_about(input->budgets, &input->budgets->items[i], program))
      return true;
  return false;
}

static void judge_image(const struct tide_check_input *input, const struct tide_capture *capture,
                        size_t image_idx, struct tide_judgement *judgement, struct grown *grown)
{
  const struct tide_budgets *budgets = input->budgets;
  const struct tide_image *image = &capture->images[image_idx];
  const char *program = tide_check_program(image);
  struct tide_profile *profile = tide_profile_new(capture, image_idx);
  struct tide_naming *naming =
      wants_names(input, program) ? input->name(input->context, image) : NULL;
  for (size_t i = 0; i < budgets->n; i++) {
    const struct tide_heap_budget *budget = &budgets->items[i];
    struct tide_bounds bounds;
    if (!tide_budget_is_about(budgets, budget, program) ||
        !bounds_of_process(profile, naming, budget, &bounds))
      continue;
    if (budget->is_growth)
      grown_take(&grown[i], program, image_idx, &bounds);
    else
      take_process(judged_of(judgement, i), image, image_idx, &bounds, (int64_t)budget->limit);
  }
  tide_naming_free(naming);
  tide_profile_free(profile);
}

static void judge_file(const struct tide_check_input *input, size_t file_idx,
                       struct tide_judgement *judgement)
{
  const struct tide_capture *capture = input->files[file_idx].capture;
  const size_t n = input->budgets->n;
  struct grown *grown = tide_alloc_array(n + 1, sizeof *grown);
  for (size_t i = 0; i < n; i++)
    *judged_of(judgement, i) =
        (struct tide_judged){.budget = &input->budgets->items[i], .file_idx = file_idx};
  for (size_t i = 0; i < capture->n_images; i++)
    judge_image(input, capture, i, judgement, grown);
  for (size_t i = 0; i < n; i++) {
    struct tide_judged *judged = judged_of(judgement, i);
    for (size_t k = 0; k < grown[i].n; k++)
      judge_growth(input, capture, &grown[i].items[k], judged);
    free(grown[i].items);
    judge_run(input, capture, judged);
    if (judged->ruling == TIDE_RULING_BROKEN)
      tide_culprits_find(input, judged);
    judgement->counts[judged->ruling]++;
  }
  judgement->n += n;
  free(grown);
}

struct tide_judgement *tide_check_judge(const struct tide_check_input *input)
{
  struct tide_judgement *judgement = tide_alloc(sizeof *judgement);
  judgement->items =
      tide_alloc_array(input->n_files * input->budgets->n + 1, sizeof *judgement->items);
  for (size_t i = 0; i < input->n_files; i++)
    judge_file(input, i, judgement);
  judgement->ruling = judgement->counts[TIDE_RULING_BROKEN]    ? TIDE_RULING_BROKEN
                      : judgement->counts[TIDE_RULING_UNKNOWN] ? TIDE_RULING_UNKNOWN
                                                               : TIDE_RULING_KEPT;
  return judgement;
}

void tide_judgement_free(struct tide_judgement *judgement)
{
  if (!judgement)
    return;
  for (size_t i = 0; i < judgement->n; i++) {
    struct tide_judged *judged = &judgement->items[i];
    for (size_t k = 0; k < judged->n_culprits; k++) {
      free(judged->culprits[k].function);
      free(judged->culprits[k].file);
      free(judged->culprits[k].module);
    }
    free(judged->program);
    free(judged->who);
    free(judged->why);
  }
  free(judgement->items);
  free(judgement);
}
