// SPDX-License-Identifier: Apache-2.0
//
// A C++ plugin for programs that are not C++ themselves. Its exceptions are made inside the C++
// library, which then asks for memory on its own behalf.
//
// helper: lib_throws.so
#include <stdexcept>
#include <vector>

#define SITE __attribute__((noipa))

extern "C" SITE void *fill(void)
{
  return new char[100];
}

extern "C" SITE void empty(void *block)
{
  delete[] static_cast<char *>(block);
}

extern "C" SITE int overstep(unsigned at)
{
  std::vector<int> few(3);
  try {
    return few.at(at);
  } catch (const std::out_of_range &) {
    return -1;
  }
}
