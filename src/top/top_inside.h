// SPDX-License-Identifier: Apache-2.0
//
// The state of `tidemark top`, for the files that make it up.
#pragma once
#include "top/top.h"

#include "top/top_history.h"
#include "view/groups.h"

enum tide_top_mode {
  TIDE_TOP_LIST,
  TIDE_TOP_TREE, // of the chosen place
  TIDE_TOP_HELP,
  TIDE_TOP_FILTER, // a pattern is typed
  TIDE_TOP_SORT,   // one of the measures is chosen
  TIDE_TOP_QUIT,   // what becomes of the command?
};

struct tide_top_base { // a place at the last mark
  uint64_t key;
  int64_t live_bytes;
  uint64_t live_bytes_spread; // of samples
};

struct tide_top {
  struct tide_top_options options;
  uint64_t version;
  char message[512];
  char *ended; // why there is nothing newer; NULL: there may be

  // What is looked at; all NULL before the first capture.
  struct tide_capture *capture;
  struct tide_profile *profile;
  struct tide_naming *naming;
  struct tide_filter *filter; // NULL: none
  struct tide_view view;
  struct tide_groups *groups;
  struct tide_top_history history;
  uint32_t history_pid;             // of whom the history is
  double calls_per_s;               // between the last two looks; < 0: not known
  uint64_t looked_ns, looked_alloc; // at the last look

  // What was chosen.
  enum tide_top_mode mode;
  int sort; // in tide_sort_words
  enum tide_by by;
  char *pattern;   // of the filter, as typed; NULL: none
  char typed[128]; // while it is typed
  bool is_paused;
  bool has_chosen;      // somebody moved: the choice stays at its place, not at its rank
  size_t chosen, first; // in the groups; and which stands first on the screen
  uint64_t chosen_key;
  size_t page_rows; // that the list had when it was last drawn
  uint32_t n_marks;
  struct tide_top_base *base; // at the last mark, by rising key; owned
  size_t n_base;

  // The tree, as it was written for a width.
  char **tree; // lines, owned
  size_t n_tree, tree_width, tree_first;
};

// Ranks anew: the question or the filter is another.
void tide_top_rank(struct tide_top *top);
// Remembers what every place holds now. There is a capture.
void tide_top_note_base(struct tide_top *top);

// A place, from one look to the next.
uint64_t tide_top_place_key(const struct tide_top *top, const struct tide_group *group);
// What it held at the last mark; all zero: nothing.
struct tide_top_base tide_top_base_of(const struct tide_top *top, uint64_t key);

// Makes the lines of the tree, unless they are there for this width.
void tide_top_write_tree(struct tide_top *top, size_t width);
void tide_top_forget_tree(struct tide_top *top);

// What a text view must know, width columns wide.
struct tide_screen tide_top_screen(const struct tide_top *top, struct tide_sink *sink,
                                   size_t width);
