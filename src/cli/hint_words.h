// SPDX-License-Identifier: Apache-2.0
//
// What the reader of a sentence can do about it, in the words of the command line.
#pragma once
#include "base/err.h"
#include "base/hint.h"

tide_hint_words tide_cli_hint_words;

// The sentence of a failure with what to do about it; owned.
char *tide_cli_failure_words(enum tide_err err, const struct tide_diag *diag);
