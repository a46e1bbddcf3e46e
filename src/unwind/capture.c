// SPDX-License-Identifier: Apache-2.0
//
// The slower tries of stack capture: incremental unwinding, and filing what it found.
#include "unwind/capture.h"

#include "rt/cost.h"

const struct tide_unwind_host *tide_unwind_host;

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
    outer_needs_fp = s->kind == TIDE_RULE_FP || s->kind == TIDE_RULE_ALIGN ||
                     s->kind == TIDE_RULE_NONE || (outer_needs_fp && !s->fp_slot);
    f[n].key = s->key; // one by one, see tide_step_out()
    f[n].sp = s->sp;
    f[n].fp = s->fp;
    f[n].hash = hash;
    f[n].token = NULL;
    f[n].node = 0;
    f[n].needs_fp = outer_needs_fp;
    f[n].guessed = guessed;
  }
  u->n = n;
}

// Lays the capture out for the first try of the next one: behind the return addresses' words come
// the others. Without words (a lone outermost frame) there is nothing to verify it by, and where
// there is no place for all of them, it is not tried.
static void prepare_first_try(struct tide_unwind *u, const struct tide_unwind_frame *leaf)
{
  uint64_t n_words = u->n - 1 + u->n_fp, padded = (n_words + 3) & ~3ull;
  u->leaf_pc = leaf->key & ~TIDE_PC_SCOPE; // which is the same until it is prepared anew
  u->leaf_sp = n_words && padded < u->cap ? leaf->sp : 0;
  if (TIDE_UNLIKELY(!u->leaf_sp))
    return;
  u->leaf_fp = leaf->fp;
  u->leaf_fp_mask = leaf->needs_fp ? ~0ull : 0;
  u->leaf_token = leaf->token;
  u->packed_end = u->packed;
  u->words = u->ra + 1;
  u->words_end = u->words + padded;
  struct tide_word *w = u->ra + u->n;
  for (uint64_t i = 0; i < u->n_fp; i++)
    *w++ = (struct tide_word){u->fpw[i].slot, u->fpw[i].value};
  for (; w < u->words_end; w++)
    *w = u->ra[1];
}

// As many of the first try's words as there is place for, and as are near enough.
static void pack_words(struct tide_unwind *u)
{
  uint64_t *to = u->packed;
  for (; u->words_end > u->words && to < u->packed + TIDE_PACKED; to += 4) {
    for (int i = 0; i < 4; i++)
      if (!tide_word_pack(u->words_end[-1 - i], u->leaf_sp, &to[i]))
        goto out;
    u->words_end -= 4;
  }
out:
  u->packed_end = to;
}

__attribute__((noinline)) bool tide_rest_valid(struct tide_unwind *u)
{
  if (tide_words_changed(u->words, u->words_end))
    return false;
  if (u->packed_end == u->packed)
    pack_words(u);
  return true;
}

// Did it end where only what is on another stack leads on? That is not kept: the stack may be gone
// at the next capture.
static bool leads_elsewhere(const struct tide_unwind *u, const struct tide_step *last)
{
  if (last->kind != TIDE_RULE_NONE || last->ra_slot)
    return false;
  if (TIDE_GO_DEPTH_AT_SP && last->sp + 16 <= u->stack_lo + u->stack_size &&
      tide_go_may_be_at((const uint64_t *)last->sp))
    return true;
  return last->fp && !(last->fp & 7) && last->fp - u->stack_lo >= u->stack_size;
}

// Unwinds from the leaf until the state is one of the standing frames; only those reached are
// trusted. Words inside frames that are new and equal by chance do no harm: they are never joined.
static void *incremental(struct tide_unwind *u, struct tide_regs r)
{
  uint64_t top = u->stack_lo + u->stack_size;
  struct tide_walker w = {.r = r, .end = top};
  w.r.pc &= ~TIDE_PC_TAG;
  tide_walker_know(&w, r.sp - TIDE_RED_ZONE, top);
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
    more = tide_step_out(&w, s, false);
    // A handler that runs on a stack within our stack: addresses no longer rise outward.
    if (TIDE_UNLIKELY(s->kind == TIDE_RULE_SIGNAL && more && (w.r.sp <= s->sp || w.r.sp >= top)))
      goto full_walk;
    while (standing > 0 && f[standing - 1].sp < w.r.sp)
      standing--;
    joined = more && standing > 0 && f[standing - 1].sp == w.r.sp &&
             f[standing - 1].key == (w.r.pc | w.exact) &&
             (!f[standing - 1].needs_fp || f[standing - 1].fp == w.r.fp);
  }
  if (!joined) {
    if (TIDE_UNLIKELY(leads_elsewhere(u, &u->step[n_new - 1])))
      goto full_walk;
    standing = 0;
    u->end = tide_step_end(&u->step[n_new - 1]);
  }
  u->step[0].key |= r.pc & TIDE_PC_TAG;
  append_frames(u, standing, n_new);
  struct tide_unwind_frame *leaf = &u->frame[u->n - 1];
  u->is_new = false;
  if (!leaf->token)
    leaf->token = tide_unwind_host->stack_token(u, u->frame, u->n, u->end);
  prepare_first_try(u, leaf);
  return leaf->token;
full_walk:
  u->n = u->n_fp = u->leaf_sp = 0;
  return tide_capture_foreign(u, r);
}

static void forget_memo(struct tide_unwind *u)
{
  tide_memo_empty(&u->memo);
  u->leaf_sp = 0; // the first try may have been one of those forgotten
  u->memo_refused = 0;
}

