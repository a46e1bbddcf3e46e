// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a group: added up from sites, from a thread's rows, or by class. For groups.c.
#pragma once
#include "view/groups.h"

void tide_group_add(struct tide_group *sum, const struct tide_group *item);
void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site);

// Fills in threads or classes, which cut across the sites in view.
void tide_groups_across(struct tide_groups *groups, const struct tide_view *view);
