// SPDX-License-Identifier: Apache-2.0
//
// The full walk: for stacks that are not the thread's own, for page-level events, and as the judge
// of the other paths. Also the memory that all walks share.
#include "unwind/walk.h"

#include "rt/sys.h"

#include <string.h>

enum { FIRST_CAP = 32 }; // deeper than most stacks, and less than a page

// Two lists take turns: a reader keeps the one it found while the other is being filled.
static struct salt_list {
  uint32_t n;
  struct {
    uint64_t start, end, salt;
  } range[TIDE_MAX_SALTS];
} lists[2] TIDE_BULKY;
static struct salt_list *current = &lists[0];
uint32_t tide_n_salted;
uint64_t tide_stack_origin = ~0ull;

uint64_t tide_salt_of(uint64_t pc)
{
  const struct salt_list *list = tide_load_acquire(&current);
  pc &= ~(TIDE_RULE_EXACT_PC | TIDE_PC_TAG);
  for (uint32_t i = 0; i < list->n; i++)
    if (pc - list->range[i].start < list->range[i].end - list->range[i].start)
      return list->range[i].salt;
  return 0;
}

void tide_salt_begin(void)
{
  struct salt_list *next = current == &lists[0] ? &lists[1] : &lists[0];
  next->n = 0;
}

void tide_salt_add(uint64_t start, uint64_t end, uint64_t salt)
{
  struct salt_list *next = current == &lists[0] ? &lists[1] : &lists[0];
  if (next->n == TIDE_MAX_SALTS) // more reused ranges than anybody has
    return;
  next->range[next->n].start = start;
  next->range[next->n].end = end;
  next->range[next->n++].salt = tide_mix64(salt);
}

void tide_salt_publish(void)
{
  struct salt_list *next = current == &lists[0] ? &lists[1] : &lists[0];
  tide_store_release(&current, next);
  tide_store_release(&tide_n_salted, next->n);
}

static uint64_t bytes_for(uint64_t cap)
{
  return cap * (sizeof(struct tide_word) + 2 * sizeof(struct tide_unwind_frame) +
                sizeof(struct tide_fp_word) + sizeof(struct tide_step));
}

static void place(struct tide_unwind *u, char *p, uint64_t cap)
{
  u->ra = (struct tide_word *)p;
  p += cap * sizeof *u->ra;
  u->frame = (struct tide_unwind_frame *)p;
  p += cap * sizeof *u->frame;
  u->fpw = (struct tide_fp_word *)p;
  p += cap * sizeof *u->fpw;
  u->step = (struct tide_step *)p;
  p += cap * sizeof *u->step;
  u->walk = (struct tide_unwind_frame *)p;
  u->cap = cap;
}

bool tide_unwind_init(struct tide_unwind *u)
{
  // Before the memo, which is large: so it is among what tide_sys_populate_first() gets.
  u->map_bytes = bytes_for(FIRST_CAP);
  char *p = tide_sys_map_private(u->map_bytes);
  if (!tide_memo_make(&u->memo, TIDE_MEMO_FIRST_LOG2) || !p)
    return false;
  place(u, p, FIRST_CAP);
  u->memo_later = TIDE_MEMO_LATER;
  return true;
}

bool tide_unwind_grow(struct tide_unwind *u, uint64_t n_steps)
{
  const struct tide_word *ra = u->ra;
  const struct tide_unwind_frame *frame = u->frame;
  const struct tide_fp_word *fpw = u->fpw;
  const struct tide_step *step = u->step;
  uint64_t bytes = bytes_for(u->cap * 2), old_bytes = u->map_bytes;
  char *p = tide_sys_map_private(bytes);
  if (!p)
    return false;
  place(u, p, u->cap * 2);
  u->map_bytes = bytes;
  u->leaf_sp = 0; // its words are elsewhere now
  memcpy(u->ra, ra, u->n * sizeof *ra);
  memcpy(u->frame, frame, u->n * sizeof *frame);
  memcpy(u->fpw, fpw, u->n_fp * sizeof *fpw);
  memcpy(u->step, step, n_steps * sizeof *step);
  tide_sys_unmap((void *)ra, old_bytes);
  return true;
}

