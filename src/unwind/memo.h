// SPDX-License-Identifier: Apache-2.0
//
// A thread's memo of the stacks it has captured: a stack that comes again need not be unwound.
//
// An entry is one stack. It holds the state the walk began in (pc, sp and, where the walk used it,
// fp), the walk's result (the token), and every word of the stack that the walk has read: return
// addresses, and the few saved registers that decided where to go on. While the state and all those
// words are what they were, a walk would end at the same token. Nothing less is believed.
//
//      outermost frame        addresses
//     +---------------+          |
//     | word 23       | \        |
//     | ...           |  | outer words: apart, and once for all entries that have the same
//     | word 4        | /        |
//     | word 3        | \        |
//     | word 2        |  | leaf words: in the entry's own cache line
//     | word 1        |  |       |
//     | word 0        | /        |
//     +---------------+ <- sp    v lower
//
// A stack is looked for in two ways.
//
// 1. Foresight. Programs repeat themselves, so the entry that followed the latest few the last time
//    is compared first. The numbers of the latest entries, mixed, are the history:
//
//        history = hash of (..., 17, 4, 25)  -->  next[history] = 9: is entry 9 on the stack?
//
//    It is, in eight of ten cases (a compiler) to 99 of 100 (a database), and since nothing has to
//    be found, nothing waits for memory. Where stacks come in no order it rests, and learns 64
//    times in 512: enough to see that there is an order again.
//
// 2. The search. Many stacks share (pc, sp): those of a wrapper that allocates for everybody. So
//    the entries are the leaves of a tree. A branch names a word of the stack, and the word's
//    present value leads on:
//
//        (pc, sp) --> branch: the word at ..e8
//                       |-- it is 0x4011a0 --> entry 3
//                       |-- it is 0x4013c8 --> branch: the word at ..f60
//                                                |-- it is 0x402010 --> entry 7
//                                                |-- it is 0x402033 --> entry 12
//
//    Each arrow is a key, and all keys are in one hash table (places), a word each: what a search
//    costs is the lines it has to load one after the other. A place holds only a part of its key,
//    so a search may go astray; it then ends at an entry whose words do not match.
//
// Invariant: entries behind a branch are equal in every word nearer to the leaf than the branch's,
// and differ in that one. Where a word is depends on the words nearer to the leaf alone, so what a
// branch looks at is a word of every stack that belongs behind it. (Without this, a stack that
// belongs elsewhere is led by some local variable, a new way each time, and never found again.)
//
// No entry is evicted singly: that would cut off what is filed behind it. A memo that is full is
// replaced by a larger one, up to a limit, and then emptied (capture.c).
#pragma once
#include "unwind/word.h"

enum {
  TIDE_MEMO_FIRST_LOG2 = 11, // of the number of places, of which half are used at most
  TIDE_MEMO_LAST_LOG2 = 15,
  TIDE_MEMO_GROWS_BY = 2,
  TIDE_MEMO_WORDS = 160, // deeper stacks are not remembered, only unwound incrementally
  TIDE_MEMO_LEVELS = 32,
  TIDE_MEMO_LEAF_WORDS = 4,
  TIDE_MEMO_MISLED = 8,    // as many in a row, and foresight rests
  TIDE_MEMO_RESTS = 0x1c0, // bits of their number: if any is set, it does not even learn
};

// An entry as it is compared: one cache line.
struct tide_memo_entry {
  uint64_t pc, sp;
  void *token;
  uint32_t outer;                            // where its outer words are; 0: it has none
  uint16_t number;                           // of this entry; 0 is none
  uint8_t n_outer;                           // how many: a multiple of four
  uint8_t needs_fp;                          // then it is in the memo's fps
  uint64_t leaf_words[TIDE_MEMO_LEAF_WORDS]; // packed by sp; of fewer, the outermost is repeated
} __attribute__((aligned(64)));

// What it is made of lies in one mapping, in this order; 2^log2 is the number of places.
struct tide_memo_table {
  uint64_t *places;                // by key; 0: vacant
  struct tide_memo_entry *entries; // half as many
  uint64_t *packed;                // outer words: where the lowest is, then they, packed by that
  uint64_t *fps;                   // by an entry's number
  struct tide_word *words;         // of the entry that is being filed
  uint32_t *behind;                // an entry behind each branch, from 1 on
  uint16_t *next;                  // by history: the number of the entry that came then
  uint16_t *alike;                 // by outer words: the number of an entry that has such
  uint64_t mask;                   // of a place, and of the history
  uint64_t origin;                 // an address far below all words; 0: nothing was filed yet
  uint32_t history, log2;
  uint32_t n_misled; // stacks in a row that were not foreseen, or would not have been
  uint32_t n_used, n_branches, n_entries, n_packed;
  // Outer words of what the latest search found; if the one before found the same, they are
  // compared before the next one, which has to wait for memory anyway. 0: none.
  uint32_t last_outer, likely_outer, n_likely_outer;
};

