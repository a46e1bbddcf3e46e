# SPDX-License-Identifier: Apache-2.0
"""The same hunt with other tools, run for real: how a program is put under each, what it takes, and
what of the answer is in what the tool says. Nothing of it is judged."""
import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

REPEATS = 3
ASK_WAITING = """
mkfifo ask
$PROGRAM example.csv < ask > said &
exec 3> ask
until [ -s said ]; do sleep 0.01; done
pmap -x $!
exec 3>&-
wait
"""


def descendants(pid):
    """It and what it started, as far as it runs."""
    found = [pid]
    for at in found:
        with contextlib.suppress(OSError):
            for path in pathlib.Path(f"/proc/{at}/task").glob("*/children"):
                found += map(int, path.read_text().split())
    return found


def highest_rss(pid):
    """Of any of them: what the kernel has as its highest since it began, which goes with exec, as
    what wait4() tells does not."""
    most = 0
    for at in descendants(pid):
        with contextlib.suppress(OSError):
            told = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{at}/status").read_text())
            most = max(most, int(told.group(1)) << 10 if told else 0)
    return most


class Took:
    """Medians of a command: wall time, processor time, the largest resident set of a process."""

    def __init__(self, stage, words, env=None, repeats=REPEATS):
        runs = []
        for _ in range(repeats):
            start, most = time.monotonic(), 0
            with subprocess.Popen(words, cwd=stage.scratch, env=stage.env | (env or {}),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as child:
                pid = status = 0
                while not pid:
                    pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                    most = max(most, 0 if pid else highest_rss(child.pid))
                    time.sleep(0.005)
                child.returncode = os.waitstatus_to_exitcode(status)
            runs.append((time.monotonic() - start, usage.ru_utime + usage.ru_stime, most))
        self.wall_s, self.cpu_s, self.rss_bytes = map(statistics.median, zip(*runs))


def tcmalloc():
    found = sorted(glob.glob("/usr/lib/*/libtcmalloc.so.4"))
    return found[0] if found else None


class Tool:
    """One row: `record` is the command around the program's, `read` what shows the result."""

    def __init__(self, name, record=(), read=(), env=None, program=None, more=()):
        self.name, self.record, self.read = name, list(record), list(read)
        self.env, self.program, self.more = env or {}, program, list(more)

    def missing(self, path):
        for words in (self.record, self.read):
            if words and not shutil.which(words[0], path=path):
                return words[0]
        return None if None not in self.env.values() else "its library"


def tools():
    """By name. More of what is typed stands beside where a command alone is not enough."""
    library = tcmalloc()
    return {tool.name: tool for tool in (
        Tool("tidemark", ["tidemark", "run", "-f", "-o", "peer.tide"],
             ["tidemark", "explain", "peer.tide"]),
        Tool("pmap", read=["sh", "-c", ASK_WAITING], more=["a program that waits"]),
        Tool("strace", ["strace", "-o", "peer.strace", "-e", "trace=memory"],
             ["cat", "peer.strace"]),
        Tool("heaptrack", ["heaptrack", "-o", "peer"], ["heaptrack_print", "peer.zst"]),
        Tool("massif", ["valgrind", "--tool=massif", "--massif-out-file=peer.massif"],
             ["ms_print", "peer.massif"]),
        Tool("DHAT", ["valgrind", "--tool=dhat", "--dhat-out-file=peer.dhat"],
             more=["the viewer in a browser"]),
        Tool("gperftools", env={"LD_PRELOAD": library, "HEAPPROFILE": "peer.hprof",
                                "HEAP_PROFILE_INUSE_INTERVAL": "262144"},
             read=["sh", "-c", "google-pprof --text $PROGRAM peer.hprof.*.heap"]),
        Tool("dhat-rs", program="dhat", more=["an allocator and a profiler in the source, a build",
                                              "the viewer in a browser"]),
        Tool("stats_alloc", program="stats_alloc",
             more=["an allocator and a thread that prints in the source, a build"]))}


def of_dhat_rs(function):
    """What dhat-rs answered: of what held most at the peak, and whether that is by `function`."""
    def answer(stage, _):
        told = json.loads((stage.scratch / "dhat-heap.json").read_text())
        most = max(told["pps"], key=lambda point: point["gb"])
        frames = " ".join(told["ftbl"][frame] for frame in most["fs"])
        return (f"{most['gb']:,} bytes in {most['gbk']:,} blocks at the peak, "
                f"{'by' if function in frames else 'not said to be by'} `{function}`, each for "
                f"{most['tl'] / most['tbk'] / told['te']:.0%} of the run in the mean")
    return answer


def time_words(seconds):
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def table(stage, command, rows, programs=None):
    """A table; `rows`: (name of a tool, function of (stage, what its reader printed) → what that
    answered). `programs`: {feature: program}, of tools that are built in."""
    plain = Took(stage, command)
    told = ["| Tool | Typed | Program, with it | CPU | Memory | Reading it | What it answered |",
            "|---|---|---:|---:|---:|---:|---|",
            f"| none | `{' '.join(command)}` | {time_words(plain.wall_s)} | "
            f"{time_words(plain.cpu_s)} | {plain.rss_bytes / 2**20:.1f} MiB | | |"]
    for name, answer in rows:
        tool = tools()[name]
        missing = tool.missing(stage.env["PATH"])
        if missing:
            told.append(f"| {name} | not here: {missing} | | | | | |")
            continue
        words = [*tool.record, *command]
        if tool.program:
            words[0] = programs[tool.program]
        took = Took(stage, words, tool.env)
        start = time.monotonic()
        said = stage.run(*tool.read, env={"PROGRAM": command[0]}) if tool.read else ""
        read_s = time.monotonic() - start
        typed = [f"`{' '.join(tool.record)} …`" if tool.record else "", *tool.more]
        if name == "pmap":
            typed.append("`pmap -x $(pgrep -n reader)`")
        elif tool.read:
            typed.append(f"`{' '.join(tool.read[-1:] if tool.env else tool.read)}`")
        if tool.env:
            typed[0] = ("`LD_PRELOAD=libtcmalloc.so HEAPPROFILE=… "
                        "HEAP_PROFILE_INUSE_INTERVAL=262144 …`")
        told.append(f"| {name} | {'; '.join(filter(None, typed))} | {time_words(took.wall_s)} | "
                    f"{took.cpu_s / max(plain.cpu_s, 0.001):.1f}× | "
                    f"{took.rss_bytes / 2**20:.1f} MiB | "
                    f"{time_words(read_s) if tool.read else ''} | {answer(stage, said)} |")
    return "\n".join(told)
