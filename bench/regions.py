# SPDX-License-Identifier: Apache-2.0
"""What a program pays for asking the recorder by its header: without one, under `tidemark run`, and
attached to. Nanoseconds by the program's own clock, and instructions, by callgrind, which no other
program disturbs."""
import re
import shutil
import subprocess

import attach
import devices
import measure

DEEDS = [("region", "a region of the thread, begun and ended"),
         ("region-within", "the same within another"),
         ("region-read", "numbers of an open region"),
         ("stats", "numbers of the thread"),
         ("stats-process", "numbers of the process, 1,024 stacks"),
         ("event", "an ad hoc event"),
         ("scope", "a scope, begun and ended"),
         ("block", "a pool's block, told of and ended"),
         ("pair", "malloc and free, no region open"),
         ("pair-thread", "the same in a region of the thread"),
         ("pair-process", "in one of the process")]
WAYS = ["no recorder", "run", "attached"]


def once(bench, build, program, deed, way):
    """The lowest round, and the median one."""
    n = str(bench.size(20000, 2000))
    peer = next(peer for peer in bench.peers if peer.name == "tidemark")
    output = bench.output(peer)
    argv = [program, deed, n]
    if way == "run":
        argv = peer.wrap(argv, output)
    target = attach.Target(argv)
    if target.child.stdout.readline() != "ready\n":
        raise measure.Failed(f"{' '.join(argv)}: not ready")
    tracer = attach.tidemark_attach(build, target.child.pid, output) if way == "attached" else None
    told, _ = target.child.communicate("\n")
    if tracer:
        tracer.communicate()
    if target.child.returncode:
        raise measure.Failed(f"{' '.join(argv)}: status {target.child.returncode}")
    return [float(word) for word in told.split()]


def instructions(bench, program, library, deed):
    """Of one deed, in the function that does nothing else; None: there is no callgrind."""
    if not shutil.which("valgrind"):
        return None
    n = 2000
    stores = bench.scratch / "regions-stores"
    shutil.rmtree(stores, ignore_errors=True)
    stores.mkdir()
    preload = ["--preload", str(library)] if library else []
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         "--toggle-collect=measured_round", devices.loader_of(program), *preload, program, deed,
         str(n)], cwd=stores, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env=measure.environment({}))
    shutil.rmtree(stores, ignore_errors=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        raise measure.Failed(f"callgrind, {deed}: {done.stderr[-300:]}")
    share = 1000 if deed == "stats-process" else 1
    return int(counted.group(1)) / (40 * (n // share))


def regions(bench, root, build, say):
    program = str(bench.scratch / "regions")
    subprocess.run(["cc", "-O2", "-g", f"-I{root / 'include'}", str(root / "bench/regions.c"), "-o",
                    program], check=True)
    library = devices.build(bench, root, "regions", 0) if shutil.which("valgrind") else None
    rows = []
    for deed, words in DEEDS:
        say(f"regions: {words}")
        found = {way: [] for way in WAYS}
        for _ in range(bench.repeats):
            for way in WAYS:
                found[way].append(once(bench, build, program, deed, way))
        rows.append({"deed": words,
                     "low_ns": {way: measure.summary([low for low, _ in values])
                                for way, values in found.items()},
                     "ns": {way: measure.summary([median for _, median in values])
                            for way, values in found.items()},
                     "instructions": [instructions(bench, program, to, deed)
                                      for to in (None, library)]})
    return rows
