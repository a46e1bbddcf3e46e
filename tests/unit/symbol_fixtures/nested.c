// SPDX-License-Identifier: Apache-2.0
//
// A function within a function (GNU C), which Pascal, Fortran and Ada have as a matter of course.
void mark(const char *tag);
int outer(int n);
volatile int sink;

__attribute__((noinline)) int outer(int n)
{
  __attribute__((noinline)) int inner(int m)
  {
    mark("nested"); // at inner
    return m + n + sink;
  }
  return inner(n) + inner(sink);
}

int main(int argc, char **argv)
{
  return outer(argc) < 0;
}
