// SPDX-License-Identifier: Apache-2.0
//
// `p`: 100 blocks of 40 bytes, freed again, and 50 of 1,000 and 10 of 64, aligned, that are kept,
// all with operator new. `x`: one that is too large, which throws.
#include <cstdio>
#include <new>
#include <unistd.h>

struct alignas(64) Line {
  char bytes[64];
};

[[gnu::noipa]] static void *small() { return ::operator new(40); }
[[gnu::noipa]] static char *large() { return new char[1000]; }
[[gnu::noipa]] static void *maybe() { return ::operator new(40, std::nothrow); }
[[gnu::noipa]] static void *line() { return new Line; }

static void part()
{
  void *p[100];
  for (int i = 0; i < 100; i++)
    p[i] = i % 2 ? small() : maybe();
  for (int i = 0; i < 50; i++)
    large();
  for (int i = 0; i < 10; i++)
    line();
  for (int i = 0; i < 100; i++)
    if (i % 3)
      ::operator delete(p[i]);
    else
      ::operator delete(p[i], std::size_t(40));
}

static bool fails()
{
  volatile std::size_t much = std::size_t(1) << 60;
  try {
    char *volatile p = new char[much];
    delete[] p;
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

int main()
{
  char c;
  fails();
  write(1, "ready\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    if (c == 'p')
      part();
    if (c == 'x' && !(fails() && !(::operator new(std::size_t(1) << 60, std::nothrow))))
      return 1;
    write(1, "ok\n", 3);
  }
  return 0;
}
