// SPDX-License-Identifier: Apache-2.0
//
// From what the user said to names, and to the rules by which they are judged.
#pragma once
#include "cli/arguments.h"
#include "view/naming.h"
#include "view/rules.h"

// Fails when a directory of --debug-dir cannot be used.
enum tide_err tide_sources_check(const struct tide_arguments *arguments, struct tide_diag *diag);
// Points into the arguments.
struct tide_symbol_sources tide_sources_of(const struct tide_arguments *arguments);

// Names from the sources asked for. The arguments must outlive it.
struct tide_resolver *tide_resolver_open(const struct tide_arguments *arguments);

// The names of an image, by the rules (NULL: the built-in ones) and from the sources asked for.
// Arguments, image and rules must outlive them.
struct tide_naming *tide_naming_open(const struct tide_arguments *arguments,
                                     const struct tide_image *image,
                                     const struct tide_rules *rules);

// ---- rules ----
//
// Where the user's rules come from: --rules FILE, or else $TIDEMARK_RULES, or else
// $XDG_CONFIG_HOME/tidemark/rules (~/.config without it) if there is such a file.

// *ret_rules is owned, to be freed with tide_rules_free(), and may be without rules.
enum tide_err tide_rules_open(const struct tide_arguments *arguments, struct tide_rules **ret_rules,
                              struct tide_diag *diag);