// A signal handler may capture in between: whatever it leaves for the first try goes last.
void tide_unwind_scope(struct tide_unwind *u, uint32_t scope)
{
  u->scope = (uint64_t)scope << TIDE_PC_SCOPE_SHIFT;
  u->memo_later = (u->memo_later & ~TIDE_MEMO_SCOPED) | (scope ? TIDE_MEMO_SCOPED : 0);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  u->leaf_sp = 0;
}

void tide_unwind_forget(struct tide_unwind *u)
{
  forget_memo(u);
  u->n = u->n_fp = 0;
}

// The words of the last capture, from the outermost frame to the leaf. Of one frame, those that are
// no return address tell where that is: they are behind it.
static void fill_words(const struct tide_unwind *u, struct tide_word *words)
{
  for (uint64_t i = 1, k = 0; i < u->n; i++) {
    *words++ = u->ra[i];
    for (; k < u->n_fp && u->fpw[k].frame == i; k++)
      *words++ = (struct tide_word){u->fpw[k].slot, u->fpw[k].value};
  }
}

// There was no room for a stack that came back. When that has happened more often than it takes to
// learn all anew, the memo grows. The largest is emptied, much later, as the program may be in
// another phase.
enum { GROWS_AFTER = 2, EMPTIED_AFTER = 16 }; // times the number of entries
static void note_memo_is_full(struct tide_unwind *u)
{
  uint32_t times = u->memo.log2 < TIDE_MEMO_LAST_LOG2 ? GROWS_AFTER : EMPTIED_AFTER;
  if (!TIDE_HAS(GROWTH) || ++u->memo_refused <= times * u->memo.n_entries)
    return;
  forget_memo(u);
  tide_memo_grow(&u->memo);
}

// Files the last capture.
static void remember(struct tide_unwind *u, struct tide_regs r, const struct tide_memo_place *place,
                     void *token)
{
  uint64_t leaf = u->n - 1, n = leaf + u->n_fp; // the outermost frame has no word
  if (!leaf || n > TIDE_MEMO_WORDS)
    return;
  struct tide_memo_entry *m = tide_memo_room(&u->memo, n);
  if (!m) {
    note_memo_is_full(u);
    return;
  }
  fill_words(u, u->memo.words);
  u->memo.fps[m->number] = r.fp;
  m->pc = r.pc;
  m->sp = r.sp;
  m->needs_fp = u->frame[leaf].needs_fp;
  m->token = token;
  tide_memo_file(&u->memo, m, n, place);
}

static void *capture_before_memo(struct tide_unwind *u, struct tide_regs r)
{
  u->memo_later--;
  return incremental(u, r);
}

// A stack that the memo does not know. Apart, so that the search has to save few registers.
__attribute__((noinline)) static void *capture_anew(struct tide_unwind *u, uint64_t pc, uint64_t sp,
                                                    uint64_t fp,
                                                    const struct tide_memo_place *place)
{
  struct tide_regs r = {pc, sp, fp};
  void *token = incremental(u, r);
  if (u->n && !u->is_new) // most of those that come once never come again
    remember(u, r, place, token);
  return token;
}

// A stack that was not foreseen.
__attribute__((noinline)) static void *capture_searching(struct tide_unwind *u, uint64_t pc,
                                                         uint64_t sp, uint64_t fp)
{
  struct tide_memo_place place;
  const struct tide_memo_entry *m = tide_memo_search(&u->memo, pc, sp, fp, &place);
  if (TIDE_UNLIKELY(!m))
    return capture_anew(u, pc, sp, fp, &place);
  return m->token;
}

// A stack that begins as the one foreseen.
__attribute__((noinline)) static void *
capture_foreseen(struct tide_unwind *u, const struct tide_memo_entry *m, uint64_t fp)
{
  if (TIDE_UNLIKELY(!tide_memo_stands(&u->memo, m)))
    return capture_searching(u, m->pc, m->sp, fp);
  __atomic_signal_fence(__ATOMIC_SEQ_CST); // from here on what is needed is loaded again
  tide_memo_found(&u->memo, m);
  u->memo.n_misled = 0;
  return m->token;
}

TIDE_HOT void *capture_by_memo(struct tide_unwind *u, uint64_t pc, uint64_t sp, uint64_t fp)
{
  if (!TIDE_HAS(FORESIGHT) || TIDE_UNLIKELY(!tide_memo_foresees(&u->memo)))
    return capture_searching(u, pc, sp, fp);
  const struct tide_memo_entry *m = tide_memo_foreseen(&u->memo);
  if (TIDE_UNLIKELY(!tide_memo_starts_at(&u->memo, m, pc, sp, fp)))
    return capture_searching(u, pc, sp, fp);
  return capture_foreseen(u, m, fp);
}

// Where the memo is of no use, or there is none yet; and in a scope.
__attribute__((noinline)) static void *capture_without(struct tide_unwind *u, uint64_t pc,
                                                       uint64_t sp, uint64_t fp)
{
  struct tide_regs r = {pc | u->scope, sp, fp};
  if (sp - u->stack_lo >= u->stack_size)
    return tide_capture_foreign(u, r);
  if (u->memo_later & ~TIDE_MEMO_SCOPED)
    return capture_before_memo(u, r);
  return capture_by_memo(u, r.pc, sp, fp);
}

// Calls nobody but as its last, so that it has to save no registers.
__attribute__((noinline)) void *tide_capture_slow(struct tide_unwind *u, uint64_t pc, uint64_t sp,
                                                  uint64_t fp)
{
  if (TIDE_UNLIKELY(sp - u->stack_lo >= u->stack_size) || TIDE_UNLIKELY(u->memo_later))
    return capture_without(u, pc, sp, fp);
  return capture_by_memo(u, pc, sp, fp);
}
