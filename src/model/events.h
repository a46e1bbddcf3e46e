// SPDX-License-Identifier: Apache-2.0
//
// Ad hoc events of an image: rows as they are met, made a table; and the events in place of the
// heap, for whoever is asked to show them: an event is then an allocation, and its weight is bytes.
#pragma once
#include "model/model.h"

// Rows in any order, with others of their stack and thread among them, become the image's table.
// Takes over the array, which may be NULL when n is 0.
void tide_image_set_events(struct tide_image *image, struct tide_event_row *rows, size_t n);

// How many, and their weights.
struct tide_event_sum {
  uint64_t n, weight;
};
struct tide_event_sum tide_image_event_sum(const struct tide_image *image);

// Every image becomes one of its events: sites of these alone, nothing of the heap, of the resident
// memory or of its course in time. False: there are none in any image, and nothing was changed.
bool tide_capture_show_events(struct tide_capture *capture);
