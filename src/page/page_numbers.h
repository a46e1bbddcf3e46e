// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the page's data: sites, rows, histograms, snapshots and the timeline.
#pragma once
#include "page/page_column.h"
#include "page/page_names.h"
#include "page/page_sites.h"

// All sites, and the nodes of their stacks.
void tide_page_sites_write(const struct tide_page_sites *sites, const struct tide_profile *profile,
                           struct tide_page_names *names, struct tide_page_column *columns);
// What each thread did at each site, and the histograms.
void tide_page_rows_write(const struct tide_page_sites *sites, const struct tide_profile *profile,
                          struct tide_page_column *columns);
// Snapshots as changes.
void tide_page_cells_write(const struct tide_page_sites *sites, const struct tide_image *image,
                           struct tide_page_column *columns);
// What was held at one snapshot and freed before another.
void tide_page_late_frees_write(const struct tide_page_sites *sites, const struct tide_image *image,
                                struct tide_page_column *columns);
void tide_page_ticks_write(const struct tide_image *image, struct tide_page_column *columns);
