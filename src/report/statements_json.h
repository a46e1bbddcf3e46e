// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences, for programs.
#pragma once
#include "base/json.h"
#include "words/statements.h"

// A member of the open object: program, title (its parts), sentences. NULL is null.
void tide_statements_json(struct tide_json *json, const char *key,
                          const struct tide_statements *statements);
