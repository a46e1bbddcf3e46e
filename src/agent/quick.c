// SPDX-License-Identifier: Apache-2.0
//
// Calls from code of other objects, the usual ones: that code keeps to the calling convention, so
// these are functions like any other, with what they are called with, and save what compilers save.
// The island (attach/island.h) tells by the caller's address, and hands over the hook as one
// argument more.
#include "agent/agent.h"

#include "record/record.h"

TIDE_HOT void free_go_on(void *p)
{
  (void)p;
}
#include "record/free_ways.def"

struct arguments {
  uint64_t a, b, c, d, e;
};
typedef uint64_t real_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);

static uint64_t call_real(const struct tide_agent_hook *hook, const struct arguments *x)
{
  return ((real_function *)hook->real)(x->a, x->b, x->c, x->d, x->e);
}

_Static_assert(TIDE_AGENT_TAG_SHIFT + 0 == TIDE_PC_TAG_SHIFT, "as the tracer has it");

// Read anew each time: kept, it would take a register that has to be saved.
TIDE_HOT uint64_t tag_of(const struct tide_agent_hook *hook)
{
  return *(const volatile uint64_t *)&hook->tag;
}

TIDE_HOT void record_block(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           uint64_t p, uint64_t size, struct tide_regs caller)
{
  if (!seat->seat.thread && tide_sample_passes(&seat->seat, size))
    return;
  struct tide_thread *t = tide_enter_alloc(&seat->seat);
  caller.pc |= tag_of(hook);
  if (TIDE_LIKELY(t))
    tide_record_block(t, (void *)p, size, caller);
  else
    tide_sample_block(&seat->seat, (void *)p, size, caller);
}

// Without overflow where the real function succeeds.
TIDE_HOT uint64_t size_asked(const struct tide_agent_hook *hook, uint64_t a, uint64_t b)
{
  return TIDE_LIKELY(hook->role == TIDE_ROLE_ALLOC) ? a
         : hook->role == TIDE_ROLE_CALLOC           ? a * b
         : hook->role == TIDE_ROLE_ALLOC_SECOND     ? b
                                                    : a;
}

// The thread's place has to be looked for, or it is inside of another hook. Of a call for which
// NULL is given nothing else is to be done here.
TIDE_COLD static struct tide_agent_seat *
find_seat(const struct tide_agent_hook *hook, const struct arguments *x, uint64_t sp, uint64_t *ret)
{
  struct tide_agent_seat *seat = tide_agent_seat();
  if (seat && (!seat->place.inside || tide_agent_has_jumped(seat, sp)))
    return seat;
  if (!seat)
    tide_agent_pass_begin();
  *ret = call_real(hook, x);
  if (!seat)
    tide_agent_pass_end();
  else
    tide_agent_note_inner(seat, hook, *ret);
  return NULL;
}

TIDE_COLD static uint64_t alloc_slowly(const struct tide_agent_hook *hook,
                                       const struct arguments *x, struct tide_regs caller)
{
  uint64_t p;
  struct tide_agent_seat *seat = find_seat(hook, x, caller.sp, &p);
  if (!seat)
    return p;
  tide_agent_begin(seat, caller.sp);
  p = call_real(hook, x);
  if (p)
    record_block(seat, hook, p, size_asked(hook, x->a, x->b), caller);
  else
    tide_record_failed();
  tide_agent_end(seat);
  return p;
}

// Only while the real function runs is the thread inside of it: what is called from here on is the
// recorder's own code, where a handler that allocates finds the thread at work (record/thread.h).
#define ALLOCATE(size)                                                                             \
  struct tide_agent_seat *seat = tide_agent_seat_at_hand();                                        \
  if (TIDE_UNLIKELY(!seat))                                                                        \
    return alloc_slowly(hook, &(struct arguments){a, b, c, d, e}, TIDE_CALLER_REGS());             \
  uint64_t asked = (size);                                                                         \
  tide_agent_begin(seat, TIDE_AGENT_SP_HERE());                                                    \
  uint64_t p = ((real_function *)hook->real)(a, b, c, d, e);                                       \
  tide_agent_end(seat);                                                                            \
  if (TIDE_UNLIKELY(!p)) {                                                                         \
    tide_record_failed();                                                                          \
    return 0;                                                                                      \
  }                                                                                                \
  if (TIDE_UNLIKELY(!seat->seat.thread) && tide_sample_passes(&seat->seat, asked))                 \
    return p;                                                                                      \
  struct tide_thread *t = tide_enter_alloc(&seat->seat);                                           \
  if (TIDE_UNLIKELY(!t))                                                                           \
    return (uint64_t)tide_sample_block(&seat->seat, (void *)p, asked,                              \
                                       TIDE_CALLER_REGS_TAGGED(tag_of(hook)));                     \
  return (uint64_t)tide_record_at(t, TIDE_CAPTURE_TAGGED(&t->unwind, tag_of(hook)), (void *)p,     \
                                  asked)

