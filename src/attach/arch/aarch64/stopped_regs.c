// SPDX-License-Identifier: Apache-2.0
//
// The kernel winds a thread back to its svc before it shows it stopped in a call that is to be made
// again: nothing is left to do for those. Of one that ends with EINTR it has lost the first
// argument, in whose register the result is.
#include "attach/stopped_regs.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { INSN_BYTES = 4, FIRST = 0, NUMBER = 8, ARGUMENTS = 6, MOV_INSNS = 4 };
#define SVC 0xd4000001u

const bool tide_regs_lose_argument = true;

uint64_t tide_regs_pc(const struct user_regs_struct *regs)
{
  return regs->pc;
}

void tide_regs_set_pc(struct user_regs_struct *regs, uint64_t pc)
{
  regs->pc = pc;
}

uint64_t tide_regs_sp(const struct user_regs_struct *regs)
{
  return regs->sp;
}

long tide_regs_result(const struct user_regs_struct *regs)
{
  return (long)regs->regs[FIRST];
}

const int64_t tide_regs_control_block_at = -2304; // it ends where the thread pointer points

uint64_t tide_regs_thread_pointer(const struct user_regs_struct *regs, int tid)
{
  uint64_t tp = 0;
  struct iovec whole = {&tp, sizeof tp};
  (void)regs;
  return ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &whole) ? 0 : tp;
}

// The state follows, then the record of the vector registers.
bool tide_regs_is_signal_pc(const uint64_t *word, size_t n)
{
  enum { FPSIMD_MAGIC = 0x46508001 };
  return n > 3 && (uint32_t)word[3] == FPSIMD_MAGIC;
}

long tide_regs_interrupted(const struct user_regs_struct *regs, const struct tide_waiting *before)
{
  bool is_the_one = before->number == (long)regs->regs[NUMBER] && before->pc == regs->pc;
  return is_the_one && tide_regs_result(regs) == -EINTR ? before->number : -1;
}

const bool tide_regs_handler_ends_call = false;

void tide_regs_restart(struct user_regs_struct *regs, const struct tide_waiting *before)
{
  regs->regs[FIRST] = before->first;
  regs->pc -= INSN_BYTES;
}

struct emitter {
  uint8_t *code;
  size_t n;
};

static void emit_insn(struct emitter *e, uint32_t insn)
{
  memcpy(e->code + e->n, &insn, sizeof insn);
  e->n += sizeof insn;
}

static void emit_mov(struct emitter *e, unsigned reg, uint64_t value)
{
  emit_insn(e, 0xd2800000u | (uint32_t)(value & 0xffff) << 5 | reg); // movz
  for (unsigned i = 1; i < MOV_INSNS; i++)
    emit_insn(e, 0xf2800000u | i << 21 | (uint32_t)(value >> 16 * i & 0xffff) << 5 | reg); // movk
}

static void emit_call(struct emitter *e, const struct tide_remote_call *call)
{
  for (unsigned i = 0; i < ARGUMENTS; i++)
    emit_mov(e, i, (uint64_t)call->arguments[i]);
  emit_mov(e, NUMBER, (uint64_t)call->number);
  emit_insn(e, SVC);
}

// Every register may be in use, so the way back is a branch, which spans 128 MiB.
size_t tide_regs_write_call(const struct user_regs_struct *regs,
                            const struct tide_remote_call *call, uint64_t cave, uint8_t *code,
                            size_t size)
{
  struct emitter e = {code, 0};
  size_t mov = MOV_INSNS * INSN_BYTES;
  size_t bytes = 2 * ((ARGUMENTS + 1) * mov + INSN_BYTES);
  if (bytes > size)
    return 0;
  emit_call(&e, call);
  for (unsigned i = 0; i < ARGUMENTS; i++)
    emit_mov(&e, i, regs->regs[i]);
  emit_mov(&e, NUMBER, regs->regs[NUMBER]);
  int64_t distance = (int64_t)(regs->pc - (cave + e.n));
  if (distance < -(INT64_C(1) << 27) || distance >= INT64_C(1) << 27)
    return 0;
  emit_insn(&e, 0x14000000u | ((uint32_t)(distance / INSN_BYTES) & 0x03ffffff)); // b
  return e.n;
}

struct user_regs_struct tide_regs_at_call(const struct user_regs_struct *regs, uint64_t cave)
{
  struct user_regs_struct at = *regs;
  at.pc = cave;
  return at;
}

// ---- a function of the process ----
//
// Left out: nothing here could try it, as qemu-user has no ptrace.

long tide_regs_waiting(const struct user_regs_struct *regs, uint64_t *ret_second)
{
  (void)regs;
  *ret_second = 0;
  return -1;
}

size_t tide_regs_write_borrowed(const struct user_regs_struct *regs,
                                const struct tide_borrowed_call *call, uint8_t *code, size_t size)
{
  (void)regs;
  (void)call;
  (void)code;
  (void)size;
  return 0;
}

// ---- a pause ----
//
// getpid(), whose result nobody looks at.

const uint8_t tide_pause_code[] = {0x88, 0x15, 0x80, 0xd2,  // mov x8, #172
                                   0x01, 0x00, 0x00, 0xd4,  // svc #0
                                   0xc0, 0x03, 0x5f, 0xd6}; // ret
const size_t tide_pause_bytes = sizeof tide_pause_code;
