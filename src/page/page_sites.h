// SPDX-License-Identifier: Apache-2.0
//
// Which stacks of a profile are sites of the page, under which number. All are, by rising stack,
// unless the page must not grow beyond a limit: then those that matter least in every measure are
// gathered, so that all sums stay what they are. By the place they are blamed on, as long as there
// is room for every place: then what a place weighs stays exact, too, and only who called it is
// lost; else into one site of the heap. Pages are gathered into one.
#pragma once
#include "page/page_column.h"
#include "page/page_names.h"
#include "profile/profile.h"
#include "view/blame.h"

struct tide_page_other {                // a site that stands for gathered stacks
  const struct tide_named_frame *place; // the naming's; NULL: not by place
  bool of_pages;
  size_t first, n; // which ones, in gathered
};

struct tide_page_sites {
  uint32_t *of_stack;             // per stack of the image: number of its site + 1; 0: none
  uint32_t *kept;                 // per number below n_kept: index of the profile's site
  size_t n_kept;                  // those that stand for themselves; the gathered come after them
  size_t n;                       // of all
  uint32_t *gathered;             // indexes of the profile's sites that are not kept
  size_t n_gathered;              //
  size_t n_of;                    // sites of the profile
  struct tide_page_other *others; // by number from n_kept on
  size_t n_others, cap_others;
};

struct tide_page_choice {
  size_t n_keep; // how many are kept, besides what was lost; SIZE_MAX: all
  bool by_place; // gather the others by place
};

void tide_page_sites_init(struct tide_page_sites *sites, const struct tide_profile *profile,
                          struct tide_naming *naming, struct tide_page_choice choice);
void tide_page_sites_done(struct tide_page_sites *sites);

// ---- written down ----
//
// The numbers of the page's data: sites, rows, histograms, snapshots and the timeline.

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
