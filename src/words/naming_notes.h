// SPDX-License-Identifier: Apache-2.0
//
// Why places of a profile lack names or lines, and what to do about it.
#pragma once
#include "profile/profile.h"
#include "view/naming.h"
#include "words/profile_notes.h"

// The weightiest module first. Runtime libraries and modules of less than a hundredth are not worth
// a word.
void tide_naming_notes(const struct tide_profile *profile, struct tide_naming *naming,
                       tide_note_teller *tell, void *context);
