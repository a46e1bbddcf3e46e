// SPDX-License-Identifier: Apache-2.0
//
// Stack capture: registers in, a token out that stands for the whole stack.
//
// One unwind step is a pure function of (pc, sp, fp) and of a few words on the stack. So if the
// start state is the same and those words are unchanged, the stack is the same: no heuristics,
// and nothing is ever written to the target's stack. Three tries, cheapest first:
//   1. the last capture of this thread: all its words compared, 0.5 ns per frame;
//   2. a memo of 512 captures, verified the same way, chained: see memo_search();
//   3. an incremental unwind that stops where it meets the last capture (walk.c).
//
// Invariants
//  1. Everything is per thread; the rules alone are shared.
//  2. Cached words are only read while sp is inside the thread's own known stack: the words of
//     another stack (a coroutine's, a signal stack) may be unmapped by now. Elsewhere: a full walk.
//  3. Frames are kept outermost first; the hash of frame i covers frames 0..i.
//  4. A token is believed only if every word it was derived from still has its value.
#pragma once
#include "rt/arch.h"
#include "unwind/rule.h"

struct tide_regs {
  uint64_t pc, sp, fp;
};

// Registers of the caller of the function this stands in, which must be built with a frame
// pointer: its frame record holds the caller's fp; the CFA is the caller's sp after the return.
#define TIDE_CALLER_REGS()                                                                         \
  ((struct tide_regs){(uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)),        \
                      (uint64_t)__builtin_dwarf_cfa(), *(uint64_t *)__builtin_frame_address(0)})

struct tide_word { // a stack word a capture depends on
  uint64_t slot, value;
};

struct tide_unwind_frame {
  uint64_t key, sp, fp; // state: pc (bit 63 = exact), CFA of the frame below, frame pointer
  uint64_t hash;        // of all frames from the outermost to this one
  void *token;          // of this prefix as a stack; NULL: not asked for yet
  uint8_t needs_fp;     // unwinding from this state reads fp
  uint8_t guessed;      // its caller was found by frame pointer, without unwind information
};

struct tide_fp_word { // a word other than a return address: saved fp, realigned CFA, signal sp
  uint64_t slot, value;
  uint64_t frame;
};

struct tide_step { // one unwind step: where it started, and the words that decided where it went
  uint64_t key, sp, fp;
  uint64_t ra_slot, ra_raw;
  uint64_t fp_slot;           // where the caller's fp was read; 0: kept in its register
  uint64_t extra_slot, extra; // a word that decided the caller's sp
  uint32_t kind;              // enum tide_rule_kind; NONE with a ra_slot is a guess
};

enum {
  TIDE_MEMO_ENTRIES = 512,
  TIDE_MEMO_WORDS = 160, // deeper stacks are not remembered, only unwound incrementally
  TIDE_MEMO_HOPS = 6,
  TIDE_MEMO_CREDIT = 2048,
  TIDE_MEMO_BYPASS = 16384,
};

struct tide_memo { // one cache line; its words sit elsewhere so that headers do not alias
  uint64_t pc, sp, fp;
  void *token;
  uint32_t n, needs_fp;
  struct tide_word *words; // n words: return addresses from the leaf outward, then the others
  uint64_t pad[2];
};

struct tide_memo_table {
  uint64_t tag[TIDE_MEMO_ENTRIES] __attribute__((aligned(64))); // chain keys, four per group
  struct tide_memo entry[TIDE_MEMO_ENTRIES] __attribute__((aligned(64)));
  // The stride is not a power of two, so that the arrays spread over cache sets.
  struct tide_word words[TIDE_MEMO_ENTRIES][TIDE_MEMO_WORDS + 4];
};

// How a walk ended: at an outermost frame, or where nothing was known.
enum tide_walk_end { TIDE_WALK_WHOLE, TIDE_WALK_BROKEN };

