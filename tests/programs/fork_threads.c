// SPDX-License-Identifier: Apache-2.0
//
// fork while three other threads allocate without pause; the child starts a thread of its own,
// which allocates. Twenty times; not one child may hang.
//
// build: -pthread
// truth: capture: images=21
// truth@fork: site ^in_child: allocations=200, bytes=200*50, frees=200
// truth@fork: complete: unknown_frees>=0
// timeout: 60
// qemu: no
#include "site.h"
#include <pthread.h>
#include <sys/wait.h>

static volatile int stop;

SITE static void *in_child(void)
{
  return malloc(50);
}

static void *churn(void *unused)
{
  while (!stop)
    free(realloc(malloc(40), 400));
  return unused;
}

static void *child_work(void *unused)
{
  for (int i = 0; i < 100; i++)
    free(in_child());
  return unused;
}

static void child_main(void)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, child_work, NULL))
    _exit(1);
  pthread_join(thread, NULL);
  child_work(NULL);
  _exit(0);
}

int main(void)
{
  pthread_t thread[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&thread[i], NULL, churn, NULL);
  for (int i = 0; i < 20; i++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
      child_main();
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  stop = 1;
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
