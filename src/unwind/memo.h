// SPDX-License-Identifier: Apache-2.0
//
// A thread's memo of captures. Many stacks share (pc, sp): a wrapper that allocates for everyone.
// So the memo is a search tree over what is on the stack: it starts from (pc, sp); where two
// captures met that differ, there is a branch, which names the stack word nearest to the leaf in
// which they differ; the word's present value leads on. A capture is believed only if all its words
// match, however it was reached.
//
// The tree is a hash table of path keys, four per cache line with their branches. Nothing is
// evicted singly (that would cut off what is filed behind it); a memo that refuses too often is
// emptied and learns the program's new phase.
#pragma once
#include "rt/base.h"

struct tide_word { // a stack word a capture depends on
  uint64_t slot, value;
};

#define TIDE_CHANGED(w) (*(uint64_t *)(w).slot ^ (w).value)

enum {
  TIDE_MEMO_GROUPS = 256,
  TIDE_MEMO_WORDS = 160, // deeper stacks are not remembered, only unwound incrementally
  TIDE_MEMO_POOL = 48 * 2 * TIDE_MEMO_GROUPS,
  TIDE_MEMO_LEVELS = 12,
};

struct tide_memo { // a capture; its words sit elsewhere so that headers do not alias in the cache
  uint64_t pc, sp, fp;
  void *token;
  uint32_t n, needs_fp;
  struct tide_word *words; // n of them, a multiple of four, the leaf's last
  uint64_t pad[2];
};

struct tide_memo_table {
  struct {
    uint64_t tag[4];    // path keys; 0: vacant
    uint64_t branch[4]; // slot of the word to branch on; 0: a capture
  } group[TIDE_MEMO_GROUPS] __attribute__((aligned(64)));
  struct tide_memo entry[TIDE_MEMO_GROUPS * 4] __attribute__((aligned(64)));
  // The captures' words, packed: few pages, so that they stay known to the TLB.
  uint64_t n_words;
  struct tide_word words[TIDE_MEMO_POOL] __attribute__((aligned(64)));
};

// Where a search ended without success, for the capture that is then filed there.
struct tide_memo_place {
  enum { TIDE_MEMO_NOWHERE, TIDE_MEMO_VACANT, TIDE_MEMO_SPLIT } kind;
  uint64_t key;
  uint32_t index; // SPLIT: the capture to be told apart
  uint32_t word;  // SPLIT: in which word it differs, counted from the leaf
};

// The capture that stands on the stack now, or NULL. Reads stack words that captures with this sp
// have read: the caller sees to it that sp is on the thread's own stack.
const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place);

// Makes room at the place for a capture of n words (at most TIDE_MEMO_WORDS; rounded up to four).
// NULL: refused, nothing changed. The caller fills everything but words and n.
struct tide_memo *tide_memo_add(struct tide_memo_table *memo, const struct tide_memo_place *place,
                                uint64_t n);
void tide_memo_empty(struct tide_memo_table *memo);
