// SPDX-License-Identifier: Apache-2.0
//
// What the agent's files tell each other: who the calling thread is (seats.c), what happens when a
// hooked function is called (event.c), and which objects are loaded (objects.c).
#pragma once
#include "agent/arch.h"
#include "ask/ask.h"
#include "record/thread.h"
#include "store/agent_face.h"
#include "unwind/host.h"

// The calling thread, known by its thread pointer: the agent has no thread-local storage of its
// own. glibc gives a dead thread's pointer to the next one, musl never does, so each place says
// whose it is by the thread's number, too, and those of threads that have ended are given away. A
// fork child has its parent's places, and takes them over one by one.

extern struct tide_agent_face tide_agent_face;
// The same by a name that nobody else can give: a field of it is read by one instruction.
extern struct tide_agent_face tide_agent_face_here __attribute__((visibility("hidden")));

struct tide_agent_seat {
  struct tide_agent_place place;
  struct tide_seat seat;
  // Within a hook of a Rust allocator of the program's own: the frame of its caller, else NULL; and
  // the block that another allocator gave it last, which it may hand on as it is.
  const struct tide_agent_frame *rusts;
  uint64_t inner_block; // of place.inner_tag
  struct tide_asking asking;
} __attribute__((aligned(TIDE_AGENT_SEAT_BYTES)));
_Static_assert(sizeof(struct tide_agent_seat) == TIDE_AGENT_SEAT_BYTES, "as the tracer has it");

extern struct tide_agent_seat tide_agent_seats[TIDE_AGENT_SEATS];

struct tide_agent_seat *tide_agent_seat_slowly(uint64_t thread_pointer);

// Threads' stacks follow one another at equal distances. The factor, which fits into an
// instruction, is the best of 600 by chance: at each of 600 distances of up to 1 GiB, 500 threads
// have a place each, and of 2,000 at least nine in ten.
TIDE_HOT uint64_t tide_agent_spread(uint64_t thread_pointer)
{
  return thread_pointer * 0x62cbe2dbu;
}

TIDE_HOT uint32_t tide_agent_home(uint64_t thread_pointer)
{
  return (uint32_t)(tide_agent_spread(thread_pointer) >> 32) % TIDE_AGENT_SEATS;
}

// Is the place still that of the thread that took it?
TIDE_HOT bool tide_agent_is_of(const struct tide_agent_place *place, uint64_t thread_pointer)
{
  int64_t offset = tide_agent_face.tid_offset;
  return place->thread_pointer == thread_pointer &&
         (!offset || *(const uint32_t *)(thread_pointer + (uint64_t)offset) == place->tid);
}

TIDE_HOT struct tide_agent_seat *tide_agent_home_seat(uint64_t thread_pointer)
{
  // As above, times the bytes of a place, which saves an instruction.
  uint64_t at = tide_agent_spread(thread_pointer) >> (32 - TIDE_AGENT_SEAT_SHIFT) &
                (uint64_t)(TIDE_AGENT_SEATS - 1) << TIDE_AGENT_SEAT_SHIFT;
  struct tide_agent_seat *seat = (struct tide_agent_seat *)((char *)tide_agent_seats + at);
  __asm__("" : "+r"(seat)); // kept as it is, not as a number that is made an address at each use
  return seat;
}

// NULL: there is no place for it.
TIDE_HOT struct tide_agent_seat *tide_agent_seat(void)
{
  uint64_t tp = (uint64_t)__builtin_thread_pointer();
  struct tide_agent_seat *seat = tide_agent_home_seat(tp);
  return TIDE_LIKELY(tide_agent_is_of(&seat->place, tp)) ? seat : tide_agent_seat_slowly(tp);
}

// What a program without thread-local storage maps is not recorded: nobody can be told apart there.
// One that is attached to has got over that, and so has one that has been seen with it.
extern bool tide_agent_has_begun;
bool tide_agent_may_look_now(void);
TIDE_HOT bool tide_agent_may_look(void)
{
  return TIDE_LIKELY(tide_agent_has_begun) || tide_agent_may_look_now();
}

// Of a thread that is in no hook. NULL: it is, or its place has to be looked for. What there is to
// ask is asked at once. Where no number is known, a word that is there in any case is masked out.
TIDE_HOT struct tide_agent_seat *tide_agent_seat_at_hand(void)
{
  uint64_t tp = (uint64_t)__builtin_thread_pointer();
  struct tide_agent_seat *seat = tide_agent_home_seat(tp);
  if (TIDE_UNLIKELY(seat->place.thread_pointer != tp))
    return NULL;
  uint32_t tid = *(const uint32_t *)(tp + (uint64_t)(int64_t)tide_agent_face_here.tid_offset);
  uint32_t mask = tide_agent_face_here.tid_mask;
  return TIDE_LIKELY(!(((tid ^ seat->place.tid) & mask) | seat->place.inside)) ? seat : NULL;
}