TIDE_AGENT_ENTRY uint64_t tide_agent_alloc(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                           uint64_t e, const struct tide_agent_hook *hook)
{
  ALLOCATE(size_asked(hook, a, b));
}

// malloc() has its own: it does not ask which of its arguments is the size.
TIDE_AGENT_ENTRY uint64_t tide_agent_malloc(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                            uint64_t e, const struct tide_agent_hook *hook)
{
  ALLOCATE(a);
}

void tide_agent_record_free(struct tide_agent_seat *seat, uint64_t p)
{
  tide_free_entered(&seat->seat, tide_enter_quickly(&seat->seat), (void *)p);
}

TIDE_COLD static uint64_t free_slowly(const struct tide_agent_hook *hook, const struct arguments *x,
                                      uint64_t sp)
{
  uint64_t ret;
  struct tide_agent_seat *seat = find_seat(hook, x, sp, &ret);
  if (!seat)
    return ret;
  tide_agent_begin(seat, sp);
  if (x->a)
    tide_agent_record_free(seat, x->a);
  ret = call_real(hook, x);
  tide_agent_end(seat);
  return ret;
}

typedef uint64_t free_function(uint64_t a, uint64_t b, uint64_t c); // none has more arguments

TIDE_HOT uint64_t free_really(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                              uint64_t a, uint64_t b, uint64_t c, uint64_t sp)
{
  tide_agent_begin(seat, sp);
  uint64_t ret = ((free_function *)hook->real)(a, b, c);
  tide_agent_end(seat);
  return ret;
}

// The end of a block in other ways than the usual. Apart, as this has to save registers.
__attribute__((noinline)) static uint64_t free_by_ways(uint64_t a, uint64_t b, uint64_t c,
                                                       struct tide_agent_seat *seat,
                                                       struct tide_thread *t,
                                                       const struct tide_agent_hook *hook)
{
  if (TIDE_LIKELY(a))
    tide_free_entered(&seat->seat, t, (void *)a);
  else if (t)
    tide_leave(t);
  return free_really(seat, hook, a, b, c, TIDE_AGENT_SP_HERE());
}

__attribute__((noinline)) static uint64_t free_and_pay(uint64_t a, uint64_t b, uint64_t c,
                                                       struct tide_agent_seat *seat,
                                                       struct tide_thread *t,
                                                       const struct tide_agent_hook *hook)
{
  tide_leave_owing_free(t, (const void *)a);
  return free_really(seat, hook, a, b, c, TIDE_AGENT_SP_HERE());
}

// It begins as tide_free_entered() does: what is usual there calls nobody but the real function.
// The latest block, which that is about, is not NULL.
TIDE_AGENT_ENTRY uint64_t tide_agent_free(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                          uint64_t e, const struct tide_agent_hook *hook)
{
  struct tide_agent_seat *seat = tide_agent_seat_at_hand();
  if (TIDE_UNLIKELY(!seat))
    return free_slowly(hook, &(struct arguments){a, b, c, d, e}, (uint64_t)__builtin_dwarf_cfa());
  struct tide_thread *t = tide_enter_quickly(&seat->seat);
  if (!t || !tide_writer_waits(&t->writer) || !tide_pairs_free_again(&t->writer, a))
    return free_by_ways(a, b, c, seat, t, hook);
  if (TIDE_UNLIKELY(!tide_leave_quickly(t)))
    return free_and_pay(a, b, c, seat, t, hook);
  return free_really(seat, hook, a, b, c, TIDE_AGENT_SP_HERE());
}
