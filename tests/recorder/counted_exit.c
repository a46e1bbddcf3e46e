// SPDX-License-Identifier: Apache-2.0
//
// Processes that the command forks end with _exit(), where gcov would not write down what they
// have counted: in a build for coverage it does so first.
//
// Not so in a child of another thread than the first: there the lock of malloc, which gcov calls,
// may be held for ever, and with it gcov's lock of the file, for which everybody else would wait.
#include <pthread.h>
#include <stdnoreturn.h>

void __gcov_dump(void);
noreturn void __real__exit(int status);
noreturn void __wrap__exit(int status);

static pthread_t first_thread;

__attribute__((constructor)) static void remember_thread(void)
{
  first_thread = pthread_self();
}

noreturn void __wrap__exit(int status)
{
  if (pthread_equal(pthread_self(), first_thread))
    __gcov_dump();
  __real__exit(status);
}
