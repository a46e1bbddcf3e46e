// SPDX-License-Identifier: Apache-2.0
//
// One unwind step outward, shared by the full walk and the incremental one.
#pragma once
#include "unwind/capture.h"
#include "unwind/object.h"

struct tide_walker {
  struct tide_regs r;
  uint64_t exact; // TIDE_RULE_EXACT_PC when r.pc came from a signal frame
  // Where the interrupted link register and argument pointer were saved; 0: no signal frame below.
  uint64_t lr_slot, arguments_slot;
  uint64_t top; // no read beyond; ~0: a stack whose bounds are not known
};

// The last resort: a frame record where the frame pointer says. Only inside known bounds, and only
// if the record looks like one: the chain of records goes outward, or returns to known code.
static inline bool tide_step_guess(struct tide_walker *w, struct tide_step *s)
{
  uint64_t fp = w->r.fp;
  if (w->top == ~0ull || fp < s->sp || fp > w->top - 16 || fp & 7)
    return false;
  const uint64_t *record = (const uint64_t *)fp;
  struct tide_object object;
  bool chained = record[0] > fp && record[0] <= w->top;
  if (!record[1] || (!chained && !tide_object_find(tide_strip_pac(record[1]) - 1, &object)))
    return false;
  s->fp_slot = fp;
  s->ra_slot = fp + 8;
  s->ra_raw = record[1];
  w->r = (struct tide_regs){tide_strip_pac(record[1]), TIDE_GUESSED_SP(fp, record[0]), record[0]};
  return true;
}

static inline bool tide_step_signal(struct tide_walker *w, struct tide_step *s)
{
  ucontext_t *uc = TIDE_SIGFRAME_UCONTEXT(s->sp);
  if ((uint64_t)(uc + 1) > w->top)
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

// Fills *s and moves w to the caller. False: s was the outermost frame (s->kind tells whether it
// is known to be: END, or a return address of 0).
TIDE_HOT bool tide_step_out(struct tide_walker *w, struct tide_step *s)
{
  struct tide_rule scratch;
  const struct tide_rule *rule = tide_rule_get(w->r.pc | w->exact, &scratch);
  uint64_t lr_slot = w->lr_slot, arguments_slot = w->arguments_slot, cfa;
  *s = (struct tide_step){
      .key = w->r.pc | w->exact, .sp = w->r.sp, .fp = w->r.fp, .kind = rule->kind};
  w->exact = w->lr_slot = w->arguments_slot = 0;
  if (TIDE_LIKELY(rule->kind == TIDE_RULE_SP)) {
    cfa = s->sp + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_FP) {
    cfa = s->fp + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_ALIGN) {
    s->extra_slot = s->fp + (uint64_t)(int64_t)rule->cfa;
    if (s->extra_slot < s->sp || s->extra_slot > w->top - 8)
      return false;
    s->extra = cfa = *(uint64_t *)s->extra_slot;
  } else if (rule->kind == TIDE_RULE_SAVED && arguments_slot) {
    s->extra_slot = arguments_slot;
    s->extra = *(uint64_t *)arguments_slot;
    cfa = s->extra + (uint64_t)(int64_t)rule->cfa;
  } else if (rule->kind == TIDE_RULE_SIGNAL) {
    return tide_step_signal(w, s);
  } else {
    if (rule->kind == TIDE_RULE_NONE && s->sp > tide_stack_origin - 64)
      s->kind = TIDE_RULE_END;
    return s->kind == TIDE_RULE_NONE && tide_step_guess(w, s);
  }
  // A wrong rule must not make us read outside the stack, nor walk in circles.
  if (TIDE_UNLIKELY(cfa < s->sp + !rule->ra_in_lr || cfa > w->top)) {
    s->kind = TIDE_RULE_BAD;
    return false;
  }
  s->ra_slot = rule->ra_in_lr ? lr_slot : cfa + (uint64_t)(int64_t)rule->ra;
  if (TIDE_UNLIKELY(!s->ra_slot)) {
    s->kind = TIDE_RULE_BAD;
    return false;
  }
  s->ra_raw = *(uint64_t *)s->ra_slot;
  if (TIDE_UNLIKELY(rule->fp == TIDE_RULE_AT_FP))
    s->fp_slot = s->fp >= s->sp && s->fp < cfa ? s->fp : 0; // popped already: fp is the caller's
  else if (rule->fp)
    s->fp_slot = cfa + (uint64_t)(int64_t)rule->fp;
  if (s->fp_slot)
    w->r.fp = *(uint64_t *)s->fp_slot;
  w->r.sp = cfa;
  w->r.pc = tide_strip_pac(s->ra_raw);
  return w->r.pc != 0;
}

// After a step that said "outermost": did the walk end where stacks end?
static inline enum tide_walk_end tide_step_end(const struct tide_step *s)
{
  bool whole = s->kind == TIDE_RULE_END || (s->ra_slot && !s->ra_raw);
  return whole ? TIDE_WALK_WHOLE : TIDE_WALK_BROKEN;
}
