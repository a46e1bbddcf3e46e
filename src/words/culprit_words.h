// SPDX-License-Identifier: Apache-2.0
//
// Who: the place that held most, since when and what became of it; who leaks; who mapped pages. The
// view is through all names, unfiltered, and its profile is asked by these functions. All results
// are the caller's to free.
#pragma once
#include "base/units.h"
#include "view/groups.h"

// A place: "app::Archive::keep, src/archive.cpp:37", "libplugin.so+0x42, libplugin.so".
char *tide_frame_words(const struct tide_naming *naming, const struct tide_named_frame *frame,
                       struct tide_style style);

// "93.6 % of it (23.6 MiB) was allocated in document_read, indexer/indexer.c:58, half of that since
// 41 ms, and freed by the end", of what was held at the peak, or of what was never freed; NULL:
// nobody is known. Asks the profile that question. Gives the place, the naming's, or NULL, too.
char *tide_culprit_sentence(struct tide_profile *profile, struct tide_naming *naming,
                            enum tide_measure measure, struct tide_style style,
                            const struct tide_named_frame **ret_culprit);

// What follows a sentence about what was not freed: "; 3.1 MiB of it, from that place, was still
// growing"; "": nothing did that is worth a word. The culprit of the peak, of which the sentence
// before told, is that place; NULL: nobody was told. Asks the profile.
char *tide_leaking_words(struct tide_profile *profile, struct tide_naming *naming,
                         const struct tide_named_frame *culprit, struct tide_style style);

// What follows one about mapped memory: ", most of it in arena_new, src/arena.c:12"; "": by none.
char *tide_mapper_words(struct tide_profile *profile, struct tide_naming *naming,
                        struct tide_style style);

// Functions that no rule folds and are folded all the same: "Perl_sv_grow (11 callers), Perl_newSV
// (9 callers) and 3 more, folded by their shape"; owned, NULL: there are none.
char *tide_wrappers_words(const struct tide_naming *naming, struct tide_style style);
