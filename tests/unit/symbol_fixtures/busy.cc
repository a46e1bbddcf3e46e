// SPDX-License-Identifier: Apache-2.0
//
// Enough of the C++ library to make a thousand calls at all depths of inlining.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace busy
{
struct Key {
  std::string text;
  int number;
  bool operator<(const Key &other) const { return text < other.text; }
};

template <class T> struct Tree {
  std::map<Key, T> nodes;
  void add(std::string text, int number, T value)
  {
    nodes.emplace(Key{std::move(text), number}, std::move(value));
  }
};

int sum(const std::vector<int> &numbers)
{
  int total = 0;
  for (int number : numbers)
    total += number;
  return total;
}
} // namespace busy

int main(int argc, char **)
{
  busy::Tree<std::vector<int>> tree;
  for (int i = 0; i < argc * 100; i++) {
    std::vector<int> numbers;
    for (int j = 0; j < i; j++)
      numbers.push_back(j * i % 7);
    std::sort(numbers.begin(), numbers.end());
    tree.add(std::to_string(i), i, numbers);
  }
  auto shared = std::make_shared<std::vector<std::unique_ptr<std::string>>>();
  for (auto &node : tree.nodes)
    shared->push_back(std::make_unique<std::string>(node.first.text + "!"));
  std::cout << shared->size() << " " << busy::sum(tree.nodes.begin()->second) << "\n";
}