// Where a search ended that found nothing.
struct tide_memo_place {
  bool astray;                          // nothing can be filed there
  const struct tide_memo_entry *beside; // an entry of the same (pc, sp); NULL: there is none
};

// False: no memory, and *memo is as it was.
bool tide_memo_make(struct tide_memo_table *memo, uint32_t log2);
// An empty, larger one in its place. False: it has its largest size, or there is no memory.
bool tide_memo_grow(struct tide_memo_table *memo);

// Is the leaf in the state that this entry's walk began in?
TIDE_HOT bool tide_memo_starts_at(struct tide_memo_table *memo, const struct tide_memo_entry *m,
                                  uint64_t pc, uint64_t sp, uint64_t fp)
{
  if (TIDE_UNLIKELY((m->pc ^ pc) | (m->sp ^ sp)))
    return false;
  return TIDE_LIKELY(!m->needs_fp) || memo->fps[m->number] == fp;
}

// The bits in which the stack differs from outer words, shifted as by tide_four_changed(). Reads
// words that walks have read before: the caller sees to it that they are on the thread's own stack.
TIDE_HOT uint64_t tide_memo_outer_changed(const struct tide_memo_table *memo, uint32_t outer,
                                          uint32_t n_outer)
{
  const uint64_t *base = &memo->packed[outer], *w = base + 1, *end = w + n_outer;
  uint64_t changed = 0;
  for (; w < end; w += 4)
    changed |= tide_four_changed(w, *base);
  return changed;
}

TIDE_HOT uint64_t tide_memo_leaf_changed(const struct tide_memo_entry *m)
{
  _Static_assert(TIDE_MEMO_LEAF_WORDS == 4, "compared without a loop");
  __builtin_prefetch(m->token, 1); // what is counted next is on its way meanwhile
  return tide_four_changed(m->leaf_words, m->sp);
}

// If so: are all its words still on the stack? Reads words at sp and above, as above.
TIDE_HOT bool tide_memo_stands(const struct tide_memo_table *memo, const struct tide_memo_entry *m)
{
  uint64_t changed =
      tide_memo_leaf_changed(m) | tide_memo_outer_changed(memo, m->outer, m->n_outer);
  return TIDE_LIKELY(!(changed << TIDE_WHERE_BITS));
}

// The entry that came after the latest few the last time. There may be none: number 0, which stands
// nowhere.
TIDE_HOT const struct tide_memo_entry *tide_memo_foreseen(const struct tide_memo_table *memo)
{
  return &memo->entries[memo->next[memo->history]];
}

TIDE_HOT bool tide_memo_foresees(const struct tide_memo_table *memo)
{
  return TIDE_LIKELY(memo->n_misled < TIDE_MEMO_MISLED);
}

// What was found goes into the history.
TIDE_HOT void tide_memo_found(struct tide_memo_table *memo, const struct tide_memo_entry *m)
{
  memo->history = (memo->history << 3 ^ m->number) & (uint32_t)memo->mask;
}

// The entry that stands on the stack now; the next time it is foreseen. NULL: there is none, and
// *ret_place says where it would be filed.
const struct tide_memo_entry *tide_memo_search(struct tide_memo_table *memo, uint64_t pc,
                                               uint64_t sp, uint64_t fp,
                                               struct tide_memo_place *ret_place);

// Room for an entry of n words (1 to TIDE_MEMO_WORDS); NULL: there is none. The caller fills pc,
// sp, token, needs_fp and the memo's fps, and the memo's words, from the outermost to the leaf,
// each before all those that say where it is, and files it.
struct tide_memo_entry *tide_memo_room(const struct tide_memo_table *memo, uint64_t n);
void tide_memo_file(struct tide_memo_table *memo, struct tide_memo_entry *m, uint64_t n,
                    const struct tide_memo_place *place);
void tide_memo_empty(struct tide_memo_table *memo);
