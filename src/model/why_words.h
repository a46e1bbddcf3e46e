// SPDX-License-Identifier: Apache-2.0
//
// Why a program is not recorded, in words: one list for what is said before a run, in reports, in
// JSON and on the page.
#pragma once
#include "store/codes.h"
#include <stdbool.h>

// "is statically linked, so the recorder cannot be preloaded", to follow a program's name.
// detail is the allocator's, loader's or sanitizer's name, NULL or "" when not known. free().
char *tide_why_sentence(enum tide_why why, const char *detail);

// The same in two or three words: "static", "jemalloc linked in". free().
char *tide_why_brief(enum tide_why why, const char *detail);

// What to do about it: a clause, or NULL where nothing can be done. An allocator that profiles
// itself is named with the file of its that tidemark reads. free().
char *tide_why_way_out(enum tide_why why, const char *detail);

// For machines: "static", "allocator" and so on.
const char *tide_why_tag(enum tide_why why);

// Whether the recorder was loaded all the same, so that it saw what went through libc's allocator
// and which programs the process started.
bool tide_why_is_partial(enum tide_why why);
