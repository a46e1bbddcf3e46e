// SPDX-License-Identifier: Apache-2.0
//
// Taking the table of a process: see table.h for what is in it. It is made from outside, from what
// is in memory and what is written there, and stops nobody.
#pragma once
#include "residence/table.h"

enum tide_err tide_residence_take(uint32_t pid, struct tide_residence *ret_residence,
                                  struct tide_diag *diag);
