// SPDX-License-Identifier: Apache-2.0
//
// Unwind rules: a return address to "how to find the caller's state", built once from .eh_frame
// (cfi.c) and kept in a hash table. A cold program misses the cache on every look-up, so density
// decides the cost: an entry is 8 bytes (48-bit pc, 1 bit "exact", 15-bit shape), and the few
// hundred distinct shapes of a program stay in L1. Looking up takes no lock.
#pragma once
#include "rt/base.h"

enum tide_rule_kind {
  TIDE_RULE_NONE = 0,  // no unwind information: the frame pointer is the last resort
  TIDE_RULE_BAD,       // unwind information that we cannot follow: the walk ends here
  TIDE_RULE_SP,        // CFA = sp + cfa
  TIDE_RULE_FP,        // CFA = fp + cfa
  TIDE_RULE_OUTERMOST, // the outermost frame
  TIDE_RULE_SIGNAL,    // a signal frame: the interrupted state is saved on the stack
  TIDE_RULE_ALIGN,     // CFA = *(fp + cfa): x86 functions that realign their stack
  TIDE_RULE_SAVED,     // CFA = the argument pointer saved in the signal frame + cfa: the same
                       // functions, interrupted in their prologue
  TIDE_RULE_CODE,      // code of no object: what follows the call tells, and is read each time
};

enum { TIDE_RULE_AT_FP = 1 }; // no offset: those are multiples of 8

struct tide_rule {
  int32_t cfa;
  // Where return address and fp are saved, relative to the CFA. fp 0: not saved; AT_FP: where fp
  // itself points to.
  int32_t ra, fp;
  uint16_t kind;     // enum tide_rule_kind
  uint16_t ra_in_lr; // a leaf interrupted by a signal: the return address is in the link register
};

// A pc found in a signal frame is exact; a return address points after its call.
#define TIDE_RULE_EXACT_PC (1ull << 63)
#define TIDE_RULE_SHAPE_BITS 15
#define TIDE_RULE_SHAPES (1u << TIDE_RULE_SHAPE_BITS)

struct tide_rule_table {
  uint64_t shift; // 64 - log2(slots)
  uint64_t slot[];
};
extern struct tide_rule_table *tide_rules; // published by release, dependent loads acquire
extern struct tide_rule tide_rule_shapes[TIDE_RULE_SHAPES];

void tide_rules_init(void);
void tide_rules_forget(void); // code was unloaded
// A child has the code of its parent, and keeps the rules. The lock's holder may have stayed there.
void tide_rules_after_fork(void);
// scratch holds the answer when it could not be kept.
const struct tide_rule *tide_rule_make(uint64_t key, struct tide_rule *scratch);

// Reads call frame information (cfi.c): about a microsecond, once per call site. The rule for the
// frame whose pc (TIDE_RULE_EXACT_PC or a return address) is key. Always writes *ret_rule;
// TIDE_RULE_NONE where nothing usable is known.
void tide_cfi_rule(uint64_t key, struct tide_rule *ret_rule);

// What the instructions at a return address into code of no object say (made_code.c). False: they
// do not tell. Never faults.
bool tide_made_code_rule(uint64_t pc, struct tide_rule *ret_rule);
// Do they end the thread, so that nobody called this frame? Never faults.
bool tide_code_ends_thread(uint64_t pc);

TIDE_HOT uint64_t tide_rule_entry(uint64_t key)
{
  return key << 16 | key >> 63 << TIDE_RULE_SHAPE_BITS;
}

TIDE_HOT const struct tide_rule *tide_rule_get(uint64_t key, struct tide_rule *scratch)
{
  struct tide_rule_table *t = tide_load_relaxed(&tide_rules);
  uint32_t mask = (uint32_t)(1ull << (64 - t->shift)) - 1;
  uint64_t want = tide_rule_entry(key);
  for (uint32_t i = (uint32_t)(tide_mix64(key) >> t->shift);; i = (i + 1) & mask) {
    uint64_t e = tide_load_relaxed(&t->slot[i]); // one word: nothing to order
    if (TIDE_LIKELY((e ^ want) < TIDE_RULE_SHAPES))
      return &tide_rule_shapes[e & (TIDE_RULE_SHAPES - 1)];
    if (!e)
      return tide_rule_make(key, scratch);
  }
}
