#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure tidemark and its peers in one run, on one machine, with the same binaries.

  bench/run.py [--quick] [--only SECTION,…] [--programs REGEX] [--repeats N] [--json FILE]
               [--no-docs] [--keep FILE…]

Repeats are interleaved (plain, tidemark, heaptrack, plain, …), where runs are short in a new order
each time, so that a slow minute of the machine hits everybody alike. Writes the numbers as JSON to
build/bench.json and, after a full run, the tables to docs/overhead.md. With --keep nothing is
measured: docs/overhead.md is written from such files, the later ones first, and what none of them
has stays as it is there; each section says when it was measured. Nothing is asserted: a benchmark
measures, a test judges.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import attach
import devices
import exports
import forks
import imports
import looks
import measure
import page
import peers
import regions
import said
import sampling
import stacks
import stages
import steady
import suites
import symbols
import table
import threads

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
WORKLOADS = ROOT / "bench/workloads"


class Bench:
    def __init__(self, options, scratch):
        self.quick = options.quick
        self.chosen = options.programs
        self.repeats = options.repeats or (1 if options.quick else 5)
        self.scratch = pathlib.Path(scratch)
        self.pairs = str(self.scratch / "pairs")
        self.peers, self.missing = [], {}
        for peer in peers.all_peers(BUILD / "tidemark"):
            lacking = peer.missing()
            if lacking and peer.name == "tidemark":
                raise measure.Failed(f"{lacking} is not built")
            if lacking:
                self.missing[peer.name] = lacking
            else:
                self.peers.append(peer)

    def fast_peers(self):
        return [peer for peer in self.peers if not peer.slow]

    def size(self, full, quick):
        return quick if self.quick else full

    def output(self, peer):
        """A fresh place for a peer's files; the last run's are gone."""
        place = self.scratch / f"out-{peer.name}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return str(place / "capture")

    def interleave(self, chosen, one, times=1):
        """one(peer) for each peer in turn, repeated; returns {peer: [values]}. With times, so much
        more often and in random order, but for slow peers."""
        values = {peer.name: [] for peer in chosen}
        for turn in range(self.repeats * times):
            present = [peer for peer in chosen if turn % times == 0 or not peer.slow]
            for peer in random.sample(present, len(present)) if times > 1 else present:
                values[peer.name].append(one(peer))
        return values


def say(text):
    print(text, file=sys.stderr, flush=True)


# Nanoseconds per pair of malloc and free, timed inside the program.

PAIRS = [  # name, mode and options, pairs, peers
    ("hot", "hot -d 20", 200000, "all"),
    ("hot, 60 deep", "hot -d 60", 200000, "fast"),
    ("fresh leaf frames", "fresh -d 20", 200000, "all"),
    ("64 random stacks", "random -d 20", 100000, "fast"),
    ("1 k live", "live -d 20 -l 1000", 200000, "fast"),
    ("10 k live", "live -d 20 -l 10000", 200000, "fast"),
    ("100 k live", "live -d 20 -l 100000", 500000, "fast"),
    ("1 M live", "live -d 20 -l 1000000", 1000000, "fast"),
    ("10 M live", "live -d 20 -l 10000000", 1000000, "few"),
    ("freed by another thread", "cross -d 20", 200000, "fast"),
    ("hot, 2 threads", "hot -d 20 -t 2", 200000, "fast"),
    ("hot, 8 threads", "hot -d 20 -t 8", 100000, "fast"),
    ("fresh, 2 threads", "fresh -d 20 -t 2", 200000, "fast"),
]


