// SPDX-License-Identifier: Apache-2.0
//
// aarch64: DWARF register numbers, the signal frame, the cycle counter, pointer authentication,
// system calls.
#pragma once
#include "rt/base.h"
#include <sys/syscall.h>
#include <ucontext.h>

#define TIDE_ARCH_ID TIDE_ARCH_AARCH64
#define TIDE_CODE_ALIGN_BITS 2 // of instructions

enum { TIDE_REG_FRAME = 29, TIDE_REG_STACK = 31, TIDE_REG_RETURN = 30, TIDE_REG_ARGUMENTS = -1 };

// The signal frame starts with a 128-byte siginfo.
#define TIDE_SIGFRAME_UCONTEXT(sp) ((ucontext_t *)((sp) + 128))
#define TIDE_UC_PC(uc) ((uc)->uc_mcontext.pc)
#define TIDE_UC_SP(uc) ((uc)->uc_mcontext.sp)
#define TIDE_UC_FP(uc) ((uc)->uc_mcontext.regs[29])
// A leaf interrupted by a signal has its return address in x30 alone.
#define TIDE_UC_LR_SLOT(uc) ((uint64_t) & (uc)->uc_mcontext.regs[30])
#define TIDE_UC_ARGUMENTS_SLOT(uc) ((uint64_t)0)

// mov x8,#139; svc #0
#define TIDE_SIGRETURN_CODE                                                                        \
  {                                                                                                \
    0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4                                                 \
  }

// The caller's stack pointer, given a frame record and the frame pointer saved in it: frame
// records lie at the bottom of their frames, so the caller's is where its own record is.
#define TIDE_GUESSED_SP(record, saved_fp) ((saved_fp) > (record) ? (saved_fp) : (record) + 16)

// Where Go's runtime calls C, it leaves C the frame pointer of the thread's own stack. The
// goroutine and the depth of its stack are at the stack pointer; the record is just below where
// that was.
#define TIDE_GO_DEPTH_AT_SP 1

// Return addresses may be signed. Compare raw words, strip only what is stored.
TIDE_HOT uint64_t tide_strip_pac(uint64_t pc)
{
  register uint64_t x30 __asm__("x30") = pc;
  __asm__("hint #7" : "+r"(x30)); // xpaclri: a no-op on cores without PAC
  return x30;
}

// The processor ignores the top byte of an address; allocators that tag memory put tags there.
TIDE_HOT uint64_t tide_untag(uint64_t address)
{
  return address & ~(0xffull << 56);
}

TIDE_HOT uint64_t tide_cycles(void)
{
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
}
#define TIDE_TICK_SHIFT 0
TIDE_HOT uint64_t tide_ticks_per_second(void)
{
  uint64_t v;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
  return v;
}

// Ticks that live blocks keep their births in: the counter's rate may be anything.
TIDE_HOT uint32_t tide_unit_bits(uint32_t measured)
{
  return measured;
}

TIDE_HOT void tide_cpu_relax(void)
{
  __asm__ volatile("yield");
}

// Where a load may be part of the instruction that needs what it gives, which it cannot be here;
// and what has those before it come before those after it, which acquire does.
#define tide_load_folded(p) tide_load_acquire(p)
TIDE_HOT void tide_loads_in_order(void) {}

// A raw system call: errno is not touched, failures come back as -errno.
static inline long tide_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
  register long x8 __asm__("x8") = nr;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
