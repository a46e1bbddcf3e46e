// SPDX-License-Identifier: Apache-2.0
//
// One unwind step outward, shared by the full walk and the incremental one.
#pragma once
#include "rt/arch.h"
#include "unwind/host.h"
#include "unwind/rule.h"

struct tide_regs {
  uint64_t pc, sp, fp;
};

struct tide_step { // one unwind step: where it started, and the words that decided where it went
  uint64_t key, sp, fp;
  uint64_t ra_slot, ra_raw;
  uint64_t fp_slot;           // where the caller's fp was read; 0: kept in its register
  uint64_t extra_slot, extra; // a word that decided the caller's sp
  uint32_t kind;              // enum tide_rule_kind; NONE with a ra_slot is a guess
};

// Where the main thread's stack began. A frame there has no caller, whatever it lacks: the loader's
// start code says nothing of being the first.
extern uint64_t tide_stack_origin;

struct tide_walker {
  struct tide_regs r;
  uint64_t exact; // TIDE_RULE_EXACT_PC when r.pc came from a signal frame
  // Where the interrupted link register and argument pointer were saved; 0: no signal frame below.
  uint64_t lr_slot, arguments_slot;
  // What is known to be readable: on the thread's own stack all of it, elsewhere a page at a time.
  // The words from lo on, and the number of the last of them.
  uint64_t lo, last;
  uint64_t end;     // of the stack; ~0: not known
  bool strayed;     // it has left the part of the thread's own stack that is surely in use
  uint64_t root_sp; // of the caller found by a frame record that says there is no further one
  struct tide_span object; // the last that was looked up on the way by frame pointers
};

enum {
  TIDE_RED_ZONE = 128,     // bytes below sp that a function may still use (x86)
  TIDE_LOWEST_CODE = 4096, // nothing is ever mapped below
};

static inline void tide_walker_know(struct tide_walker *w, uint64_t lo, uint64_t hi)
{
  w->lo = lo & ~7ull;
  w->last = (hi - w->lo) / 8 - 1;
}

// Asks whether the word at slot can be read; its page is then known.
bool tide_walker_ask(struct tide_walker *w, uint64_t slot);

// The same for n bytes.
bool tide_walker_ask_all(struct tide_walker *w, uint64_t slot, uint64_t n);

// May the word at slot be read? Unwind information may be wrong, and is not believed so far as to
// read where nothing might be. A slot that is not aligned becomes a very large number. Who asks the
// kernel where nothing is known pays for it in every step, even if only by having w in memory.
TIDE_HOT bool tide_walker_may_read(struct tide_walker *w, uint64_t slot, bool asks)
{
  uint64_t bytes = slot - w->lo;
  if (TIDE_LIKELY((bytes >> 3 | bytes << 61) <= w->last))
    return true;
  return asks && tide_walker_ask(w, slot);
}

TIDE_HOT bool tide_walker_may_read_all(struct tide_walker *w, uint64_t slot, uint64_t n, bool asks)
{
  if (asks)
    return tide_walker_ask_all(w, slot, n);
  return tide_walker_may_read(w, slot, false) && tide_walker_may_read(w, slot + n - 8, false);
}

// Could the goroutine that called C be at the stack pointer, and how deep its stack is? Not more
// than Go's limit.
static inline bool tide_go_may_be_at(const uint64_t *sp)
{
  return sp[0] && !(sp[0] & 7) && sp[1] && !(sp[1] & 7) && sp[1] <= 1ull << 30;
}

// A frame record on another stack, or on one whose end is not known.
bool tide_step_leap(struct tide_walker *w, struct tide_step *s, uint64_t fp);
bool tide_step_goroutine(struct tide_walker *w, struct tide_step *s);

// Is it the first frame of a thread? A few words above is where one ends (tide_code_ends_thread()).
bool tide_step_begins_thread(struct tide_walker *w, const struct tide_step *s, bool asks);

// The last resort: a frame record where the frame pointer says. Only inside known bounds, and only
// if the record looks like one: the chain of records goes outward, or returns to known code.
TIDE_HOT bool tide_step_guess(struct tide_walker *w, struct tide_step *s, bool asks)
{
  uint64_t fp = w->r.fp;
  if (TIDE_GO_DEPTH_AT_SP && tide_walker_may_read_all(w, s->sp, 16, asks) &&
      tide_go_may_be_at((const uint64_t *)s->sp)) {
    if (!asks || tide_step_goroutine(w, s))
      return asks;
  }
  if (w->end == ~0ull || fp < s->sp || fp > w->end - 16)
    return asks && tide_step_leap(w, s, fp);
  if (!tide_walker_may_read_all(w, fp, 16, asks))
    return false;
  const uint64_t *record = (const uint64_t *)fp;
  struct tide_object object;
  bool chained = record[0] > fp && record[0] <= w->end;
  if (record[1] < TIDE_LOWEST_CODE ||
      (!chained && !tide_object_find(tide_strip_pac(record[1]) - 1, &object)))
    return false;
  s->fp_slot = fp;
  s->ra_slot = fp + 8;
  s->ra_raw = record[1];
  w->r = (struct tide_regs){tide_strip_pac(record[1]), TIDE_GUESSED_SP(fp, record[0]), record[0]};
  return true;
}

