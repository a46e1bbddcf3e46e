// SPDX-License-Identifier: Apache-2.0
//
// Processes that the command forks end with _exit(), where gcov would not write down what they
// have counted: in a build for coverage it does so first.
#include <stdnoreturn.h>

void __gcov_dump(void);
noreturn void __real__exit(int status);
noreturn void __wrap__exit(int status);

noreturn void __wrap__exit(int status)
{
  __gcov_dump();
  __real__exit(status);
}
