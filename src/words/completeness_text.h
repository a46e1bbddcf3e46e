// SPDX-License-Identifier: Apache-2.0
//
// What is missing, and of what: programs, events, numbers, names.
#pragma once
#include "base/units.h"
#include "model/model.h"
#include "profile/profile.h"
#include "view/naming.h"

// ---- programs of the run ----
//
// The programs of a run that were not recorded, in words. All texts are the caller's to free.

// "33 × rustc", "busybox".
char *tide_roll_name(const struct tide_unrecorded *row, struct tide_style style);

// "has jemalloc linked in, which the preloaded recorder cannot see into; up to 212.0 MiB RSS"
char *tide_roll_reason(const struct tide_unrecorded *row, struct tide_style style);

// All of them on a line or two: "33 × rustc (jemalloc linked in, 212.0 MiB RSS), busybox (static)";
// NULL when there are none.
char *tide_roll_summary(const struct tide_roll *roll, struct tide_style style);

// "7 of at least 40 processes recorded"
char *tide_roll_count(const struct tide_roll *roll);

// What should lead a profile's first screen and was not recorded: "rustc was hardly recorded: each
// has …". NULL: it was, or another process was asked for. *ret_row (may be NULL): which.
char *tide_roll_lead(const struct tide_profile *profile, struct tide_style style,
                     const struct tide_unrecorded **ret_row);

// What of the run the profile does not show: "7 of at least 40 processes recorded", "1 other
// process recorded in part"; NULL: nothing.
char *tide_roll_scope(const struct tide_profile *profile);

// ---- the whole ----
//
// How far a profile can be believed, in one sentence.

struct tide_completeness_text {
  const char *label; // "complete", "incomplete" or "read from"
  char *text;        // owned: "every event (13.8 M), 10 stacks, none cut, peak exact"
  bool is_warning;
};

struct tide_completeness_text tide_completeness_text(const struct tide_profile *profile,
                                                     struct tide_style style);

// The same in one text where a number of the profile may be another one: "incomplete: 3 of 1,204
// events not recorded, …", "read from: a pprof profile, …, estimated from 17 samples". For files in
// which the numbers themselves cannot say it. Owned; NULL: all of them are exact.
char *tide_inexact_words(const struct tide_profile *profile, struct tide_style style);

// ---- numbers ----
//
// What a reader must know before trusting a profile, in sentences.

typedef void tide_note_teller(void *context, const char *text);

// That the recorder stepped aside, that the file is damaged or a checkpoint (which it is while the
// run goes on, and no word is said of it) or a dump, and when and why that was taken; that
// strangers were refused; nothing when all is well. The text is valid during the call.
void tide_profile_notes(const struct tide_profile *profile, bool is_running, tide_note_teller *tell,
                        void *context);

// That the program has an allocator of its own, which was not seen, and what to do; nothing when it
// has not.
void tide_profile_hollow_note(const struct tide_profile *profile, tide_note_teller *tell,
                              void *context);

// ---- names ----
//
// Why places of a profile lack names or lines, and what to do about it.

// The weightiest module first. Runtime libraries and modules of less than a hundredth are not worth
// a word.
void tide_naming_notes(const struct tide_profile *profile, struct tide_naming *naming,
                       tide_note_teller *tell, void *context);
