# SPDX-License-Identifier: Apache-2.0
"""What a service pays that always records samples: by the second, its beginning and end apart.

A program that is started twice differs from itself by a percent, by the addresses it was given, so
a percent is not to be told of two processes. Here a recorded process is compared with itself: at a
signal its calls go past the recorder, and at the next to it again (bench/bypass.c). It is asked for
short pieces of work in turns of three, in a new order each time: past, past once more, and through
the recorder. What the second is off by is the measurement's fault.

A machine that others use is slower by half from one second to the next, so only what a turn has
done within some hundredths of a second is compared with each other: of a start the median of its
turns' ratios, and of many starts the median, with the interval that holds the true one in 95 of 100
cases. (Of the same turns the lower quartiles of each of the three differ by ten times as much from
start to start.) Starts of several runs of this are taken together (`--keep`), so none has to hold
the machine for long.

What the program spends itself, tidemark's code in it included, is told apart from what tidemark's
process spends: the latter is counted in a run that has gone on for a while, as it looks more often
at first.
"""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import tempfile
import time

import measure
import sampling

STARTS, TURNS = 20, 200
ROWS = ("1200", "2000")  # a piece of 5 to 10 ms
SETTLED_S, WATCHED_S = 20, 10
PAST, AGAIN, OURS = "past", "past, once more", "tidemark"


def one_turn(worker):
    """Of a piece of work: what the program has spent, what tidemark has, requests per second."""
    *beside, own = worker.pids
    before = sampling.cpu_ns(own), sum(sampling.cpu_ns(pid) for pid in beside)
    rate = worker.work()
    return {"own": sampling.cpu_ns(own) - before[0], "rate": rate,
            "beside": sum(sampling.cpu_ns(pid) for pid in beside) - before[1]}


class Requests(sampling.Redis):
    """What redis-benchmark asks for, and how if it is told nothing else: fifty clients by TCP, each
    with one request at a time, so that the server does not wait for them. They stay, as pieces of
    work are short."""
    CLIENTS, REQUESTS, KEYS = 50, 128, 20000  # requests of each kind in a piece of work
    VALUE = "x" * 100
    KINDS = (("set", "key:{}", VALUE), ("get", "key:{}"), ("lpush", "list", VALUE),
             ("lpop", "list"), ("sadd", "set", "element:{}"),
             ("hset", "hash", "element:{}", VALUE))

    def __init__(self, argv, env, text, way, place):
        self.connections, rng = [], random.Random(1)
        self.requests = [self.request(word.format(rng.randrange(self.KEYS)) for word in words)
                         for words in self.KINDS for _ in range(self.REQUESTS)]
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        super().__init__([*argv, "--port", str(self.port)], env, text, way, place)

    @staticmethod
    def request(words):
        words = list(words)
        return (f"*{len(words)}\r\n" + "".join(f"${len(one)}\r\n{one}\r\n"
                                               for one in words)).encode()

    def work(self):
        while len(self.connections) < self.CLIENTS:
            self.connections.append(self.connection())
        begun = time.monotonic()
        self.ask()
        return len(self.requests) / (time.monotonic() - begun)

    def connection(self):
        made = socket.create_connection(("127.0.0.1", self.port))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def ask(self):
        for i, request in enumerate(self.requests):
            client = self.connections[i % self.CLIENTS]
            if i >= self.CLIENTS:
                self.hear(client)
            client.sendall(request)
        for client in self.connections:
            self.hear(client)

    def hear(self, client):
        said = client.recv(1 << 18)  # of an answer to one request all
        if not said:
            raise measure.Failed(f"{self.child.args}: ended when it was asked to work")
        return said

    def end(self):
        for client in self.connections:
            client.close()
        super().end()


class RequestsAhead(Requests):
    """Of one client, by a socket of the file system, that is always 64 requests ahead of the
    answers: the server does hardly anything but what is asked for."""
    CLIENTS, REQUESTS, AHEAD = 1, 768, 64
    LAST = "that was all"

    def connection(self):
        made = socket.socket(socket.AF_UNIX)
        made.connect(self.socket)
        return made

    def ask(self):
        client, heard = self.connections[0], b""
        end = f"${len(self.LAST)}\r\n{self.LAST}\r\n".encode()
        firsts = range(0, len(self.requests), self.AHEAD)
        for first in firsts:
            batch = [*self.requests[first:first + self.AHEAD], self.request(("echo", self.LAST))]
            client.sendall(b"".join(batch))
            while first and end not in heard:
                heard += self.hear(client)
            heard = heard[heard.index(end) + len(end):] if first else heard
        while end not in heard:
            heard += self.hear(client)


