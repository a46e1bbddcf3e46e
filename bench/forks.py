# SPDX-License-Identifier: Apache-2.0
"""What a process costs: forked, exec'd, in a shell, in a build. Processor time of all processes and
of the tool itself, per process, and the size of the capture."""
import pathlib
import shutil
import subprocess

import measure

SOURCE = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
int work{i}(const std::map<std::string, std::vector<int>> &rows)
{{
  std::vector<std::string> names;
  for (auto &row : rows)
    names.push_back(row.first);
  std::sort(names.begin(), names.end());
  return (int)names.size() + {i};
}}
"""
MAKEFILE = "all: $(patsubst %.cpp,%.o,$(wildcard *.cpp))\n%.o: %.cpp\n\tg++ -O1 -c $< -o $@\n"
LOOP = "i=0; while [ $i -lt {n} ]; do (x=$i); i=$((i + 1)); done"


def tree(bench, n_files):
    """A directory with files to compile."""
    place = bench.scratch / "build-of-many"
    place.mkdir(exist_ok=True)
    for i in range(n_files):
        (place / f"work{i}.cpp").write_text(SOURCE.format(i=i))
    (place / "Makefile").write_text(MAKEFILE)
    return place


def workloads(bench, forks):
    n, n_files = bench.size(2000, 20), bench.size(24, 2)
    rows = [("fork, nothing else", [forks, "only", str(n)], n),
            ("fork, 32 allocations", [forks, "allocate", str(n)], n),
            ("fork and exec of true", [forks, "exec", str(n // 2), "/bin/true"], n // 2),
            ("subshells of sh", ["/bin/sh", "-c", LOOP.format(n=n)], n)]
    if shutil.which("make") and shutil.which("g++"):
        place = tree(bench, n_files)
        rows.append((f"make -j2 of {n_files} C++ files", ["make", "-s", "-j2", "-C", str(place)],
                     1 + 3 * n_files))  # make; for each file g++, cc1plus and as
    return rows


def forks(bench, root, say):
    program = str(bench.scratch / "forks")
    subprocess.run(["cc", "-O2", "-g", str(root / "bench/forks.c"), "-o", program], check=True)
    rows = []
    for name, argv, n in workloads(bench, program):
        say(f"forks: {name}")
        sizes = []

        def one(peer):
            for leftover in (bench.scratch / "build-of-many").glob("*.o"):
                leftover.unlink()
            output = bench.output(peer)
            _, cpu_s, _ = measure.run_alone(peer.wrap(argv, output), peer.environment(output))
            if peer.name == "tidemark":
                sizes.append(pathlib.Path(f"{output}.tide").stat().st_size)
            return cpu_s

        values = bench.interleave(bench.fast_peers(), one)
        cpu = {peer: measure.summary(list_) for peer, list_ in values.items()}
        for peer in cpu.values():
            peer["ratio"] = peer["median"] / cpu["plain"]["median"]
            peer["added_us"] = (peer["median"] - cpu["plain"]["median"]) / n * 1e6
            peer["added_low_us"] = (peer["low"] - cpu["plain"]["low"]) / n * 1e6
        rows.append({"workload": name, "n_processes": n, "cpu_s": cpu,
                     "capture_bytes": measure.summary(sizes)})
    return rows
