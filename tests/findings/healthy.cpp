// SPDX-License-Identifier: Apache-2.0
//
// As healthy.c, with the containers of C++.
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <time.h>

static volatile size_t sink;

static void nap_us(long us)
{
  timespec t = {0, us * 1000};
  nanosleep(&t, nullptr);
}

// Reserved, moved, and gone with its owner.
static void run_reserved()
{
  for (int i = 0; i < 1200; i++) {
    std::vector<std::string> lines;
    lines.reserve(20);
    for (int k = 0; k < 20; k++)
      lines.emplace_back(static_cast<size_t>(30 + (i + k) % 90), 'l');
    sink = lines.size();
    nap_us(300);
  }
}

// The last hundred alone are kept.
static void run_window()
{
  std::deque<std::shared_ptr<std::string>> window;
  for (int i = 0; i < 1200; i++) {
    for (int k = 0; k < 3; k++)
      window.push_back(std::make_shared<std::string>(400, 'w'));
    while (window.size() > 100)
      window.pop_front();
    nap_us(300);
  }
}

// Entries leave as they come.
static void run_expiring_map()
{
  std::unordered_map<int, std::vector<char>> open;
  for (int i = 0; i < 1200; i++) {
    open.emplace(i, std::vector<char>(static_cast<size_t>(500 + i % 300)));
    open.erase(i - 150);
    nap_us(300);
  }
}

int main(int argc, char **argv)
{
  std::string name = argc > 1 ? argv[1] : "";
  if (name == "cxx_reserved")
    run_reserved();
  else if (name == "cxx_window")
    run_window();
  else if (name == "cxx_expiring_map")
    run_expiring_map();
  else
    return 2;
  return 0;
}
