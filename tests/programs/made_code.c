// SPDX-License-Identifier: Apache-2.0
//
// Code that the program makes while it runs, without unwind information and without frame pointers,
// as CPython's trampolines are: after their call they only give their frame back, so it is known
// how large that is. Then they are written anew, in the same place, with another frame.
//
// build: -fomit-frame-pointer
// truth: site ^grab from outer from main: allocations=60, bytes=60*33, live_blocks=60
// truth: site ^grab from inner from outer from main: allocations=60, stacks=1
#include "site.h"

#include <sys/mman.h>

typedef void function(void);
#ifdef __x86_64__
typedef unsigned char code;
// push %rbx; sub $N,%rsp; call *%rdi; add $N,%rsp; pop %rbx; ret
#define FRAME(n)                                                                                   \
  {                                                                                                \
    0x53, 0x48, 0x83, 0xec, n, 0xff, 0xd7, 0x48, 0x83, 0xc4, n, 0x5b, 0xc3                         \
  }
static const code narrow[] = FRAME(16), wide[] = FRAME(64);
#else
typedef unsigned code;
// stp x29,x30,[sp,#-N]!; blr x0; ldp x29,x30,[sp],#N; ret
#define FRAME(n)                                                                                   \
  {                                                                                                \
    0xa9807bfd | (128 - (n) / 8) << 15, 0xd63f0000, 0xa8c07bfd | (n) / 8 << 15, 0xd65f03c0         \
  }
static const code narrow[] = FRAME(16), wide[] = FRAME(64);
#endif

// Two of them, so that a stack has more than one.
enum { APART = 64, BYTES = 4096 };
static char *made;

static void write_code(const void *what, size_t n)
{
  MUST(!mprotect(made, BYTES, PROT_READ | PROT_WRITE));
  memcpy(made, what, n);
  memcpy(made + APART, what, n);
  MUST(!mprotect(made, BYTES, PROT_READ | PROT_EXEC));
  __builtin___clear_cache(made, made + BYTES);
}

static void through(char *trampoline, function *f)
{
  ((void (*)(function *))trampoline)(f);
}

SITE static void grab(void)
{
  MUST(malloc(33));
}

SITE static void inner(void)
{
  through(made + APART, grab);
  __asm__ volatile("" ::: "memory"); // no jump in the end
}

SITE static void outer(void)
{
  through(made, inner);
  __asm__ volatile("" ::: "memory");
}

int main(void)
{
  made = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(made != MAP_FAILED);
  for (volatile int round = 0; round < 3; round++) {
    write_code(round == 1 ? wide : narrow, sizeof narrow);
    for (volatile int i = 0; i < 20; i++)
      outer();
  }
  return 0;
}
