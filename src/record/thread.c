// SPDX-License-Identifier: Apache-2.0
//
// Threads: the first event, the end, and what comes after the end.
//
// A thread's state (caches, index, slot with its cells) goes to a free list when the thread ends
// and to the next thread that starts, so thread churn costs no memory. The end is told by the way
// in, as late as it can. What a thread frees after even that is booked through a borrowed state,
// one event at a time.

#include "record/thread.h"

#include "record/boot_state.h"
#include "record/host.h"
#include "rt/cost.h"
#include "rt/maps.h"
#include "rt/sys.h"
#include "store/pairs.h"

#include <sys/prctl.h>
#include <sys/resource.h>

static struct tide_lock lock;
static struct tide_thread *free_threads;

// The calling thread's own stack. The main thread's stack grows downward from a known top, and the
// kernel keeps at least 128 MiB below it free of other mappings. Another thread's is the part below
// the thread pointer of the mapping that the thread pointer is in, told by /proc/self/maps: glibc
// puts the thread's control block at the top of its stack, whoever allocated it. (sp would not do:
// the first event may come on a coroutine's stack; pthread_getattr_np would, but it allocates.)
static uint64_t main_top;
enum { MAIN_STACK_BYTES = 120 << 20, USUAL_STACK_BYTES = 8 << 20 };

static bool main_bounds(uint64_t sp, uint64_t *ret_lo, uint64_t *ret_size)
{
  struct rlimit limit = {.rlim_cur = 8 << 20};
  TIDE_SYS(SYS_prlimit64, 0, RLIMIT_STACK, 0, &limit);
  uint64_t size = limit.rlim_cur < MAIN_STACK_BYTES ? limit.rlim_cur : MAIN_STACK_BYTES;
  if (!main_top || main_top - sp > size)
    return false;
  *ret_lo = main_top - size;
  *ret_size = size;
  return true;
}

// Writes size 0 when the bounds cannot be told: captures are then full walks.
static void stack_bounds(uint32_t tid, uint64_t *ret_lo, uint64_t *ret_size)
{
  uint64_t sp = (uint64_t)__builtin_frame_address(0), hi;
  *ret_lo = *ret_size = 0;
  if (tid == tide_sys_pid() && main_bounds(sp, ret_lo, ret_size))
    return; // before the thread pointer is looked at: without a libc it may lead nowhere
  uint64_t control_block = (uint64_t)__builtin_thread_pointer();
  if (tide_sys_sandboxed()) { // nobody may be asked: the stack of a new thread is as usual
    *ret_lo = control_block - USUAL_STACK_BYTES;
    *ret_size = sp - *ret_lo < USUAL_STACK_BYTES ? USUAL_STACK_BYTES : 0;
    return;
  }
  if (tide_maps_find(control_block, ret_lo, &hi))
    *ret_size = control_block - *ret_lo;
}

void tide_threads_init(uint64_t main_stack_top)
{
  main_top = main_stack_top;
  tide_total_init();
}

void tide_threads_after_fork(struct tide_seat *seat)
{
  lock.held = 0;
  free_threads = NULL; // their memory was wiped
  seat->thread = NULL;
  seat->phase = TIDE_PHASE_FRESH;
  tide_tally_after_fork();
}

static struct tide_thread *pop_free(void)
{
  tide_lock_take(&lock);
  struct tide_thread *t = free_threads;
  if (t)
    free_threads = t->next_free;
  tide_lock_drop(&lock);
  return t;
}

static void push_free(struct tide_thread *t)
{
  tide_lock_take(&lock);
  t->next_free = free_threads;
  free_threads = t;
  tide_lock_drop(&lock);
}

static struct tide_thread *thread_new(void)
{
  // The slot first: a thread that finds none comes back with every event and must map nothing.
  uint32_t slot = tide_slot_new();
  if (!slot) { // 65,535 threads at once; 127 where address space is scarce
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
    return NULL;
  }
  // A page: one that lay across two would cost each fork child another fault.
  enum { STATE_BYTES = 4096 };
  _Static_assert(sizeof(struct tide_thread) <= STATE_BYTES, "a thread's state has a page");
  struct tide_thread *t = tide_sys_map_once(STATE_BYTES);
  if (!t || !tide_writer_init(&t->writer) || !tide_unwind_init(&t->unwind)) {
    tide_boot_off(TIDE_OFF_NO_MEMORY);
    return NULL;
  }
  t->writer.slot = tide_slot_at(slot);
  t->writer.slot_id = slot;
  t->writer.idle = &t->idle;
  t->writer.owes = &t->owes;
  t->self = t;
  return t;
}

