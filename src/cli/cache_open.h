// SPDX-License-Identifier: Apache-2.0
//
// From what the user said to a cache of names.
#pragma once
#include "cli/arguments.h"
#include "view/name_cache.h"

// In TIDEMARK_CACHE, else in $XDG_CACHE_HOME/tidemark or ~/.cache/tidemark; of 256 MiB, or
// TIDEMARK_CACHE_MAX. NULL with --no-cache, with TIDEMARK_CACHE=off, and where there is no home.
struct tide_name_cache *tide_cache_open(const struct tide_arguments *arguments);
