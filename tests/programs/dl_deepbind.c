// SPDX-License-Identifier: Apache-2.0
//
// A library loaded with RTLD_DEEPBIND calls libc's malloc past everybody; what it hands out is
// freed by the program. Not seen, not harmed: the frees are counted as unknown.
//
// helpers: lib_shape_a.so
// build: -ldl
// truth: site ^own: allocations=20, frees=20
// truth: complete: unknown_frees>=0
#include "site.h"
#include <dlfcn.h>

SITE static void *own(void)
{
  return malloc(64);
}

int main(void)
{
  void *library = dlopen("./lib_shape_a.so", RTLD_NOW | RTLD_DEEPBIND);
  void *(*entry)(void);
  MUST(library);
  *(void **)&entry = dlsym(library, "entry");
  for (int i = 0; i < 20; i++) {
    void *theirs = entry(), *mine = own();
    MUST(theirs && mine);
    free(theirs);
    free(mine);
  }
  dlclose(library);
  return 0;
}
