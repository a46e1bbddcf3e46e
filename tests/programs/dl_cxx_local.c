// SPDX-License-Identifier: Apache-2.0
//
// A C program loads a C++ plugin with RTLD_LOCAL, as interpreters do. operator new is then in
// nobody's global scope but ours, and the C++ library, loaded as a dependency, calls it too.
// (The library keeps one block per thread for its exceptions.)
//
// helpers: lib_throws.so
// build: -ldl
// truth: site fill: allocations=3*50, bytes=3*50*100, frees=3*50, live_blocks=0
// truth: site overstep: allocations>=3*50*3, live_blocks<=1
#include "site.h"
#include <dlfcn.h>

int main(void)
{
  for (int round = 0; round < 3; round++) {
    void *library = dlopen("./lib_throws.so", RTLD_NOW | RTLD_LOCAL);
    void *(*fill)(void);
    void (*empty)(void *);
    int (*overstep)(unsigned);
    MUST(library);
    *(void **)&fill = dlsym(library, "fill");
    *(void **)&empty = dlsym(library, "empty");
    *(void **)&overstep = dlsym(library, "overstep");
    for (int i = 0; i < 50; i++) {
      empty(fill());
      MUST(overstep(20) == -1 && overstep(2) == 0);
    }
    MUST(!dlclose(library));
  }
  return 0;
}
