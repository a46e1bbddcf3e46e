// SPDX-License-Identifier: Apache-2.0
//
// Functions that begin with every kind of instruction that has to be rewritten when it is moved,
// hooked by the agent in this very process. They hand out numbers as blocks. Checked here: what
// they return, and that all registers are kept; by whoever reads agent.store: what was recorded.
//
//   agent AGENT
#include "inside.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK(n) (0x10000000ull + (n)*4096ull)

typedef uint64_t function(uint64_t size);
extern function by_address, by_page, by_literal, by_zero, by_bit, by_jump, by_pad, by_signed,
    by_nothing, by_end;
extern char agent_guarded[], agent_guarded_end[];
extern const char __executable_start, etext; // the linker's
// Calls it with registers from `in`, and leaves in `out` what they are afterwards.
extern void with_registers(function *f, const uint64_t *in, uint64_t *out);

#define GLOBALS                                                                                    \
  ".irp name, by_address, by_page, by_literal, by_zero, by_bit, by_jump, by_pad, by_signed, "      \
  "by_nothing, by_end, agent_guarded, agent_guarded_end, with_registers\n .globl \\name\n .endr\n"

// Those with pads have pages of their own, which on aarch64 are made to insist on pads.
#if defined(__aarch64__)
enum { N_GENERAL = 26, N_VECTOR = 32, PROTECTION = PROT_READ | PROT_EXEC | 0x10 /* PROT_BTI */ };
__asm__(GLOBALS
        ".pushsection .text.agent_functions, \"ax\"\n"
        "by_address: adr x9, 1f; ldr x0, [x9]; ret; .balign 8; 1: .quad 0x10001000\n"
        "by_page: adrp x9, 1f; add x9, x9, #:lo12:1f; ldr x0, [x9]; ret\n"
        " .balign 8; 1: .quad 0x10002000\n"
        "by_literal: ldr x0, 1f; ret; .balign 8; 1: .quad 0x10003000\n"
        "by_zero: cbz x0, 1f; ldr x0, =0x10004000; ret; 1: mov x0, #0; ret\n"
        "by_bit: tbnz w0, #0, 1f; ldr x0, =0x10005000; ret; 1: ldr x0, =0x10006000; ret\n"
        "by_jump: b 1f; nop; 1: ldr x0, =0x10007000; ret\n"
        "by_nothing: stp x29, x30, [sp, #-16]!; ldr x0, =0x1000a000; ldp x29, x30, [sp], #16; ret\n"
        "by_end: mov x0, #0; ret\n"
        " .ltorg\n .balign 65536\n"
        "agent_guarded:\n"
        "by_pad: hint #34; ldr x0, =0x10008000; ret\n"                          // bti c
        "by_signed: hint #25; stp x29, x30, [sp, #-16]!; ldr x0, =0x10009000\n" // paciasp
        " ldp x29, x30, [sp], #16; hint #29; ret\n"                             // autiasp
        " .ltorg\n .balign 65536\n"
        "agent_guarded_end:\n"
        ".popsection\n"
        ".pushsection .text\n"
        "with_registers: .cfi_startproc\n"
        " .cfi_def_cfa_offset 176; .cfi_offset x29, -176; .cfi_offset x30, -168\n"
        " stp x29, x30, [sp, #-176]!; stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]\n"
        " stp x23, x24, [sp, #48]; stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"
        " stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]\n"
        " stp d14, d15, [sp, #144]; stp x2, x18, [sp, #160]\n"
        " mov x16, x0; mov x17, x1\n" //
        " ldp x1, x2, [x17]; ldp x3, x4, [x17, #16]; ldp x5, x6, [x17, #32]\n"
        " ldp x7, x8, [x17, #48]; ldp x9, x10, [x17, #64]; ldp x11, x12, [x17, #80]\n"
        " ldp x13, x14, [x17, #96]; ldp x15, x18, [x17, #112]; ldp x19, x20, [x17, #128]\n"
        " ldp x21, x22, [x17, #144]; ldp x23, x24, [x17, #160]; ldp x25, x26, [x17, #176]\n"
        " ldp x27, x28, [x17, #192]; add x17, x17, #208\n"
        " .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
        "30,31\n ldr q\\r, [x17], #16\n .endr\n"
        " mov x0, #24\n blr x16\n"
        " ldr x17, [sp, #160]\n"
        " stp x1, x2, [x17]; stp x3, x4, [x17, #16]; stp x5, x6, [x17, #32]\n"
        " stp x7, x8, [x17, #48]; stp x9, x10, [x17, #64]; stp x11, x12, [x17, #80]\n"
        " stp x13, x14, [x17, #96]; stp x15, x18, [x17, #112]; stp x19, x20, [x17, #128]\n"
        " stp x21, x22, [x17, #144]; stp x23, x24, [x17, #160]; stp x25, x26, [x17, #176]\n"
        " stp x27, x28, [x17, #192]; add x17, x17, #208\n"
        " .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
        "30,31\n str q\\r, [x17], #16\n .endr\n"
        " ldr x18, [sp, #168]; ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]\n"
        " ldp x23, x24, [sp, #48]; ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"
        " ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]\n"
        " ldp d14, d15, [sp, #144]; ldp x29, x30, [sp], #176; ret\n"
        " .cfi_endproc\n"
        ".popsection\n");
