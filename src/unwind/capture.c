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

// Lays the capture out for the first try of the next one. Without words (a lone outermost frame)
// there is nothing to verify it by: it is captured anew each time.
static void prepare_first_try(struct tide_unwind *u, const struct tide_unwind_frame *leaf)
{
  uint64_t n = u->n;
  u->leaf_pc = leaf->key;
  u->leaf_sp = n > 1 ? leaf->sp : 0;
  u->leaf_fp = leaf->fp;
  u->leaf_fp_mask = leaf->needs_fp ? ~0ull : 0;
  u->leaf_token = leaf->token;
  u->leaf_n_fp = u->n_fp;
  u->words = u->ra + 1;
  u->n_words = (n - 1 + 3) & ~3ull;
  for (uint64_t i = n; i <= u->n_words; i++)
    u->ra[i] = u->ra[n - 1];
}

// Unwinds from the leaf until the state is one of the standing frames; only those reached are
// trusted. Words inside frames that are new and equal by chance do no harm: they are never joined.
static void *incremental(struct tide_unwind *u, struct tide_regs r)
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
  prepare_first_try(u, leaf);
  return leaf->token;
full_walk:
  u->n = u->n_fp = u->leaf_sp = 0;
  return tide_capture_foreign(u, r);
}

void tide_memo_forget(struct tide_unwind *u)
{
  memset(u->memo->tag, 0, sizeof u->memo->tag);
  u->memo->n_words = 0;
  u->memo_refused = 0;
  u->leaf_sp = 0; // the first try may have been one of these
}

// Files the last capture under key: words other than return addresses first, then these from the
// outermost frame to the leaf, padded in front to a multiple of four by repeating the first.
static void memo_store(struct tide_unwind *u, struct tide_regs r, struct tide_memo *m, uint64_t key,
                       void *token)
{
  struct tide_memo_table *memo = u->memo;
  uint64_t leaf = u->n - 1, n = leaf + u->n_fp, padded = (n + 3) & ~3ull, k = padded;
  if (!leaf || n > TIDE_MEMO_WORDS) // the outermost frame has no word
    return;
  if (padded > TIDE_MEMO_POOL - memo->n_words) {
    tide_memo_forget(u);
    return;
  }
  struct tide_word *w = &memo->words[memo->n_words];
  memo->n_words += padded;
  for (uint64_t i = leaf; i >= 1; i--)
    w[--k] = u->ra[i];
  for (uint64_t i = 0; i < u->n_fp; i++)
    w[--k] = (struct tide_word){u->fpw[i].slot, u->fpw[i].value};
  while (k > 0) {
    w[k - 1] = w[k];
    k--;
  }
  *m = (struct tide_memo){.pc = r.pc,
                          .sp = r.sp,
                          .fp = r.fp,
                          .token = token,
                          .n = (uint32_t)padded,
                          .needs_fp = u->frame[leaf].needs_fp,
                          .words = w};
  memo->tag[m - memo->entry] = key;
}

// The first word that changed, counted from the leaf (the last word), or n. Near the leaf, where
// stacks differ, stop early; farther out compare everything and look for the place only if
// something differs.
static inline uint32_t words_first_changed(const struct tide_word *w, uint32_t n)
{
  const struct tide_word *p = w + n;
  uint32_t i = 0;
  for (; i < n && i < 8; i += 4) {
    p -= 4;
    if (TIDE_CHANGED(p[0]) | TIDE_CHANGED(p[1]) | TIDE_CHANGED(p[2]) | TIDE_CHANGED(p[3]))
      goto found;
  }
  uint64_t a = 0, b = 0;
  for (const struct tide_word *q = w; q < p; q += 4) {
    a |= TIDE_CHANGED(q[0]) | TIDE_CHANGED(q[1]);
    b |= TIDE_CHANGED(q[2]) | TIDE_CHANGED(q[3]);
  }
  if (TIDE_LIKELY(!(a | b)))
    return n;
found:
  while (!TIDE_CHANGED(w[n - 1 - i]))
    i++;
  return i;
}

// Many stacks share (pc, sp): a wrapper that allocates for everyone. So a failed comparison is not
// wasted: the first changed word is a true return address of the present stack, and it leads to
// the next candidate. Each hop branches on one call site, like a search tree keyed by what is on
// the stack. An entry is believed only if all its words match, however it was reached.
//
// Entries are never evicted one by one (that would cut off the captures filed behind them); a memo
// that refuses too often is emptied and learns the program's new phase.
static inline struct tide_memo *memo_search(struct tide_memo_table *memo, struct tide_regs r,
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
    uint32_t w = words_first_changed(m->words, m->n);
    if (w == m->n)
      return m;
    key = tide_mix64(key ^ *(uint64_t *)m->words[m->n - 1 - w].slot ^ (uint64_t)w << 56);
    key = (key ^ key >> 31) | 1;
  }
  *ret_free = NULL; // too many hops
  *ret_key = 0;
  return NULL;
}

// The same stack often comes again at once: the next first try is this entry.
static inline void first_try_is(struct tide_unwind *u, const struct tide_memo *m)
{
  u->leaf_pc = m->pc;
  u->leaf_sp = m->sp;
  u->leaf_fp = m->fp;
  u->leaf_fp_mask = m->needs_fp ? ~0ull : 0;
  u->leaf_token = m->token;
  u->words = m->words;
  u->n_words = m->n;
  u->leaf_n_fp = 0; // they are among the words
}

static void *memo_miss(struct tide_unwind *u, struct tide_regs r, struct tide_memo *m, uint64_t key)
{
  void *token = incremental(u, r);
  if (--u->memo_credit < 0)
    u->memo_bypass = TIDE_MEMO_BYPASS;
  if (TIDE_UNLIKELY(!u->n))
    return token;
  if (m) {
    memo_store(u, r, m, key, token);
  } else if (++u->memo_refused > 8 * TIDE_MEMO_ENTRIES) {
    tide_memo_forget(u);
  }
  return token;
}

__attribute__((noinline)) void *tide_capture_slow(struct tide_unwind *u, struct tide_regs r)
{
  if (TIDE_UNLIKELY(r.sp - u->stack_lo >= u->stack_size))
    return tide_capture_foreign(u, r);
  if (TIDE_UNLIKELY(u->memo_bypass)) {
    if (!--u->memo_bypass)
      u->memo_credit = TIDE_MEMO_CREDIT / 4;
    return incremental(u, r);
  }
  struct tide_memo *vacant;
  uint64_t key;
  struct tide_memo *m = memo_search(u->memo, r, &vacant, &key);
  if (TIDE_UNLIKELY(!m))
    return memo_miss(u, r, vacant, key);
  u->memo_credit += u->memo_credit < TIDE_MEMO_CREDIT;
  first_try_is(u, m);
  return m->token;
}
