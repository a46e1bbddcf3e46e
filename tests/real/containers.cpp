// SPDX-License-Identifier: Apache-2.0
//
// C++ that allocates through its library alone. Each way of using memory has one function:
// app::Archive::keep holds the most at the peak and for good, app::(anonymous namespace)::rebuild
// allocates most in all, app::greet makes what is freed at once.
#include <cstdio>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define OWN __attribute__((noinline))

namespace app
{

struct Entry {
  std::string word;
  std::vector<std::string> copies;
};

class Archive
{
  std::map<std::string, Entry> by_word;
  std::unordered_map<std::string, std::shared_ptr<Entry>> shared;

public:
  OWN void keep(const std::string &word)
  {
    Entry &entry = by_word[word];
    entry.word = word;
    entry.copies.emplace_back(8192, 'k');
    shared[word] = std::make_shared<Entry>();
  }
  size_t size() const { return by_word.size() + shared.size(); }
};

namespace
{

template <class T> OWN std::vector<T> rebuild(size_t n, const T &value)
{
  std::vector<T> all;
  for (size_t i = 0; i < n; i++)
    all.push_back(value);
  return std::vector<T>(all.begin(), all.end());
}

} // namespace

OWN size_t greet(const std::string &word)
{
  size_t n = 0;
  for (int i = 0; i < 200; i++)
    n += (word + " and a greeting that is long enough to need a block " + std::to_string(i)).size();
  return n;
}

using Step = std::function<size_t(const std::string &)>;

OWN std::vector<Step> steps(Archive &archive)
{
  std::string prefix(40, 'p');
  return {
      [prefix](const std::string &word) { return greet(prefix + word); },
      [&archive](const std::string &word) { return archive.keep(word), archive.size(); },
      [](const std::string &word) { return rebuild<std::string>(3000, word).size(); },
  };
}

} // namespace app

int main()
{
  auto *archive = new app::Archive; // never given back
  size_t sum = 0;
  std::thread worker([&] {
    auto todo = app::steps(*archive);
    for (int i = 0; i < 400; i++) {
      std::string word = "a word that is too long to be kept inline " + std::to_string(i % 97);
      for (auto &step : todo)
        sum += step(word);
    }
  });
  worker.join();
  auto later = std::async(std::launch::async, [] { return std::deque<int>(1000).size(); });
  std::printf("%zu\n", sum + later.get());
  return 0;
}
