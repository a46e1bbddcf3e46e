// SPDX-License-Identifier: Apache-2.0
//
// Sites gathered into rows: by the line of code they are blamed on (a place), by a larger part of
// the program, by thread, or by class of size or lifetime.
//
// Naming every address of a large program would read debug information nobody sees, so the number
// of look-ups is limited, spent on the largest stacks first; what could not be placed is kept as
// the rest, never dropped.
#pragma once
#include "base/units.h"
#include "profile/classes.h"
#include "profile/growth.h"
#include "view/view.h"

enum { TIDE_GROUPS_LOOKUPS_MAX = 4096 };

enum tide_group_kind {
  TIDE_GROUP_PLACE,
  TIDE_GROUP_FUNCTION,
  TIDE_GROUP_FILE,
  TIDE_GROUP_CRATE,  // Rust crate or outermost C++ namespace; without one, the module
  TIDE_GROUP_MODULE, // program or library
  TIDE_GROUP_THREAD, // that allocated
  TIDE_GROUP_SIZE,
  TIDE_GROUP_LIFETIME,
  TIDE_GROUP_CALL,  // of an allocator: malloc, calloc, operator new, ...
  TIDE_GROUP_SCOPE, // the innermost scope of a stack, with those that it is in; what comes after
                    // this is of one run alone, and not compared
  TIDE_GROUP_STACK,
  TIDE_GROUP_PAGES, // stacks that mapped memory: for questions of pages
  TIDE_GROUPS_N,
};
extern const char *const tide_group_words[TIDE_GROUPS_N];           // "place", "function", …
const char *tide_group_noun(enum tide_group_kind kind, uint64_t n); // "place" or "places"

// What became of the blocks of a group, from its numbers and from what it held over time:
//
//   growing     never freed, and more of them came: the part never freed rose at two or more of the
//               moments looked at, and by a tenth of it in the second half of the run
//   throughout  never freed, and all were allocated within the first tenth of the run
//   held        never freed, but neither of these
//   at the end  all freed, but none before the last tenth of the run, and none allocated in it
//
// What was never freed is known at the end; for earlier moments see profile/timeline.h.
enum tide_fate {
  TIDE_FATE_NONE,
  TIDE_FATE_GROWING,
  TIDE_FATE_HELD,
  TIDE_FATE_THROUGHOUT,
  TIDE_FATE_AT_END,
  TIDE_FATES_N,
};
extern const char *const tide_fate_words[TIDE_FATES_N]; // NULL for none; "growing", …

struct tide_group {
  // What it is. The frame stands for all of it and is the naming's; NULL for events without a stack
  // and for kinds that are no part of the code.
  const struct tide_named_frame *frame;
  char *crate;     // or the scope, or the call; owned; NULL for other kinds
  uint32_t number; // thread, class of size or of lifetime, call, stack: as the kind is
  bool several;    // of several threads or classes, not told apart; of classes, number is the first
  uint32_t last;   // and this the last
  uint32_t key;    // of threads and classes: what its gifts are found by

  int64_t measure; // under the question asked
  // Classes of size and lifetime have the measure and allocations: nothing else is known by class.
  // What threads have live and had at the peak is of the blocks they allocated; all else is what
  // they did, to their own blocks or others'.
  union {
    struct tide_numbers numbers;
    struct tide_numbers;
  };
  uint32_t n_stacks;
  enum tide_fate fate; // none until told
};

struct tide_group_gift { // what a site gave to a group that cuts across sites
  uint32_t key, site;
  int64_t weight;
};

struct tide_groups {
  enum tide_group_kind kind;
  // By falling measure; classes of size and lifetime by rising number. Parts of the code weigh
  // something; their other numbers are those of all their stacks, with weight or without.
  struct tide_group *items;
  size_t n;
  uint32_t *of_site; // per site of the profile: its group + 1, 0: none. NULL: sites have several
  // Group i has the sites sites[first[i]] up to those of the next, by falling weight, and, as
  // many, their stacks, which rise. NULL as of_site is.
  uint32_t *sites, *stacks;
  size_t *first;
  struct tide_group_gift *gifts; // by rising key, then falling weight; NULL where there is of_site
  size_t n_gifts, cap_gifts;
  size_t n_stacks;              // heap stacks with any weight
  size_t n_stacks_placed;       // of them gathered into items
  struct tide_group rest;       // sums of the stacks not gathered; no frame
  int64_t gone;                 // of the rest: at the peak of a file that was cut, no longer in it
  struct tide_group weightless; // sums of what weighs nothing and is in no item; no frame
};