struct tide_unwind {             // a thread's unwinding state
  uint64_t stack_lo, stack_size; // the thread's own stack; size 0: unknown
  uint64_t n, n_fp;              // the last capture: frames, and words other than return addresses
  enum tide_walk_end end;        // of the last capture
  // The memo pays only where stacks come back: hits earn credit, misses spend it, and without
  // credit it is bypassed for a while (a compiler visits most stacks once or twice).
  int32_t memo_credit, memo_bypass;
  uint32_t memo_refused; // captures that found no room since the memo was last emptied
  struct tide_memo_table *memo;
  // Growing arrays of cap elements each, in one mapping of map_bytes.
  uint64_t cap, map_bytes;
  struct tide_word *ra; // [i]: where frame i's return address was read; [0] has none
  struct tide_unwind_frame *frame;
  struct tide_fp_word *fpw;
  struct tide_step *step;         // scratch: the target's stack may be a 16 KiB coroutine's
  struct tide_unwind_frame *walk; // frames of a full walk
};

// Where the main thread's stack began. A frame there has no caller, whatever it lacks: the loader's
// start code says nothing of being the first.
extern uint64_t tide_stack_origin;

bool tide_unwind_init(struct tide_unwind *u); // false: no memory
// Forgets what was captured (code was unloaded, another thread takes over).
void tide_unwind_forget(struct tide_unwind *u);

// Supplied by the user of this module: the token of the stack whose n frames are given, outermost
// first, hashes filled in. Called when a stack is not known by the caches.
void *tide_unwind_intern(struct tide_unwind *u, struct tide_unwind_frame *frames, uint64_t n,
                         enum tide_walk_end end);

// A full walk into u->walk, outermost first; returns the number of frames. With bounded, every
// read is kept inside the thread's own stack.
uint64_t tide_unwind_walk(struct tide_unwind *u, struct tide_regs r, uint64_t seed,
                          enum tide_walk_end *ret_end);

void *tide_capture_foreign(struct tide_unwind *u, struct tide_regs r);
void *tide_capture_incremental(struct tide_unwind *u, struct tide_regs r);
void *tide_capture_memo_miss(struct tide_unwind *u, struct tide_regs r, struct tide_memo *m,
                             uint64_t key);

// Ranges of code that held one object and now hold another: their frames hash differently, so that
// the same addresses are not taken for the same functions. Replaced as a whole, by one thread at a
// time, when an object is met or unloaded; empty in almost every program.
enum { TIDE_MAX_SALTS = 256 };
extern uint32_t tide_n_salted;
uint64_t tide_salt_of(uint64_t pc);
void tide_salt_begin(void);
void tide_salt_add(uint64_t start, uint64_t end, uint64_t salt);
void tide_salt_publish(void);

#define TIDE_HASH_SEED 0x7469646d61726bull          // stacks that end at an outermost frame
#define TIDE_HASH_SEED_BROKEN 0x62726f6b656e3131ull // stacks that end where nothing was known
#define TIDE_HASH_SEED_PAGES 0x7061676573313131ull  // stacks of page-level events
TIDE_HOT uint64_t tide_hash_frame(uint64_t h, uint64_t key)
{
  if (TIDE_UNLIKELY(tide_n_salted))
    key ^= tide_salt_of(key);
  h = tide_mix64(h ^ key);
  return h ^ h >> 29;
}

#define TIDE_CHANGED(w) (*(uint64_t *)(w).slot ^ (w).value)

// Are all n words still what they were? The first four decide most failures; the rest are
// independent loads without a branch in between.
TIDE_HOT bool tide_words_equal(const struct tide_word *w, uint64_t n)
{
  uint64_t a = 0, b = 0, i = 0;
  if (TIDE_LIKELY(n >= 4)) {
    a = TIDE_CHANGED(w[0]) | TIDE_CHANGED(w[1]);
    b = TIDE_CHANGED(w[2]) | TIDE_CHANGED(w[3]);
    if (a | b)
      return false;
    for (i = 4; i + 4 <= n; i += 4) {
      a |= TIDE_CHANGED(w[i]) | TIDE_CHANGED(w[i + 1]);
      b |= TIDE_CHANGED(w[i + 2]) | TIDE_CHANGED(w[i + 3]);
    }
  }
  for (; i < n; i++)
    a |= TIDE_CHANGED(w[i]);
  return !(a | b);
}

