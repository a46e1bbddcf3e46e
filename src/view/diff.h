// SPDX-License-Identifier: Apache-2.0
//
// What changed between two views: of two captures, or of two moments of one. Stacks are gathered by
// the place they are blamed on, and places are matched by what outlives a rebuild (see
// view/diff_match.h).
//
// 1. Every stack with any weight on either side is in exactly one place, or shared out among
//    threads or classes. The places of a side and
//    what its threads leave open add up to its total, and their changes to the total's.
// 2. Nothing depends on where code was loaded or on which lines it stood.
#pragma once
#include "view/diff_match.h"

// From one number to another. Modulo 2^64, since they come from files.
static inline int64_t tide_number_change(int64_t before, int64_t after)
{
  return (int64_t)((uint64_t)after - (uint64_t)before);
}

enum tide_change {   // under the unit asked for
  TIDE_CHANGE_ADDED, // nothing before
  TIDE_CHANGE_GONE,  // nothing after
  TIDE_CHANGE_GROWN,
  TIDE_CHANGE_SHRUNK,
  TIDE_CHANGE_NONE,
  TIDE_CHANGES_N,
};
extern const char *const tide_change_words[TIDE_CHANGES_N]; // "added", …, "same"

struct tide_diff_place {
  enum tide_diff_kind kind;
  const char *label;     // what all of it is, the diff's; NULL: a place, which its frames tell
  struct tide_group row; // of a class: its number, or that it is several; nothing else
  // Of the stacks gathered here the one that weighs most; the view's. NULL: none on that side.
  const struct tide_named_frame *before_frame, *after_frame;
  struct tide_diff_amount before, after;
  bool is_module; // all code of a module that has no names
};

struct tide_diff {
  struct tide_view *before, *after; // not owned
  enum tide_group_kind group;       // what a row is: a place, or a larger part of the program
  char **labels;                    // owned
  size_t n_labels, cap_labels;
  struct tide_diff_place *places; // by falling size of the change
  size_t n;                       // unchanged ones included, at the end
  struct tide_diff_place open;    // peaks of several threads: what no stack can be given
  struct tide_diff_place total;   // sums of all; without frames
  size_t counts[TIDE_CHANGES_N];  // places by change
  int64_t sums[TIDE_CHANGES_N];   // and what they changed by
};

// Both views must have been asked for the same measure and unit; they may share profile image and
// naming, and must outlive the diff. Names what it has to, without a limit: a place named on one
// side alone would look like a change. Rows are places (a function is one here, whatever its
// lines), or files, crates, modules, threads or classes, by their names.
struct tide_diff *tide_diff_new(struct tide_view *before, struct tide_view *after,
                                enum tide_group_kind group);
void tide_diff_free(struct tide_diff *diff); // NULL is fine

// An amount and a change in the unit asked for.
int64_t tide_diff_measure(const struct tide_diff *diff, const struct tide_diff_amount *amount);
int64_t tide_diff_change(const struct tide_diff *diff, const struct tide_diff_place *place);
enum tide_change tide_diff_change_kind(const struct tide_diff *diff,
                                       const struct tide_diff_place *place);

// How many of the first n_max places changed by min or more; unchanged ones never count.
size_t tide_diff_shown(const struct tide_diff *diff, size_t n_max, int64_t min);

// Sums of everything past the first n_shown places.
struct tide_diff_place tide_diff_rest(const struct tide_diff *diff, size_t n_shown);

// The frame to show for a place, and the view it is of: the newer one where there is a choice.
// NULL for a place without any.
const struct tide_named_frame *tide_diff_frame(const struct tide_diff *diff,
                                               const struct tide_diff_place *place,
                                               const struct tide_naming **ret_naming);

// Both sides are moments of one run; the programs were started with the same words.
bool tide_diff_is_one_run(const struct tide_diff *diff);
bool tide_diff_same_command(const struct tide_image *before, const struct tide_image *after);

// ---- has it grown? ----
//
// Has it grown? The total of what is compared, by more than a threshold, and by more than what the
// recordings leave open.

struct tide_threshold { // all zero: any growth is too much
  bool is_share;
  uint64_t amount; // bytes or blocks; of a share, millionths of what was before
};

enum tide_verdict { TIDE_VERDICT_KEPT, TIDE_VERDICT_GROWN, TIDE_VERDICT_UNKNOWN };

// "64KiB", "5%"; with blocks a bare number instead of a size.
enum tide_err tide_threshold_parse(const char *text, enum tide_unit unit,
                                   struct tide_threshold *ret_threshold, struct tide_diag *diag);

// UNKNOWN when a recording is damaged, unfinished, lost events or is not of the program that the
// answer would be about (profile/completeness.h), or when the growth of a peak is
// within the bounds that the peaks are known to; diag then says why.
enum tide_verdict tide_diff_judge(const struct tide_diff *diff,
                                  const struct tide_threshold *threshold, struct tide_diag *diag);