// A state that is nobody's, with its slot awake; NULL when there is none to be had.
static struct tide_thread *thread_adopt(struct tide_seat *seat, uint32_t tid)
{
  struct tide_thread *t = pop_free();
  if (t)
    tide_unwind_forget(&t->unwind);
  else if (!(t = thread_new()))
    return NULL;
  t->seat = seat;
  tide_clock_start(&t->clock);
  tide_thread_clock_read(&t->clock); // what the new owner does is later than what the old one did
  t->clock.sample_from = t->clock.burst = 0;
  tide_store_relaxed(&t->owes, TIDE_OWES_NOTHING);
  t->writer.last = t->writer.prev = 0;
  tide_total_join(&t->writer, tid, t->clock.now);
  tide_tally_adopt(&t->tallied, t->writer.slot);
  tide_unwind_scope(&t->unwind, seat->scope);
  return t;
}

static uint32_t own_tid(void)
{
  uint32_t tid = tide_sys_tid();
  return tid ? tid : tide_host.thread_id();
}

static struct tide_thread *thread_start(struct tide_seat *seat)
{
  uint64_t from = tide_cycles();
  seat->phase = TIDE_PHASE_BUSY;
  TIDE_COMPILER_BARRIER();
  uint32_t tid = own_tid();
  struct tide_thread *t = thread_adopt(seat, tid);
  if (!t) {
    seat->phase = TIDE_PHASE_FRESH;
    return NULL;
  }
  tide_slot_count_owner(t->writer.slot);
  t->clock.seen.code_gen = tide_load_relaxed(&tide_store.code_gen);
  stack_bounds(tid, &t->unwind.stack_lo, &t->unwind.stack_size);
  seat->thread = t;
  t->idle = 0;
  tide_host.thread_began(t, tid);
  seat->phase = TIDE_PHASE_FRESH;
  tide_cold_add(from);
  tide_clock_sample_begin(&t->clock, tide_cycles());
  t->owes = TIDE_OWES_LOOK;
  return t;
}

struct tide_thread *tide_thread_for_all(struct tide_seat *seat)
{
  struct tide_thread *t = thread_adopt(seat, own_tid());
  if (!t)
    return NULL;
  tide_slot_count_owner(t->writer.slot);
  t->clock.seen.code_gen = tide_load_relaxed(&tide_store.code_gen);
  return t;
}

void tide_thread_know_stack(struct tide_thread *t)
{
  uint64_t sp = (uint64_t)__builtin_frame_address(0);
  if (!t->unwind.stack_size && own_tid() == tide_sys_pid())
    main_bounds(sp, &t->unwind.stack_lo, &t->unwind.stack_size);
}

void tide_thread_enter_scope(struct tide_seat *seat, uint32_t scope)
{
  seat->scope = (uint16_t)scope;
  if (seat->thread)
    tide_unwind_scope(&seat->thread->unwind, scope);
}

// The end of a thread, or of what it borrowed after its end.
static void put_away(struct tide_thread *t)
{
  struct tide_seat *seat = t->seat;
  tide_pairs_settle(&t->writer);
  tide_late_close(&t->writer.lates);
  tide_total_leave(&t->writer);
  push_free(t);
  TIDE_COMPILER_BARRIER();
  seat->phase = TIDE_PHASE_GONE;
}

void tide_thread_end(struct tide_seat *seat)
{
  TIDE_SYS(SYS_prctl, PR_GET_NAME, seat->thread->writer.slot->name);
  tide_thread_put_away(seat);
}

void tide_thread_put_away(struct tide_seat *seat)
{
  struct tide_thread *t = seat->thread;
  seat->phase = TIDE_PHASE_BUSY;
  TIDE_COMPILER_BARRIER();
  t->idle = 0;
  seat->thread = NULL;
  put_away(t);
}

static struct tide_thread *borrow(struct tide_seat *seat)
{
  seat->phase = TIDE_PHASE_BUSY; // until it is given back
  TIDE_COMPILER_BARRIER();
  struct tide_thread *t = thread_adopt(seat, own_tid());
  if (t) {
    t->borrowed = true;
    tide_store_relaxed(&t->owes, TIDE_OWES_LOOK);
    t->clock.seen.code_gen = tide_load_relaxed(&tide_store.code_gen);
    t->unwind.stack_size = 0; // full walks
  } else {
    seat->phase = TIDE_PHASE_GONE;
  }
  return t;
}

