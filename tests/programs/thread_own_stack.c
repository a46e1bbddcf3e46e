// SPDX-License-Identifier: Apache-2.0
//
// A thread on a stack the program itself mapped, which is unmapped after the thread ended; then
// another thread on a fresh stack at, most likely, the same place.
//
// build: -pthread
// truth: site ^hold: allocations=10*100, bytes=1000*24, frees=1000, stacks=1
#include "site.h"
#include <pthread.h>
#include <sys/mman.h>

enum { STACK_BYTES = 256 * 1024 };

SITE static void *hold(void)
{
  return malloc(24);
}

static void *work(void *unused)
{
  for (int i = 0; i < 100; i++)
    free(hold());
  return unused;
}

int main(void)
{
  for (int i = 0; i < 10; i++) {
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_attr_init(&attributes);
    MUST(stack != MAP_FAILED && pthread_attr_setstack(&attributes, stack, STACK_BYTES) == 0);
    MUST(pthread_create(&thread, &attributes, work, NULL) == 0);
    pthread_join(thread, NULL);
    munmap(stack, STACK_BYTES);
  }
  return 0;
}
