# SPDX-License-Identifier: Apache-2.0
"""A process that runs already: for how long attaching and letting go make it stand still, as the
process itself notices, and what a pair of malloc and free costs it meanwhile. Beside heaptrack,
which attaches with gdb."""
import os
import re
import shutil
import signal
import subprocess
import time

import devices
import measure

THREADS = (1, 8, 64)
PAIRS = [("hot", "hot -d 20", 2000000), ("fresh leaf frames", "fresh -d 20", 500000),
         ("10 k live", "live -d 20 -l 10000", 1000000),
         ("hot, 2 threads", "hot -d 20 -t 2", 1000000)]
COUNTED = [("hot", "hot"), ("fresh leaf frames", "fresh"), ("1 k live", "live -l 1000"),
           ("random stacks", "random")]
SETTLE_S = 0.2


class Target:
    """A program that answers a line with a number."""

    def __init__(self, argv):
        self.child = subprocess.Popen(argv, env=measure.environment({}), stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)

    def ask(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())

    def end(self):
        self.child.kill()
        self.child.wait()


def tidemark_attach(build, pid, output):
    child = subprocess.Popen([str(build / "tidemark"), "attach", "-f", "-o", f"{output}.tide",
                              str(pid)], env=measure.environment({}), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = child.stderr.readline()
    if "recording process" not in said:
        raise measure.Failed(f"tidemark attach: {said}{child.stderr.read()}")
    return child


def heaptrack_attach(build, pid, output):
    del build
    child = subprocess.Popen(["heaptrack", "-o", output, "-p", str(pid)],
                             env=measure.environment({}), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             start_new_session=True)
    for line in child.stdout:
        if "injection finished" in line:
            return child
    raise measure.Failed("heaptrack -p: it did not attach")


def let_go(child):
    child.send_signal(signal.SIGINT)
    child.communicate()


WAYS = {"tidemark": (tidemark_attach, let_go), "heaptrack": (heaptrack_attach, None)}


def rounds(bench, build, program, n_threads, way):
    """One process, attached to and let go of: longest rounds in microseconds while nobody does
    anything, at attach and at detach. What does not survive has no numbers."""
    attach_it, detach = WAYS[way]
    peer = next(peer for peer in bench.peers if peer.name == way)
    found = {"nobody": [], "attaching": [], "letting go": []}
    target = Target([program, str(n_threads)])
    try:
        for _ in range(bench.size(10, 2) if detach else 1):
            time.sleep(SETTLE_S)
            target.ask()
            time.sleep(SETTLE_S)
            found["nobody"].append(target.ask())
            child = attach_it(build, target.child.pid, bench.output(peer))
            found["attaching"].append(target.ask())
            if detach:
                detach(child)
                found["letting go"].append(target.ask())
    except BrokenPipeError:
        pass
    target.end()
    if not detach:
        os.killpg(child.pid, signal.SIGKILL)  # it would wait for what has died
    child.wait()
    return found


def standing_still(bench, build, program, n_threads):
    ways = [peer.name for peer in bench.peers if peer.name in WAYS
            and (peer.name == "tidemark" or shutil.which("gdb"))]
    still = {"nobody": []}
    for _ in range(bench.repeats):
        for way in ways:
            found = rounds(bench, build, program, n_threads, way)
            still["nobody"] += found.pop("nobody")
            for step, values in found.items():
                still.setdefault(f"{way}, {step}", []).extend(values)
    return {name: measure.summary(values) if values else None for name, values in still.items()
            if values or name == "heaptrack, attaching"}


def pair_cost(bench, build, words, n_pairs):
    """Nanoseconds per pair: alone, preloaded, attached to."""
    argv = [bench.pairs, *words.split(), "-w", "-n", str(n_pairs)]

    def one(way):
        peer = next(p for p in bench.peers if p.name == ("plain" if way == "plain" else "tidemark"))
        output = bench.output(peer)
        target = Target(peer.wrap(argv, output) if way == "preload" else argv)
        if target.child.stdout.readline() != "ready\n":
            raise measure.Failed(f"{' '.join(argv)}: not ready")
        recorder = tidemark_attach(build, target.child.pid, output) if way == "agent" else None
        ns = target.ask()
        target.child.stdin.close()
        target.child.wait()
        if recorder:
            recorder.communicate()
        return ns

    values = {"plain": [], "preload": [], "agent": []}
    for _ in range(bench.repeats * bench.size(5, 1)):
        for way, list_ in values.items():
            list_.append(one(way))
    return {way: measure.summary(list_) for way, list_ in values.items()}


def instructions(bench, place, words, way, n_pairs):
    """Of a whole process, in which the agent is put by itself: valgrind runs no other's code."""
    preloaded = {"plain": [], "preload": ["--preload", str(place / "libtidemark.so")],
                 "agent": ["--preload", str(place / "tests/recorder/libinside.so")]}[way]
    stores = bench.scratch / "counted-stores"
    shutil.rmtree(stores, ignore_errors=True)
    stores.mkdir()
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--smc-check=all", "--callgrind-out-file=/dev/null",
         devices.loader_of(bench.pairs), *preloaded, bench.pairs, *words.split(), "-d", "20", "-n",
         str(n_pairs)], cwd=stores, capture_output=True, text=True, check=False,
        env=measure.environment({"TIDEMARK_AGENT": str(place / "libtidemark-agent.so")}))
    shutil.rmtree(stores, ignore_errors=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        raise measure.Failed(f"callgrind, {way}: {done.stderr[-300:]}")
    return int(counted.group(1))


def count(bench, root, say):
    """Instructions per pair, what begins and ends the program taken off."""
    if not shutil.which("valgrind"):
        say("attach: instructions are left out: valgrind is not there")
        return []
    place = devices.build(bench, root, "counted", 0).parent
    measure.run(["ninja", "-C", str(place), "libtidemark-agent.so", "tests/recorder/libinside.so"])
    n, rows = bench.size(20000, 200), []
    for name, words in COUNTED:
        say(f"attach: instructions, {name}")
        # A tenth more are run unmeasured.
        per_pair = {way: (instructions(bench, place, words, way, 2 * n)
                          - instructions(bench, place, words, way, n)) / (1.1 * n)
                    for way in ("plain", "preload", "agent")}
        rows.append({"workload": name, "instructions": per_pair})
    return rows


def attach(bench, root, build, say):
    program = str(bench.scratch / "attach")
    subprocess.run(["cc", "-O2", "-g", str(root / "bench/attach.c"), "-o", program, "-lpthread"],
                   check=True)
    still = []
    for n_threads in THREADS:
        say(f"attach: {n_threads} threads")
        still.append({"threads": n_threads,
                      "longest_us": standing_still(bench, build, program, n_threads)})
    pairs = []
    for name, words, n_pairs in PAIRS:
        say(f"attach: pairs, {name}")
        pairs.append({"workload": name,
                      "ns": pair_cost(bench, build, words, bench.size(n_pairs, n_pairs // 100))})
    return {"still": still, "pairs": pairs, "counted": count(bench, root, say)}
