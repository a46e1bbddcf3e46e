// SPDX-License-Identifier: Apache-2.0
//
// What happened, in sentences: the peak, when and who; RSS and the gap; what was never freed;
// churn; how far to trust it; what ran unrecorded, and other notes. Made once, here: JSON and the
// page show these, and the report the same words beside its numbers (words/heap_words.h).
#pragma once
#include "base/units.h"
#include "view/naming.h"
#include "profile/profile.h"

#define TIDE_STATEMENT_LIST(X)                                                                     \
  X(TITLE, "title")                                                                                \
  X(UNRECORDED, "unrecorded")                                                                      \
  X(PEAK, "peak")                                                                                  \
  X(CULPRIT, "culprit")                                                                            \
  X(RSS, "rss")                                                                                    \
  X(PAGES, "pages")                                                                                \
  X(END, "end")   /* every block was freed */                                                      \
  X(LEAK, "leak") /* or not */                                                                     \
  X(CHURN, "churn")                                                                                \
  X(ALLOCATORS, "allocators")                                                                      \
  X(COMPLETE, "complete")                                                                          \
  X(NOTE, "note")

enum tide_statement_kind {
#define X(name, word) TIDE_STATEMENT_##name,
  TIDE_STATEMENT_LIST(X)
#undef X
      TIDE_STATEMENTS_N,
};
extern const char *const tide_statement_words[TIDE_STATEMENTS_N]; // "title", …

struct tide_statement {
  enum tide_statement_kind kind;
  char *text; // owned; a whole sentence, but for the title
  bool is_warning;
  bool is_of_names;  // a note on why places lack names or lines
  bool has_question; // that whoever wants to see more of it would ask of the whole run:
  enum tide_measure measure;
  enum tide_unit unit;
};

enum { TIDE_TITLE_PARTS_MAX = 3 };

struct tide_statements {
  struct tide_statement *items;
  size_t n, cap;
  // The title once more, in parts: the program, how it ended, allocations, what recording cost.
  char *program;
  char *title[TIDE_TITLE_PARTS_MAX];
  size_t n_title;
};

struct tide_statements_options {
  struct tide_style style;
  bool is_running;   // what is known is not the end: neither that nor completeness is told
  bool module_notes; // why places lack names or lines: for those who name every stack anyway
};

// A profile seen through names: looks up those of the weightiest stacks. It is asked other
// questions and at the end its own again.
struct tide_statements *tide_statements_new(struct tide_profile *profile,
                                            struct tide_naming *naming,
                                            const struct tide_statements_options *options);
void tide_statements_free(struct tide_statements *statements); // NULL is fine

// With a capital letter and a full stop; owned.
char *tide_as_sentence(const char *text);

// One more note, at the end; text is a sentence but for its capital letter and full stop.
void tide_statements_add_note(struct tide_statements *statements, const char *text);
void tide_statements_drop_last(struct tide_statements *statements); // there is one
