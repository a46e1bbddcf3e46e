// SPDX-License-Identifier: Apache-2.0
//
// x86_64: DWARF register numbers, the signal frame, the cycle counter, system calls.
#pragma once
#include "rt/base.h"
#include <sys/syscall.h>
#include <ucontext.h>

#define TIDE_ARCH_ID TIDE_ARCH_X86_64
#define TIDE_CODE_ALIGN_BITS 0 // of instructions

enum { TIDE_REG_FRAME = 6, TIDE_REG_STACK = 7, TIDE_REG_RETURN = 16, TIDE_REG_ARGUMENTS = 10 };

// At the return into the sigreturn stub, sp points to the ucontext.
#define TIDE_SIGFRAME_UCONTEXT(sp) ((ucontext_t *)(sp))
#define TIDE_UC_PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])
#define TIDE_UC_SP(uc) ((uc)->uc_mcontext.gregs[REG_RSP])
#define TIDE_UC_FP(uc) ((uc)->uc_mcontext.gregs[REG_RBP])
// No link register: return addresses are always on the stack.
#define TIDE_UC_LR_SLOT(uc) ((uint64_t)0)
// Functions that realign their stack keep the address of their arguments in r10 for a moment.
#define TIDE_UC_ARGUMENTS_SLOT(uc) ((uint64_t) & (uc)->uc_mcontext.gregs[REG_R10])

// mov $15,%rax; syscall
#define TIDE_SIGRETURN_CODE                                                                        \
  {                                                                                                \
    0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05                                           \
  }

// The caller's stack pointer, given a frame record and the frame pointer saved in it.
#define TIDE_GUESSED_SP(record, saved_fp) ((record) + 16)

// Where Go's runtime calls C, it leaves C the frame pointer of the goroutine's stack.
#define TIDE_GO_DEPTH_AT_SP 0

TIDE_HOT uint64_t tide_strip_pac(uint64_t pc)
{
  return pc;
}

TIDE_HOT uint64_t tide_untag(uint64_t address)
{
  return address;
}

TIDE_HOT uint64_t tide_cycles(void)
{
  uint32_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (uint64_t)hi << 32 | lo;
}
// A tick is 16 cycles: 52 bits of ticks then last for months at 5 GHz.
#define TIDE_TICK_SHIFT 4
// Ticks that live blocks keep their births in: 2^8, a microsecond or two.
TIDE_HOT uint32_t tide_unit_bits(uint32_t measured)
{
  (void)measured;
  return 8;
}
// The counter's rate is not architectural: whoever reads the store calibrates it.
TIDE_HOT uint64_t tide_ticks_per_second(void)
{
  return 0;
}

TIDE_HOT void tide_cpu_relax(void)
{
  __asm__ volatile("pause");
}

// A load that becomes part of the instruction that needs what it gives, as no atomic one does: of a
// word or less, and read once. Those before tide_loads_in_order() come before those after it, as
// this processor has them anyway.
#ifdef __SANITIZE_THREAD__
#define tide_load_folded(p) tide_load_acquire(p)
#else
#define tide_load_folded(p) (*(p))
#endif
TIDE_HOT void tide_loads_in_order(void)
{
  __asm__ volatile("" ::: "memory");
}

// A raw system call: errno is not touched, failures come back as -errno.
static inline long tide_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
  long ret;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(ret)
                   : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return ret;
}
