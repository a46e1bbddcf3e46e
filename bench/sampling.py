# SPDX-License-Identifier: Apache-2.0
"""What it costs to record samples, one for 512 KiB, beside the samplers of jemalloc and gperftools.

A percent is less than what this or that run of a program differs by: by the addresses it was given,
by what else the machine does. So every program runs in all ways at once, answers when it is asked,
and is asked in turns: the ways of one turn share a second of the machine. After a few turns all are
started anew. Each such session gives one value; of those the median is stated, with the interval
that holds the true one in 95 of 100 cases whatever the distribution (order statistics). A second
plain run is compared with the first like any tool: what it is off by is the measurement's fault.

The peers come with an allocator of their own: each is compared with that one, not sampling.
"""
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import devices
import measure

EVERY = 512 << 10
CONFIDENCE = 0.95
AGAIN = "plain, once more"
JEMALLOC, GPERFTOOLS = "jemalloc", "gperftools"
BASES = {AGAIN: "plain", "tidemark": "plain", JEMALLOC: "jemalloc alone",
         GPERFTOOLS: "tcmalloc alone"}


# Ways to run a program: (words before it, environment).

def library(name):
    found = sorted(pathlib.Path("/usr/lib").glob(f"*/{name}"))
    return str(found[0]) if found else None


def has_profiler(jemalloc):
    """jemalloc says on standard error what it was not built for."""
    done = subprocess.run(["/bin/true"], capture_output=True, check=False, env=measure.environment(
        {"LD_PRELOAD": jemalloc, "MALLOC_CONF": "prof:true"}))
    return not done.stderr


def ways_of(tidemark, say):
    jemalloc, tcmalloc = library("libjemalloc.so.2"), library("libtcmalloc.so.4")
    ways = {"plain": ([], {}), AGAIN: ([], {}), "tidemark": (
        [str(tidemark), "run", "-q", "-f", f"--sample={EVERY}", "-o", "sampled.tide", "--"], {})}
    if jemalloc and has_profiler(jemalloc):
        lg_sample = EVERY.bit_length() - 1
        ways["jemalloc alone"] = ([], {"LD_PRELOAD": jemalloc})
        ways[JEMALLOC] = ([], {"LD_PRELOAD": jemalloc,
                               "MALLOC_CONF": f"prof:true,lg_prof_sample:{lg_sample}"})
    else:
        say("sampling: jemalloc with its profiler is not there, left out")
    if tcmalloc:
        ways["tcmalloc alone"] = ([], {"LD_PRELOAD": tcmalloc})
        ways[GPERFTOOLS] = ([], {"LD_PRELOAD": tcmalloc, "TCMALLOC_SAMPLE_PARAMETER": str(EVERY)})
    else:
        say("sampling: libtcmalloc.so.4 is not there, left out")
    return ways


def compared(ways):
    return [name for name in BASES if name in ways]


# Numbers.

