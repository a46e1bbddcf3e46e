// SPDX-License-Identifier: Apache-2.0
//
// What threads and classes are called.
#pragma once
#include "base/units.h"
#include "view/groups.h"

// The limits of a class of sizes or lifetimes; a lifetime's are {0, 0} where blocks were not freed.
struct tide_class_range {
  uint64_t least, most; // both included; UINT64_MAX: without limit
};
struct tide_class_range tide_class_range(enum tide_group_kind kind, uint32_t number);
struct tide_class_range tide_group_range(enum tide_group_kind kind, const struct tide_group *group);

// "freed", "resized", "never"; NULL: several.
const char *tide_group_ending(const struct tide_group *group);

// "main thread", "17 B to 32 B", "(never freed)": owned. Only for kinds that cut across sites.
char *tide_group_label(const struct tide_image *image, enum tide_group_kind kind,
                       const struct tide_group *group, struct tide_style style);
