// SPDX-License-Identifier: Apache-2.0
//
// The initial stack: argc, argv, NULL, envp, NULL, auxiliary vector.
#include "preload/environment.h"

#include "rt/sys.h"
#include "rt/text.h"

#include <elf.h>

extern void *__libc_stack_end; // the loader's; points at argc

void tide_environment_read(struct tide_environment *ret_environment)
{
  const uint64_t *p = __libc_stack_end;
  struct tide_environment e = {
      .argc = *p, .options = "", .preload = "", .stack_origin = (uint64_t)p};
  e.argv = (const char *const *)(p + 1);
  const char *const *env = e.argv + e.argc + 1;
  for (; *env; env++) {
    if (tide_text_starts(*env, "TIDEMARK_OPTIONS="))
      e.options = *env + sizeof "TIDEMARK_OPTIONS=" - 1;
    else if (tide_text_starts(*env, "LD_PRELOAD="))
      e.preload = *env + sizeof "LD_PRELOAD=" - 1;
  }
  const Elf64_auxv_t *aux = (const Elf64_auxv_t *)(env + 1);
  uint64_t execfn = 0;
  for (; aux->a_type != AT_NULL; aux++) {
    if (aux->a_type == AT_SYSINFO_EHDR)
      e.vdso = aux->a_un.a_val;
    else if (aux->a_type == AT_PAGESZ)
      tide_sys_page_bytes = aux->a_un.a_val;
    else if (aux->a_type == AT_EXECFN) // a string near the very top of the stack
      execfn = aux->a_un.a_val;
  }
  uint64_t top = (uint64_t)(aux + 1);
  e.stack_top = ((execfn > top ? execfn : top) + 4096) & ~4095ull;
  *ret_environment = e;
}
