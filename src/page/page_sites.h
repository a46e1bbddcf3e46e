// SPDX-License-Identifier: Apache-2.0
//
// Which stacks of a profile are sites of the page, under which number. All are, in the order of a
// walk through the tree of frames, unless the page must not grow beyond a limit: then those that
// matter least in every measure are gathered, so that all sums stay what they are. By the place
// they are blamed on, as long as there is room for every place: then what a place weighs stays
// exact, too, and only who called it is lost; else into one site of the heap. Pages are gathered
// into one.
#pragma once
#include "base/lookup.h"
#include "page/page_column.h"
#include "profile/profile.h"
#include "view/blame.h"
#include "view/naming.h"

// ---- names ----
//
// The stacks of the page's data: texts, modules, frames and the tree they form, each distinct one
// once. Stacks of different addresses that read the same are one path of the tree.

struct tide_page_names {
  const struct tide_image *image; // not owned
  struct tide_naming *naming;     // not owned
  struct tide_intern texts, modules, frames, nodes;
  uint32_t *of_module; // module of the image -> page's + 1; 0: not met
  uint32_t *of_node;   // node of the image -> page's + 1; 0: not met
  uint32_t *crates;    // text of a function -> text of its crate + 1; 0: not asked
  size_t n_crates;
  size_t *chains; // address of the naming -> where its frames begin in ids, + 1; 0: not met
  size_t n_chains;
  uint32_t *ids; // frames of the page, chain by chain, innermost first
  size_t n_ids, cap_ids;
  uint32_t *way; // nodes on the way to a known one
  size_t cap_way;
  struct tide_buf scratch;
};

void tide_page_names_init(struct tide_page_names *names, const struct tide_image *image,
                          struct tide_naming *naming);
void tide_page_names_done(struct tide_page_names *names);

// The page's node for a node of the image.
uint32_t tide_page_names_node(struct tide_page_names *names, uint32_t node);
// A number for the place that a frame is, as the page tells places apart. Names that are asked for
// it are not written.
uint32_t tide_page_names_place(struct tide_page_names *names, const struct tide_named_frame *frame);

struct tide_page_other {                // a site that stands for gathered stacks
  const struct tide_named_frame *place; // the naming's; NULL: not by place
  uint32_t top;                         // node of the image that all are below; 0: any
  bool of_pages;
  size_t first, n; // which ones, in gathered
};

// The page's node that stands for gathered stacks.
uint32_t tide_page_names_other(struct tide_page_names *names, const struct tide_page_other *other);

// Writes the columns, which must be empty; nothing may be added any more.
void tide_page_names_write(struct tide_page_names *names, struct tide_page_column *columns);

// ---- sites ----

// In place of a call: of gathered stacks, that they are of several.
enum { TIDE_PAGE_CALLS = 16 };

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
  bool is_first; // by both: what is seen first (below)
};

void tide_page_sites_init(struct tide_page_sites *sites, const struct tide_profile *profile,
                          struct tide_naming *naming, struct tide_page_choice choice);
void tide_page_sites_done(struct tide_page_sites *sites);

// ---- what is seen first ----
//
// Of a profile of very many stacks, few sites that a browser shows while it reads the others. Sums
// are what they are, and so is every place that is shown: those that matter least are gathered into
// one. Stacks that are gathered keep their outermost frames as far as a person could see them in a
// graph, so that the top of the tree is there.

struct tide_page_gathering {              // per site of the profile; owned
  uint8_t *goes;                          // it is gathered
  const struct tide_named_frame **places; // by this; NULL: not by place
  uint32_t *tops;                         // by this node of the image; 0: by none
};

// shares: per site what it matters, 2 being what must stay.
void tide_page_first_choose(struct tide_page_gathering *gathering,
                            const struct tide_profile *profile, struct tide_naming *naming,
                            const double *shares, size_t n_keep);
// A byte per site of the profile: whether it goes when n_keep may stay; with a share below zero in
// any case. Owned by the caller.
uint8_t *tide_page_sites_that_go(const struct tide_profile *profile, const double *shares,
                                 size_t n_keep);

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
// Of what kinds the RSS was when somebody looked.
void tide_page_kinds_write(const struct tide_image *image, struct tide_page_column *columns);
// What the largest stacks held at the ticks.
void tide_page_held_write(const struct tide_page_sites *sites, const struct tide_image *image,
                          struct tide_page_column *columns);