def interval(values):
    """The median, and the interval between the n-th lowest and the n-th highest value that holds
    the true median with the confidence wanted; the whole range where there are too few."""
    values, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    for rank in range(n // 2):
        outside += 2 * math.comb(n, rank) / 2**n  # fewer than rank + 1 lie on one side
        if outside > 1 - CONFIDENCE:
            break
    return {"median": statistics.median(values), "low": values[max(rank - 1, 0)],
            "high": values[n - max(rank, 1)], "values": n}


def cpu_ns(pid):
    """Of all threads, as the scheduler has counted."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # it has ended
    return total


# Programs that do a piece of work when they are asked.

class Worker:
    """A program that does a piece of work for a text on its standard input, and says so."""
    SAID = "piece of work done"

    def __init__(self, argv, env, text, way, place):
        words, extra = way
        self.text, self.place = text, place
        self.pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
        self.child = subprocess.Popen(
            [*words, *self.pinned, *argv], cwd=place, text=True, stdin=subprocess.PIPE,
            env=measure.environment({**env, **extra}), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.wait_until_there()
        self.pids = measure.tree_of(self.child.pid)

    def wait_until_there(self):
        self.work()

    def spent(self):
        return sum(cpu_ns(pid) for pid in self.pids)

    def work(self):
        self.child.stdin.write(self.text)
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line.strip() == self.SAID:
                return 0
        raise measure.Failed(f"{self.child.args}: ended when it was asked to work")

    def one(self):
        """Processor nanoseconds of a piece, tidemark's included, and requests per second."""
        before = self.spent()
        rate = self.work()
        return {"cpu": self.spent() - before, "rate": rate}

    def end(self):
        self.child.stdin.close()
        self.child.stdout.read()
        if self.child.wait():
            raise measure.Failed(f"{self.child.args}: status {self.child.returncode}")


class Redis(Worker):
    """A redis-server, and a client on another core that waits for its answers."""

    def __init__(self, argv, env, text, way, place):
        self.socket = str(place / "redis.sock")
        super().__init__([*argv, "--unixsocket", self.socket], env, text, way, place)

    def wait_until_there(self):
        measure.wait_for_socket(self.socket, self.child)
        self.work()

    def work(self):
        core = str(max(os.sched_getaffinity(0)))
        said = measure.run(["taskset", "-c", core, "redis-benchmark", "-s", self.socket, "-n",
                            self.text, "-r", "20000", "-d", "100", "-c", "1", "-P", "16", "-q",
                            "-t", "set,get,lpush,lpop,sadd,hset"])["stdout"]
        rates = [float(rate) for rate in re.findall(r": ([\d.]+) requests per second", said)]
        if len(rates) != 6:
            raise measure.Failed(f"redis-benchmark: no rates in {said[-300:]}")
        return statistics.harmonic_mean(rates)

    def end(self):
        measure.run(["redis-cli", "-s", self.socket, "shutdown", "nosave"], check=False)
        super().end()


PYTHON = f"""import sys
path = sys.argv[1]
code = compile(open(path).read(), path, "exec")
for line in sys.stdin:
    sys.argv = [path, *line.split()]
    exec(code, {{}})
    print("{Worker.SAID}", flush=True)
"""


def programs(bench, workloads, n_python="12000", n_sqlite="40000"):
    """n_: rows of a piece of work."""
    python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else "python3"
    json_work = [python, "-c", PYTHON, str(workloads / "json_work.py")]
    script = (workloads / "table_work.sql").read_text().replace(
        "200000", bench.size(n_sqlite, "1000"))
    script += f"drop table item;\n.print {Worker.SAID}\n"
    pieces = f"1 {n_python}\n"  # one round
    seed = {"PYTHONHASHSEED": "1"}  # one of the things by which two starts differ
    return [("CPython, json", Worker, json_work, seed, pieces),
            ("CPython, json, PYTHONMALLOC=malloc", Worker, json_work,
             {**seed, "PYTHONMALLOC": "malloc"}, pieces),
            ("sqlite3, in memory", Worker, ["sqlite3", ":memory:"], {}, script),
            ("redis-server under redis-benchmark", Redis,
             ["redis-server", "--port", "0", "--save", ""], {}, bench.size("6000", "5000"))]


def session(bench, ways, program):
    """All ways at once, asked in turns: of each way the values of each turn, and allocations."""
    _, kind, argv, env, text = program
    workers, found = {}, {name: [] for name in ways}
    with tempfile.TemporaryDirectory(dir=bench.scratch) as scratch:
        try:
            for name, way in ways.items():
                place = pathlib.Path(scratch) / name.replace(" ", "-")
                place.mkdir()
                workers[name] = kind(argv, env, text, way, place)
            for _ in range(bench.size(8, 2)):
                for name in random.sample(list(ways), len(ways)):
                    found[name].append(workers[name].one())
        except BaseException:
            for worker in workers.values():
                worker.child.kill()
            raise
        for worker in workers.values():
            worker.end()
        words = ways["tidemark"][0]
        report = measure.run([words[0], "report", "--json",
                              str(pathlib.Path(scratch) / "tidemark/sampled.tide")])
    return found, json.loads(report["stdout"])["totals"]["allocations"]


def program_row(bench, ways, program, say):
    say(f"sampling: {program[0]}")
    changes = {what: {name: [] for name in compared(ways)} for what in ("cpu", "rate")}
    plain, allocations = [], []
    for _ in range(bench.size(max(12, bench.repeats), 2)):
        found, n_allocations = session(bench, ways, program)
        for what, per_way in changes.items():
            for name, values in per_way.items():
                base = found[BASES[name]]
                if base[0][what]:
                    values.append(statistics.median(
                        turn[what] / at_base[what] for turn, at_base in zip(found[name], base)))
        spent = [turn["cpu"] for turn in found["plain"]]
        plain += spent
        # The first piece of work is asked for, but not measured.
        allocations.append(n_allocations / (len(spent) + 1) / statistics.median(spent) * 1e9)
    return {"workload": program[0], "plain_ns": measure.summary(plain),
            "allocations_per_s": statistics.median(allocations),
            **{what: {name: interval(values) for name, values in per_way.items() if values}
               for what, per_way in changes.items()}}


# Pairs of malloc and free.

STORMS = [("malloc + free, hot", "hot -d 20"), ("malloc + free, 1 k live", "live -d 20 -l 1000"),
          ("malloc + free, 2 threads", "hot -d 20 -t 2")]


def printed_ns(bench, way, words, n_pairs):
    before, env = way
    argv = [*before, bench.pairs, *words.split(), "-n", str(n_pairs)]
    return float(measure.run(argv, env)["stdout"].strip())


def storm_row(bench, ways, name, words, say):
    """Nanoseconds per pair: what each adds to its base, in the same turn."""
    say(f"sampling: {name}")
    n_pairs, found = bench.size(1000000, 10000), {way: [] for way in ways}
    for _ in range(bench.size(max(60, bench.repeats), 2)):
        for way in random.sample(list(ways), len(ways)):
            found[way].append(printed_ns(bench, ways[way], words, n_pairs))
    added, best = {}, {}
    for way in compared(ways):
        base = found[BASES[way]]
        added[way] = interval([ns - at_base for ns, at_base in zip(found[way], base)])
        best[way] = measure.summary(found[way])["low_eighth"] - measure.summary(base)["low_eighth"]
    return {"workload": name, "plain_ns": measure.summary(found["plain"]), "added_ns": added,
            "added_low_ns": best}


def counted(bench, place, way, words, n_pairs):
    """Instructions of a whole process: callgrind runs one alone, so without a supervisor."""
    _, env = way
    preloaded = ["--preload", env["LD_PRELOAD"]] if "LD_PRELOAD" in env else []
    rest = {key: value for key, value in env.items() if key != "LD_PRELOAD"}
    if "sample" in "".join(way[0]):
        preloaded = ["--preload", str(place / "libtidemark.so")]
        rest = {"TIDEMARK_OPTIONS": f"sample={EVERY}"}
    stores = bench.scratch / "counted-samples"
    shutil.rmtree(stores, ignore_errors=True)
    stores.mkdir()
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         devices.loader_of(bench.pairs), *preloaded, bench.pairs, *words.split(), "-n",
         str(n_pairs)], cwd=stores, capture_output=True, text=True, check=False,
        env=measure.environment(rest))
    told = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not told:
        raise measure.Failed(f"callgrind: {done.stderr[-300:]}")
    return int(told.group(1))


