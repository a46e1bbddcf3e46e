// SPDX-License-Identifier: Apache-2.0
//
// What a difference of two pprof profiles begins from: the values of every stack of a process at an
// earlier moment. Stacks are known again by their addresses in their files, whatever numbers they
// have in the later capture.
#pragma once
#include "profile/profile.h"

struct tide_pprof_base;

// Of what was allocated so far and of what is held now, in blocks and in bytes.
struct tide_pprof_base *tide_pprof_base_take(const struct tide_profile *profile);
void tide_pprof_base_free(struct tide_pprof_base *base); // NULL is fine

// Takes the earlier values off those of a later profile, one per site, that were weighed by this
// question: TOTAL or LIVE, of the whole run. If the numbers were reset in between, nothing is taken
// off what was allocated since.
void tide_pprof_base_subtract(const struct tide_pprof_base *base,
                              const struct tide_profile *profile,
                              const struct tide_question *question, int64_t *values);
