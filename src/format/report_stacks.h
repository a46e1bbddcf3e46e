// SPDX-License-Identifier: Apache-2.0
//
// The stacks behind the places of a report: which ones were gathered into each, the weightiest
// first, and how they are drawn below its row.
#pragma once
#include "view/places.h"
#include "format/report.h"

struct tide_stacks;

// The stacks of the first n_shown places. View and places must outlive them.
struct tide_stacks *tide_stacks_new(struct tide_view *view, const struct tide_places *places,
                                    size_t n_shown);
void tide_stacks_free(struct tide_stacks *stacks); // NULL is fine

// Up to options->n_stacks stacks of a place, innermost frame first, and a line for the others.
void tide_stacks_write(const struct tide_screen *screen, struct tide_stacks *stacks,
                       size_t place_idx, const struct tide_report_options *options);