TIDE_COLD bool tide_walker_ask(struct tide_walker *w, uint64_t slot)
{
  uint64_t page = slot & -tide_sys_page_bytes;
  if (!w->strayed || slot & 7 || slot > w->end - 8 || !tide_sys_readable(slot))
    return false;
  tide_walker_know(w, page, page + tide_sys_page_bytes);
  return true;
}

TIDE_COLD bool tide_walker_ask_all(struct tide_walker *w, uint64_t slot, uint64_t n)
{
  uint64_t last = slot + n - 8;
  for (uint64_t at = slot; at < last; at += tide_sys_page_bytes)
    if (!tide_walker_may_read(w, at, true))
      return false;
  return tide_walker_may_read(w, last, true);
}

static bool within(struct tide_span span, uint64_t pc)
{
  return pc - span.start < span.end - span.start;
}

static bool in_one_object(struct tide_walker *w, uint64_t a, uint64_t b)
{
  struct tide_object object;
  if (!within(w->object, a) && tide_object_find(a, &object))
    w->object = (struct tide_span){object.start, object.end};
  return within(w->object, a) && within(w->object, b);
}

// Go's runtime calls C on the thread's own stack, and C's caller there still has the frame pointer
// of the goroutine, which leads to the stack of that. Any number may be in that register, so the
// record is believed only between two places of one object that has no unwind information at
// either. Where Go's chain ends, the goroutine began.
TIDE_COLD bool tide_step_leap(struct tide_walker *w, struct tide_step *s, uint64_t fp)
{
  w->end = ~0ull;
  w->strayed = true;
  if (!fp || !tide_walker_ask_all(w, fp, 16))
    return false;
  const uint64_t *record = (const uint64_t *)fp;
  uint64_t pc = tide_strip_pac(record[1]);
  struct tide_rule scratch;
  if (!in_one_object(w, (s->key & ~TIDE_RULE_EXACT_PC) - 1, pc - 1) ||
      tide_rule_get(pc, &scratch)->kind != TIDE_RULE_NONE)
    return false;
  s->fp_slot = fp;
  s->ra_slot = fp + 8;
  s->ra_raw = record[1];
  w->r = (struct tide_regs){pc, TIDE_GUESSED_SP(fp, record[0]), record[0]};
  w->root_sp = record[0] ? 0 : w->r.sp;
  return true;
}

// The same where the frame pointer does not tell: by what tide_go_may_be_at() has seen. A goroutine
// begins with the bounds of its stack.
TIDE_COLD bool tide_step_goroutine(struct tide_walker *w, struct tide_step *s)
{
  const struct tide_walker before = *w;
  uint64_t goroutine = ((const uint64_t *)s->sp)[0], depth = ((const uint64_t *)s->sp)[1];
  w->end = ~0ull;
  w->strayed = true;
  if (tide_walker_ask_all(w, goroutine, 16)) {
    const uint64_t *bounds = (const uint64_t *)goroutine;
    if (bounds[0] < bounds[1] && depth <= bounds[1] - bounds[0] &&
        tide_step_leap(w, s, bounds[1] - depth - 8))
      return true;
  }
  *w = before;
  return false;
}

// musl describes neither what a thread runs first nor clone(), which called that, with a frame
// pointer of zero.
TIDE_COLD bool tide_step_begins_thread(struct tide_walker *w, const struct tide_step *s, bool asks)
{
  enum { MOST_WORDS = 16 };
  for (uint64_t i = 0, slot = s->sp; i < MOST_WORDS; i++, slot += 8) {
    struct tide_object object;
    if (!tide_walker_may_read(w, slot, asks))
      return false;
    uint64_t pc = tide_strip_pac(*(const uint64_t *)slot);
    if (tide_object_find(pc - 1, &object) && tide_code_ends_thread(pc))
      return true;
  }
  return false;
}

static bool on_own_stack(const struct tide_unwind *u, uint64_t sp)
{
  return sp - u->stack_lo < u->stack_size;
}

