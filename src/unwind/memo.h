// SPDX-License-Identifier: Apache-2.0
//
// A thread's memo of captures. Many stacks share (pc, sp): a wrapper that allocates for everyone.
// So the memo is a search tree over what is on the stack: it starts from (pc, sp); where two
// captures met that differ, there is a branch, which names the stack word nearest to the leaf in
// which they differ; the word's present value leads on. A capture is believed only if all its words
// match, however it was reached.
//
// The tree is a hash table of path keys, one word each: what a search costs is the lines it has to
// load one after the other. A word holds only a part of its key, so a search may go astray; it then
// ends at words that do not match. Nothing is evicted singly (that would cut off what is filed
// behind it); a memo that refuses too often is emptied and learns the program's new phase.
#pragma once
#include "rt/base.h"

struct tide_word { // a stack word a capture depends on
  uint64_t slot, value;
};

#define TIDE_CHANGED(w) (*(uint64_t *)(w).slot ^ (w).value)

enum {
  TIDE_MEMO_PLACES = 2048, // half of them are used at most
  TIDE_MEMO_WORDS = 160,   // deeper stacks are not remembered, only unwound incrementally
  TIDE_MEMO_POOL = 14 * TIDE_MEMO_PLACES,
  TIDE_MEMO_LEVELS = 12,
};

// A capture, on a cache line right behind its words (n of them, a multiple of four, the leaf's
// last): whoever has its address can load both at once.
struct tide_memo {
  uint64_t pc, sp, fp;
  void *token;
  uint32_t n, needs_fp;
  uint64_t pad[3];
};

struct tide_memo_table {
  // By path key. High 16 bits: of the key, never 0. Low 48 bits, even: a branch, the slot of its
  // word; odd: a capture, its address plus one. 0: vacant.
  uint64_t at[TIDE_MEMO_PLACES] __attribute__((aligned(64)));
  uint64_t n_used;
  // Captures, packed: few pages, so that they stay known to the TLB.
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

// The capture that stands on the stack now, or NULL. Reads words at sp and above that captures have
// read before: the caller sees to it that sp is on the thread's own stack.
const struct tide_memo *tide_memo_search(const struct tide_memo_table *memo, uint64_t pc,
                                         uint64_t sp, uint64_t fp,
                                         struct tide_memo_place *ret_place);

// Makes room at the place for a capture of n words (at most TIDE_MEMO_WORDS; rounded up to four).
// NULL: refused, nothing changed. The caller fills everything but words and n.
struct tide_memo *tide_memo_add(struct tide_memo_table *memo, const struct tide_memo_place *place,
                                uint64_t n);
void tide_memo_empty(struct tide_memo_table *memo);

static inline const struct tide_word *tide_memo_words(const struct tide_memo *m)
{
  return (const struct tide_word *)m - m->n;
}