// The thread is inside of a hook that it has left by a jump. sp: of the caller of the one that it
// is in now. Its event is lost.
bool tide_agent_has_jumped(struct tide_agent_seat *seat, uint64_t sp);

// Around the outermost hook.
TIDE_HOT void tide_agent_begin(struct tide_agent_seat *seat, uint64_t sp)
{
  seat->place.mark = (uint32_t)sp;
  seat->place.inside = 1;
  __asm__ volatile("" ::: "memory");
}

TIDE_HOT void tide_agent_end(struct tide_agent_seat *seat)
{
  __asm__ volatile("" ::: "memory");
  seat->place.inside = 0;
}

// Within another hook, `hook` gave p, if it is of those that allocate.
TIDE_HOT void tide_agent_note_inner(struct tide_agent_seat *seat,
                                    const struct tide_agent_hook *hook, uint64_t p)
{
  if (hook->role < TIDE_ROLE_FREE && hook->family != TIDE_FAMILY_RUST) {
    seat->inner_block = p;
    seat->place.inner_tag = (uint32_t)(hook->tag >> TIDE_AGENT_TAG_SHIFT);
  }
}

// Around a call by a thread for which there is no place. It must be known to be here all the same.
void tide_agent_pass_begin(void);
void tide_agent_pass_end(void);

// The block p, which is not NULL, ends (quick.c).
void tide_agent_record_free(struct tide_agent_seat *seat, uint64_t p);

// Calls what was hooked, with as many arguments as any of them has.
static inline uint64_t tide_agent_call(const struct tide_agent_hook *hook,
                                       const struct tide_agent_frame *f)
{
  typedef uint64_t function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t g);
  return ((function *)hook->real)(TIDE_FRAME_ARGUMENT(f, 0), TIDE_FRAME_ARGUMENT(f, 1),
                                  TIDE_FRAME_ARGUMENT(f, 2), TIDE_FRAME_ARGUMENT(f, 3),
                                  TIDE_FRAME_ARGUMENT(f, 4), TIDE_FRAME_ARGUMENT(f, 5));
}

// Did the hooked function's own library call it?
TIDE_HOT bool tide_agent_is_by_itself(const struct tide_agent_hook *hook,
                                      const struct tide_agent_frame *frame)
{
  return frame->pc - hook->own_lo < hook->own_bytes;
}

// Code may be unloaded by this call (objects.c).
uint64_t tide_agent_unloading(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                              const struct tide_agent_frame *frame);

// The loader has something to say (loads.c). It may take long, and no frame of ours is left.
void tide_agent_loaded(void);

// A function that maps or unmaps pages was called, by no allocator that is hooked (pages.c).
uint64_t tide_agent_paging(struct tide_agent_seat *seat, const struct tide_agent_hook *hook,
                           const struct tide_agent_frame *frame);

// A hooked function was called: with these registers, by this hook. What it returns goes
// to the caller.
uint64_t tide_agent_event(const struct tide_agent_frame *frame);

// Has the calling thread a thread pointer? A static program maps pages before it has made one.
bool tide_agent_has_thread_pointer(void);

// The same of one that allocates or frees, called by code that keeps to the calling convention
// (quick.c): with its own arguments, and the hook behind them. Islands jump here, wherever they
// are: it begins with a landing pad (meson.build).
#define TIDE_AGENT_ENTRY __attribute__((used, visibility("default"))) TIDE_AGENT_PAD
uint64_t tide_agent_alloc(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                          const struct tide_agent_hook *hook);
uint64_t tide_agent_malloc(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                           const struct tide_agent_hook *hook);
uint64_t tide_agent_free(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                         const struct tide_agent_hook *hook);
// The program asks something of its recorder, by its door, with what that is called with (asked.c).
long tide_agent_ask(int what, const void *p, void *q, uint64_t n, int k,
                    const struct tide_agent_hook *hook);

// The same of a function that may throw, through whose caller no frame of ours may be: no unwinder
// knows how to leave one. 0: the real function, whose address is then the frame's hook, is to
// be gone on with as if there were no hook.
uint64_t tide_agent_event_new(struct tide_agent_frame *frame);

// The process is about to become another program: the supervisor hears of what would not be
// recorded otherwise, and may put an agent into that, too.
uint64_t tide_agent_exec(const struct tide_agent_hook *hook, const struct tide_agent_frame *frame);

// Calls a function on another stack, of which stack_top is the upper end, a multiple of 16.
void tide_agent_call_on(uint64_t stack_top, void (*function)(void *), void *argument);

// Loaded objects without the loader's help: /proc/self/maps names every file that is mapped, and
// the page at its offset 0 holds the program headers.
bool tide_agent_object_at(uint64_t pc, struct tide_object *ret_object);
void tide_agent_each_object(void (*met)(uint64_t pc));
