// SPDX-License-Identifier: Apache-2.0
//
// What the registers of a stopped thread mean: one part per architecture, under arch/.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

// A system call that a thread was seen to wait in before it was stopped.
struct tide_waiting {
  long number; // -1: none, or not known
  uint64_t first, pc;
};

struct tide_remote_call {
  long number, arguments[6];
  long result; // −errno when it failed
  bool done;
};

uint64_t tide_regs_pc(const struct user_regs_struct *regs);
void tide_regs_set_pc(struct user_regs_struct *regs, uint64_t pc);
uint64_t tide_regs_sp(const struct user_regs_struct *regs);
long tide_regs_result(const struct user_regs_struct *regs); // of a system call

// Where threads have what libc knows of them: their thread pointer, and from there on, or up to it.
uint64_t tide_regs_thread_pointer(const struct user_regs_struct *regs, int tid);
extern const int64_t tide_regs_control_block_at;
// Is this word of a stack, of n from here on, the pc in a frame that the kernel makes for a signal?
bool tide_regs_is_signal_pc(const uint64_t *word, size_t n);

// Does a stopped thread's first argument get lost, so that it has to be looked at before?
extern const bool tide_regs_lose_argument;

// Has it ended with EINTR? Its number; -1: it has not, or there is none.
long tide_regs_interrupted(const struct user_regs_struct *regs, const struct tide_waiting *before);
// Has the call made again. With the constant true, a handler that runs before it ends the call with
// EINTR, as without us; else whoever traces must see to that.
extern const bool tide_regs_handler_ends_call;
void tide_regs_restart(struct user_regs_struct *regs, const struct tide_waiting *before);

// Writes code that makes the call, puts back every register that it used and goes on where the
// thread was, or makes its interrupted system call again. It needs no stack and no flags. Returns
// its length, or 0 when it is longer than size, or the thread is too far from the cave to go back.
size_t tide_regs_write_call(const struct user_regs_struct *regs,
                            const struct tide_remote_call *call, uint64_t cave, uint8_t *code,
                            size_t size);
// The registers with which a thread begins it.
struct user_regs_struct tide_regs_at_call(const struct user_regs_struct *regs, uint64_t cave);

// ---- a function of the process ----
//
// Called by a stopped thread, on a stack of its own; then every register is put back, and the
// thread goes on where it was, whether somebody still traces it or not.

struct tide_borrowed_call {
  uint64_t function;  // of an int, which is 0 here, that returns an int
  uint64_t save;      // 512 bytes, at a multiple of 16, for the registers of floating point
  uint64_t result;    // where the int goes
  uint64_t done;      // becomes 1 when it has returned; a few instructions are left to run then
  uint64_t stack_top; // a multiple of 16
};

// The system call that a thread waits in and will make again, and its second argument; -1: none.
long tide_regs_waiting(const struct user_regs_struct *regs, uint64_t *ret_second);
// Returns its length, or 0 when it is longer than size, or this cannot be done on such a machine.
size_t tide_regs_write_borrowed(const struct user_regs_struct *regs,
                                const struct tide_borrowed_call *call, uint8_t *code, size_t size);

// ---- a pause ----
//
// A function that makes a system call that does nothing, and returns: one part per architecture,
// under arch/.

enum { TIDE_PAUSE_MAX_BYTES = 16 };
extern const uint8_t tide_pause_code[];
extern const size_t tide_pause_bytes;
