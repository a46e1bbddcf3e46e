// SPDX-License-Identifier: Apache-2.0
//
// A function in assembly, which has lines but, from some assemblers, no entry in the debug info.
  .text
  .globl hold_assembly
  .type hold_assembly, %function
hold_assembly:
  .cfi_startproc
#ifdef __x86_64__
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movl $1020, %edi
  call malloc@PLT // frame assembly.0: hold_assembly at x86_64
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
#else
  stp x29, x30, [sp, -16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov w0, 1020
  bl malloc // frame assembly.0: hold_assembly at aarch64
  ldp x29, x30, [sp], 16
  .cfi_def_cfa_offset 0
#endif
  ret
  .cfi_endproc
  .size hold_assembly, . - hold_assembly
  .section .note.GNU-stack, "", %progbits
