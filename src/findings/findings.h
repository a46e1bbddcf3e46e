// SPDX-License-Identifier: Apache-2.0
//
// All findings of a profile: the places are gathered, every rule asked, and what they found ranked.
#pragma once
#include "findings/finding.h"
#include "profile/profile.h"

// Asks the profile other questions and at the end its own again; looks up the names of the
// weightiest stacks.
struct tide_findings *tide_findings_new(struct tide_profile *profile, struct tide_naming *naming);

// The same beside something else that is shown: NULL where there are so many stacks that judging
// them would take as long as that.
enum { TIDE_FINDINGS_BESIDE_MAX = 20000 };
struct tide_findings *tide_findings_new_beside(struct tide_profile *profile,
                                               struct tide_naming *naming);
void tide_findings_free(struct tide_findings *findings); // NULL is fine
