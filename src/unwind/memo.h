// SPDX-License-Identifier: Apache-2.0
//
// A thread's memo of captures. Many stacks share (pc, sp): a wrapper that allocates for everyone.
// So the memo is a search tree over what is on the stack: it starts from (pc, sp); a branch names a
// stack word, and the word's present value leads on. A capture is believed only if all its words
// match, however it was reached.
//
// Invariant: captures behind a branch are equal in every word nearer to the leaf than the branch's,
// and differ in that one. Where a word is depends on the words nearer to the leaf alone, so what a
// branch looks at is a word of every stack that belongs behind it. (Without this, a stack that
// belongs elsewhere is led by some local variable, a new way each time, and never found again.)
//
// The tree is a hash table of path keys, one word each: what a search costs is the lines it has to
// load one after the other. A word holds only a part of its key, so a search may go astray; it then
// ends at words that do not match. Nothing is evicted singly (that would cut off what is filed
// behind it); a memo that refuses too often is emptied and learns the program's new phase.
//
// Whatever waits for a search to end fills the processor's queues and keeps the program's next
// instructions out, so that is little: one line per capture, with its words next to the leaf, where
// stacks differ most. The words farther out are its trunk, kept once for all captures that have it:
// the one that is expected is compared before the search.
//
// Programs repeat themselves: what came after the latest few captures the last time is tried before
// any search. It is right nine times out of ten, and as nothing has to be found, nothing waits.
#pragma once
#include "unwind/word.h"

enum {
  TIDE_MEMO_LOG2 = 11,
  TIDE_MEMO_PLACES = 1 << TIDE_MEMO_LOG2, // half of them are used at most
  TIDE_MEMO_CAPTURES = TIDE_MEMO_PLACES / 2,
  TIDE_MEMO_WORDS = 160, // deeper stacks are not remembered, only unwound incrementally
  TIDE_MEMO_POOL = 14 * TIDE_MEMO_PLACES,
  TIDE_MEMO_TRUNK_POOL = 14 * TIDE_MEMO_PLACES,
  TIDE_MEMO_LEVELS = 32,
  TIDE_MEMO_OWN = 4,
  TIDE_MEMO_TRUNKS = 256,
  TIDE_MEMO_TRIAL = 64,
  TIDE_MEMO_MAX_WITHOUT = 4096,
  TIDE_MEMO_NEXT = 2048,
};

// A capture as a search compares it.
struct tide_memo {
  uint64_t pc, sp;
  void *token;
  uint16_t trunk, n_trunk; // where it is, and how many words
  uint32_t needs_fp;
  uint64_t own[TIDE_MEMO_OWN]; // packed
} __attribute__((aligned(64)));

// The same capture as it was filed. Its words go from the outermost frame to the leaf; the first is
// repeated until their number is a multiple of four.
struct tide_memo_whole {
  uint64_t fp;
  struct tide_word *words;
  uint32_t n, n_repeated;
};

// Also a multiple of four, packed. What it is packed by, its lowest slot, comes first.
struct tide_memo_trunk {
  uint32_t at, n; // at 0: none
};

struct tide_memo_table {
  uint64_t at[TIDE_MEMO_PLACES] __attribute__((aligned(64))); // by path key; 0: vacant
  uint64_t origin; // an address far below all words; 0: nothing was filed yet
  // The expected trunk. It is judged when some captures had another one: if fewer had it, there is
  // none for a while, twice as long each time; then that of the latest capture is tried.
  struct tide_memo_trunk trunk;
  uint32_t n_had_it;  // captures, since it was judged
  uint32_t n_others;  // until it is
  uint32_t n_without; // others in the next while without one
  uint32_t n_used, n_branches, n_captures, n_words, n_packed;
  uint32_t history;              // the numbers of the latest captures that were found, mixed
  uint16_t next[TIDE_MEMO_NEXT]; // by history: the number of the one that came then
  struct tide_memo captures[TIDE_MEMO_CAPTURES]; // number 0 is none
  struct tide_memo_whole wholes[TIDE_MEMO_CAPTURES];
  struct tide_word words[TIDE_MEMO_POOL] __attribute__((aligned(64)));
  uint64_t packed[TIDE_MEMO_TRUNK_POOL];           // trunks
  uint32_t behind[TIDE_MEMO_PLACES / 2 + 1];       // a capture of each branch, from 1 on
  struct tide_memo_trunk trunks[TIDE_MEMO_TRUNKS]; // by their innermost word
};

// Where a search without success ended.
struct tide_memo_place {
  bool astray;                  // nothing can be filed there
  const struct tide_memo *near; // a capture of the same (pc, sp); NULL: there is none
};

void tide_memo_init(struct tide_memo_table *memo); // of zeros

// The capture that stands on the stack now, or NULL. Reads words at sp and above that captures have
// read before: the caller sees to it that sp is on the thread's own stack.
const struct tide_memo *tide_memo_find(struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                       uint64_t fp);
// The same, and where the search ended if there is none.
const struct tide_memo *tide_memo_search(struct tide_memo_table *memo, uint64_t pc, uint64_t sp,
                                         uint64_t fp, struct tide_memo_place *ret_place);

static inline struct tide_memo_whole *tide_memo_whole(struct tide_memo_table *memo,
                                                      const struct tide_memo *m)
{
  return &memo->wholes[m - memo->captures];
}

// Room for a capture of n words (1 to TIDE_MEMO_WORDS); NULL: there is none. The caller fills pc,
// sp, token, needs_fp and fp, and the words from n_repeated on, each before all those that say
// where it is, and files it.
struct tide_memo *tide_memo_room(struct tide_memo_table *memo, uint64_t n);
void tide_memo_file(struct tide_memo_table *memo, struct tide_memo *m,
                    const struct tide_memo_place *place);
void tide_memo_empty(struct tide_memo_table *memo);
