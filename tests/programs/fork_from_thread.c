// SPDX-License-Identifier: Apache-2.0
//
// fork called by a thread other than the first: in the child that thread is the only one, with
// another thread id than the process id's usual owner had.
//
// build: -pthread
// truth: capture: images=2
// truth: site ^before: allocations=10
// truth@fork: site ^in_child: allocations=50, bytes=50*20, frees=25
// truth@fork: image: threads=1
#include "site.h"
#include <pthread.h>
#include <sys/wait.h>

SITE static void before(void)
{
  MUST(malloc(10));
}

SITE static void *in_child(void)
{
  return malloc(20);
}

static void *forker(void *unused)
{
  int status = -1;
  for (int i = 0; i < 10; i++)
    before();
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 50; i++) {
      void *block = in_child();
      if (i % 2)
        free(block);
    }
    _exit(0);
  }
  MUST(waitpid(child, &status, 0) == child && status == 0);
  return unused;
}

int main(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, forker, NULL);
  pthread_join(thread, NULL);
  return 0;
}