class Started:
    """A program under a way of running it; killed if it is not ended."""

    def __init__(self, bench, way, program):
        _, kind, argv, env, text = program
        self.scratch = tempfile.TemporaryDirectory(dir=bench.scratch)
        try:
            self.worker = kind(argv, env, text, way, pathlib.Path(self.scratch.name))
        except BaseException:
            self.scratch.cleanup()
            raise

    def __enter__(self):
        return self.worker

    def __exit__(self, failed, *_):
        if failed:
            self.worker.child.kill()
            self.worker.child.wait()
        else:
            self.worker.end()
        self.scratch.cleanup()


def turn(worker, n_times):
    """The calls lead past the recorder, or to it again: each time the other way than they did."""
    for _ in range(n_times):
        os.kill(worker.pids[-1], signal.SIGUSR2)
        worker.work()


def ratio(turns, of, what):
    return statistics.median(turn[of][what] / turn[PAST][what] for turn in turns)


def start(bench, ways, program):
    """Of one process, compared with its turns past the recorder: {what: ratio}. What is measured
    comes right after a change, whether it has to or not, so that all have the same behind them."""
    turns, is_past = [], False
    with Started(bench, ways["compared"], program) as worker:
        for _ in range(bench.size(TURNS, 2)):
            turns.append({})
            for name in random.sample((PAST, AGAIN, OURS), 3):
                turn(worker, 2 if is_past == (name != OURS) else 1)
                is_past = name != OURS
                turns[-1][name] = one_turn(worker)
    return {what: {name: ratio(turns, name, what) for name in (AGAIN, OURS)}
            for what in ("own", "rate") if turns[0][PAST][what]}


def settled(bench, ways, program):
    """Of tidemark's process, while the program works without a pause: milliseconds of a core and
    times that it woke up, per second."""
    with Started(bench, ways[OURS], program) as worker:
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
    spent = {name: [] for name in ("plain", OURS)}
    for _ in range(bench.size(20, 1)):
        for name, values in spent.items():
            words, extra = ways[name]
            _, spent_s, _ = measure.run_alone([*words, *argv], {**env, **extra})
            values.append(spent_s * 1e3)
    return statistics.median(spent[OURS]) - statistics.median(spent["plain"])


def pinned():
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def built_bypass(bench, root):
    library = bench.scratch / "bypass.so"
    measure.run([os.environ.get("CC", "gcc"), "-O2", "-shared", "-fPIC", "-o", str(library),
                 str(root / "bench/bypass.c")])
    return {"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"}


def programs(bench, root):
    for program in sampling.programs(bench, root / "bench/workloads", *ROWS):
        if program[1] is sampling.Redis:
            yield ("redis-server, 50 clients", Requests, *program[2:])
            yield ("redis-server, 64 requests ahead", RequestsAhead, *program[2:])
        else:
            yield program


def steady(bench, build, root, say):
    plain, ours = (sampling.ways_of(build / "tidemark", say)[name][0] for name in ("plain", OURS))
    ours[ours.index("sampled.tide")] = str(bench.scratch / "sampled.tide")
    ways = {"plain": ([*pinned(), *plain], {}), OURS: ([*pinned(), *ours], {}),
            "compared": ([*pinned(), *ours], built_bypass(bench, root))}
    rows = []
    for program in programs(bench, root):
        if not shutil.which(program[2][0]) or not re.search(bench.chosen, program[0]):
            continue
        say(f"steady: {program[0]}")
        n = bench.size(max(STARTS, bench.repeats), 2)
        rows.append({"workload": program[0], "settled": settled(bench, ways, program),
                     "fixed_ms": fixed(bench, ways, program),
                     "starts": [start(bench, ways, program) for _ in range(n)]})
    return {"rows": rows}


def pooled(results):
    """Of several runs at one commit: all starts of a program, the rest as it was last."""
    rows = {}
    for result in results:
        for row in result["steady"]["rows"]:
            earlier = rows.get(row["workload"], {"starts": []})["starts"]
            rows[row["workload"]] = {**row, "starts": earlier + row["starts"]}
    return {"rows": list(rows.values())}


# The table.

def lines(result, table):
    """table: the module that writes tables."""
    def told(row, what, name):
        values = [one[what][name] for one in row["starts"] if what in one]
        return sampling.percent(sampling.interval(values)) if values else ""

    titles = ["Program", "starts", "past, once more adds", "tidemark adds",
              "tidemark's process, of the program's time", "wakes up per second",
              "beginning and end, ms"]
    text = table.header(titles)
    for row in result["rows"]:
        settled_, fixed_ms = row["settled"], row["fixed_ms"]
        cells = [str(len(row["starts"])), told(row, "own", AGAIN), told(row, "own", OURS),
                 f"{settled_['share'] * 100:+.2f} %", table.number(settled_["woken_per_s"], 0),
                 "" if fixed_ms is None else table.number(fixed_ms)]
        text.append(table.row([row["workload"], *cells]))
        if told(row, "rate", OURS):
            text.append(table.row(["its requests per second", cells[0], told(row, "rate", AGAIN),
                                   told(row, "rate", OURS), "", "", ""]))
    return text
