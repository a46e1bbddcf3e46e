// SPDX-License-Identifier: Apache-2.0
//
// A target that makes the recorder do everything it does: threads that come and go, deep stacks,
// new code, page-level events, forks. Used to see that the recorder itself never allocates.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int deep(int n)
{
  void *p = malloc((size_t)n + 1);
  __asm__ volatile("" : "+r"(p)::"memory");
  int sum = n > 0 ? deep(n - 1) : 0;
  free(p);
  return sum + 1;
}

static void *thread(void *arg)
{
  deep(50);
  return arg;
}

int main(void)
{
  deep(3000);
  for (int i = 0; i < 20; i++) {
    pthread_t a, b;
    pthread_create(&a, NULL, thread, NULL);
    pthread_create(&b, NULL, thread, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
  }
  for (int i = 0; i < 5; i++) {
    void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 1 << 20);
    void *q = realloc(malloc(10), 100000);
    free(q);
  }
  pid_t child = fork();
  if (child == 0) {
    deep(10);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return status;
}
