// SPDX-License-Identifier: Apache-2.0
//
// A thread's unwinding state: the memory that all walks share, and the full walk into it. What a
// capture keeps there and compares with, capture.h says.
#pragma once
#include "unwind/memo.h"
#include "unwind/step.h"

struct tide_unwind_frame {
  uint64_t key, sp, fp; // state: pc (bit 63 = exact), CFA of the frame below, frame pointer
  uint64_t hash;        // of all frames from the outermost to this one
  void *token;          // of this prefix as a stack; NULL: not asked for yet
  uint32_t node;        // what the interner knows this prefix by; 0: it was not asked yet
  uint8_t needs_fp;     // unwinding from this state reads fp
  uint8_t guessed;      // its caller was found by frame pointer, without unwind information
};

struct tide_fp_word { // a word other than a return address: saved fp, realigned CFA, signal sp
  uint64_t slot, value;
  uint64_t frame;
};

enum {
  TIDE_MEMO_LATER = 64, // captures of a thread before it has a memo: many threads make no more
  TIDE_PACKED = 96,
};
#define TIDE_MEMO_SCOPED                                                                           \
  0x80000000u // of memo_later: so a thread without a scope has nothing to ask

struct tide_unwind { // a thread's unwinding state
  // What the first try compares with: the leaf's state and the words of the last incremental
  // capture. When it has come again, the words next to the leaf are packed, and those that are left
  // are seldom any. leaf_sp 0: none.
  uint64_t leaf_pc, leaf_sp, leaf_fp, leaf_fp_mask; // mask 0: fp does not matter
  void *leaf_token;
  const uint64_t *packed_end;
  const struct tide_word *words, *words_end; // not packed; a multiple of four
  uint64_t packed[TIDE_PACKED];
  uint64_t n, n_fp;              // the last incremental capture: frames, words in fpw
  uint64_t stack_lo, stack_size; // the thread's own stack; size 0: unknown
  enum tide_walk_end end;        // of the last capture
  uint64_t scope;                // in which the thread is, as it is in a pc
  uint32_t memo_later; // so many captures before the memo is asked; and TIDE_MEMO_SCOPED in a scope
  uint32_t memo_refused; // captures that came back and found no room since it was last emptied
  bool is_new; // said by the host: the stack it was last asked about came for the first time
  struct tide_memo_table memo;
  // Growing arrays of cap elements each, in one mapping of map_bytes.
  uint64_t cap, map_bytes;
  struct tide_word *ra; // [i]: where frame i's return address was read; [0] has none
  struct tide_unwind_frame *frame;
  struct tide_fp_word *fpw;
  struct tide_step *step;         // scratch: the target's stack may be a 16 KiB coroutine's
  struct tide_unwind_frame *walk; // frames of a full walk
};

bool tide_unwind_init(struct tide_unwind *u); // false: no memory
// The thread is in this scope from now on; 0: in none.
void tide_unwind_scope(struct tide_unwind *u, uint32_t scope);
// Forgets what was captured (code was unloaded, another thread takes over).
void tide_unwind_forget(struct tide_unwind *u);
// Doubles the arrays of u, keeping the last capture and the first n_steps steps. False: no memory;
// everything is as it was.
bool tide_unwind_grow(struct tide_unwind *u, uint64_t n_steps);

// A full walk into u->walk, outermost first; returns the number of frames. On the thread's own
// stack every read is kept inside it.
uint64_t tide_unwind_walk(struct tide_unwind *u, struct tide_regs r, uint64_t seed,
                          enum tide_walk_end *ret_end);
// The token of a stack that is not the thread's own, or whose bounds are not known: a full walk.
void *tide_capture_foreign(struct tide_unwind *u, struct tide_regs r);

// Ranges of code that held one object and now hold another: their frames hash differently, so that
// the same addresses are not taken for the same functions. Replaced as a whole, by one thread at a
// time, when an object is met or unloaded; empty in almost every program.
enum { TIDE_MAX_SALTS = 256 };
extern uint32_t tide_n_salted;
uint64_t tide_salt_of(uint64_t pc);
void tide_salt_begin(void);
void tide_salt_add(uint64_t start, uint64_t end, uint64_t salt);
void tide_salt_publish(void);

// What a captured pc says beside an address: whose allocator was called and by which function
// (tide_tag() of store/codes.h), and in which scope (record/scope.h). It is a part of what a stack
// is known by, so that the blocks of each have cells of their own, at no cost to the tries that
// only compare. Above any address that a store keeps, below TIDE_RULE_EXACT_PC.
//
//   62 .. 57  56 .. 48  47 .. 0
//   tag       scope     address
#define TIDE_PC_TAG_SHIFT 57
#define TIDE_PC_SCOPE_SHIFT 48
#define TIDE_PC_FAMILY (UINT64_C(63) << TIDE_PC_TAG_SHIFT)
#define TIDE_PC_SCOPE (UINT64_C(511) << TIDE_PC_SCOPE_SHIFT)
#define TIDE_PC_TAG (TIDE_PC_FAMILY | TIDE_PC_SCOPE)

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
