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
