// SPDX-License-Identifier: Apache-2.0
//
// The facts of a capture: what was recorded, when, where, by which processes, from which files, and
// what is missing. As text, and as JSON with schema "tidemark-info-1". sources may be NULL.
#pragma once
#include "model/model.h"
#include "report/screen.h"
#include "symbol/symbol.h"

void tide_info_write(const struct tide_screen *screen, const struct tide_capture *capture,
                     const char *file, uint64_t file_bytes,
                     const struct tide_symbol_sources *sources);
void tide_info_json_write(struct tide_sink *sink, const struct tide_capture *capture,
                          const char *file, uint64_t file_bytes,
                          const struct tide_symbol_sources *sources);

// ---- modules ----
//
// Recorded objects against the files of today.

// What became of a module's file: "lines" (unchanged, with debug info), "names" (unchanged,
// without), "changed", "gone", or "kernel" for what never was one. The note lives as long as the
// symboliser;
// "" when all is well.
const char *tide_module_state(struct tide_symboliser *symboliser, const struct tide_module *module,
                              const char **ret_note);

// The build id in hex, "" when there is none.
void tide_module_build_id(const struct tide_module *module, char out[65]);