def counted_row(bench, place, ways, say):
    """Per pair, what begins and ends the program taken off; a tenth more are run unmeasured."""
    name, words = STORMS[1]
    say(f"sampling: instructions, {name}")
    n = bench.size(200000, 5000)
    per_pair = {way: (counted(bench, place, ways[way], words, 2 * n)
                      - counted(bench, place, ways[way], words, n)) / (1.1 * n)
                for way in ways if way != AGAIN}
    return {"workload": name, "plain": per_pair["plain"],
            "added": {way: per_pair[way] - per_pair[BASES[way]] for way in compared(ways)
                      if way != AGAIN}}


# Memory.

def rss_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def held(bench, way, n_live):
    """RSS of the program while it holds its blocks, and of tidemark beside it."""
    before, env = way
    child = subprocess.Popen([*before, bench.pairs, "hold", "-l", str(n_live)], text=True,
                             env=measure.environment(env), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=bench.scratch)
    if child.stdout.readline() != "ready\n":
        raise measure.Failed(f"{child.args}: not ready")
    time.sleep(1)  # what is beside it catches up
    pids = measure.tree_of(child.pid)
    found = {"program": rss_bytes(pids[-1]), "beside": sum(rss_bytes(pid) for pid in pids[:-1])}
    child.stdin.write("\n\n")
    child.stdin.close()
    child.stdout.read()
    if child.wait():
        raise measure.Failed(f"{child.args}: status {child.returncode}")
    return found


