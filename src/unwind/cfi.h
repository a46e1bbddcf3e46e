// SPDX-License-Identifier: Apache-2.0
//
// Reading call frame information: about a microsecond, once per call site.
#pragma once
#include "unwind/rule.h"

// The rule for the frame whose pc (TIDE_RULE_EXACT_PC or a return address) is key. Always writes
// *ret_rule; TIDE_RULE_NONE where nothing usable is known.
void tide_cfi_rule(uint64_t key, struct tide_rule *ret_rule);
