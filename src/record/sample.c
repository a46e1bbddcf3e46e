// SPDX-License-Identifier: Apache-2.0
//
// One state serves all threads, under the lock of the samples. A thread that has it is busy: a
// signal handler that comes meanwhile, and whose own event would need it, is turned away and
// counted.
#include "record/sample.h"

#include "record/boot_state.h"
#include "rt/cost.h"
#include "store/live.h"
#include "store/weight.h"

static struct tide_thread *for_all;

void tide_sample_after_fork(bool wiped)
{
  for_all = NULL;
  tide_samples_after_fork(wiped);
}

// How often from now on: as somebody outside wants it, if that can be had.
static uint32_t bits_now(void)
{
  uint32_t wanted = tide_load_relaxed(&tide_store.header->switches.sample_bits);
  return wanted >= TIDE_SAMPLE_MIN_BITS && wanted <= TIDE_SAMPLE_MAX_BITS ? wanted
                                                                          : tide_samples.bits;
}

void tide_sample_begin(void)
{
  if (tide_samples.bits)
    tide_samples.bits = bits_now();
}

// A block is met with a probability that goes by how far the thread has drawn to it, so a sample's
// weight does, too, whatever is wanted by then.
static void draw_next(struct tide_seat *seat)
{
  seat->drawn_bits = bits_now();
  if (seat->drawn_bits != tide_load_relaxed(&tide_samples.bits))
    tide_store_relaxed(&tide_samples.bits, seat->drawn_bits); // fork children begin with it
  seat->until = (uint64_t)tide_weight_draw(seat->drawn_bits, tide_samples_random()) - 1;
}

TIDE_COLD void tide_hold_first(struct tide_seat *seat)
{
  const struct tide_thread *t = seat->thread;
  if (tide_boot_ready() && (seat->phase == TIDE_PHASE_BUSY || (t && t->self == t)))
    return; // a signal handler's, which is turned away, and counted when it is
  struct tide_thread *entered = tide_enter(seat);
  if (entered)
    tide_leave(entered);
  else if (tide_samples.bits && tide_boot_ready())
    draw_next(seat);
}

// Under the lock. Code may have been unloaded since the last one.
static struct tide_thread *thread_at_work(struct tide_seat *seat)
{
  uint32_t code_gen = tide_load_acquire(&tide_store.code_gen);
  for_all = for_all ? for_all : tide_thread_for_all(seat);
  if (for_all && for_all->clock.seen.code_gen != code_gen) {
    tide_unwind_forget(&for_all->unwind);
    for_all->clock.seen.code_gen = code_gen;
  }
  return for_all;
}

static void turn_leave(const struct tide_turn *turn)
{
  uint64_t counted = tide_cold_cycles - turn->cold_from;
  tide_cold_count(tide_cycles() - turn->from - counted);
  tide_store_relaxed(&tide_store.header->cold_ticks, tide_cold_cycles >> TIDE_TICK_SHIFT);
  tide_lock_drop(&tide_samples.lock);
  TIDE_COMPILER_BARRIER();
  turn->seat->phase = turn->phase;
}

// False: the thread is at work already, or there is no memory.
static bool turn_enter(struct tide_seat *seat, struct tide_turn *ret)
{
  *ret = (struct tide_turn){.seat = seat, .phase = seat->phase};
  if (seat->phase == TIDE_PHASE_BUSY) {
    tide_add_relaxed(&tide_store.header->n_lost_busy, 1);
    return false;
  }
  seat->phase = TIDE_PHASE_BUSY;
  TIDE_COMPILER_BARRIER();
  tide_lock_take(&tide_samples.lock);
  ret->from = tide_cycles();
  ret->cold_from = tide_cold_cycles;
  ret->now = tide_live_time(ret->from >> TIDE_TICK_SHIFT);
  ret->thread = thread_at_work(seat);
  if (!ret->thread)
    turn_leave(ret);
  else if (ret->thread->unwind.scope >> TIDE_PC_SCOPE_SHIFT != seat->scope)
    tide_unwind_scope(&ret->thread->unwind, seat->scope);
  return ret->thread;
}

static void book_sample(struct tide_seat *seat, uint32_t bits, void *p, size_t size,
                        struct tide_regs r)
{
  struct tide_turn turn;
  if (!turn_enter(seat, &turn))
    return;
  struct tide_thread *t = turn.thread;
  tide_thread_know_stack(t);
  struct tide_cell *c = tide_capture(&t->unwind, r);
  if (!c || !tide_samples_add(&t->writer, c, bits, (uint64_t)p, size, turn.now))
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  turn_leave(&turn);
}

