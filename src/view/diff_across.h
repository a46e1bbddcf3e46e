// SPDX-License-Identifier: Apache-2.0
//
// One side of a diff by thread, size or lifetime: rows with the labels that both sides know them
// by. For diff.c.
#pragma once
#include "view/diff.h"

struct tide_across_row {
  char *label;           // owned; several rows may have the same
  struct tide_group row; // which class it is: number and several; the rest is of no meaning
  struct tide_diff_amount amount;
};

struct tide_across {
  struct tide_across_row *items;
  size_t n, cap;
};

void tide_across_init(struct tide_across *across, struct tide_view *view,
                      enum tide_group_kind kind);
void tide_across_done(struct tide_across *across);
