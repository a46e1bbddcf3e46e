// SPDX-License-Identifier: Apache-2.0
//
// The question and the groups of a report as JSON. Each writes members into the open object.
#pragma once
#include "base/json.h"
#include "view/groups.h"
#include "view/suppressions.h"

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
