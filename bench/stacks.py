# SPDX-License-Identifier: Apache-2.0
"""What a stack costs that was never seen before: time, and memory over all processes."""
import subprocess

import measure

ROWS = [  # mode of stacks.c, stacks, and in a quick run
    ("leaf", 10_000, 1_000),
    ("leaf", 100_000, 2_000),
    ("leaf", 1_000_000, 5_000),
    ("branch", 1_000_000, 5_000),
    ("leaf", 10_000_000, None),
]
MANY = 5_000_000  # one run is enough


def number_of(printed, argv):
    """The program's own answer, whatever a launcher prints beside it."""
    numbers = [line for line in printed.splitlines() if line.replace(".", "", 1).isdigit()]
    if len(numbers) != 1:
        raise measure.Failed(f"{' '.join(argv)}: no number in its output")
    return float(numbers[0])


def stacks(bench, root, say):
    program = str(bench.scratch / "stacks")
    subprocess.run(["cc", "-O2", "-g", str(root / "bench/stacks.c"), "-o", program], check=True)
    rows = []
    for mode, full, quick in ROWS:
        n_stacks = bench.size(full, quick)
        if not n_stacks:
            continue
        say(f"stacks: {mode} {n_stacks}")

        def one(peer):
            output = bench.output(peer)
            argv = peer.wrap([program, mode, str(n_stacks)], output)
            # Whoever looks at the memory of a process holds up its page faults: not while it is
            # timed.
            done = measure.run(argv, peer.environment(output))
            peak_bytes = measure.run_watched(argv, peer.environment(output))
            return number_of(done["stdout"], argv), done["cpu_s"], peak_bytes

        values = {peer.name: [] for peer in bench.fast_peers()}
        for _ in range(1 if n_stacks >= MANY else bench.repeats):
            for peer in bench.fast_peers():
                values[peer.name].append(one(peer))
        rows.append({"mode": mode, "n_stacks": n_stacks, "peers": {
            name: {key: measure.summary([run[i] for run in runs])
                   for i, key in enumerate(("ns", "cpu_s", "peak_bytes"))}
            for name, runs in values.items()}})
    return rows
