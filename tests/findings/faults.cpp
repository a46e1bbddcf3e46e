// SPDX-License-Identifier: Apache-2.0
//
// As faults.c, with the containers of C++.
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <mutex>
#include <vector>

#include <time.h>

#define APART __attribute__((noinline, noclone))

namespace app
{

enum { STEPS = 1200 };
static volatile unsigned sink;

static void nap_us(long us)
{
  timespec t = {0, us * 1000};
  nanosleep(&t, nullptr);
}

APART static void step_work(int step)
{
  std::vector<std::string> words;
  words.reserve(6);
  for (int i = 0; i < 6; i++)
    words.push_back(std::string(static_cast<size_t>(40 + (step * 7 + i * 31) % 200), 'w'));
  sink = static_cast<unsigned>(words.back().size());
  nap_us(300);
}

struct Picture {
  char pixels[1000];
};

// Deleted through nobody.
APART static void leak_new(int step)
{
  auto *volatile picture = new Picture; // fault: cxx_leak_new leak
  memset(picture->pixels, step, sizeof picture->pixels);
}

struct Person {
  std::shared_ptr<Person> friend_;
  char name[400];
};

// Two that hold each other.
APART static void leak_cycle()
{
  auto a = std::make_shared<Person>(); // fault: cxx_leak_cycle leak
  a->friend_ = a;
  memset(a->name, 'p', sizeof a->name);
}

static void run_leaks(bool cycle)
{
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    if (cycle)
      leak_cycle();
    else
      leak_new(i);
  }
}

// A cache by string that nothing is ever taken out of.
APART static void remember(std::map<std::string, std::string> &seen, int i)
{
  std::string key = std::string(100, 'k') + std::to_string(i);
  seen[key] = std::string(900, 'v'); // fault: cxx_growth_map growth
}

static void run_growth_map()
{
  std::map<std::string, std::string> seen;
  for (int i = 0; i < STEPS; i++) {
    step_work(i);
    remember(seen, i);
  }
}

static std::mutex lock;
static std::deque<std::unique_ptr<Picture>> queue;

APART static void produce()
{
  for (int i = 0; i < 1000; i++) {
    auto picture = std::make_unique<Picture>(); // fault: cxx_backlog backlog
    memset(picture->pixels, i, sizeof picture->pixels);
    std::lock_guard<std::mutex> hold(lock);
    queue.push_back(std::move(picture));
  }
}

static void run_backlog()
{
  std::thread consumer([] {
    for (int taken = 0; taken < 1000;) {
      std::unique_ptr<Picture> one;
      {
        std::lock_guard<std::mutex> hold(lock);
        if (!queue.empty()) {
          one = std::move(queue.front());
          queue.pop_front();
          taken++;
        }
      }
      nap_us(350);
    }
  });
  produce();
  consumer.join();
}

APART static size_t collect(int n)
{
  std::vector<int> numbers;
  for (int i = 0; i < n; i++)
    numbers.push_back(i); // fault: cxx_reserve reserve
  return numbers.size();
}

APART static size_t collect_many(int n)
{
  std::vector<int> numbers;
  for (int i = 0; i < n; i++)
    numbers.push_back(i); // fault: cxx_crossing crossing
  return numbers.size();
}

static void run_crossing()
{
  for (int i = 0; i < 6; i++)
    sink = static_cast<unsigned>(collect_many(1 << 20));
}

static void run_reserve()
{
  for (int i = 0; i < 2500; i++)
    sink = static_cast<unsigned>(collect(600));
}

APART static bool is_known(const char *word)
{
  std::string key(word); // fault: cxx_temporary_string temporary
  return key.size() > 40 && key[3] == 'x';
}

static void run_temporary()
{
  for (int i = 0; i < 400000; i++)
    sink = is_known("a word that has no room in the string itself");
}

APART static void fill(std::list<char> &all)
{
  for (int i = 0; i < 60000; i++)
    all.push_back('c'); // fault: cxx_small_list small
}

static void run_small()
{
  std::list<char> all;
  fill(all);
}

} // namespace app

int main(int argc, char **argv)
{
  std::string name = argc > 1 ? argv[1] : "";
  if (name == "cxx_leak_new" || name == "cxx_leak_cycle")
    app::run_leaks(name == "cxx_leak_cycle");
  else if (name == "cxx_growth_map")
    app::run_growth_map();
  else if (name == "cxx_backlog")
    app::run_backlog();
  else if (name == "cxx_reserve")
    app::run_reserve();
  else if (name == "cxx_crossing")
    app::run_crossing();
  else if (name == "cxx_temporary_string")
    app::run_temporary();
  else if (name == "cxx_small_list")
    app::run_small();
  else
    return 2;
  return 0;
}
