// SPDX-License-Identifier: Apache-2.0
//
// A call that is to be made again is shown with one of the kernel's own errors in rax, and its
// number in orig_rax.
#include "attach/stopped_regs.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

static const uint8_t JUMP_BY_NEXT[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)

// The kernel's own, between a call that was interrupted and its restart.
enum { RESTART_SYS = 512, RESTART_NO_INTR = 513, RESTART_NO_HAND = 514, RESTART_BLOCK = 516 };

enum { SYSCALL_BYTES = 2, MOV_BYTES = 10, JUMP_BYTES = 14 };

// By their numbers in an instruction.
enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

uint64_t tide_regs_pc(const struct user_regs_struct *regs)
{
  return regs->rip;
}

void tide_regs_set_pc(struct user_regs_struct *regs, uint64_t pc)
{
  regs->rip = pc;
}

uint64_t tide_regs_sp(const struct user_regs_struct *regs)
{
  return regs->rsp;
}

long tide_regs_result(const struct user_regs_struct *regs)
{
  return (long)regs->rax;
}

const int64_t tide_regs_control_block_at = 0;

uint64_t tide_regs_thread_pointer(const struct user_regs_struct *regs, int tid)
{
  (void)tid;
  return regs->fs_base;
}

// The flags and the code segment follow.
bool tide_regs_is_signal_pc(const uint64_t *word, size_t n)
{
  enum { ALWAYS_SET = 2, FLAG_BITS = 22, USER_CODE = 0x33 };
  return n > 2 && word[1] & ALWAYS_SET && word[1] >> FLAG_BITS == 0 &&
         (word[2] & 0xffff) == USER_CODE;
}

static bool in_syscall(const struct user_regs_struct *regs)
{
  return (long)regs->orig_rax >= 0;
}

const bool tide_regs_lose_argument = false;

long tide_regs_interrupted(const struct user_regs_struct *regs, const struct tide_waiting *before)
{
  (void)before;
  return in_syscall(regs) && (long)regs->rax == -EINTR ? (long)regs->orig_rax : -1;
}

static void make_again(struct user_regs_struct *regs)
{
  regs->rax = regs->orig_rax;
  regs->rip -= SYSCALL_BYTES;
  regs->orig_rax = -1ul;
}

const bool tide_regs_handler_ends_call = true;

// Left to the kernel, which looks at this error when the thread goes on.
void tide_regs_restart(struct user_regs_struct *regs, const struct tide_waiting *before)
{
  (void)before;
  regs->rax = -(uint64_t)RESTART_NO_HAND;
}

// What the kernel does when it lets the thread go on, should nobody put the registers back.
static struct user_regs_struct as_resumed(const struct user_regs_struct *regs)
{
  struct user_regs_struct resumed = *regs;
  long error = in_syscall(regs) ? -(long)regs->rax : 0;
  if (error == RESTART_SYS || error == RESTART_NO_INTR || error == RESTART_NO_HAND) {
    make_again(&resumed);
  } else if (error == RESTART_BLOCK) {
    make_again(&resumed);
    resumed.rax = SYS_restart_syscall;
  }
  return resumed;
}

static uint8_t *put_mov(uint8_t *code, enum reg reg, uint64_t value)
{
  *code++ = reg < R8 ? 0x48 : 0x49;
  *code++ = (uint8_t)(0xb8 | (reg & 7));
  memcpy(code, &value, sizeof value);
  return code + sizeof value;
}

static uint8_t *put_call(uint8_t *code, const struct tide_remote_call *call)
{
  static const enum reg ARGUMENTS[] = {RDI, RSI, RDX, R10, R8, R9};
  for (int i = 0; i < 6; i++)
    code = put_mov(code, ARGUMENTS[i], (uint64_t)call->arguments[i]);
  code = put_mov(code, RAX, (uint64_t)call->number);
  memcpy(code, "\x0f\x05", SYSCALL_BYTES);
  return code + SYSCALL_BYTES;
}

