// SPDX-License-Identifier: Apache-2.0
//
// The facts of a capture: what was recorded, when, where, by which processes, from which files, and
// what is missing. As text, and as JSON with schema "tidemark-info-1". sources may be NULL.
#pragma once
#include "base/units.h"
#include "model/model.h"
#include "profile/profile.h"
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

// ---- row by row ----
//
// What "info" tells of a capture and of an image, row by row: "heap", "peak 412.6 MiB, …". The
// command writes them, and so does the page.

struct tide_info_row {
  const char *label; // "heap"; static
  char *text;        // owned
};

struct tide_info_rows {
  struct tide_style style;
  struct tide_info_row *items;
  size_t n, cap;
};

// When, where and by what it was recorded, and what that cost; or what it was read from.
void tide_info_add_capture(struct tide_info_rows *rows, const struct tide_capture *capture);

// What the image is, what it did, what is missing.
void tide_info_add_image(struct tide_info_rows *rows, const struct tide_profile *profile);

void tide_info_rows_done(struct tide_info_rows *rows);
