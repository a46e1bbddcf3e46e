// SPDX-License-Identifier: Apache-2.0
//
// The sites of a report as JSON. A member that has its default is left out of a site: most of them
// have, and of a million sites that is most of the document. The defaults are part of the document,
// so that nobody has to know them. A member that the image lacks is in neither.
#pragma once
#include "base/json.h"
#include "model/model.h"
#include "profile/profile.h"
#include "report/stack_json.h"
#include "view/blame.h"
#include "view/groups.h"
#include "view/suppressions.h"

// The members sizes and lifetimes: of each class that has any, the most that belongs to it (null:
// no limit) and how many.
void tide_histograms_json(struct tide_json *json, const uint64_t sizes[TIDE_SIZE_BUCKETS_N],
                          const uint64_t lifetimes[TIDE_LIFE_BUCKETS_N]);

// The key site_defaults.
void tide_site_json_defaults(struct tide_json *json, const struct tide_profile *profile);

// One site, as an element of an array. The stacks must be numbered.
void tide_site_json(struct tide_json *json, const struct tide_profile *profile,
                    const struct tide_stack_json *stacks, const struct tide_profile_site *site);

// Adds the numbers of a site to a sum, and writes such a sum of n sites under a key.
struct tide_site_sum {
  int64_t weight;
  struct tide_numbers numbers;
};
void tide_site_sum_add(struct tide_site_sum *sum, const struct tide_profile_site *site);
void tide_site_json_sum(struct tide_json *json, const char *key, const struct tide_profile *profile,
                        const struct tide_site_sum *sum, uint64_t n);

// ---- numbers ----
//
// The numbers of stacks, groups and everything as JSON, from the one list of them.

void tide_number_json(struct tide_json *json, const char *key, const struct tide_number *number,
                      uint64_t value);
// Those that add up, under their keys; with_times: first and last as well.
void tide_numbers_json(struct tide_json *json, const struct tide_image *image,
                       const struct tide_numbers *numbers, bool with_times);
// What was done and what is left, under the names of totals.
void tide_totals_json(struct tide_json *json, const struct tide_image *image,
                      const struct tide_numbers *totals);

// ---- groups ----
//
// The question and the groups of a report as JSON. Each writes members into the open object.

// question: measure, unit, from and to with the times asked for and seen (null: not given).
void tide_question_json(struct tide_json *json, const struct tide_question *question);

// grouped_by, and groups: at most n of them, and all with n 0.
void tide_groups_json(struct tide_json *json, struct tide_view *view, struct tide_groups *groups,
                      size_t n);

// Limits, ending and several of a class of sizes or lifetimes.
// The key "wrappers": what is folded for its shape.
void tide_wrappers_json(struct tide_json *json, const struct tide_naming *naming);

void tide_class_json(struct tide_json *json, enum tide_group_kind kind,
                     const struct tide_group *group);

// suppressed, and suppressions with what each hid.
void tide_suppressions_json(struct tide_json *json, const struct tide_suppressions *suppressions);
