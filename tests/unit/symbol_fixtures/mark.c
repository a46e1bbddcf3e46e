// SPDX-License-Identifier: Apache-2.0
//
// What the fixtures call at places of interest: prints a tag and the ELF address of the call, one
// less than the return address, as the symboliser is asked for it.
#include <stdio.h>

extern const char __executable_start[];

#ifdef __PIE__
#define BIAS ((unsigned long)__executable_start)
#else
#define BIAS 0ul
#endif

void mark(const char *tag);
__attribute__((cold)) void mark_cold(const char *tag);

__attribute__((noinline)) void mark(const char *tag)
{
  printf("%s %lx\n", tag, (unsigned long)__builtin_return_address(0) - BIAS - 1);
}

__attribute__((noinline, cold)) void mark_cold(const char *tag)
{
  printf("%s %lx\n", tag, (unsigned long)__builtin_return_address(0) - BIAS - 1);
}
