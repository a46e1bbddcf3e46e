// SPDX-License-Identifier: Apache-2.0
//
// What the completion writers of all shells share.
#pragma once
#include "cli/option_table.h"

#include "base/sink.h"

bool tide_completion_applies(const struct tide_option_row *row, int verb);
bool tide_completion_takes_word(const struct tide_option_row *row); // the next word is its value
bool tide_completion_is_file(const struct tide_option_row *row);    // its value is a path

// Text inside single quotes; the characters of escaped get a backslash.
void tide_completion_text(struct tide_sink *sink, const char *text, const char *escaped);

void tide_completion_words(struct tide_sink *sink, const struct tide_option_row *row); // choices
void tide_completion_verbs(struct tide_sink *sink); // all, with blanks between