size_t tide_regs_write_call(const struct user_regs_struct *regs,
                            const struct tide_remote_call *call, uint64_t cave, uint8_t *code,
                            size_t size)
{
  (void)cave; // a jump goes anywhere
  struct user_regs_struct back = as_resumed(regs);
  uint8_t *p = code;
  if (7 * MOV_BYTES + SYSCALL_BYTES + 9 * MOV_BYTES + JUMP_BYTES > size)
    return 0;
  p = put_call(p, call);
  const struct {
    enum reg reg;
    uint64_t value;
  } used[] = {{RAX, back.rax}, {RCX, back.rcx}, {RDX, back.rdx}, {RSI, back.rsi}, {RDI, back.rdi},
              {R8, back.r8},   {R9, back.r9},   {R10, back.r10}, {R11, back.r11}};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++)
    p = put_mov(p, used[i].reg, used[i].value);
  memcpy(p, JUMP_BY_NEXT, sizeof JUMP_BY_NEXT); // jmp *0(%rip)
  memcpy(p + 6, &back.rip, sizeof back.rip);
  return (size_t)(p + JUMP_BYTES - code);
}

struct user_regs_struct tide_regs_at_call(const struct user_regs_struct *regs, uint64_t cave)
{
  struct user_regs_struct at = *regs;
  at.rip = cave;
  at.orig_rax = -1ul; // nothing to be made again
  return at;
}

// ---- a function of the process ----

long tide_regs_waiting(const struct user_regs_struct *regs, uint64_t *ret_second)
{
  long error = in_syscall(regs) ? -(long)regs->rax : 0;
  bool waits = error == RESTART_SYS || error == RESTART_NO_INTR || error == RESTART_NO_HAND ||
               error == RESTART_BLOCK;
  *ret_second = regs->rsi;
  return waits ? (long)regs->orig_rax : -1;
}

static uint8_t *put_bytes(uint8_t *code, const void *bytes, size_t n)
{
  memcpy(code, bytes, n);
  return code + n;
}

// A function keeps rbx, rbp and r12 to r15, and what it does with floating point is within the
// reach of fxsave: libc's code for every machine uses no wider registers, and leaves their upper
// parts alone.
static uint8_t *put_function_call(uint8_t *p, const struct tide_borrowed_call *call)
{
  p = put_mov(p, RSP, call->stack_top);
  p = put_mov(p, RAX, call->save);
  p = put_bytes(p, "\x48\x0f\xae\x00", 4); // fxsave64 (%rax)
  p = put_bytes(p, "\xfc\x31\xff", 3);     // cld; xor %edi, %edi
  p = put_mov(p, RAX, call->function);
  p = put_bytes(p, "\xff\xd0", 2); // call *%rax
  p = put_mov(p, RCX, call->result);
  p = put_bytes(p, "\x89\x01", 2); // mov %eax, (%rcx)
  p = put_mov(p, RCX, call->save);
  p = put_bytes(p, "\x48\x0f\xae\x09", 4); // fxrstor64 (%rcx)
  p = put_mov(p, RCX, call->done);
  return put_bytes(p, "\xc7\x01\x01\0\0\0", 6); // movl $1, (%rcx)
}

enum { FUNCTION_CALL_MAX = 7 * MOV_BYTES + 32, FLAGS_BYTES = 6, BACK_MOVES = 10 };

size_t tide_regs_write_borrowed(const struct user_regs_struct *regs,
                                const struct tide_borrowed_call *call, uint8_t *code, size_t size)
{
  struct user_regs_struct back = as_resumed(regs);
  uint32_t flags = (uint32_t)back.eflags;
  if (FUNCTION_CALL_MAX + FLAGS_BYTES + BACK_MOVES * MOV_BYTES + JUMP_BYTES > size)
    return 0;
  uint8_t *p = put_function_call(code, call);
  *p++ = 0x68; // push $flags
  p = put_bytes(p, &flags, sizeof flags);
  *p++ = 0x9d; // popf
  const struct {
    enum reg reg;
    uint64_t value;
  } used[BACK_MOVES] = {{RAX, back.rax}, {RCX, back.rcx}, {RDX, back.rdx}, {RSI, back.rsi},
                        {RDI, back.rdi}, {R8, back.r8},   {R9, back.r9},   {R10, back.r10},
                        {R11, back.r11}, {RSP, back.rsp}};
  for (size_t i = 0; i < BACK_MOVES; i++)
    p = put_mov(p, used[i].reg, used[i].value);
  p = put_bytes(p, JUMP_BY_NEXT, sizeof JUMP_BY_NEXT);
  p = put_bytes(p, &back.rip, sizeof back.rip);
  return (size_t)(p - code);
}

// ---- a pause ----
//
// getpid(), whose result nobody looks at.

const uint8_t tide_pause_code[] = {0xb8, 0x27, 0, 0, 0, // mov $39, %eax
                                   0x0f, 0x05,          // syscall
                                   0xc3};               // ret
const size_t tide_pause_bytes = sizeof tide_pause_code;
