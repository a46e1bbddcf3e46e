// SPDX-License-Identifier: Apache-2.0
//
// Library A is loaded, used, unloaded; library B then sits at the very same address. What B
// allocates belongs to B.
//
// agent: yes
// helpers: lib_shape_a.so lib_shape_b.so
// build: -ldl
// truth: site ^allocate_a from entry from main: allocations=50, bytes=50*64
// truth: site ^allocate_b from entry from main: allocations=70, bytes=70*64
// qemu: no
#include "site.h"
#include <dlfcn.h>

static void *use(const char *path, int times)
{
  void *library = dlopen(path, RTLD_NOW), *address;
  void *(*entry)(void);
  MUST(library);
  *(void **)&entry = address = dlsym(library, "entry");
  for (int i = 0; i < times; i++)
    MUST(entry());
  dlclose(library);
  return address;
}

int main(void)
{
  void *a = use("./lib_shape_a.so", 50);
  void *b = use("./lib_shape_b.so", 70);
  if (a != b) // then there is nothing to test
    _exit(97);
  return 0;
}
