// SPDX-License-Identifier: Apache-2.0
//
// Did you mean.
#pragma once
#include <stddef.h>

// The word of the list that was most likely meant, or NULL when none is near.
const char *tide_suggest(const char *word, const char *const *words, size_t n_words);
