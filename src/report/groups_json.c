// SPDX-License-Identifier: Apache-2.0
//
// What a group is, under keys of its kind, then its numbers under those that sites have.
#include "report/site_json.h"

#include "report/profile_json.h"

#include "base/alloc.h"
#include "report/report_cells.h"
#include "view/groups.h"

#include <stdlib.h>

static uint64_t parts_per_million(uint64_t part, uint64_t whole)
{
  return (uint64_t)((unsigned __int128)part * 1000000 / whole);
}

static void write_point(struct tide_json *json, const char *key, const struct tide_point *point)
{
  tide_json_key(json, key);
  if (!point->given) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  if (point->whole) {
    tide_json_put_u64(json, "asked_ppm", parts_per_million(point->asked_ns, point->whole));
    tide_json_put_u64(json, "seen_ppm", parts_per_million(point->seen_ns, point->whole));
  } else if (!point->word) {
    tide_json_put_u64(json, "asked_ns", point->asked_ns);
    tide_json_put_u64(json, "seen_ns", point->seen_ns);
  }
  if (point->word)
    tide_json_put_text(json, "moment", point->word);
  tide_json_close_object(json);
}

void tide_question_json(struct tide_json *json, const struct tide_question *question)
{
  tide_json_key(json, "question");
  tide_json_open_object(json);
  tide_json_put_text(json, "measure", tide_measure_words[question->measure]);
  tide_json_put_text(json, "unit", question->unit == TIDE_UNIT_BYTES ? "bytes" : "blocks");
  write_point(json, "from", &question->window.from);
  write_point(json, "to", &question->window.to);
  tide_json_put_bool(json, "at_least", question->at_least);
  if (question->of_pages)
    tide_json_put_text(json, "of", "pages");
  tide_json_close_object(json);
}

static void write_thread(struct tide_json *json, const struct tide_image *image,
                         const struct tide_group *group)
{
  uint32_t number = group->number;
  bool known = number && number < image->n_threads_known && !group->several;
  TIDE_CLEANUP_FREE char *name =
      known ? tide_strndup(image->threads[number].name, sizeof image->threads->name) : NULL;
  tide_json_put_text(json, "thread", name && *name ? name : NULL);
  tide_json_put_u64(json, "tid", known ? image->threads[number].tid : 0);
  tide_json_put_u64(json, "owners", known ? image->threads[number].n_owners : 0);
  tide_json_put_bool(json, "several", group->several);
}

static void write_limit(struct tide_json *json, const char *key, uint64_t limit, bool is_one)
{
  if (is_one)
    tide_json_put_u64(json, key, limit);
  else
    tide_json_put_text(json, key, NULL);
}

void tide_class_json(struct tide_json *json, enum tide_group_kind kind,
                     const struct tide_group *group)
{
  struct tide_class_range range = tide_group_range(kind, group);
  bool of_life = kind == TIDE_GROUP_LIFETIME;
  const char *ending = tide_group_ending(group);
  bool has_limits = !of_life || (ending && group->number < TIDE_LIFE_CLASS_RESIZED);
  if (of_life)
    tide_json_put_text(json, "ending", ending);
  write_limit(json, of_life ? "least_ns" : "least_bytes", range.least, has_limits);
  write_limit(json, of_life ? "most_ns" : "most_bytes", range.most,
              has_limits && range.most != UINT64_MAX);
  tide_json_put_bool(json, "several", group->several);
}

static void write_way(struct tide_json *json, const struct tide_naming *naming, const char *key,
                      const struct tide_group_way *way)
{
  const struct tide_named_frame *frame = way->frame;
  tide_json_key(json, key);
  if (!frame) {
    tide_json_text(json, NULL);
    return;
  }
  tide_json_open_object(json);
  tide_json_put_text(json, "function", frame->function);
  tide_json_put_text(json, "file", frame->file);
  tide_json_put_u64(json, "line", frame->line);
  tide_json_put_text(json, "module", tide_naming_module_path(naming, frame));
  tide_json_put_u64(json, "more", way->n_more);
  tide_json_close_object(json);
}

