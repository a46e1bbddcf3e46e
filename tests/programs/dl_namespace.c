// SPDX-License-Identifier: Apache-2.0
//
// A library in a namespace of its own (dlmopen) has its own libc and its own heap, which a preload
// does not see: that is said. The program is unharmed, and its own numbers are exact.
//
// helpers: lib_shape_a.so
// build: -ldl
// truth: site ^own: allocations=20, frees=10
#include "site.h"
#include <dlfcn.h>

SITE static void *own(void)
{
  return malloc(64);
}

int main(void)
{
  void *library = dlmopen(LM_ID_NEWLM, "./lib_shape_a.so", RTLD_NOW);
  void *(*entry)(void);
  if (!library)
    _exit(97);
  *(void **)&entry = dlsym(library, "entry");
  for (int i = 0; i < 20; i++) {
    void *mine = own();
    MUST(entry() && mine);
    if (i % 2)
      free(mine);
  }
  return 0;
}
