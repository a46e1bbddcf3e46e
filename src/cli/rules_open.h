// SPDX-License-Identifier: Apache-2.0
//
// Where the user's rules come from: --rules FILE, or else $TIDEMARK_RULES, or else
// $XDG_CONFIG_HOME/tidemark/rules (~/.config without it) if there is such a file.
#pragma once
#include "cli/arguments.h"
#include "view/rules.h"

// *ret_rules is owned, to be freed with tide_rules_free(), and may be without rules.
enum tide_err tide_rules_open(const struct tide_arguments *arguments, struct tide_rules **ret_rules,
                              struct tide_diag *diag);
