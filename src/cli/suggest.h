// SPDX-License-Identifier: Apache-2.0
//
// Did you mean.
#pragma once
#include <stddef.h>

// What tidemark calls what other tools call by this name of a verb or of an option of that verb
// (verb NULL: the word is a verb), as the rest of a sentence; NULL when it is no word of theirs.
const char *tide_suggest_known(const char *verb, const char *word);

// The word of the list that was most likely meant, or NULL when none is near.
const char *tide_suggest(const char *word, const char *const *words, size_t n_words);
