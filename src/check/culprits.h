// SPDX-License-Identifier: Apache-2.0
//
// Who broke a budget: the places with the largest share of what is limited, of the process that was
// worst; of growth, those that grew most.
#pragma once
#include "check/ruling.h"

// Fills in the places of a broken budget.
void tide_culprits_find(const struct tide_check_input *input, struct tide_judged *judged);
