# SPDX-License-Identifier: Apache-2.0
"""What naming costs: a program of 100 MB of debug info, and a capture with 100,000 stacks of it.

The program is made here, once: many units of C++ that use the standard library, each with types of
its own, as large programs are. Its addresses are those of a capture that bench/capture.c makes.
"""
import os
import pathlib
import shutil
import subprocess

import measure

UNIT = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit_@ {
struct Item { std::string name; std::vector<int> values; std::map<int, std::string> index; };
template <class T> struct Store {
  std::unordered_map<std::string, std::shared_ptr<T>> items;
  std::set<std::pair<int, std::string>> order;
  T &add(const std::string &name) {
    auto item = std::make_shared<T>();
    item->name = name;
    order.insert({(int)items.size(), name});
    return *(items[name] = item);
  }
  long sum() const {
    return std::accumulate(items.begin(), items.end(), 0L, [](long all, const auto &pair) {
      auto &values = pair.second->values;
      return all + std::accumulate(values.begin(), values.end(), 0L);
    });
  }
};
long work(int n) {
  Store<Item> store;
  std::vector<std::function<void(Item &)>> steps = {
    [](Item &i) { for (int k = 0; k < 20; k++) i.values.push_back(k * @); },
    [](Item &i) { for (int v : i.values) i.index[v] = std::to_string(v) + i.name; },
    [](Item &i) { std::sort(i.values.begin(), i.values.end(), std::greater<>()); },
  };
  std::regex words("([a-z]+)_([0-9]+)");
  for (int k = 0; k < n; k++) {
    std::ostringstream text;
    text << "item_" << k;
    Item &item = store.add(text.str());
    for (auto &step : steps) step(item);
    std::smatch match;
    std::string all = text.str();
    if (std::regex_match(all, match, words)) item.values.push_back((int)match[2].length());
  }
  return store.sum();
}
}
"""


def build(directory, n_units):
    """The program's path; made unless it is there."""
    program = directory / f"units-{n_units}"
    if program.exists():
        return program
    directory.mkdir(parents=True, exist_ok=True)
    main = "".join(f"namespace unit_{i} {{ long work(int); }}\n" for i in range(n_units))
    main += "int main() { return (int)(0" + "".join(f" + unit_{i}::work(3)"
                                                    for i in range(n_units)) + "); }\n"
    sources = {"main": main, **{f"u{i}": UNIT.replace("@", str(i)) for i in range(n_units)}}
    waiting, running = list(sources.items()), []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            name, text = waiting.pop()
            (directory / f"{name}.cpp").write_text(text)
            running.append(subprocess.Popen(["g++", "-g", "-O1", "-c", f"{name}.cpp"],
                                            cwd=directory))
        if running.pop(0).wait():
            raise measure.Failed("the program for naming does not compile")
    objects = [f"{name}.o" for name in sources]
    made = program.with_suffix(".new")
    subprocess.run(["g++", *objects, "-o", made.name], cwd=directory, check=True)
    for name in sources:
        (directory / f"{name}.o").unlink()
        (directory / f"{name}.cpp").unlink()
    made.rename(program)
    return program


def commands(bench, tidemark, program, tide, addresses):
    """name, argv, environment, standard input; the first two are of the whole command."""
    cache = {"TIDEMARK_CACHE": str(bench.scratch / "cache")}
    named = str(bench.scratch / "named.tide")
    rows = [
        ("tidemark report, names cached", [tidemark, "report", tide], cache, None),
        ("tidemark html, names cached",
         [tidemark, "html", "-f", "-o", str(bench.scratch / "page.html"), tide], cache, None),
        ("tidemark report, no cache", [tidemark, "report", tide], {}, None),
        ("tidemark symbolize, all addresses, no cache",
         [tidemark, "symbolize", "-f", "-o", named, tide], {}, None),
    ]
    for peer in "addr2line", "llvm-symbolizer":
        if shutil.which(peer):
            rows.append((f"{peer} -i, the same addresses",
                         [peer, "-i", "-f", "-C", "-e", str(program)], {}, str(addresses)))
    return rows


def symbols(bench, build_dir, say):
    n_units, n_stacks = bench.size(72, 2), bench.size(100000, 1000)
    say(f"symbols: a program of {n_units} units")
    program = build(pathlib.Path(build_dir) / "bench-symbols", n_units)
    tide, addresses = str(bench.scratch / "large.tide"), bench.scratch / "addresses"
    measure.run([str(build_dir / "bench/bench_capture"), str(program), str(n_stacks), "24", tide,
                 str(addresses)])
    rows = commands(bench, str(build_dir / "tidemark"), program, tide, addresses)
    for row in rows:
        if "TIDEMARK_CACHE" in row[2]:
            measure.run_alone(*row[1:])  # fills the cache
    seconds, peaks = {row[0]: [] for row in rows}, {row[0]: [] for row in rows}
    for _ in range(bench.repeats):
        for name, *command in rows:
            say(f"symbols: {name}")
            wall, _, peak = measure.run_alone(*command)
            seconds[name].append(wall)
            peaks[name].append(peak)
    return {"n_stacks": n_stacks, "n_addresses": len(addresses.read_text().split()),
            "program_bytes": program.stat().st_size,
            "wall_s": {name: measure.summary(values) for name, values in seconds.items()},
            "peak_bytes": {name: measure.summary(values) for name, values in peaks.items()}}
