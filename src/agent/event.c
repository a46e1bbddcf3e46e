// SPDX-License-Identifier: Apache-2.0
//
// The same steps as in the preload library's hooks: call the real function, record. An allocator
// that is called within another (mimalloc over libc, a calloc by malloc) counts once, as the outer
// one's: the thread's place says that it is inside. A block that a Rust program's allocator has
// from another and hands on as it is counts as that other's.
#include "agent/agent.h"

#include "record/record.h"

// An allocator's function, none of which has more arguments.
typedef uint64_t real_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

static uint64_t call_real(const struct tide_agent_hook *hook, const struct tide_agent_frame *f)
{
  return ((real_function *)hook->real)(TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 1),
                                       TIDE_FRAME_ARGUMENT(f, 2), TIDE_FRAME_ARGUMENT(f, 3),
                                       TIDE_FRAME_ARGUMENT(f, 4));
}

TIDE_HOT uint64_t block_tag(const struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                            uint64_t p)
{
  bool is_handed_on = TIDE_UNLIKELY(hook->family == TIDE_FAMILY_RUST) && seat->inner_block == p;
  return is_handed_on ? (uint64_t)seat->place.inner_tag << TIDE_PC_TAG_SHIFT : hook->tag;
}

// The caller's, with whose block p is and by which call (unwind/walk.h).
TIDE_HOT struct tide_regs regs_of(const struct tide_agent_seat *seat,
                                  const struct tide_agent_hook *hook, uint64_t p,
                                  const struct tide_agent_frame *f)
{
  struct tide_regs regs = TIDE_FRAME_REGS(f);
  regs.pc |= block_tag(seat, hook, p);
  return regs;
}

// A table that counts on blocks to be apart (store/live_map.h) has one place for every 32 bytes. An
// allocator that was loaded later may get memory that had been another's, and put two blocks there.
static bool is_crowded(const struct tide_agent_hook *hook, uint64_t p)
{
  return TIDE_UNLIKELY(hook->is_later) && tide_live_map.apart && p % 32 &&
         tide_live_direct_slot(p >> 3);
}

TIDE_COLD static void lose_block(void)
{
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
}

TIDE_HOT void record_block(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           uint64_t p, uint64_t size, const struct tide_agent_frame *f)
{
  if (TIDE_UNLIKELY(!p)) {
    tide_record_failed();
    return;
  }
  if (!seat->seat.thread && tide_sample_passes(&seat->seat, size))
    return;
  struct tide_thread *t = tide_enter_alloc(&seat->seat);
  if (TIDE_LIKELY(t) && TIDE_UNLIKELY(is_crowded(hook, p))) {
    lose_block();
    tide_leave(t);
  } else if (TIDE_LIKELY(t))
    tide_record_block(t, (void *)p, size, regs_of(seat, hook, p, f));
  else
    tide_sample_block(&seat->seat, (void *)p, size, regs_of(seat, hook, p, f));
}

static uint64_t resize(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                       const struct tide_agent_frame *f, void *old, uint64_t size)
{
  struct tide_resize block = tide_resize_begin(&seat->seat, old);
  uint64_t p = call_real(hook, f);
  if (TIDE_UNLIKELY(p && is_crowded(hook, p))) {
    tide_resize_freed(&seat->seat, block, old);
    lose_block();
  } else if (TIDE_LIKELY(p))
    tide_resize_done(&seat->seat, block, old, (void *)p, size, regs_of(seat, hook, p, f));
  else if (old && !size)
    tide_resize_freed(&seat->seat, block, old);
  else
    tide_resize_failed(&seat->seat, block, old);
  return p;
}

// jemalloc's xallocx gives the size that it could make of the block, where it is.
static uint64_t resize_in_place(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                                const struct tide_agent_frame *f)
{
  void *p = (void *)TIDE_FRAME_ARGUMENT(f, 0);
  uint64_t wanted = TIDE_FRAME_ARGUMENT(f, 1);
  struct tide_resize block = tide_resize_begin(&seat->seat, p);
  uint64_t size = call_real(hook, f);
  if (size >= wanted)
    tide_resize_done(&seat->seat, block, p, p, wanted, regs_of(seat, hook, (uint64_t)p, f));
  else
    tide_resize_failed(&seat->seat, block, p);
  return size;
}

// When a thread ends, glibc frees what it has kept of the blocks that the thread freed: by the same
// function, and they have ended already.
static uint64_t released(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                         const struct tide_agent_frame *f, void *p)
{
  if (TIDE_UNLIKELY(!p))
    return call_real(hook, f);
  if (TIDE_UNLIKELY(tide_agent_is_by_itself(hook, f)))
    tide_record_free_if_known(&seat->seat, p);
  else
    tide_agent_record_free(seat, (uint64_t)p);
  return call_real(hook, f);
}

