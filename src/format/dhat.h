// SPDX-License-Identifier: Apache-2.0
//
// Export to DHAT's JSON, version 2: what valgrind's dh_view and the Firefox Profiler open.
#pragma once
#include "base/sink.h"
#include "view/naming.h"
#include "profile/profile.h"

// The heap of the profile's image. Page-level stacks have no place in the format and are left out.
void tide_dhat_write(struct tide_sink *sink, const struct tide_profile *profile,
                     struct tide_naming *naming);
