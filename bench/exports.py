# SPDX-License-Identifier: Apache-2.0
"""What writing a large profile costs: a capture of a million frames, in every format; and what a
person meets who works with a million stacks.

There is no peer beside it and no waiting in it, so the time is the processor's: what else the
machine does adds little to that.
"""
import re
import subprocess

import measure

FRAMES_PER_STACK = 4  # of bench/capture.c


def formats(tidemark):
    text = subprocess.run([tidemark, "export", "--help"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^  (\w+): ", text, re.M)


def many_stacks(bench, build_dir, say):
    """Each command once: of the code of the command itself, whose frames are not folded."""
    tidemark, tide = str(build_dir / "tidemark"), str(bench.scratch / "stacks.tide")
    n_stacks = bench.size(1000000, 5000)
    cache = {"TIDEMARK_CACHE": str(bench.scratch / "export-cache")}
    say(f"exports: a capture of {n_stacks} stacks")
    measure.run([str(build_dir / "bench/bench_capture"), tidemark, str(n_stacks), "24", tide,
                 str(bench.scratch / "stacks.addresses")])
    output = bench.scratch / "written"
    rows = [("info", ["info", tide]), ("report", ["report", tide]),
            ("explain", ["explain", tide]),
            ("report --json", ["report", "--json", tide]),
            ("report --json --all", ["report", "--json", "--all", tide]),
            ("tree --json", ["tree", "--json", tide]),
            ("diff --json, with itself", ["diff", "--json", tide, tide]),
            ("merge, with itself", ["merge", "-f", "-o", str(output), tide, tide]),
            ("html", ["html", "-f", "-o", str(output), tide])]
    measure.run_alone([tidemark, "report", "--json", tide], cache)  # from here on names are cached
    found = {}
    for name, argv in rows:
        say(f"exports: {name} of {n_stacks} stacks")
        written = None if str(output) in argv else str(output)
        _, spent, peak = measure.run_alone([tidemark, *argv], cache, stdout=written)
        found[name] = {"cpu_s": spent, "peak_bytes": peak, "bytes": output.stat().st_size}
    output.unlink()
    return {"n_stacks": n_stacks, "n_frames": FRAMES_PER_STACK * n_stacks, "commands": found}


def exports(bench, build_dir, say):
    tidemark, tide = str(build_dir / "tidemark"), str(bench.scratch / "million.tide")
    n_stacks = bench.size(250000, 2500)
    cache = {"TIDEMARK_CACHE": str(bench.scratch / "export-cache")}
    say(f"exports: a capture of {n_stacks} stacks")
    measure.run([str(build_dir / "bench/bench_capture"), str(build_dir / "libtidemark.so"),
                 str(n_stacks), "24", tide, str(bench.scratch / "million.addresses")])
    rows = [("report", ["report", tide]), ("report --json", ["report", "--json", tide])]
    rows += [(f"export --to {name}", ["export", "--to", name, tide]) for name in formats(tidemark)]
    rows += [("tree --json", ["tree", "--json", tide]),
             ("diff --json, with itself", ["diff", "--json", tide, tide]),
             ("merge, with itself", ["merge", "-f", "-o", str(bench.scratch / "twice.tide"), tide,
                                     tide])]
    # From here on names are cached.
    named = str(bench.scratch / "named.tide")
    measure.run_alone([tidemark, "symbolize", "-f", "-o", named, tide], cache)
    seconds, peaks = {name: [] for name, _ in rows}, {name: [] for name, _ in rows}
    for _ in range(bench.repeats):
        for name, argv in rows:
            say(f"exports: {name}")
            _, spent, peak = measure.run_alone([tidemark, *argv], cache)
            seconds[name].append(spent)
            peaks[name].append(peak)
    return {"n_stacks": n_stacks, "n_frames": FRAMES_PER_STACK * n_stacks,
            "many": many_stacks(bench, build_dir, say),
            "cpu_s": {name: measure.summary(values) for name, values in seconds.items()},
            "peak_bytes": {name: measure.summary(values) for name, values in peaks.items()}}