#else
enum { N_GENERAL = 13, N_VECTOR = 16, PROTECTION = PROT_READ | PROT_EXEC };
// rdi is the size, rax the result.
#define EACH(op, at)                                                                               \
  op("rcx", 0, at) op("rdx", 8, at) op("rsi", 16, at) op("r8", 24, at) op("r9", 32, at)            \
      op("r10", 40, at) op("r11", 48, at) op("rbx", 56, at) op("rbp", 64, at) op("r12", 72, at)    \
          op("r13", 80, at) op("r14", 88, at) op("r15", 96, at)
#define GET(reg, i, at) " mov " #i "(%" at "), %" reg "\n"
#define PUT(reg, i, at) " mov %" reg ", " #i "(%" at ")\n"
#define VECTORS ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
__asm__(GLOBALS
        ".pushsection .text.agent_functions, \"ax\"\n"
        "by_address: lea 1f(%rip), %r9; mov (%r9), %rax; ret; .balign 8; 1: .quad 0x10001000\n"
        "by_page: cmpl $0, 1f(%rip); mov 1f(%rip), %rax; ret; .balign 8; 1: .quad 0x10002000\n"
        "by_literal: mov 1f(%rip), %rax; ret; .balign 8; 1: .quad 0x10003000\n"
        "by_zero: test %rdi, %rdi; je 1f; mov $0x10004000, %eax; ret; 1: xor %eax, %eax; ret\n"
        "by_bit: test $1, %dil; jne 1f; mov $0x10005000, %eax; ret; 1: mov $0x10006000, %eax; ret\n"
        "by_jump: jmp 1f; .fill 200, 1, 0xcc; 1: mov $0x10007000, %eax; ret\n"
        "by_nothing: sub $8, %rsp; mov $0x1000a000, %eax; add $8, %rsp; ret\n"
        "by_end: mov $0, %eax; ret\n"
        ".balign 4096\n"
        "agent_guarded:\n"
        "by_pad: endbr64; mov $0x10008000, %eax; ret\n"
        "by_signed: push %rbp; mov %rsp, %rbp; mov $0x10009000, %eax; pop %rbp; ret\n"
        ".balign 4096\n"
        "agent_guarded_end:\n"
        ".popsection\n"
        ".pushsection .text\n"
        "with_registers: .cfi_startproc\n"
        " .cfi_def_cfa_offset 72; .cfi_offset rbx, -16; .cfi_offset rbp, -24\n"
        " push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rdx; push %rdi\n"
        " lea 104(%rsi), %rax\n" VECTORS " movups (%rax), %xmm\\r\n add $16, %rax\n .endr\n"
        " mov %rsi, %rax\n" EACH(
            GET, "rax") " mov $24, %edi; call *(%rsp)\n"
                        " mov 8(%rsp), %rax\n" EACH(
                            PUT, "rax") " add $104, %rax\n" VECTORS
                                        " movups %xmm\\r, (%rax)\n add $16, %rax\n .endr\n"
                                        " pop %rdi; pop %rdx; pop %r15; pop %r14; pop %r13; pop "
                                        "%r12; pop %rbp; pop %rbx; ret\n"
                                        " .cfi_endproc\n"
                                        ".popsection\n");