// A thread that has not drawn yet does so, and then sees whether the block is a sample.
TIDE_COLD void *tide_sample_block(struct tide_seat *seat, void *p, size_t size, struct tide_regs r)
{
  if (!tide_samples.bits)
    return p;
  if (!tide_boot_ready()) {
    if (tide_boot_is_off())
      seat->until = UINT64_MAX;
    return p;
  }
  if (!seat->drawn_bits) {
    draw_next(seat);
    if (tide_sample_passes(seat, size))
      return p;
  }
  uint32_t bits = seat->drawn_bits;
  draw_next(seat);
  if (!tide_boot_is_paused())
    book_sample(seat, bits, p, size, r);
  return p;
}

static bool may_be_sample(const void *p)
{
  uint64_t addr = (uint64_t)p;
  return tide_samples.bits && tide_boot_ready() && tide_samples_may_hold(addr) &&
         tide_samples_hold(addr);
}

TIDE_COLD bool tide_sample_free(struct tide_seat *seat, const void *p)
{
  struct tide_turn turn;
  struct tide_sample sample;
  if (!may_be_sample(p) || !turn_enter(seat, &turn))
    return false;
  bool is_one = tide_samples_take((uint64_t)p, &sample);
  if (is_one)
    tide_samples_end(&turn.thread->writer, &sample, turn.now);
  turn_leave(&turn);
  return is_one;
}

uint64_t tide_sample_free_all(struct tide_seat *seat, uint64_t from, uint64_t to)
{
  struct tide_turn turn;
  struct tide_sample sample;
  uint64_t n = 0;
  if (!tide_samples.bits || !tide_boot_ready() || !turn_enter(seat, &turn))
    return 0;
  // What is taken out leaves its place to one that follows.
  const struct tide_sample_table *table = tide_samples.table;
  for (uint64_t i = 0; table && i <= table->mask;) {
    uint64_t addr = table->entries[i].addr;
    if (!addr || addr < from || addr > to || !tide_samples_take(addr, &sample)) {
      i++;
      continue;
    }
    tide_samples_end(&turn.thread->writer, &sample, turn.now);
    n++;
  }
  turn_leave(&turn);
  return n;
}

void tide_sample_take(struct tide_seat *seat, const void *p, struct tide_sample *ret)
{
  struct tide_turn turn;
  *ret = (struct tide_sample){0};
  if (!may_be_sample(p) || !turn_enter(seat, &turn))
    return;
  tide_samples_take((uint64_t)p, ret);
  turn_leave(&turn);
}

void tide_sample_put_back(struct tide_seat *seat, const struct tide_sample *sample)
{
  struct tide_turn turn;
  if (!tide_boot_ready() || !turn_enter(seat, &turn))
    return;
  if (!tide_samples_put(sample))
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  turn_leave(&turn);
}

void tide_sample_end(struct tide_seat *seat, const struct tide_sample *sample)
{
  struct tide_turn turn;
  if (!tide_boot_ready() || !turn_enter(seat, &turn))
    return;
  tide_samples_end(&turn.thread->writer, sample, turn.now);
  turn_leave(&turn);
}

bool tide_sample_move(struct tide_seat *seat, const struct tide_sample *sample, const void *p,
                      uint64_t size)
{
  struct tide_turn turn;
  if (!tide_boot_ready() || !turn_enter(seat, &turn))
    return false;
  struct tide_writer *w = &turn.thread->writer;
  bool is_paused = tide_boot_is_paused();
  tide_samples_end(w, sample, turn.now);
  if (is_paused && !tide_samples_go_on(w, sample, (uint64_t)p, size, turn.now))
    tide_add_relaxed(&tide_store.header->n_lost_full, 1);
  turn_leave(&turn);
  return is_paused;
}

struct tide_thread *tide_enter_either(struct tide_seat *seat, struct tide_turn *ret_turn)
{
  struct tide_thread *t = tide_enter(seat);
  *ret_turn = (struct tide_turn){.thread = t};
  bool is_held = seat->until > INT64_MAX; // see tide_hold()
  if (t || !tide_samples.bits || !tide_boot_ready() || is_held)
    return t;
  return turn_enter(seat, ret_turn) ? ret_turn->thread : NULL;
}

void tide_leave_either(const struct tide_turn *turn)
{
  if (turn->seat)
    turn_leave(turn);
  else
    tide_leave(turn->thread);
}