// The walk has come to another stack, or begins.
static void arrive(const struct tide_unwind *u, struct tide_walker *w)
{
  bool own = on_own_stack(u, w->r.sp);
  w->end = own ? u->stack_lo + u->stack_size : ~0ull;
  w->strayed |= !own;
  w->root_sp = own ? 0 : w->root_sp; // C called Go, and may have left anything in the register
}

// Libraries make fibers by hand: their first function returns to code without unwind information
// that ends the program. Above it is next to nothing of the stack: no return address in the few
// words up to a page that cannot be read. Or it has, as boost.context makes it, that code's address
// in the frame pointer too.
enum { FIBER_HEAD_BYTES = 512 };
static bool is_fiber_root(const struct tide_unwind *u, const struct tide_step *s)
{
  if (s->kind != TIDE_RULE_NONE || s->ra_slot || on_own_stack(u, s->sp) || s->sp & 7)
    return false;
  if (s->fp == s->key)
    return true;
  uint64_t end = tide_sys_whole_pages(s->sp);
  if (end - s->sp > FIBER_HEAD_BYTES || !tide_sys_readable(end - 8) || tide_sys_readable(end))
    return false;
  struct tide_object object;
  for (uint64_t at = s->sp; at < end; at += 8)
    if (tide_object_find(tide_strip_pac(*(const uint64_t *)at) - 1, &object))
      return false;
  return true;
}

// Damaged unwind information may lead round in circles, or through whatever looks like a stack: a
// walk ends when it has turned back or stood still too often, and off the thread's own stack when
// it is too long.
enum { MAX_TURNS = 64, MAX_FOREIGN_FRAMES = 1 << 20 };

uint64_t tide_unwind_walk(struct tide_unwind *u, struct tide_regs r, uint64_t seed,
                          enum tide_walk_end *ret_end)
{
  // Known to be readable is what is in use: of another stack than the thread's own, one page.
  uint64_t page = tide_sys_page_bytes, here = (r.sp - 1) & -page, n = 0, n_turns = 0;
  bool began_own = on_own_stack(u, r.sp), more = true;
  struct tide_walker w = {.r = r};
  w.r.pc &= ~TIDE_PC_TAG;
  arrive(u, &w);
  tide_walker_know(&w, began_own ? r.sp - TIDE_RED_ZONE : here, began_own ? w.end : here + page);
  while (more && n_turns < MAX_TURNS && (w.end != ~0ull || n < MAX_FOREIGN_FRAMES) &&
         (n < u->cap || tide_unwind_grow(u, n))) {
    more = tide_step_out(&w, &u->step[n], true);
    bool turned = w.r.sp < u->step[n].sp; // by a signal frame, or by a frame pointer
    n_turns += w.r.sp <= u->step[n].sp;   // a frame record may lead to itself
    w.strayed |= turned;
    // A handler on the thread's own stack may have interrupted code on another one, and the other
    // way round; a function that changes stacks leads back to the first one.
    if (u->step[n].kind == TIDE_RULE_SIGNAL || (w.end == ~0ull && on_own_stack(u, w.r.sp)))
      arrive(u, &w);
    n++;
  }
  if (!more && is_fiber_root(u, &u->step[n - 1]))
    u->step[n - 1].kind = TIDE_RULE_OUTERMOST;
  u->step[0].key |= r.pc & TIDE_PC_TAG;
  *ret_end = more ? TIDE_WALK_BROKEN : tide_step_end(&u->step[n - 1]);
  uint64_t hash = seed == TIDE_HASH_SEED && *ret_end ? TIDE_HASH_SEED_BROKEN : seed;
  for (uint64_t i = 0; i < n; i++) {
    const struct tide_step *s = &u->step[n - 1 - i];
    hash = tide_hash_frame(hash, s->key);
    u->walk[i] = (struct tide_unwind_frame){
        .key = s->key, .hash = hash, .guessed = s->kind == TIDE_RULE_NONE && s->ra_slot};
  }
  return n;
}

TIDE_COLD void *tide_capture_foreign(struct tide_unwind *u, struct tide_regs r)
{
  enum tide_walk_end end;
  uint64_t n = tide_unwind_walk(u, r, TIDE_HASH_SEED, &end);
  return tide_unwind_host->stack_token(u, u->walk, n, end);
}
