// SPDX-License-Identifier: Apache-2.0
//
// What "info" tells of a capture and of an image, row by row: "heap", "peak 412.6 MiB, …". The
// command writes them, and so does the page.
#pragma once
#include "base/units.h"
#include "profile/profile.h"

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
