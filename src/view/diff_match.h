// SPDX-License-Identifier: Apache-2.0
//
// By what a place is known again in another run, perhaps of another build:
//
//   function and file known    both; the file without the directory it was built in, no line
//   function known             it and the module's base name
//   neither, module unchanged  the build id both sides have, and the address in the file
//   neither                    the module's base name: all its nameless code is one place
//
// Two more looks are given to functions that are left over, once on each side: one whose file has
// the same name in another directory was moved with its sources, and one whose file only one side
// knows (the other was built without debug info) is known by its module.
//
// What compilers append to the names of copies (".isra.0", " [clone …]") is no part of a function.
//
// Larger parts of a program, threads and classes are known again by their labels.
#pragma once
#include "view/groups.h"

enum tide_diff_kind {
  TIDE_DIFF_PLACE,   // has a frame on at least one side
  TIDE_DIFF_LOST,    // events without a stack
  TIDE_DIFF_NOWHERE, // stacks without a frame to show
};

struct tide_match_key {
  enum tide_diff_kind kind;
  const char *function;            // NULL: unknown
  size_t function_n;               // bytes of it that count
  const char *file;                // NULL: unknown
  const char *module;              // base name
  const struct tide_module *build; // where both sides have it, the after side's; NULL: they do not
  uint64_t addr;                   // in build
};

// frame is the view's, which is of one of the two images compared; NULL for kinds that have none.
struct tide_match_key tide_match_key_of(const struct tide_image *before,
                                        const struct tide_image *after,
                                        const struct tide_view *view, enum tide_diff_kind kind,
                                        const struct tide_named_frame *frame);

// For rows that are larger than places: the file, crate or module of a frame, owned; NULL for
// places. Code whose file or crate is not known goes by its module.
char *tide_match_label(const struct tide_view *view, enum tide_group_kind group,
                       const struct tide_named_frame *frame);

// 0: the same place.
int tide_match_compare(const struct tide_match_key *a, const struct tide_match_key *b);

// The same by function and the base name of the file, and by function and module.
int tide_match_compare_moved(const struct tide_match_key *a, const struct tide_match_key *b);
int tide_match_compare_bare(const struct tide_match_key *a, const struct tide_match_key *b);

struct tide_diff_amount {
  int64_t bytes, blocks; // of the measure asked for
  uint32_t n_stacks;
};

// One side of a diff by thread, size or lifetime, in both units.
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