TIDE_COLD static uint64_t copied(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                                 const struct tide_agent_frame *f)
{
  uint64_t p = call_real(hook, f), n = 0;
  while (p && ((const char *)p)[n])
    n++;
  record_block(seat, hook, p, n + 1, f);
  return p;
}

// Functions that are told an arena first.
TIDE_COLD static uint64_t in_arena(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                                   const struct tide_agent_frame *f)
{
  uint64_t second = TIDE_FRAME_ARGUMENT(f, 1), third = TIDE_FRAME_ARGUMENT(f, 2), p;
  if (hook->role == TIDE_ROLE_ARENA_FREE)
    return released(seat, hook, f, (void *)second);
  if (hook->role == TIDE_ROLE_ARENA_REALLOC)
    return resize(seat, hook, f, (void *)second, third);
  p = call_real(hook, f);
  record_block(seat, hook, p, hook->role == TIDE_ROLE_ARENA_CALLOC ? second * third : third, f);
  return p;
}

static uint64_t outermost(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                          const struct tide_agent_frame *f)
{
  uint64_t p, product;
  switch (hook->role) {
  case TIDE_ROLE_ALLOC:
  case TIDE_ROLE_ALLOC_ALIGNED:
    p = call_real(hook, f);
    record_block(seat, hook, p, TIDE_FRAME_ARGUMENT(f, 0), f);
    return p;
  case TIDE_ROLE_ALLOC_SECOND:
    p = call_real(hook, f);
    record_block(seat, hook, p, TIDE_FRAME_ARGUMENT(f, 1), f);
    return p;
  case TIDE_ROLE_CALLOC:
    p = call_real(hook, f);
    record_block(seat, hook, p, TIDE_FRAME_ARGUMENT(f, 0) * TIDE_FRAME_ARGUMENT(f, 1), f);
    return p;
  case TIDE_ROLE_POSIX:
    p = call_real(hook, f);
    record_block(seat, hook, (uint32_t)p ? 0 : *(uint64_t *)TIDE_FRAME_ARGUMENT(f, 0),
                 TIDE_FRAME_ARGUMENT(f, 2), f);
    return p;
  case TIDE_ROLE_REALLOC:
    return resize(seat, hook, f, (void *)TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 1));
  case TIDE_ROLE_REALLOC_ARRAY:
    // It fails by itself where the product is too large.
    if (__builtin_mul_overflow(TIDE_FRAME_ARGUMENT(f, 1), TIDE_FRAME_ARGUMENT(f, 2), &product))
      return call_real(hook, f);
    return resize(seat, hook, f, (void *)TIDE_FRAME_ARGUMENT(f, 0), product);
  case TIDE_ROLE_REALLOC_FOURTH:
    return resize(seat, hook, f, (void *)TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 3));
  case TIDE_ROLE_RESIZE_IN_PLACE: return resize_in_place(seat, hook, f);
  case TIDE_ROLE_FREE: return released(seat, hook, f, (void *)TIDE_FRAME_ARGUMENT(f, 0));
  case TIDE_ROLE_TEXT: return copied(seat, hook, f);
  case TIDE_ROLE_ARENA_ALIGNED:
  case TIDE_ROLE_ARENA_CALLOC:
  case TIDE_ROLE_ARENA_REALLOC:
  case TIDE_ROLE_ARENA_FREE: return in_arena(seat, hook, f);
  case TIDE_ROLE_UNLOAD: return tide_agent_unloading(seat, hook, f);
  default: return tide_agent_paging(seat, hook, f);
  }
}

void tide_agent_pass_begin(void)
{
  tide_add_acq_rel(&tide_agent_face.n_seatless, 1);
  if (tide_boot_ready())
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
}

void tide_agent_pass_end(void)
{
  tide_add_acq_rel(&tide_agent_face.n_seatless, -1);
}

TIDE_COLD static uint64_t pass_by(const struct tide_agent_hook *hook,
                                  const struct tide_agent_frame *f)
{
  tide_agent_pass_begin();
  uint64_t ret = tide_agent_call(hook, f);
  tide_agent_pass_end();
  return ret;
}

TIDE_COLD static uint64_t outermost_of_rust(struct tide_agent_seat *seat,
                                            const struct tide_agent_hook *hook,
                                            const struct tide_agent_frame *f)
{
  seat->inner_block = 0;
  seat->rusts = f;
  uint64_t ret = outermost(seat, hook, f);
  seat->rusts = NULL;
  return ret;
}

