// SPDX-License-Identifier: Apache-2.0
//
// Did you mean: for whoever reads words that people type.
#pragma once
#include <stddef.h>

// The word of the list that was most likely meant, or NULL when none is near.
const char *tide_suggest_nearest(const char *word, const char *const *words, size_t n_words);
