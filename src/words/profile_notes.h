// SPDX-License-Identifier: Apache-2.0
//
// What a reader must know before trusting a profile, in sentences.
#pragma once
#include "profile/profile.h"

typedef void tide_note_teller(void *context, const char *text);

// That the recorder stepped aside, that the file is damaged or a checkpoint (which it is while the
// run goes on, and no word is said of it), that strangers were refused; nothing when all is well.
// The text is valid during the call.
void tide_profile_notes(const struct tide_profile *profile, bool is_running, tide_note_teller *tell,
                        void *context);

// That the program has an allocator of its own, which was not seen, and what to do; nothing when it
// has not.
void tide_profile_hollow_note(const struct tide_profile *profile, tide_note_teller *tell,
                              void *context);
