# SPDX-License-Identifier: Apache-2.0
"""What opening another tool's file costs: a recording of heaptrack's, beside its own reader."""
import pathlib
import shutil
import subprocess
import sys

import measure


def record(bench, workload, say):
    """heaptrack's file of a Python program: millions of events, thousands of stacks."""
    python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable
    output = bench.scratch / "imported"
    say("imports: recording with heaptrack")
    measure.run(["heaptrack", "-o", str(output), python, str(workload), bench.size("6", "1")],
                {"PYTHONMALLOC": "malloc"})
    return str(next(output.parent.glob("imported.*")))


def events_of(path):
    reader = "zstdcat" if path.endswith(".zst") else "zcat"
    unpacked = subprocess.Popen([reader, path], stdout=subprocess.PIPE)
    n = sum(1 for line in unpacked.stdout if line[:2] in (b"+ ", b"- "))
    unpacked.wait()
    return n


def imports(bench, build_dir, workload, say):
    if not shutil.which("heaptrack") or not shutil.which("heaptrack_print"):
        say("imports: heaptrack is not installed, left out")
        return None
    path = record(bench, workload, say)
    rows = [("tidemark report", [str(build_dir / "tidemark"), "report", path]),
            ("heaptrack_print", ["heaptrack_print", path])]
    seconds, peaks = {row[0]: [] for row in rows}, {row[0]: [] for row in rows}
    for _ in range(bench.repeats):
        for name, argv in rows:
            say(f"imports: {name}")
            wall, _, peak = measure.run_alone(argv, {})
            seconds[name].append(wall)
            peaks[name].append(peak)
    return {"file_bytes": pathlib.Path(path).stat().st_size, "n_events": events_of(path),
            "wall_s": {name: measure.summary(values) for name, values in seconds.items()},
            "peak_bytes": {name: measure.summary(values) for name, values in peaks.items()}}
