// SPDX-License-Identifier: Apache-2.0
//
// A C program loads a C++ plugin with RTLD_LOCAL, and the plugin jumps to operator new and delete:
// these seem to be called by the program itself, before which nobody but the recorder has them.
//
// helpers: lib_jumps.so
// build: -ldl
// truth: site give: allocations=50, bytes=50*100, frees=50, live_blocks=0
#include "site.h"
#include <dlfcn.h>

static void *(*take)(unsigned long);
static void (*drop)(void *);

SITE void *give(void)
{
  void *block = take(100);
  __asm__ volatile("" ::: "memory"); // no tail call
  return block;
}

int main(void)
{
  void *library = dlopen("./lib_jumps.so", RTLD_NOW | RTLD_LOCAL);
  MUST(library);
  *(void **)&take = dlsym(library, "take");
  *(void **)&drop = dlsym(library, "drop");
  for (int i = 0; i < 50; i++)
    drop(give());
  return 0;
}