static uint64_t inner(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                      const struct tide_agent_frame *f)
{
  if (hook->role >= TIDE_ROLE_MAP && seat->rusts && seat->place.inside == 2)
    return tide_agent_paging(seat, hook, f);
  uint64_t ret = tide_agent_call(hook, f);
  bool is_posix = hook->role == TIDE_ROLE_POSIX && !(uint32_t)ret;
  tide_agent_note_inner(seat, hook, is_posix ? *(uint64_t *)TIDE_FRAME_ARGUMENT(f, 0) : ret);
  return ret;
}

static uint64_t run_within(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           const struct tide_agent_frame *f)
{
  uint32_t before = seat->place.inside++;
  TIDE_COMPILER_BARRIER();
  uint64_t ret = inner(seat, hook, f);
  TIDE_COMPILER_BARRIER();
  seat->place.inside = before;
  return ret;
}

__attribute__((used)) uint64_t tide_agent_event(const struct tide_agent_frame *f)
{
  const struct tide_agent_hook *hook = (const struct tide_agent_hook *)f->hook;
  if (TIDE_UNLIKELY(hook->role >= TIDE_ROLE_MAP)) {
    // Before the thread's place is touched: it may be a vfork child's, whose exec does not return.
    if (hook->role == TIDE_ROLE_EXEC)
      return tide_agent_exec(hook, f);
    if (!tide_agent_may_look())
      return tide_agent_call(hook, f);
  }
  struct tide_agent_seat *seat = tide_agent_seat();
  if (TIDE_UNLIKELY(!seat))
    return pass_by(hook, f);
  if (TIDE_UNLIKELY(seat->place.inside) && !tide_agent_has_jumped(seat, (uint64_t)(f + 1)))
    return run_within(seat, hook, f);
  tide_agent_begin(seat, (uint64_t)(f + 1));
  uint64_t ret = TIDE_UNLIKELY(hook->family == TIDE_FAMILY_RUST) ? outermost_of_rust(seat, hook, f)
                                                                 : outermost(seat, hook, f);
  tide_agent_end(seat);
  return ret;
}

// The one that gives NULL is asked first. Only what fails there is left to the one that throws.
static uint64_t new_block(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                          const struct tide_agent_frame *f)
{
  bool aligned = hook->role == TIDE_ROLE_NEW_ALIGNED;
  uint64_t size = TIDE_FRAME_ARGUMENT(f, 0), tag = (uint64_t)&tide_agent_face;
  uint64_t p =
      ((real_function *)hook->nothrow)(size, aligned ? TIDE_FRAME_ARGUMENT(f, 1) : tag, tag, 0, 0);
  if (p)
    record_block(seat, hook, p, size, f);
  return p;
}

// Before a call by which the program may bind itself. If the kernel refuses it, the recorder keeps
// still for nothing: it is not told.
static void note_vow(const struct tide_agent_hook *hook, const struct tide_agent_frame *f)
{
  enum tide_vow vow =
      hook->role == TIDE_ROLE_VOW
          ? tide_vow_of_prctl((int)TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 1),
                              TIDE_FRAME_ARGUMENT(f, 2))
          : tide_vow_of_call((long)TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 1),
                             TIDE_FRAME_ARGUMENT(f, 2), TIDE_FRAME_ARGUMENT(f, 3));
  if (TIDE_LIKELY(vow == TIDE_VOW_NONE))
    return;
  struct tide_agent_seat *seat = tide_agent_seat();
  if (!seat) {
    tide_boot_off(TIDE_OFF_FORBIDDEN);
    return;
  }
  seat->place.inside++;
  TIDE_COMPILER_BARRIER();
  tide_vow_take(&seat->seat, vow);
  TIDE_COMPILER_BARRIER();
  seat->place.inside--;
}

__attribute__((used)) uint64_t tide_agent_event_new(struct tide_agent_frame *f)
{
  const struct tide_agent_hook *hook = (const struct tide_agent_hook *)f->hook;
  if (hook->role == TIDE_ROLE_LOADED) {
    tide_agent_loaded();
    f->hook = hook->real;
    return 0;
  }
  if (hook->role == TIDE_ROLE_VOW || hook->role == TIDE_ROLE_CALL) {
    note_vow(hook, f);
    f->hook = hook->real;
    return 0;
  }
  struct tide_agent_seat *seat = tide_agent_seat();
  f->hook = hook->real;
  if (TIDE_UNLIKELY(!seat || !hook->nothrow)) {
    if (tide_boot_ready())
      tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return 0;
  }
  if (seat->place.inside && !tide_agent_has_jumped(seat, (uint64_t)(f + 1)))
    return 0;
  tide_agent_begin(seat, (uint64_t)(f + 1));
  uint64_t p = new_block(seat, hook, f);
  tide_agent_end(seat);
  return p;
}