// Null where a kind has it but this group does not.
static void write_code(struct tide_json *json, struct tide_view *view,
                       const struct tide_groups *groups, size_t group_idx)
{
  const struct tide_group *group = &groups->items[group_idx];
  const struct tide_named_frame *frame = group->frame;
  enum tide_group_kind kind = groups->kind;
  bool of_line = kind == TIDE_GROUP_PLACE || tide_group_kind_is_stacks(kind);
  if (tide_group_kind_is_text(kind)) {
    tide_json_put_text(json, tide_group_words[kind], group->crate);
    return;
  }
  if (of_line || kind == TIDE_GROUP_FUNCTION)
    tide_json_put_text(json, "function", frame ? frame->function : NULL);
  if (of_line || kind == TIDE_GROUP_FUNCTION || kind == TIDE_GROUP_FILE)
    tide_json_put_text(json, "file", frame ? frame->file : NULL);
  if (of_line)
    tide_json_put_u64(json, "line", frame ? frame->line : 0);
  if (kind == TIDE_GROUP_CRATE)
    tide_json_put_text(json, "crate", group->crate);
  tide_json_put_text(json, "module", frame ? tide_naming_module_path(view->naming, frame) : NULL);
  const struct tide_group_ways ways = tide_groups_ways(groups, view, group_idx);
  write_way(json, view->naming, "via", &ways.via);
  write_way(json, view->naming, "caller", &ways.caller);
}

// Mappings are neither resized nor temporary, and have no lifetimes.
static void write_page_numbers(struct tide_json *json, const struct tide_group *group)
{
  tide_json_put_u64(json, "allocations", group->n_alloc);
  tide_json_put_u64(json, "bytes", group->b_alloc);
  tide_json_put_u64(json, "frees", group->n_free);
  tide_json_put_u64(json, "freed_bytes", group->b_free);
  tide_json_put_i64(json, "live_blocks", group->live_blocks);
  tide_json_put_i64(json, "live_bytes", group->live_bytes);
  tide_json_put_i64(json, "own_max_bytes", group->high_bytes);
  tide_json_put_u64(json, "first_ns", group->first_ns);
  tide_json_put_u64(json, "last_ns", group->last_ns);
}

// By class of size or lifetime nothing but allocations is known.
static void write_numbers(struct tide_json *json, const struct tide_image *image,
                          enum tide_group_kind kind, const struct tide_group *group)
{
  if (tide_group_kind_is_classes(kind))
    tide_json_put_u64(json, "allocations", group->n_alloc);
  else
    tide_numbers_json(json, image, &group->numbers, true);
}

static void write_spread(struct tide_json *json, const struct tide_view *view,
                         const struct tide_groups *groups, size_t group_idx)
{
  uint64_t sizes[TIDE_SIZE_BUCKETS_N], lives[TIDE_LIFE_BUCKETS_N];
  const struct tide_group *group = &groups->items[group_idx];
  tide_groups_histograms(groups, view->profile, group_idx, sizes, lives);
  tide_json_mean_life(json, group->life_ns,
                      tide_profile_n_ended(view->profile->image, group->n_free, lives));
  tide_json_mean_age(json, group->age_ns, group->live_blocks);
  tide_json_put_text(json, "fate", tide_fate_words[group->fate]);
  tide_histograms_json(json, sizes, lives);
}

