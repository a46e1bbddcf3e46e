// SPDX-License-Identifier: Apache-2.0
//
// Which stacks of a profile are sites of the page, under which number. All are, by rising stack,
// unless the page must not grow beyond a limit: then those that matter least in every measure are
// gathered into one site of the heap and one of pages, so that all sums stay what they are.
#pragma once
#include "profile/profile.h"

struct tide_page_sites {
  uint32_t *of_stack;   // per stack of the image: number of its site + 1; 0: none
  uint32_t *kept;       // per number below n_kept: index of the profile's site
  size_t n_kept;        // those that stand for themselves; the gathered come after them
  size_t n;             // of all
  uint32_t *gathered;   // indexes of the profile's sites that are not kept
  size_t n_gathered;    //
  size_t n_of;          // sites of the profile
  uint32_t heap, pages; // numbers + 1 of the sites that stand for the gathered; 0: none
};

// n_keep: how many are kept, besides what was lost; SIZE_MAX: all.
void tide_page_sites_init(struct tide_page_sites *sites, const struct tide_profile *profile,
                          size_t n_keep);
void tide_page_sites_done(struct tide_page_sites *sites);
