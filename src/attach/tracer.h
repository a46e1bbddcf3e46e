// SPDX-License-Identifier: Apache-2.0
//
// Stopping the threads of a process, having one of them make system calls, letting go. Nothing of
// the process is called and no lock of it is taken (but see attach/trim.h, which is asked for).
//
// 1. Whoever traces may be killed at any moment: what was written so far harms nobody. A borrowed
//    thread runs code that puts its registers back and goes on by itself.
// 2. A system call that only we interrupted is made again, as if nothing had happened.
// 3. A signal that comes while a thread is stopped arrives when it is let go.
// 4. One that the program ignores wakes nobody: while the thread that it is sent to is traced, the
//    kernel keeps it, and any other that waits would be woken. So those with children, and the
//    first thread, which has kill()'s for the process, are traced only while all others are.
// 5. Who cannot be stopped in time (it waits for its vfork child, say) holds nobody up: all are let
//    go, to be tried again.
//
// ptrace knows threads, not processes: one thread of ours does all of this for a process.
#pragma once
#include "attach/outside.h"
#include "attach/stopped_regs.h"
#include "rt/base.h"

#include <sys/types.h>

struct tide_stopped { // a thread
  pid_t tid;
  int signal;    // stopped on its way to a signal, which must still arrive; 0: none
  bool is_still; // it has been seen to stand still
  bool gone;     // it has ended, or is let go
  struct tide_waiting before;
  struct user_regs_struct regs;
  uint64_t restarted_pc; // where it makes a call again that ended with EINTR; 0: it does not
  struct user_regs_struct interrupted; // before that
};

enum { TIDE_CAVE_BYTES = 288 };
#define TIDE_CAVE_MAGIC UINT64_C(0x65766163656d6474) // "tdmecave"

// What a borrowed thread's code begins with: which range its call maps or unmaps. A thread whose
// tracer is killed makes it all the same, and by this another tracer knows.
struct tide_cave_log {
  uint64_t magic;
  struct tide_range range; // of 0 bytes: none
};

enum { TIDE_CAVES = 8 };

// Where such code may be put. A thread needs one near by to find back (aarch64).
struct tide_caves {
  uint64_t at[TIDE_CAVES];
  size_t n;
};

struct tide_cave {
  uint64_t at; // 0: it is as it was
  size_t n_bytes;
  uint8_t before[TIDE_CAVE_BYTES];
};

struct tide_tracer {
  const struct tide_outside *outside;
  struct tide_stopped *threads;
  size_t n, cap;
  unsigned turn;  // whose it is to be stopped alone
  pid_t *parents; // threads that had children when they were looked at
  size_t n_parents, parents_cap;
  size_t n_listed;       // threads, when one of them was looked for
  uint64_t since_ns;     // when the stop began
  uint64_t stopped_ns;   // how long the last one took
  pid_t held;            // a thread that the caller holds stopped, alone in its process; 0: none
  uint64_t held_back;    // signals that came for it meanwhile: a bit each, from 1 on
  struct tide_cave cave; // what lies there now
  const char *hindered;  // why the last stop failed
  int sys_errno;         // what ptrace said then; 0: nothing
  uint32_t recorder_pid; // on whose behalf: a process that lives as long as the recording
};

// Takes SIGCHLD for itself: for a process that does nothing else.
void tide_tracer_init(struct tide_tracer *tracer, const struct tide_outside *outside);
void tide_tracer_done(struct tide_tracer *tracer);

// Works on a thread that the caller has stopped already, and lets go itself: a process at its
// beginning, which has no other. Call it behind init.
void tide_tracer_hold(struct tide_tracer *tracer, pid_t tid);

// Stops every thread. False: one could not be stopped; all are let go.
bool tide_tracer_stop_all(struct tide_tracer *tracer);
// Stops one thread, another each time, while the others run on; all where each has children.
bool tide_tracer_stop_one(struct tide_tracer *tracer);
bool tide_tracer_stop_idle(struct tide_tracer *tracer); // one that hardly runs
bool tide_tracer_stop_any(struct tide_tracer *tracer);  // it may have children
// Lets all go, and measures how long they stood still.
void tide_tracer_go(struct tide_tracer *tracer);

// Has a stopped thread make a call from code that is put into a cave and taken away when the thread
// is let go. False: a signal came before it; let go, and try again.
bool tide_tracer_call(struct tide_tracer *tracer, const struct tide_caves *caves,
                      struct tide_remote_call *call);

void tide_stopped_move(struct tide_stopped *thread, uint64_t pc);
// Has it begin elsewhere when it is let go, and what it waited in forgotten: code there must see to
// that.
void tide_stopped_divert(struct tide_stopped *thread, uint64_t pc);
uint64_t tide_stopped_pc(const struct tide_stopped *thread);

// An address that a thread may come back to.
struct tide_met {
  uint64_t address;
  bool is_pc; // where it is, or was when a signal came; else a word of its stack, in use or not
};

// Calls each for the thread's pc and for every word near the top of its stack: return addresses,
// and the pcs that frames of signal handlers keep. True: one said so.
bool tide_stopped_any(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                      bool (*each)(const void *context, const struct tide_met *met),
                      const void *context);

// The same for the whole stack, up to 64 MiB of it: a handler may have much on its own, above the
// frame of what it interrupted.
bool tide_stopped_any_deep(const struct tide_tracer *tracer, const struct tide_stopped *thread,
                           bool (*each)(const void *context, const struct tide_met *met),
                           const void *context);

// Where libc keeps a thread's own number, counted from its thread pointer: the same place in all
// threads that are stopped. 0: not found.
int32_t tide_tracer_tid_offset(const struct tide_tracer *tracer);

// When a process was born, by which another knows whether it still lives; 0: there is none.
uint32_t tide_tracer_born(uint32_t pid);
bool tide_tracer_lives(uint32_t pid, uint32_t born);
