# SPDX-License-Identifier: Apache-2.0
"""What a service pays that always records samples: by the second, its beginning and end apart.

A program that is started twice differs from itself by a percent, by the addresses it was given, so
one percent is told by many starts, not by long runs. A session starts the program plain, plain once
more and recorded, lets each work once unmeasured, and asks them in turns; all that belongs to the
program, tidemark too, is on one core. What disturbs a turn makes it longer, never shorter: of a
session the lower quartiles of the turns are compared (of rates the upper ones), and of sessions the
median is told, with the interval that holds the true one in 95 of 100 cases. Sessions of several
runs of this are taken together (`--keep`), so none has to hold the machine for long.

What the program spends itself, tidemark's code in it included, is told apart from what tidemark's
process spends: the latter is counted in a run that has gone on for a while, as it looks more often
at first.
"""
import os
import pathlib
import random
import re
import shutil
import statistics
import tempfile
import time

import measure
import sampling

SESSIONS, TURNS = 40, 8
SETTLED_S, WATCHED_S = 20, 10
BASE, AGAIN, OURS = "plain", sampling.AGAIN, "tidemark"


def one_turn(worker):
    """Of a piece of work: what the program has spent, what tidemark has, requests per second."""
    *beside, own = worker.pids
    before = sampling.cpu_ns(own), sum(sampling.cpu_ns(pid) for pid in beside)
    rate = worker.work()
    return {"own": sampling.cpu_ns(own) - before[0], "rate": rate,
            "beside": sum(sampling.cpu_ns(pid) for pid in beside) - before[1]}


class Started:
    """The ways of a program, running; killed if they are not ended."""

    def __init__(self, bench, ways, program):
        _, kind, argv, env, text = program
        self.workers = {}
        self.scratch = tempfile.TemporaryDirectory(dir=bench.scratch)
        try:
            for name in random.sample(list(ways), len(ways)):
                place = pathlib.Path(self.scratch.name) / name.replace(" ", "-")
                place.mkdir()
                self.workers[name] = kind(argv, env, text, ways[name], place)
        except BaseException:
            self.__exit__(True)
            raise

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        for worker in self.workers.values():
            if failed:
                worker.child.kill()
                worker.child.wait()
            else:
                worker.end()
        self.scratch.cleanup()


def session(bench, ways, program):
    """Of each way, compared with the plain one: {what: ratio}."""
    found = {name: [] for name in ways}
    with Started(bench, ways, program) as started:
        for _ in range(bench.size(TURNS, 1)):
            for name in random.sample(list(ways), len(ways)):
                found[name].append(one_turn(started.workers[name]))

    def value(name, what):
        return undisturbed([turn[what] for turn in found[name]], what)
    return {"plain_ns": value(BASE, "own"),
            **{what: {name: value(name, what) / value(BASE, what) for name in (AGAIN, OURS)}
               for what in ("own", "rate") if found[BASE][0][what]}}


def undisturbed(values, what):
    best_first = sorted(values, reverse=what == "rate")
    return best_first[len(best_first) // 4]


def settled(bench, ways, program):
    """Of tidemark's process, while the program works without a pause: milliseconds of a core and
    times that it woke up, per second."""
    with Started(bench, {OURS: ways[OURS]}, program) as started:
        worker = started.workers[OURS]
        *beside, own = worker.pids

        def work_for(seconds):
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                worker.work()

        def counted():
            tasks = [task for pid in beside for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
            numbers = [(task / "schedstat").read_text().split() for task in tasks]
            return (time.monotonic(), sum(int(n[0]) for n in numbers) / 1e6,
                    sum(int(n[2]) for n in numbers), sampling.cpu_ns(own) / 1e6)
        work_for(bench.size(SETTLED_S, 1))
        before = counted()
        work_for(bench.size(WATCHED_S, 1))
        seconds, spent_ms, woken, own_ms = (b - a for a, b in zip(before, counted()))
    return {"ms_per_s": spent_ms / seconds, "woken_per_s": woken / seconds,
            "share": spent_ms / own_ms}


def fixed(bench, ways, program):
    """Processor milliseconds that the beginning and the end add, the capture written: of a program
    that is asked for nothing. None of a server, which would wait."""
    _, kind, argv, env, _ = program
    if kind is not sampling.Worker:
        return None
    spent = {name: [] for name in (BASE, OURS)}
    for _ in range(bench.size(20, 1)):
        for name, values in spent.items():
            words, extra = ways[name]
            _, spent_s, _ = measure.run_alone([*words, *argv], {**env, **extra})
            values.append(spent_s * 1e3)
    return statistics.median(spent[OURS]) - statistics.median(spent[BASE])


def pinned():
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def steady(bench, build, root, say):
    every = sampling.ways_of(build / "tidemark", say)
    ways = {name: ([*pinned(), *every[name][0]], every[name][1]) for name in (BASE, AGAIN, OURS)}
    ways[OURS][0][ways[OURS][0].index("sampled.tide")] = str(bench.scratch / "sampled.tide")
    rows = []
    for program in sampling.programs(bench, root / "bench/workloads"):
        if not shutil.which(program[2][0]) or not re.search(bench.chosen, program[0]):
            continue
        say(f"steady: {program[0]}")
        n = bench.size(max(SESSIONS, bench.repeats), 2)
        rows.append({"workload": program[0], "settled": settled(bench, ways, program),
                     "fixed_ms": fixed(bench, ways, program),
                     "sessions": [session(bench, ways, program) for _ in range(n)]})
    return {"rows": rows}


def pooled(results):
    """Of several runs at one commit: all sessions of a program, the rest as it was last."""
    rows = {}
    for result in results:
        for row in result["steady"]["rows"]:
            earlier = rows.get(row["workload"], {"sessions": []})["sessions"]
            rows[row["workload"]] = {**row, "sessions": earlier + row["sessions"]}
    return {"rows": list(rows.values())}


# The table.

def lines(result, table):
    """table: the module that writes tables."""
    def told(row, what, name):
        values = [one[what][name] for one in row["sessions"] if what in one]
        return sampling.percent(sampling.interval(values)) if values else ""

    titles = ["Program", "sessions", "plain, once more adds", "tidemark adds",
              "tidemark's process, of the program's time", "wakes up per second",
              "beginning and end, ms"]
    text = table.header(titles)
    for row in result["rows"]:
        settled_, fixed_ms = row["settled"], row["fixed_ms"]
        cells = [f"{len(row['sessions'])}", told(row, "own", AGAIN), told(row, "own", OURS),
                 f"{settled_['share'] * 100:+.2f} %", table.number(settled_["woken_per_s"], 0),
                 "" if fixed_ms is None else table.number(fixed_ms)]
        text.append(table.row([row["workload"], *cells]))
        if told(row, "rate", OURS):
            text.append(table.row(["its requests per second", cells[0], told(row, "rate", AGAIN),
                                   told(row, "rate", OURS), "", "", ""]))
    return text
