// SPDX-License-Identifier: Apache-2.0
//
// A thread's end is told by a pthread key's destructor, which asks to be called again until the
// last round, because other destructors free memory, too.
#include "preload/self.h"

#include "rt/sys.h"

#include <limits.h>
#include <pthread.h>

__thread struct tide_seat tide_self __attribute__((tls_model("initial-exec")));
static __thread uint32_t exit_rounds __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static bool have_key;

static void thread_ends(void *arg)
{
  struct tide_thread *t = arg;
  if (t != tide_self.thread || t->self != t)
    return; // a fork child, or somebody else's value
  if (++exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(exit_key, t);
  else
    tide_thread_end(&tide_self);
}

void tide_self_init(void)
{
  have_key = !pthread_key_create(&exit_key, thread_ends);
}

// The main thread never runs key destructors at exit, and must not be told of its end early.
void tide_self_began(struct tide_thread *t, uint32_t tid)
{
  exit_rounds = 0;
  if (have_key && tid != tide_sys_pid())
    pthread_setspecific(exit_key, t);
}

// libc knows it: a thread's clock is named after it.
uint32_t tide_self_id(void)
{
  clockid_t clock;
  return pthread_getcpuclockid(pthread_self(), &clock) ? 0 : (uint32_t) ~(clock >> 3);
}