def memory_row(bench, ways, say):
    n_live = bench.size(10_000_000, 100_000)
    say(f"sampling: {n_live} live blocks")
    found = {name: held(bench, way, n_live) for name, way in ways.items()}
    return {"n_live": n_live, "plain_bytes": found["plain"]["program"],
            "added_bytes": {name: found[name]["program"] - found[BASES[name]]["program"]
                            for name in compared(ways)},
            "beside_bytes": found["tidemark"]["beside"]}


def sampling(bench, build, root, say):
    ways = ways_of(build / "tidemark", say)
    chosen = [program for program in programs(bench, root / "bench/workloads")
              if shutil.which(program[2][0]) and re.search(bench.chosen, program[0])]
    result = {"every": EVERY, "programs": [program_row(bench, ways, program, say)
                                           for program in chosen]}
    if bench.chosen:
        return result
    # As short as they are, they need no supervisor's start and end timed: the program times itself.
    result["storms"] = [storm_row(bench, ways, name, words, say) for name, words in STORMS]
    if shutil.which("valgrind"):
        result["counted"] = counted_row(
            bench, devices.build(bench, root, "counted", 0).parent, ways, say)
    result["memory"] = memory_row(bench, ways, say)
    return result


# The tables.

def percent(change):
    return (f"{(change['median'] - 1) * 100:+.2f} % ({(change['low'] - 1) * 100:+.2f} to "
            f"{(change['high'] - 1) * 100:+.2f})")


def nanoseconds(entry, way):
    added = entry["added_ns"][way]
    return (f"{added['median']:+.1f} ({added['low']:+.1f} to {added['high']:+.1f}), at best "
            f"{entry['added_low_ns'][way]:+.1f}")


def lines(result, table):
    """table: the module that writes tables."""
    first = result["programs"][0]["cpu"] if result["programs"] else result["storms"][0]["added_ns"]
    ways = list(first)
    titles = [f"{way} adds" for way in ways]

    def rendered(name, plain, cells):
        return table.row([name, plain, *(cells.get(way, "") for way in ways)])

    text = table.header(["Processor time", "allocations per second", *titles])
    text += [rendered(entry["workload"], f"{entry['allocations_per_s']:,.0f}",
                      {way: percent(entry["cpu"][way]) for way in ways})
             for entry in result["programs"]]
    text += [rendered("redis, requests per second", "", {way: percent(entry["rate"][way])
                                                         for way in ways})
             for entry in result["programs"] if entry["rate"]]
    if "storms" not in result:
        return text
    text += ["", *table.header(["ns", "plain", *titles])]
    text += [rendered(entry["workload"], table.number(entry["plain_ns"]["median"]),
                      {way: nanoseconds(entry, way) for way in ways})
             for entry in result["storms"]]
    if "counted" in result:
        told = result["counted"]
        text.append(rendered(f"{told['workload']}: instructions", table.number(told["plain"], 0),
                             {way: f"{n:+.0f}" for way, n in told["added"].items()}))
    memory = result["memory"]
    text += ["", *table.header(["MiB", "plain", *titles]), rendered(
        f"RSS, {memory['n_live']:,} live blocks", table.number(memory["plain_bytes"] / 2**20),
        {way: f"{n / 2**20:+.1f}" for way, n in memory["added_bytes"].items()})]
    return text + ["", f"tidemark's own process, which the program does not pay for, has "
                       f"{table.number(memory['beside_bytes'] / 2**20)} MiB."]
