// SPDX-License-Identifier: Apache-2.0
//
// The recorder as a way in sees it: how it boots, what it is told of forks, of code and of the end,
// and one event, from a hook to the store.
#pragma once
#include "record/boot_state.h"
#include "record/sample.h"
#include "record/thread.h"
#include "store/pairs.h"

// Starting, restarting and stopping the recorder in one process image (boot.c). Boot happens at the
// first hook call, not in a constructor (a program may allocate hundreds of times before ours would
// run), and again in a fork child, at its first event.

bool tide_boot(struct tide_seat *seat); // true: recording

// For a way in that hears of a call of fork(): what the parent held is noted in the child's store.
// A child of the bare system call is none the worse.
void tide_boot_before_fork(struct tide_seat *seat);
// From now on no fork child gets this process's store. Else that is done before the first fork().
void tide_boot_disinherit(void);
void tide_boot_after_fork(struct tide_seat *seat); // in the parent
// In the child, only where the kernel cannot be trusted to wipe (tide_store.inherited): elsewhere a
// child that never allocates does nothing of ours, and touches no page.
void tide_boot_in_fork_child(struct tide_seat *seat);

// The process ends, as far as it tells: for whoever reads a store that no supervisor kept.
void tide_boot_note_end(void);

// From now on there are blocks that come by functions that are not hooked, what: it stays. Nothing
// is called complete any more.
void tide_boot_note_unseen(const char *what);

// Is this a fork child that has not been recorded yet and whose parent has ended?
bool tide_boot_is_orphan(void);

// Code (modules.c). Meets every loaded object: later there may be no way to. Takes the loader's
// lock, so it is called on behalf of the program's own calls alone.
void tide_modules_meet_all(void);
// Code was unloaded: find out whose.
void tide_modules_unloaded(void);

void tide_record_no_room(void); // a block found none in the live map

// A new block at a stack (NULL: there is no room for one), by a thread that has entered. Gives the
// block, so that a hook can end with it: it then has to save little across the real call.
void *tide_record_at(struct tide_thread *t, struct tide_cell *c, void *p, size_t size);

TIDE_HOT void *tide_record_block(struct tide_thread *t, void *p, size_t size, struct tide_regs r)
{
  return tide_record_at(t, tide_capture(&t->unwind, r), p, size);
}

void tide_record_failed(void); // an allocation returned NULL

void tide_record_unknown(const void *p); // the end of a block that is not known

// The end of a block, by a thread that has entered. False: it was not known.
TIDE_HOT bool tide_record_end(struct tide_thread *t, void *p)
{
  bool known = tide_pairs_free_waiting(&t->writer, (uint64_t)p) ||
               tide_pairs_free_slowly(&t->writer, (uint64_t)p, t->clock.now);
  if (TIDE_UNLIKELY(!known))
    tide_record_unknown(p);
  tide_leave_after(t, known ? TIDE_EVENT_FREE : TIDE_EVENT_NONE, p);
  return known;
}

TIDE_HOT bool tide_record_free(struct tide_seat *seat, void *p)
{
  struct tide_thread *t = tide_enter(seat);
  return TIDE_LIKELY(t) ? tide_record_end(t, p) : tide_sample_free(seat, p);
}

// The same, of a block that may have ended before.
void tide_record_free_if_known(struct tide_seat *seat, void *p);

// A resize, in two halves around the real call: the old block leaves the map before the call,
// because afterwards its address may be another thread's; it is counted only when the call has
// succeeded, and put back when it has not.
struct tide_resize {
  struct tide_block block;   // of no cell: the old block is not known
  uint64_t touched;          // of a large one: see store/touch.h
  struct tide_sample sample; // where only some are recorded: of no address, it was none
};

struct tide_resize tide_resize_begin(struct tide_seat *seat, void *old);
void tide_resize_failed(struct tide_seat *seat, struct tide_resize resize, void *old);
// To size 0: it is gone.
void tide_resize_freed(struct tide_seat *seat, struct tide_resize resize, void *old);
void tide_resize_done(struct tide_seat *seat, struct tide_resize resize, void *old, void *p,
                      size_t size, struct tide_regs r);

// Something that the program counts (event.c), with a weight, at a stack. False: it is not
// recorded, or not now.
bool tide_event_record(struct tide_seat *seat, uint64_t weight, struct tide_regs r);

// Page-level memory (pages.c): what the program itself maps with mmap and brk, by stack, apart from
// the heap.

// [start, start + bytes) was mapped at the given stack; whatever was there before is gone.
void tide_pages_mapped(struct tide_seat *seat, uint64_t start, uint64_t bytes, struct tide_regs r);
// It was [old, old + old_bytes), which is gone; 0 bytes: it was nothing, or that stays.
void tide_pages_remapped(struct tide_seat *seat, uint64_t old, uint64_t old_bytes, uint64_t start,
                         uint64_t bytes, struct tide_regs r);
// The range is gone. It may hold several mappings, parts of some, or none that we know.
void tide_pages_unmapped(struct tide_seat *seat, uint64_t start, uint64_t bytes);

// What a program may do that forbids the recorder something (vow.c): by prctl, or by any call.
enum tide_vow { TIDE_VOW_NONE, TIDE_VOW_NO_CYCLES, TIDE_VOW_STRICT, TIDE_VOW_FILTER };
enum tide_vow tide_vow_of_prctl(long what, uint64_t how, uint64_t program);
enum tide_vow tide_vow_of_call(long number, uint64_t a, uint64_t b, uint64_t c);
// Before the call. True: no system call of ours is made from now on, and that was not so before.
bool tide_vow_take(struct tide_seat *seat, enum tide_vow vow);