static void write_history(struct tide_json *json, const struct tide_image *image,
                          const struct tide_groups *groups, size_t group_idx)
{
  struct tide_growth growth;
  tide_groups_growth(groups, image, group_idx, &growth);
  tide_json_key(json, "history");
  tide_json_open_array(json);
  for (size_t i = 0; i < growth.n; i++) {
    const struct tide_growth_step *step = &growth.steps[i];
    tide_json_open_object(json);
    tide_json_put_u64(json, "time_ns", step->time_ns);
    tide_json_put_i64(json, "live_bytes", step->held);
    tide_json_put_i64(json, "grown_bytes", step->rose);
    if (growth.has_counts) {
      tide_json_put_u64(json, "allocations", step->n);
      tide_json_put_u64(json, "bytes", step->bytes);
    }
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
  tide_growth_done(&growth);
}

static void write_group(struct tide_json *json, struct tide_view *view,
                        const struct tide_groups *groups, size_t group_idx)
{
  const struct tide_group *group = &groups->items[group_idx];
  tide_json_open_object(json);
  if (tide_group_kind_is_classes(groups->kind))
    tide_class_json(json, groups->kind, group);
  else if (groups->kind == TIDE_GROUP_THREAD)
    write_thread(json, view->profile->image, group);
  else
    write_code(json, view, groups, group_idx);
  tide_json_put_i64(json, "weight", group->measure);
  tide_json_put_u64(json, "stacks", group->n_stacks);
  if (groups->kind == TIDE_GROUP_PAGES) {
    const struct tide_group_gift one = tide_groups_stack(groups, view->profile, group_idx, 0);
    const struct tide_profile_site *site = &view->profile->sites[one.site];
    tide_json_put_text(json, "mapped", tide_pages_name(view->profile, group));
    write_page_numbers(json, group);
    tide_json_put_bool(json, "own_max_is_bound",
                       tide_profile_own_max_is_bound(view->profile, site));
    write_history(json, view->profile->image, groups, group_idx);
  } else
    write_numbers(json, view->profile->image, groups->kind, group);
  if (groups->of_site && groups->kind != TIDE_GROUP_PAGES)
    write_spread(json, view, groups, group_idx);
  tide_json_close_object(json);
}

// Everything that is in no row: rows past the limit, and stacks that were not gathered.
static void write_rest(struct tide_json *json, const struct tide_image *image,
                       const struct tide_groups *groups, size_t n_shown)
{
  struct tide_group rest = tide_groups_others(groups, n_shown);
  tide_json_key(json, "rest");
  tide_json_open_object(json);
  tide_json_put_u64(json, "groups", groups->n - n_shown);
  tide_json_put_i64(json, "weight", rest.measure);
  tide_json_put_u64(json, "stacks", rest.n_stacks);
  if (groups->kind == TIDE_GROUP_PAGES)
    write_page_numbers(json, &rest);
  else
    write_numbers(json, image, groups->kind, &rest);
  tide_json_close_object(json);
}

void tide_groups_json(struct tide_json *json, struct tide_view *view, struct tide_groups *groups,
                      size_t n)
{
  tide_json_put_text(json, "grouped_by", tide_group_words[groups->kind]);
  tide_json_key(json, "groups");
  tide_json_open_array(json);
  size_t n_shown = tide_groups_shown(groups, n ? n : SIZE_MAX, 0);
  for (size_t i = 0; i < n_shown; i++)
    write_group(json, view, groups, i);
  tide_json_close_array(json);
  write_rest(json, view->profile->image, groups, n_shown);
}

void tide_wrappers_json(struct tide_json *json, const struct tide_naming *naming)
{
  size_t n;
  const struct tide_wrapper *wrappers = tide_naming_wrappers(naming, &n);
  tide_json_key(json, "wrappers");
  tide_json_open_array(json);
  for (size_t i = 0; i < n; i++) {
    tide_json_open_object(json);
    tide_json_put_text(json, "function", wrappers[i].function);
    tide_json_put_text(json, "module", wrappers[i].module);
    tide_json_put_u64(json, "callers", wrappers[i].n_callers);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}

void tide_suppressions_json(struct tide_json *json, const struct tide_suppressions *suppressions)
{
  tide_json_put_i64(json, "suppressed", suppressions->weight);
  tide_json_key(json, "suppressions");
  tide_json_open_array(json);
  for (size_t i = 0; i < suppressions->n; i++) {
    const struct tide_suppression *one = &suppressions->items[i];
    tide_json_open_object(json);
    tide_json_put_text(json, "pattern", one->pattern);
    tide_json_put_u64(json, "stacks", one->n_stacks);
    tide_json_put_i64(json, "live_blocks", one->live_blocks);
    tide_json_put_i64(json, "live_bytes", one->live_bytes);
    tide_json_close_object(json);
  }
  tide_json_close_array(json);
}
