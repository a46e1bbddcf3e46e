// SPDX-License-Identifier: Apache-2.0
//
// Two libraries loaded and unloaded in turn, 200 times: names stay right and tables stay small.
//
// agent: yes
// helpers: lib_shape_a.so lib_shape_b.so
// build: -ldl
// truth: site ^allocate_a from entry from main: allocations=100
// truth: site ^allocate_b from entry from main: allocations=100
#include "site.h"
#include <dlfcn.h>

int main(void)
{
  for (int i = 0; i < 200; i++) {
    void *library = dlopen(i % 2 ? "./lib_shape_b.so" : "./lib_shape_a.so", RTLD_NOW);
    void *(*entry)(void);
    MUST(library);
    *(void **)&entry = dlsym(library, "entry");
    MUST(entry());
    dlclose(library);
  }
  return 0;
}
