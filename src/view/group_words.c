// SPDX-License-Identifier: Apache-2.0
//
// The words of the command line for kinds of groups and for whom to blame, apart from what needs
// names.
#include "view/groups.h"

const char *const tide_group_words[TIDE_GROUPS_N] = {
    "place", "function", "file", "crate", "module", "thread", "size", "lifetime", "stack", "pages",
};

const char *const tide_blamed_words[TIDE_BLAMED_N] = {"own", "library"};