struct tide_thread *tide_thread_begin(struct tide_seat *seat)
{
  return seat->phase == TIDE_PHASE_GONE ? borrow(seat) : thread_start(seat);
}

static void note_event(struct tide_thread *t, enum tide_event event, const void *p)
{
  struct tide_noted noted = {.event = event, .addr = (uint64_t)p};
  if (event == TIDE_EVENT_ALLOC || event == TIDE_EVENT_RESIZE)
    noted.cell = (uint32_t)tide_cell_index(t->writer.last_cell);
  if (event == TIDE_EVENT_RESIZE) {
    noted.old = t->tallied.resized_from;
    noted.size = t->tallied.resized_to;
  }
  tide_tally_note(&t->tallied, &noted);
}

// What is left to do at the ends of its next events, as far as the thread itself knows.
static enum tide_owed owed(const struct tide_thread *t)
{
  if (t->clock.sample_from || !t->tallied.is_on)
    return t->clock.sample_from ? TIDE_OWES_LOOK : TIDE_OWES_NOTHING;
  return tide_tally_is_own(&t->tallied) ? TIDE_OWES_TALLY : TIDE_OWES_LOOK;
}

TIDE_COLD void tide_leave_slow(struct tide_thread *t, enum tide_event event, const void *p)
{
  if (t->clock.sample_from)
    tide_clock_sample_end(&t->clock, t->writer.slot);
  if (TIDE_UNLIKELY(t->tallied.is_on))
    note_event(t, event, p);
  // Before it looks: what it is called for later, it is told again.
  tide_store_relaxed(&t->owes, owed(t));
  tide_pairs_look(&t->writer);
  if (t->borrowed) {
    t->borrowed = false;
    put_away(t);
    return;
  }
  TIDE_COMPILER_BARRIER();
  t->idle = 1;
}

// Apart, so that the usual case has to save no registers.
__attribute__((noinline)) static void *leave_after_alloc(struct tide_thread *t, void *p)
{
  tide_leave_slow(t, TIDE_EVENT_ALLOC, p);
  return p;
}

void *tide_leave_owing_alloc(struct tide_thread *t, void *p)
{
  if (TIDE_UNLIKELY(tide_load_relaxed(&t->owes) != TIDE_OWES_TALLY))
    return leave_after_alloc(t, p);
  tide_tally_alloc(&t->tallied, (uint64_t)p, (uint32_t)tide_cell_index(t->writer.last_cell));
  TIDE_COMPILER_BARRIER();
  t->idle = 1;
  return p;
}

void tide_leave_owing_free(struct tide_thread *t, const void *p)
{
  if (TIDE_UNLIKELY(tide_load_relaxed(&t->owes) != TIDE_OWES_TALLY)) {
    tide_leave_slow(t, TIDE_EVENT_FREE, p);
    return;
  }
  tide_tally_free(&t->tallied, (uint64_t)p);
  TIDE_COMPILER_BARRIER();
  t->idle = 1;
}

TIDE_COLD struct tide_thread *tide_look_up(struct tide_thread *t)
{
  uint32_t code_gen = tide_load_acquire(&tide_store.code_gen);
  if (TIDE_UNLIKELY(t->clock.seen.code_gen != code_gen)) {
    if (tide_boot_is_off()) {
      TIDE_COMPILER_BARRIER();
      t->idle = 1;
      return NULL;
    }
    tide_unwind_forget(&t->unwind);
    t->clock.seen.code_gen = code_gen;
  }
  if (tide_thread_clock_read(&t->clock))
    tide_pairs_retime(&t->writer, t->clock.now);
  if (TIDE_UNLIKELY(tide_boot_is_paused()))
    t->clock.left = 0;
  tide_tally_look(&t->tallied);
  tide_store_relaxed(&t->owes, owed(t));
  tide_pairs_look(&t->writer); // last: who is called later is told again, by the pulse or by owes
  return t;
}

TIDE_COLD struct tide_thread *tide_look_up_alloc(struct tide_thread *t)
{
  if (!tide_boot_is_paused())
    return tide_look_up(t);
  t->clock.left = 0;
  tide_leave(t);
  return NULL;
}

TIDE_COLD struct tide_thread *tide_enter_alloc_slow(struct tide_seat *seat)
{
  struct tide_thread *t = tide_enter_slow(seat);
  if (!t || !tide_boot_is_paused())
    return t;
  tide_leave(t);
  return NULL;
}
