// SPDX-License-Identifier: Apache-2.0
//
// Containers whose requests are known: a vector of reserved room, a list node by node, strings
// short enough to need nothing and long enough to need one block.
//
// truth: site fill_vector: allocations=1, bytes=8000, frees=1
// truth: site fill_list: allocations=500, bytes=500*24, frees=500
// truth: site long_strings: allocations=100, bytes=100*101, frees=100
// truth: site short_strings: stacks=0
// truth: site shared: allocations=10, frees=10
#include "site.h"
#include <list>
#include <memory>
#include <string>
#include <vector>

SITE static size_t fill_vector()
{
  std::vector<long> numbers;
  numbers.reserve(1000);
  for (int i = 0; i < 1000; i++)
    numbers.push_back(i);
  return numbers.size();
}

SITE static size_t fill_list()
{
  std::list<long> numbers;
  for (int i = 0; i < 500; i++)
    numbers.push_back(i);
  return numbers.size();
}

SITE static size_t long_strings()
{
  size_t n = 0;
  for (int i = 0; i < 100; i++) {
    std::string text(100, 'x');
    n += text.size();
  }
  return n;
}

SITE static size_t short_strings()
{
  size_t n = 0;
  for (int i = 0; i < 100; i++) {
    std::string text(10, 'x');
    n += text.size();
  }
  return n;
}

SITE static long shared()
{
  long n = 0;
  for (int i = 0; i < 10; i++) {
    auto number = std::make_shared<long>(i);
    auto again = number;
    n += *again;
  }
  return n;
}

int main()
{
  MUST(fill_vector() == 1000);
  MUST(fill_list() == 500);
  MUST(long_strings() == 10000 && short_strings() == 1000);
  MUST(shared() == 45);
  return 0;
}
