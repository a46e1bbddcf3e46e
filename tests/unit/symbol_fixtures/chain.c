// SPDX-License-Identifier: Apache-2.0
//
// Functions inlined into one another, a function with a cold part, and a static one. The test finds
// the expected lines by the "at" comments.
#define INLINE static inline __attribute__((always_inline))
#define ALONE __attribute__((noinline))

void mark(const char *tag);
__attribute__((cold)) void mark_cold(const char *tag);
ALONE void outer(int n);
ALONE int split(int n);
volatile int sink;

INLINE void c(int n)
{
  sink = n;
  mark("chain"); // at c
  sink = n + 1;
}

INLINE void b(int n)
{
  {
    int inner = n * 2;
    sink = inner;
    c(inner); // at b
  }
}

INLINE void a(int n)
{
  for (int i = 0; i < n; i++)
    b(n + i); // at a
}

ALONE void outer(int n)
{
  sink = n;
  a(n); // at outer
  sink = n;
}

ALONE int split(int n)
{
  if (__builtin_expect(n > 0, 0)) {
    mark_cold("cold"); // at split
    sink++;
  }
  return n + sink;
}

static ALONE void hidden(void)
{
  mark("static"); // at hidden
  sink++;
}

int main(int argc, char **argv)
{
  outer(argc > 0);
  hidden();
  return split(argc) < 0;
}