#endif

static const struct {
  function *f;
  uint64_t size, block;
} CALLS[] = {
    {by_address, 10, BLOCK(1)},
    {by_page, 20, BLOCK(2)},
    {by_literal, 30, BLOCK(3)},
    {by_zero, 40, BLOCK(4)},
    {by_zero, 0, 0},
    {by_bit, 50, BLOCK(5)},
    {by_bit, 61, BLOCK(6)},
    {by_jump, 70, BLOCK(7)},
    {by_pad, 80, BLOCK(8)},
    {by_signed, 90, BLOCK(9)},
    {by_nothing, 100, BLOCK(10)},
};
enum { N_CALLS = sizeof CALLS / sizeof *CALLS };

__attribute__((noinline)) static uint64_t hand_out(int i)
{
  uint64_t block = CALLS[i].f(CALLS[i].size);
  __asm__ volatile("" ::: "memory"); // no tail call
  return block;
}

__attribute__((noinline)) static int keeps_registers(function *f)
{
  static uint64_t in[N_GENERAL + 2 * N_VECTOR], out[N_GENERAL + 2 * N_VECTOR];
  for (size_t i = 0; i < sizeof in / sizeof *in; i++)
    in[i] = 0x0123456789abcdefull * (i + 1);
  with_registers(f, in, out);
  for (size_t i = 0; i < sizeof in / sizeof *in; i++)
    if (in[i] != out[i])
      fprintf(stderr, "register %zu: %#lx, was %#lx\n", i, out[i], in[i]);
  return !memcmp(in, out, sizeof in);
}

int main(int argc, char **argv)
{
  struct inside_entry entries[N_CALLS + 1];
  for (int i = 0; i < N_CALLS; i++)
    entries[i] = (struct inside_entry){(void *)CALLS[i].f, TIDE_ROLE_ALLOC};
  entries[N_CALLS] = (struct inside_entry){(void *)by_end, TIDE_ROLE_FREE};
  // Of the first half and of the end every caller keeps to the convention; of the others nobody is
  // known to, or the one there is belongs to the function's own object.
  for (int i = 0; i <= N_CALLS; i++) {
    entries[i].has_quick = i < N_CALLS / 2 || i % 2 || i == N_CALLS || CALLS[i].f == by_nothing;
    if (i < N_CALLS / 2 || i == N_CALLS)
      continue;
    entries[i].object_lo = (uint64_t)&__executable_start;
    entries[i].object_bytes = (uint32_t)(&etext - &__executable_start);
  }
  const char *why = inside_begin(&(struct inside_options){.agent = argc > 1 ? argv[1] : "",
                                                          .store = "agent.store",
                                                          .allocator = argv[0]},
                                 entries, N_CALLS + 1);
  if (why || mprotect(agent_guarded, (size_t)(agent_guarded_end - agent_guarded), PROTECTION)) {
    fprintf(stderr, "agent: %s\n", why ? why : "its pages cannot be protected");
    return 1;
  }
  int wrong = 0;
  for (int i = 0; i < N_CALLS; i++)
    if (hand_out(i) != CALLS[i].block) {
      fprintf(stderr, "call %d gives another block\n", i);
      wrong = 1;
    }
  for (int i = 0; i < 3; i++)
    by_end(CALLS[i].block);
  return wrong || !keeps_registers(by_nothing);
}
