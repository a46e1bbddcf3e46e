// SPDX-License-Identifier: Apache-2.0
//
// Leaks that are meant to be there, in LeakSanitizer's syntax: one suppression a line,
//
//   leak:PATTERN
//
// where # starts a comment line. A stack is suppressed when the pattern is found in the name of a
// function, source file or module of any of its frames, folded or not. * stands for any text; ^ in
// front and $ at the end tie the pattern to the ends of the name.
//
// It must hide what LeakSanitizer hides and no more, so it looks as that does: for one part after
// another, each at its first place behind the last. "bar$" is not found in "barbar".
#pragma once
#include "view/view.h"

struct tide_suppression {
  char *pattern; // as written, without "leak:"
  // What it hid, once applied:
  uint64_t n_stacks;
  int64_t live_blocks, live_bytes;
};

struct tide_suppressions {
  struct tide_suppression *items;
  size_t n, cap;
  int64_t weight; // of everything hidden, under the question asked
};

struct tide_suppressions *tide_suppressions_new(void);
void tide_suppressions_free(struct tide_suppressions *suppressions); // NULL is fine

// Adds those of a file, or of text that a file would hold; name is for messages. On failure, which
// names the line, nothing was added.
enum tide_err tide_suppressions_read(struct tide_suppressions *suppressions, const char *path,
                                     struct tide_diag *diag);
enum tide_err tide_suppressions_parse(struct tide_suppressions *suppressions, const char *name,
                                      const char *text, struct tide_diag *diag);

// Whether a pattern is found in a name.
bool tide_suppression_matches(const char *pattern, const char *name);

// Takes what is suppressed out of a view and counts it: each stack for the first suppression that
// matches its innermost frame that any matches. Once per view; all leaking stacks are named.
void tide_suppressions_apply(struct tide_suppressions *suppressions, struct tide_view *view);