// Of threads and classes: not part of the code, and cutting across sites.
static inline bool tide_group_kind_is_across(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_THREAD || kind == TIDE_GROUP_SIZE || kind == TIDE_GROUP_LIFETIME;
}
// Known by a text that each stack has, and not by a frame.
static inline bool tide_group_kind_is_text(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_SCOPE || kind == TIDE_GROUP_CALL;
}
static inline bool tide_group_kind_is_stacks(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_STACK || kind == TIDE_GROUP_PAGES;
}
static inline bool tide_group_kind_is_classes(enum tide_group_kind kind)
{
  return kind == TIDE_GROUP_SIZE || kind == TIDE_GROUP_LIFETIME;
}

// The scopes of a stack, "GET /users > db": from the outermost in. Owned by the caller; NULL: it
// has none.
char *tide_scope_path(const struct tide_view *view, uint32_t stack);

// Refuses, with the reason, a kind of group that an image holds nothing by.
enum tide_err tide_groups_check(enum tide_group_kind kind, const struct tide_image *image,
                                struct tide_diag *diag);

struct tide_groups *tide_groups_new(struct tide_view *view, enum tide_group_kind kind);
void tide_groups_free(struct tide_groups *groups); // NULL is fine

// How many of the first n_max groups weigh min_measure or more; min_measure 0: all of them that
// weigh anything, without a limit all there are. Classes of which some are left out come by falling
// measure from then on.
size_t tide_groups_shown(struct tide_groups *groups, size_t n_max, int64_t min_measure);

// Sums of everything past the first n_shown groups that weighs anything; and with all that does
// not.
struct tide_group tide_groups_rest(const struct tide_groups *groups, size_t n_shown);
struct tide_group tide_groups_others(const struct tide_groups *groups, size_t n_shown);

// The stacks that give a group its weight, the largest first: how many, and one of them. Its weight
// is what it gave to the group.
size_t tide_groups_stacks(const struct tide_groups *groups, const struct tide_profile *profile,
                          size_t group_idx);
struct tide_group_gift tide_groups_stack(const struct tide_groups *groups,
                                         const struct tide_profile *profile, size_t group_idx,
                                         size_t i);

// Histograms of all sites of a group; zeros for groups that share their sites with others.
void tide_groups_histograms(const struct tide_groups *groups, const struct tide_profile *profile,
                            size_t group_idx, uint64_t ret_sizes[TIDE_SIZE_BUCKETS_N],
                            uint64_t ret_lifetimes[TIDE_LIFE_BUCKETS_N]);

// How the stacks of a group reached the allocator from its place: through which library's function,
// or, where the place has no name, from which function. The one of most weight, at its first line.
// Stacks of pages that went through no library tell who called their place.
struct tide_group_way {
  const struct tide_named_frame *frame; // the naming's; NULL: none
  size_t n_more;                        // other functions
};
struct tide_group_ways {
  struct tide_group_way via, caller;
};
struct tide_group_ways tide_groups_ways(const struct tide_groups *groups, struct tide_view *view,
                                        size_t group_idx);

// Fills in the fates of the first n groups, or of all there are. Groups that share stacks with
// others have none, nor has any when the capture holds too few moments.
void tide_groups_tell_fates(struct tide_groups *groups, const struct tide_image *image, size_t n);

// How what the stacks of a group hold grew; of groups that have stacks of their own. The caller
// ends it.
void tide_groups_growth(const struct tide_groups *groups, const struct tide_image *image,
                        size_t group_idx, struct tide_growth *ret_growth);

// Whether two frames are the same place, or function, as an order: 0 when they are. Neither is
// NULL.
int tide_place_compare(const struct tide_named_frame *a, const struct tide_named_frame *b);
int tide_function_compare(const struct tide_named_frame *a, const struct tide_named_frame *b);

// For the files of groups: sums, and threads or classes, which cut across the sites in view.
void tide_group_add(struct tide_group *sum, const struct tide_group *item);
void tide_group_add_site(struct tide_group *sum, const struct tide_profile_site *site);
void tide_groups_across(struct tide_groups *groups, const struct tide_view *view);

// The limits of a class of sizes or lifetimes; a lifetime's are {0, 0} where blocks were not freed.
struct tide_class_range {
  uint64_t least, most; // both included; UINT64_MAX: without limit
};
struct tide_class_range tide_class_range(enum tide_group_kind kind, uint32_t number);
struct tide_class_range tide_group_range(enum tide_group_kind kind, const struct tide_group *group);

// "freed", "resized", "never"; NULL: several.
const char *tide_group_ending(const struct tide_group *group);

// "main thread", "17 B to 32 B", "(never freed)": owned. Only for kinds that cut across sites.
char *tide_group_label(const struct tide_profile *profile, enum tide_group_kind kind,
                       const struct tide_group *group, struct tide_style style);
