// SPDX-License-Identifier: Apache-2.0
//
// Recorded objects against the files of today.
#pragma once
#include "model/model.h"
#include "symbol/symbol.h"

// What became of a module's file: "lines" (unchanged, with debug info), "names" (unchanged,
// without), "changed", "gone", or "kernel" for what never was one. The note lives as long as the
// symboliser;
// "" when all is well.
const char *tide_module_state(struct tide_symboliser *symboliser, const struct tide_module *module,
                              const char **ret_note);

// The build id in hex, "" when there is none.
void tide_module_build_id(const struct tide_module *module, char out[65]);
