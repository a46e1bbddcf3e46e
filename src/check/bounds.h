// SPDX-License-Identifier: Apache-2.0
//
// What a process used, as far as its recording tells: not less than one number, not more than
// another, and why the two differ. A limit above both is kept, one below both is broken, and one in
// between cannot be told.
//
// What was not recorded was used all the same, so most doubts leave the lower bound and take the
// upper one away: a limit that is broken stays broken. Where also the ends of recorded blocks went
// unseen, what is live is known neither way.
#pragma once
#include "check/budgets.h"
#include "profile/profile.h"
#include "view/naming.h"

// X(name, word). For JSON, too; words/check_words.c has the sentences.
#define TIDE_DOUBT_LIST(X)                                                                         \
  X(UNRECORDED, "unrecorded") /* a process was not recorded */                                     \
  X(LEFT_OUT, "left-out")     /* or not kept, or only in a sum of several */                       \
  X(NOBODY, "nobody")         /* no process is of that program */                                  \
  X(DAMAGED, "damaged")       /* the file */                                                       \
  X(UNFINISHED, "unfinished") /* the recording was not ended, or the process went on */            \
  X(STEPPED_ASIDE, "stepped-aside")                                                                \
  X(RESET, "reset")                                                                                \
  X(PAUSED, "paused")                                                                              \
  X(LOST, "lost")         /* events */                                                             \
  X(BEFORE, "before")     /* it was attached to later */                                           \
  X(UNHOOKED, "unhooked") /* an allocator, or functions of one */                                  \
  X(LACKING, "lacking")   /* the file does not hold the number */                                  \
  X(SAMPLED, "sampled")   /* it is an estimate */                                                  \
  X(BOUND, "bound")       /* threads raced for the peak, or peaks were added up */                 \
  X(RSS, "rss")           /* the recorder's part is in it */                                       \
  X(CUT, "cut")           /* stacks that may have such a frame outside of what is known */         \
  X(NO_STACK, "no-stack") /* events without one */                                                 \
  X(NO_NAME, "no-name")   /* frames of own code without one */                                     \
  X(NO_MARK, "no-mark")   /* no process has these marks */                                         \
  X(BETWEEN, "between")   /* nobody looked at the very moment of the mark */                       \
  X(BASELINE, "baseline") /* it has no such process, or is itself in doubt */                      \
  X(COMMAND, "command")   /* it failed: what it used is not what it would have */

enum tide_doubt {
#define X(name, word) TIDE_DOUBT_##name,
  TIDE_DOUBT_LIST(X)
#undef X
      TIDE_DOUBTS_N,
};
extern const char *const tide_doubt_words[TIDE_DOUBTS_N];

static inline uint32_t tide_doubt_bit(enum tide_doubt doubt)
{
  return UINT32_C(1) << doubt;
}

#define TIDE_NO_LEAST INT64_MIN
#define TIDE_NO_MOST INT64_MAX

struct tide_bounds {
  int64_t value;       // what the recording tells
  int64_t least, most; // or TIDE_NO_LEAST, TIDE_NO_MOST
  uint32_t doubts;     // bit per enum tide_doubt
  bool has_match;      // of a site: a stack has it, whether or not it weighs anything
};

enum { TIDE_ERRORS_N = 3 }; // standard errors that an estimate may be off by

// What the process used of what a budget limits, without what its run leaves open
// (check/judge.c). Asks the profile another question. naming may be NULL for budgets without a
// site. In *ret_question the one that whoever looks for places asks; false there are none: of RSS.
bool tide_bounds_find(struct tide_profile *profile, struct tide_naming *naming,
                      const struct tide_heap_budget *budget, struct tide_bounds *ret_bounds,
                      struct tide_question *ret_question);

// Is most of what was asked for on stacks through own code without names? Of a growth budget.
bool tide_bounds_is_nameless(const struct tide_profile *profile, struct tide_naming *naming);

// Per site of the asked profile, 1: it has a function or a source file like the pattern, which is
// one. Owned by the caller.
uint8_t *tide_bounds_match(const struct tide_profile *profile, struct tide_naming *naming,
                           const char *pattern);
