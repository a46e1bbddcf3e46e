// SPDX-License-Identifier: Apache-2.0
//
// Findings of two runs beside each other: which are new, which are gone, which stayed. Places are
// matched as view/diff.h does it, by what outlives a rebuild: function and source file.
#pragma once
#include "findings/finding.h"

#define TIDE_FINDING_NONE SIZE_MAX

// For each finding of `after`, the index of the one of the same rule and function in `before`, or
// TIDE_FINDING_NONE; the array has room for after->n.
void tide_findings_match(const struct tide_findings *before, const struct tide_findings *after,
                         size_t *ret_before);
