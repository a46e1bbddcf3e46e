// SPDX-License-Identifier: Apache-2.0
//
// The slower tries of stack capture: incremental unwinding, and filing what it found.
#include "unwind/capture.h"

#include "unwind/grow.h"
#include "unwind/step.h"

#include <string.h>

// How many frames of the last capture still stand, judged from the outermost: slots descend, so
// stop at the first that lies below sp (dead stack) or has changed.
static uint64_t frames_standing(const struct tide_unwind *u, uint64_t sp)
{
  const struct tide_word *w = u->ra;
  uint64_t n = u->n, i = 1;
  if (!n)
    return 0;
  for (; i + 4 <= n; i += 4) {
    if (w[i + 3].slot < sp)
      break;
    if (TIDE_CHANGED(w[i]) | TIDE_CHANGED(w[i + 1]) | TIDE_CHANGED(w[i + 2]) |
        TIDE_CHANGED(w[i + 3]))
      break;
  }
  while (i < n && w[i].slot >= sp && !TIDE_CHANGED(w[i]))
    i++;
  for (uint64_t k = 0; k < u->n_fp && u->fpw[k].frame < i; k++)
    if (u->fpw[k].slot < sp || *(uint64_t *)u->fpw[k].slot != u->fpw[k].value)
      return u->fpw[k].frame;
  return i;
}

static void add_fp_word(struct tide_unwind *u, uint64_t slot, uint64_t value, uint64_t frame)
{
  u->fpw[u->n_fp++] = (struct tide_fp_word){slot, value, frame};
}

// Appends the steps just taken (leaf first) to the kept frames as the new last capture.
static void append_frames(struct tide_unwind *u, uint64_t n_kept, uint64_t n_new)
{
  struct tide_unwind_frame *f = u->frame;
  uint64_t n = n_kept;
  while (u->n_fp > 0 && u->fpw[u->n_fp - 1].frame >= n_kept)
    u->n_fp--;
  uint64_t hash = n                            ? f[n - 1].hash
                  : u->end == TIDE_WALK_BROKEN ? TIDE_HASH_SEED_BROKEN
                                               : TIDE_HASH_SEED;
  bool outer_needs_fp = n ? f[n - 1].needs_fp : false;
  for (uint64_t i = n_new; i-- > 0; n++) {
    const struct tide_step *s = &u->step[i];
    bool outermost = n == 0, guessed = s->kind == TIDE_RULE_NONE && s->ra_slot;
    hash = tide_hash_frame(hash, s->key);
    u->ra[n] = (struct tide_word){outermost ? 0 : s->ra_slot, s->ra_raw};
    // fp matters only if the rule uses it, or passes it on to a frame that needs it.
    if (TIDE_UNLIKELY(outer_needs_fp && s->fp_slot))
      add_fp_word(u, s->fp_slot, f[n - 1].fp, n);
    if (TIDE_UNLIKELY(s->extra_slot && !outermost))
      add_fp_word(u, s->extra_slot, s->extra, n);
    outer_needs_fp = s->kind == TIDE_RULE_FP || s->kind == TIDE_RULE_ALIGN || guessed ||
                     (outer_needs_fp && !s->fp_slot);
    f[n] = (struct tide_unwind_frame){.key = s->key,
                                      .sp = s->sp,
                                      .fp = s->fp,
                                      .hash = hash,
                                      .needs_fp = outer_needs_fp,
                                      .guessed = guessed};
  }
  u->n = n;
}

// Unwinds from the leaf until the state is one of the standing frames; only those reached are
// trusted. Words inside frames that are new and equal by chance do no harm: they are never joined.
void *tide_capture_incremental(struct tide_unwind *u, struct tide_regs r)
{
  struct tide_walker w = {.r = r, .top = u->stack_lo + u->stack_size};
  struct tide_unwind_frame *f = u->frame;
  uint64_t standing = frames_standing(u, r.sp), n_new = 0;
  bool more = true, joined = false;
  while (more && !joined) {
    // fpw may take two words per frame: keep the arrays twice as long as the stack.
    if (TIDE_UNLIKELY((standing + n_new + 2) * 2 > u->cap)) {
      if (!tide_unwind_grow(u, n_new))
        goto full_walk;
      f = u->frame;
    }
    struct tide_step *s = &u->step[n_new++];
    more = tide_step_out(&w, s);
    // A handler that runs on a stack within our stack: addresses no longer rise outward.
    if (TIDE_UNLIKELY(s->kind == TIDE_RULE_SIGNAL && more && (w.r.sp <= s->sp || w.r.sp >= w.top)))
      goto full_walk;
    while (standing > 0 && f[standing - 1].sp < w.r.sp)
      standing--;
    joined = more && standing > 0 && f[standing - 1].sp == w.r.sp &&
             f[standing - 1].key == (w.r.pc | w.exact) &&
             (!f[standing - 1].needs_fp || f[standing - 1].fp == w.r.fp);
  }
  if (!joined) {
    standing = 0;
    u->end = tide_step_end(&u->step[n_new - 1]);
  }
  append_frames(u, standing, n_new);
  struct tide_unwind_frame *leaf = &u->frame[u->n - 1];
  if (!leaf->token)
    leaf->token = tide_unwind_intern(u, u->frame, u->n, u->end);
  return leaf->token;
full_walk:
  u->n = u->n_fp = 0;
  return tide_capture_foreign(u, r);
}

static void memo_store(struct tide_unwind *u, struct tide_regs r, struct tide_memo *m, uint64_t key,
                       void *token)
{
  uint64_t leaf = u->n - 1, k = 0; // the outermost frame has no word
  if (leaf + u->n_fp > TIDE_MEMO_WORDS)
    return;
  struct tide_word *w = u->memo->words[m - u->memo->entry];
  for (uint64_t i = leaf; i >= 1; i--)
    w[k++] = u->ra[i];
  for (uint64_t i = 0; i < u->n_fp; i++)
    w[k++] = (struct tide_word){u->fpw[i].slot, u->fpw[i].value};
  *m = (struct tide_memo){.pc = r.pc,
                          .sp = r.sp,
                          .fp = r.fp,
                          .token = token,
                          .n = (uint32_t)k,
                          .needs_fp = u->frame[leaf].needs_fp,
                          .words = w};
  u->memo->tag[m - u->memo->entry] = key;
}

__attribute__((noinline)) void *tide_capture_memo_miss(struct tide_unwind *u, struct tide_regs r,
                                                       struct tide_memo *m, uint64_t key)
{
  void *token = tide_capture_incremental(u, r);
  if (--u->memo_credit < 0)
    u->memo_bypass = TIDE_MEMO_BYPASS;
  if (TIDE_UNLIKELY(!u->n))
    return token;
  if (m) {
    memo_store(u, r, m, key, token);
  } else if (++u->memo_refused > 8 * TIDE_MEMO_ENTRIES) {
    u->memo_refused = 0;
    memset(u->memo->tag, 0, sizeof u->memo->tag);
  }
  return token;
}