TIDE_HOT bool tide_step_signal(struct tide_walker *w, struct tide_step *s, bool asks)
{
  ucontext_t *uc = TIDE_SIGFRAME_UCONTEXT(s->sp);
  if (!tide_walker_may_read_all(w, (uint64_t)uc, sizeof *uc, asks))
    return false;
  s->ra_slot = (uint64_t)&TIDE_UC_PC(uc);
  s->fp_slot = (uint64_t)&TIDE_UC_FP(uc);
  s->extra_slot = (uint64_t)&TIDE_UC_SP(uc);
  s->ra_raw = (uint64_t)TIDE_UC_PC(uc);
  s->extra = (uint64_t)TIDE_UC_SP(uc);
  w->r = (struct tide_regs){s->ra_raw, s->extra, (uint64_t)TIDE_UC_FP(uc)};
  w->exact = TIDE_RULE_EXACT_PC;
  w->lr_slot = TIDE_UC_LR_SLOT(uc);
  w->arguments_slot = TIDE_UC_ARGUMENTS_SLOT(uc);
  return s->ra_raw != 0;
}

// Fills *s and moves w to the caller; asks: the walk may leave the thread's own stack. False: s was
// the outermost frame (s->kind tells whether it is known to be: END, or a return address of 0).
TIDE_HOT bool tide_step_out(struct tide_walker *w, struct tide_step *s, bool asks)
{
  struct tide_rule scratch;
  const struct tide_rule *rule = tide_rule_get(w->r.pc | w->exact, &scratch);
  uint64_t lr_slot = w->lr_slot, arguments_slot = w->arguments_slot, cfa;
  // One by one: compilers clear a whole step by a string instruction, dearer than the rest of it.
  s->key = w->r.pc | w->exact;
  s->sp = w->r.sp;
  s->fp = w->r.fp;
  s->ra_slot = s->ra_raw = s->fp_slot = s->extra_slot = s->extra = 0;
  s->kind = rule->kind;
  w->exact = w->lr_slot = w->arguments_slot = 0;
  if (TIDE_LIKELY(rule->kind == TIDE_RULE_SP)) {
    cfa = s->sp + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_FP) {
    cfa = s->fp + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_ALIGN) {
    s->extra_slot = s->fp + (uint64_t)(int64_t)rule->cfa;
    if (s->extra_slot < s->sp || !tide_walker_may_read(w, s->extra_slot, asks)) {
      s->extra_slot = 0;
      return false;
    }
    s->extra = cfa = *(uint64_t *)s->extra_slot;
  } else if (rule->kind == TIDE_RULE_SAVED && arguments_slot) {
    s->extra_slot = arguments_slot;
    s->extra = *(uint64_t *)arguments_slot;
    cfa = s->extra + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_SIGNAL) {
    return tide_step_signal(w, s, asks);
  } else if (rule->kind == TIDE_RULE_CODE && tide_made_code_rule(s->key, &scratch)) {
    rule = &scratch;
    cfa = s->sp + (uint64_t)(int64_t)rule->cfa;
  } else {
    if (rule->kind == TIDE_RULE_CODE) // other code by now
      s->kind = TIDE_RULE_NONE;
    if (s->kind == TIDE_RULE_NONE &&
        (s->sp - (tide_stack_origin - 64) < 128 ||
         (!s->fp && (s->sp == w->root_sp || tide_step_begins_thread(w, s, asks)))))
      s->kind = TIDE_RULE_OUTERMOST;
    return s->kind == TIDE_RULE_NONE && tide_step_guess(w, s, asks);
  }
  // A wrong rule must not make us read outside the stack, nor walk in circles.
  uint64_t ra_slot = rule->ra_in_lr ? lr_slot : cfa + (uint64_t)(int64_t)rule->ra;
  bool found = rule->ra_in_lr ? lr_slot != 0 : tide_walker_may_read(w, ra_slot, asks);
  if (TIDE_UNLIKELY(cfa < s->sp + !rule->ra_in_lr || cfa > w->end || !found)) {
    s->kind = TIDE_RULE_BAD;
    return false;
  }
  s->ra_slot = ra_slot;
  s->ra_raw = *(uint64_t *)ra_slot;
  if (TIDE_UNLIKELY(rule->fp == TIDE_RULE_AT_FP))
    s->fp_slot = s->fp >= s->sp && s->fp < cfa ? s->fp : 0; // popped already: fp is the caller's
  else if (rule->fp)
    s->fp_slot = cfa + (uint64_t)(int64_t)rule->fp;
  if (s->fp_slot) {
    if (TIDE_UNLIKELY(!tide_walker_may_read(w, s->fp_slot, asks))) {
      s->ra_slot = s->fp_slot = 0;
      s->kind = TIDE_RULE_BAD;
      return false;
    }
    w->r.fp = *(uint64_t *)s->fp_slot;
  }
  w->r.sp = cfa;
  w->r.pc = tide_strip_pac(s->ra_raw);
  return w->r.pc != 0;
}

// After a step that said "outermost": did the walk end where stacks end?
static inline enum tide_walk_end tide_step_end(const struct tide_step *s)
{
  bool whole = s->kind == TIDE_RULE_OUTERMOST || (s->ra_slot && !s->ra_raw);
  return whole ? TIDE_WALK_WHOLE : TIDE_WALK_BROKEN;
}
