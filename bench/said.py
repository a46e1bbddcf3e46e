# SPDX-License-Identifier: Apache-2.0
"""Is the overhead true that a report says? Processor time of whole trees, with and without.

What the processes took with the recorder, and what tidemark took beside them, is the kernel's count
in both; only what they would have taken without is estimated by the one and measured by the other.
A machine may be half as fast in one second as in the next, so the program runs with and without at
the same time, in turns of a few milliseconds on the same core: what slows one slows the other.

A server has to get the same work in the same pieces. With 50 clients, those that wait are answered
in one round: the slower server has more of them waiting, makes a tenth fewer system calls for the
same requests, and so seems to cost less than it does. One client that waits for its answers makes
both servers do the same calls.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import time

import measure

CLOSE_ENOUGH = 0.25  # of what recording adds, where it adds a tenth or more
FEW_POINTS = 0.03    # else
LEAST_S = 4          # short programs are repeated until it took so long


def workloads(bench, programs, root):
    tree = bench.scratch / "tree.sh"
    tree.write_text("i=0; while [ $i -lt %s ]; do /bin/true; i=$(expr $i + 1); done\n"
                    % bench.size("200", "10"))
    source = bench.scratch / "work.cpp"
    source.write_text("#include <iostream>\n#include <map>\n#include <regex>\n#include <string>\n"
                      "int main() { std::map<std::string, int> m; m[\"a\"] = 1;\n"
                      "std::cout << std::regex_match(\"ab\", std::regex(\"a+b\")) << m.size(); }\n")
    documents = bench.scratch / "work.json"
    documents.write_text(json.dumps([{"id": i, "name": f"n{i}", "tags": [str(i), {"x": i / 3}]}
                                     for i in range(bench.size(100000, 1000))]))
    modules = "import asyncio, decimal, email, http.client, json, sqlite3, unittest, xml.sax"
    sort = "my %h; $h{substr $_, 0, 4} .= $_ for sort map { join '-', $_, $_ * 7 % 1000 } 1..200000"
    return programs + [
        ("g++ -O1, a tree of four", ["g++", "-O1", "-c", str(source), "-o", "/dev/null"], {}, None),
        ("400 short processes of a shell", ["sh", str(tree)], {}, None),
        ("300 subshells of bash", ["bash", "-c", "for i in $(seq 300); do x=$(echo $i); done"], {},
         None),
        ("git log --stat", ["git", "-C", str(root), "log", "--stat", "-n", "200"], {}, None),
        ("CPython, imports", ["python3", "-c", modules], {}, None),
        ("perl, sort", ["perl", "-e", sort], {}, None),
        ("jq", ["jq", "-c", "group_by(.id % 10) | map(length)", str(documents)], {}, None),
        (REDIS, ["redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", ""], {}, None),
    ]


# Clients keep to a core that is not the servers'.

REDIS = "redis-server under redis-benchmark"
SOCKET = "redis.sock"


def client(words, place):
    core = max(os.sched_getaffinity(0))
    return subprocess.Popen(["taskset", "-c", str(core), *words], cwd=place,
                            env=measure.environment({}), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ask(bench, servers):
    """The load of every server, all at once, and then their end."""
    for place, server in servers.items():
        measure.wait_for_socket(place / SOCKET, server)
    load = ["redis-benchmark", "-s", SOCKET, "-q", "-n", bench.size("100000", "1000"), "-r",
            "100000", "-d", "100", "-c", "1", "-P", "16", "-t", "set,get,lpush,lpop,sadd,hset"]
    for words in (load, ["redis-cli", "-s", SOCKET, "shutdown", "nosave"]):
        for running in [client(words, place) for place in servers]:
            running.wait()


def cost_of(tidemark, capture):
    told = subprocess.run([str(tidemark), "report", "--json", str(capture)], capture_output=True,
                          text=True, check=True, env=measure.environment({})).stdout
    cost = json.loads(told)["capture"]["cost"]
    return {key: value / 1e9 for key, value in cost.items()}


def start(argv, env, stdin, place):
    place.mkdir(exist_ok=True)
    with open(stdin, "rb") as source:
        return subprocess.Popen(argv, env=measure.environment(env), stdin=source, cwd=place,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def side_by_side(bench, build, argv, env, stdin):
    """Processor seconds without, and what the capture says, of two runs that share a core."""
    output = bench.scratch / "said.tide"
    pinned = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *argv]
    recorded = start([str(build / "tidemark"), "run", "-q", "-f", "-o", str(output), "--",
                      *pinned], env, stdin, bench.scratch / "recorded")
    plain = start(pinned, env, stdin, bench.scratch / "plain")
    if SOCKET in argv:
        try:
            ask(bench, {bench.scratch / "recorded": recorded, bench.scratch / "plain": plain})
        except measure.Failed:
            recorded.terminate()
            plain.terminate()
            raise
    _, status, usage = os.wait4(plain.pid, 0)
    plain.returncode = os.waitstatus_to_exitcode(status)
    if recorded.wait() or plain.returncode:
        raise measure.Failed(f"{' '.join(argv)}: status {recorded.returncode}, without tidemark "
                             f"{plain.returncode}")
    return usage.ru_utime + usage.ru_stime, cost_of(build / "tidemark", output)


def ratios(plain_s, cost):
    """True and said."""
    spent = cost["cpu_ns"] + cost["supervisor_ns"]
    return spent / plain_s, spent / max(cost["cpu_ns"] - cost["recorder_ns"], 1e-9)


def judge(pairs):
    """Of repeated ratios, the medians."""
    true, said_ = (statistics.median(values) for values in zip(*pairs))
    room = CLOSE_ENOUGH * (true - 1) if true >= 1.1 else FEW_POINTS
    return {"said": said_, "true": true, "within": abs(said_ - true) <= room,
            "true_range": measure.summary([pair[0] for pair in pairs])}


def said(bench, build, programs, root, say, chosen=""):
    rows = []
    for name, argv, env, stdin in workloads(bench, programs, root):
        if not re.search(chosen, name):
            continue
        if not shutil.which("taskset") or not shutil.which(argv[0]):
            say(f"overhead said: {name}: {argv[0]} or taskset is not installed, left out")
            continue
        say(f"overhead said: {name}")
        source = bench.scratch / "said.in"
        source.write_text(stdin or "")
        plain, pairs, began = [], [], time.monotonic()
        while len(pairs) < bench.repeats or (time.monotonic() - began < LEAST_S
                                             and not bench.quick):
            plain_s, cost = side_by_side(bench, build, argv, env, source)
            plain.append(plain_s)
            pairs.append(ratios(plain_s, cost))
        rows.append({"workload": name, "plain_s": measure.summary(plain), **judge(pairs)})
    return rows