// The first word that changed, or n. Near the leaf, where stacks differ, stop early; farther out
// compare everything without branches and look for the place only if something differs.
TIDE_HOT uint32_t tide_words_first_changed(const struct tide_word *w, uint32_t n)
{
  uint32_t i = 0;
  for (; i + 4 <= n && i < 8; i += 4)
    if (TIDE_CHANGED(w[i]) | TIDE_CHANGED(w[i + 1]) | TIDE_CHANGED(w[i + 2]) |
        TIDE_CHANGED(w[i + 3]))
      goto found;
  uint64_t a = 0, b = 0;
  uint32_t k = i;
  for (; k + 4 <= n; k += 4) {
    a |= TIDE_CHANGED(w[k]) | TIDE_CHANGED(w[k + 1]);
    b |= TIDE_CHANGED(w[k + 2]) | TIDE_CHANGED(w[k + 3]);
  }
  for (; k < n; k++)
    a |= TIDE_CHANGED(w[k]);
  if (TIDE_LIKELY(!(a | b)))
    return n;
found:
  while (i < n && !TIDE_CHANGED(w[i]))
    i++;
  return i;
}

TIDE_HOT bool tide_last_valid(const struct tide_unwind *u, struct tide_regs r)
{
  uint64_t n = u->n;
  if (TIDE_UNLIKELY(!n))
    return false;
  const struct tide_unwind_frame *leaf = &u->frame[n - 1];
  if (leaf->key != r.pc || leaf->sp != r.sp || (leaf->needs_fp && leaf->fp != r.fp))
    return false;
  if (!tide_words_equal(u->ra + 1, n - 1))
    return false;
  for (uint64_t i = 0; i < u->n_fp; i++)
    if (*(uint64_t *)u->fpw[i].slot != u->fpw[i].value)
      return false;
  return true;
}

// Many stacks share (pc, sp): a wrapper that allocates for everyone. So a failed comparison is not
// wasted: the first changed word is a true return address of the present stack, and it leads to
// the next candidate. Each hop branches on one call site, like a search tree keyed by what is on
// the stack. An entry is believed only if all its words match, however it was reached.
//
// Entries are never evicted one by one (that would cut off the captures filed behind them); a memo
// that refuses too often is emptied and learns the program's new phase.
TIDE_HOT struct tide_memo *tide_memo_search(struct tide_memo_table *memo, struct tide_regs r,
                                            struct tide_memo **ret_free, uint64_t *ret_key)
{
  uint64_t key = tide_mix64(r.pc * 31 ^ r.sp) | 1;
  for (int hop = 0; hop <= TIDE_MEMO_HOPS; hop++) {
    uint64_t group = key >> 40 & (TIDE_MEMO_ENTRIES - 1) & ~3ull, i = 0;
    const uint64_t *tag = &memo->tag[group];
    while (i < 4 && tag[i] != key && tag[i])
      i++;
    struct tide_memo *m = &memo->entry[group + i];
    if (i == 4 || !tag[i]) {
      *ret_free = i == 4 ? NULL : m;
      *ret_key = key;
      return NULL;
    }
    if (m->pc != r.pc || m->sp != r.sp || (m->needs_fp && m->fp != r.fp))
      break;
    uint32_t w = tide_words_first_changed(m->words, m->n);
    if (w == m->n)
      return m;
    key = tide_mix64(key ^ *(uint64_t *)m->words[w].slot ^ (uint64_t)w << 56);
    key = (key ^ key >> 31) | 1;
  }
  *ret_free = NULL; // too many hops
  *ret_key = 0;
  return NULL;
}

TIDE_HOT void *tide_capture(struct tide_unwind *u, struct tide_regs r)
{
  if (TIDE_UNLIKELY(r.sp - u->stack_lo >= u->stack_size))
    return tide_capture_foreign(u, r);
  if (TIDE_LIKELY(tide_last_valid(u, r)))
    return u->frame[u->n - 1].token;
  if (TIDE_UNLIKELY(u->memo_bypass)) {
    if (!--u->memo_bypass)
      u->memo_credit = TIDE_MEMO_CREDIT / 4;
    return tide_capture_incremental(u, r);
  }
  struct tide_memo *vacant;
  uint64_t key;
  struct tide_memo *m = tide_memo_search(u->memo, r, &vacant, &key);
  if (TIDE_LIKELY(m)) {
    u->memo_credit += u->memo_credit < TIDE_MEMO_CREDIT;
    return m->token;
  }
  return tide_capture_memo_miss(u, r, vacant, key);
}
