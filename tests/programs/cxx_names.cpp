// SPDX-License-Identifier: Apache-2.0
//
// Names as people wrote them: namespaces, templates, operators, lambdas, demangled.
//
// truth: site outer::inner::hold: allocations=10
// truth: site outer::box<int>::fill: allocations=10
// truth: site operator+: allocations=10
#include "site.h"

namespace outer
{
namespace inner
{
SITE char *hold()
{
  return new char[10];
}
} // namespace inner
template <typename T> struct box {
  T *content;
  SITE void fill() { content = new T[7]; }
};
struct number {
  int *value;
};
SITE number operator+(const number &a, const number &b)
{
  return {new int(*a.value + *b.value)};
}
} // namespace outer

int main()
{
  static int one = 1;
  outer::number a = {&one};
  for (int i = 0; i < 10; i++) {
    MUST(outer::inner::hold());
    outer::box<int> b;
    b.fill();
    outer::number sum = a + a;
    MUST(b.content && *sum.value == 2);
  }
  return 0;
}