def pairs(bench):
    rows = []
    for name, words, n_pairs, who in PAIRS:
        say(f"pairs: {name}")
        n_pairs = bench.size(n_pairs, n_pairs // 100)

        def one(peer):
            count = n_pairs // 4 if peer.slow else n_pairs
            output = bench.output(peer)
            argv = peer.wrap([bench.pairs, *words.split(), "-n", str(count)], output)
            printed = measure.run(argv, peer.environment(output))["stdout"]
            # heaptrack's launcher talks on stdout too: the number is a line of its own.
            numbers = [line for line in printed.splitlines() if line.replace(".", "", 1).isdigit()]
            if len(numbers) != 1:
                raise measure.Failed(f"{' '.join(argv)}: no number in its output")
            return float(numbers[0])

        chosen = bench.peers if who == "all" else bench.fast_peers()
        times = table.PAIRS_TIMES if who != "few" else 1
        values = bench.interleave(chosen, one, bench.size(times, 1))
        plain = measure.summary(values["plain"])
        result = {peer: measure.summary(list_) for peer, list_ in values.items()}
        for peer in result:
            result[peer]["added_ns"] = result[peer]["median"] - plain["median"]
            result[peer]["added_low_ns"] = result[peer]["low_eighth"] - plain["low_eighth"]
        rows.append({"workload": name, "command": f"pairs {words} -n {n_pairs}", "ns": result})
    return rows


# Wall time of real programs.

def program_commands(bench):
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
    source = bench.scratch / "work.i"
    text = measure.run(["python3", str(WORKLOADS / "c_source.py"), bench.size("1200", "60")])
    source.write_text(text["stdout"])
    python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable
    script = (WORKLOADS / "table_work.sql").read_text()
    if bench.quick:
        script = script.replace("200000", "4000")
    return [
        ("CPython, json, PYTHONMALLOC=malloc",
         [python, str(WORKLOADS / "json_work.py"), bench.size("6", "1")],
         {"PYTHONMALLOC": "malloc"}, None),
        ("cc1 -O2", [cc1.stdout.strip(), "-quiet", "-O2", str(source), "-o", "/dev/null"],
         {}, None),
        ("perl, hashes", ["perl", str(WORKLOADS / "hash_work.pl"), bench.size("300000", "9000")],
         {}, None),
        ("sqlite3, in memory", ["sqlite3", ":memory:"], {}, script),
    ]


def programs(bench):
    rows = []
    for name, argv, env, stdin in program_commands(bench):
        if not re.search(bench.chosen, name):
            continue
        if not shutil.which(argv[0]):
            say(f"programs: {name}: {argv[0]} is not installed, left out")
            continue
        say(f"programs: {name}")

        def one(peer):
            output = bench.output(peer)
            done = measure.run(peer.wrap(argv, output), {**env, **peer.environment(output)}, stdin)
            return done["wall_s"], done["cpu_s"]

        rows.append(program_row(bench, name, bench.interleave(bench.fast_peers(), one)))
    return rows + (redis(bench) if re.search(bench.chosen, REDIS) else [])


def program_row(bench, name, values):
    """Of each peer the wall and processor seconds of its runs. What tidemark takes beside a server
    is in its processor time, not in the time that a client waits."""
    row = {"workload": name, "allocations": allocations(bench)}
    for i, key in enumerate(("wall_s", "cpu_s")):
        row[key] = {peer: measure.summary([run[i] for run in runs])
                    for peer, runs in values.items()}
        for peer in row[key].values():
            for one in ("median", "low_eighth"):
                peer[f"{one}_ratio"] = peer[one] / row[key]["plain"][one]
    return row


def allocations(bench):
    """How many allocations the workload makes, as tidemark's latest capture of it says."""
    capture = bench.scratch / "out-tidemark/capture.tide"
    if not capture.exists():
        return None
    report = measure.run([str(BUILD / "tidemark"), "report", "--json", str(capture)])
    return json.loads(report["stdout"])["totals"]["allocations"]


REDIS = "redis-server under redis-benchmark"


def redis(bench):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        say("programs: redis is not installed, left out")
        return []
    say("programs: redis")
    count = bench.size("200000", "2000")

    def one(peer):
        output = bench.output(peer)
        path = str(bench.scratch / "redis.sock")
        argv = peer.wrap(["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                          "--daemonize", "no"], output)
        server = subprocess.Popen(argv, env=measure.environment(peer.environment(output)),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, cwd=bench.scratch)
        try:
            measure.wait_for_socket(path, server)
            load = measure.run(["redis-benchmark", "-s", path, "-q", "-n", count, "-r", "100000",
                                "-d", "100", "-P", "8", "-t", "set,get,lpush,lpop,sadd,hset"])
            measure.run(["redis-cli", "-s", path, "shutdown", "nosave"], check=False)
            _, status, usage = os.wait4(server.pid, 0)
            server.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
        return load["wall_s"], usage.ru_utime + usage.ru_stime

    return [program_row(bench, REDIS, bench.interleave(bench.fast_peers(), one))]


# Starting and ending.

def startup(bench):
    say("startup: true")

    def one(peer):
        output = bench.output(peer)
        n_runs = bench.size(20, 2)
        argv = peer.wrap(["/bin/true"], output)
        start = time.monotonic()
        for _ in range(n_runs):
            measure.run(argv, peer.environment(output))
        return (time.monotonic() - start) / n_runs * 1e3

    values = bench.interleave(bench.fast_peers(), one)
    plain = measure.summary(values["plain"])["median"]
    result = {peer: measure.summary(list_) for peer, list_ in values.items()}
    for peer in result:
        result[peer]["added_ms"] = result[peer]["median"] - plain
    return {"workload": "/bin/true", "ms": result}


def finish(bench):
    """Size of the capture and time from the program's exit to ours."""
    tidemark = next(peer for peer in bench.peers if peer.name == "tidemark")
    name, argv, env, _ = program_commands(bench)[0]
    say(f"finish: {name}")
    seconds, sizes = [], []
    for _ in range(bench.repeats):
        output = bench.output(tidemark)
        seconds.append(measure.finish_time(tidemark.wrap(argv, output), env))
        sizes.append(pathlib.Path(f"{output}.tide").stat().st_size)
    return {"workload": name, "finish_s": measure.summary(seconds),
            "capture_bytes": measure.summary(sizes)}


# Memory over all processes with many live blocks.

def memory(bench):
    n_live = bench.size(10000000, 100000)
    say(f"memory: {n_live} live blocks")
    result = {}
    for peer in bench.fast_peers():
        output = bench.output(peer)
        argv = peer.wrap([bench.pairs, "hold", "-l", str(n_live)], output)
        result[peer.name] = {"bytes": measure.hold_memory(argv, peer.environment(output))[0]}
    plain = result["plain"]["bytes"]
    for row in result.values():
        row["added_bytes"] = row["bytes"] - plain
        row["added_per_block"] = row["added_bytes"] / n_live
    return {"n_live": n_live, "peers": result, "sizes": [memory_of_size(bench, size)
                                                         for size in BLOCK_SIZES]}


# What a live block costs by its size, the heap full and after a random half was freed.
BLOCK_SIZES = [16, 32, 64, 200, 1000, 8000, 100000, 1 << 20, -64, -4096]  # -64: 16 to 64


def memory_of_size(bench, size):
    mean = size if size > 0 else 8 - size // 2
    n_live = bench.size(1 << 30, 1 << 24) // (mean + 8)
    say(f"memory: {n_live} blocks of {size} bytes")
    entry = {"size": size, "n_live": n_live, "added_bytes": {}, "half_added_bytes": {}}
    found = {}
    for peer in bench.fast_peers():
        output = bench.output(peer)
        argv = peer.wrap([bench.pairs, "hold", "-l", str(n_live), "-s", str(size)], output)
        found[peer.name] = measure.hold_memory(argv, peer.environment(output), times=2)
    for peer, (full, half) in found.items():
        if peer != "plain":
            entry["added_bytes"][peer] = full - found["plain"][0]
            entry["half_added_bytes"][peer] = half - found["plain"][1]
    return entry


def new_stacks(bench):
    return stacks.stacks(bench, ROOT, say)


def naming(bench):
    return symbols.symbols(bench, BUILD, say)


def foreign(bench):
    return imports.imports(bench, BUILD, WORKLOADS / "json_work.py", say)


def writing(bench):
    return exports.exports(bench, BUILD, say)


def browser(bench):
    return page.page(bench, BUILD, say)


def processes(bench):
    return forks.forks(bench, ROOT, say)


def crowds(bench):
    return threads.threads(bench, BUILD, ROOT / "bench/threads.c", say)


def overhead_said(bench):
    chosen = [row for row in program_commands(bench) if shutil.which(row[1][0])]
    return said.said(bench, BUILD, chosen, ROOT, say, bench.chosen)


def by_stage(bench):
    return stages.stages(bench, BUILD, program_commands(bench), say)


def by_device(bench):
    return devices.devices(bench, ROOT, say)


def running_already(bench):
    return attach.attach(bench, ROOT, BUILD, say)


def by_samples(bench):
    return sampling.sampling(bench, BUILD, ROOT, say)


def by_the_second(bench):
    return steady.steady(bench, BUILD, ROOT, say)


def large_processes(bench):
    return looks.looks(bench, BUILD, say)


def asking(bench):
    return regions.regions(bench, ROOT, BUILD, say)


def rust_tests(bench):
    return suites.suites(bench, ROOT, say)


SECTIONS = {"pairs": pairs, "programs": programs, "stages": by_stage,
            "devices": by_device, "said": overhead_said, "sampling": by_samples,
            "steady": by_the_second,
            "startup": startup, "finish": finish, "forks": processes, "memory": memory,
            "looks": large_processes, "regions": asking, "suites": rust_tests,
            "stacks": new_stacks, "threads": crowds, "attach": running_already, "naming": naming,
            "imports": foreign, "exports": writing, "page": browser}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work at all?")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, comma-separated")
    parser.add_argument("--programs", default="", metavar="REGEX",
                        help="of sections programs, said, sampling and steady, those rows alone")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--json", default=str(BUILD / "bench.json"))
    parser.add_argument("--keep", nargs="+", metavar="FILE",
                        help="write docs/overhead.md from these results")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/overhead.md alone")
    options = parser.parse_args()
    options.sections = options.only.split(",")
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"no section '{name}' ({', '.join(SECTIONS)})")
    return options


def keep(paths):
    """The page from results of several runs, and from itself."""
    path = ROOT / "docs/overhead.md"
    results = [json.loads(pathlib.Path(name).read_text()) for name in paths]
    if any(result["quick"] for result in results):
        raise measure.Failed("a quick run's numbers are no result")
    path.write_text(table.page_of(results, path.read_text()))
    say(f"wrote {path}")


def main():
    options = arguments()
    if options.keep:
        keep(options.keep)
        return
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
        bench = Bench(options, scratch)
        subprocess.run(["cc", "-O2", "-g", str(ROOT / "bench/pairs.c"), "-o", bench.pairs,
                        "-lpthread"], check=True)
        for name, lacking in bench.missing.items():
            say(f"{name} is left out: {lacking} is not there")
        result = {"schema": "tidemark-bench-1", "machine": measure.machine(),
                  "commit": measure.commit(ROOT), "quick": bench.quick,
                  "repeats": bench.repeats, "missing": bench.missing,
                  "date": time.strftime("%Y-%m-%d", time.gmtime())}
        for name in options.sections:
            result[name] = SECTIONS[name](bench)
    pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    text = table.markdown(result)
    print(text)
    whole = set(options.sections) == set(SECTIONS) and not options.programs
    if whole and not options.quick and not options.no_docs:
        (ROOT / "docs/overhead.md").write_text(text)
        say("wrote docs/overhead.md")
    say(f"wrote {options.json}")


if __name__ == "__main__":
    try:
        main()
    except measure.Failed as error:
        sys.exit(f"bench: {error}")
