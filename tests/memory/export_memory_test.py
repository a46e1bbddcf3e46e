#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writing a large profile takes memory for the profile, not for what is written.

  export_memory_test.py TIDEMARK BENCH_CAPTURE

A capture of half a million frames is written in every format and by every verb. What each takes at
most is compared with what merely opening the capture takes: a writer may have ALLOWANCE_BYTES more,
whatever it writes: room for an index over the frames. What JSON takes of a stack is limited, too:
names and frames are written once.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STACKS, SNAPSHOTS = 125_000, 4  # four frames to a stack
ALLOWANCE_BYTES = 24 << 20
# Written out, stacks of this capture were 3,600 bytes each; a third of them weigh anything.
JSON_BYTES_PER_STACK = {"report --json": 160, "report --json --all": 400}


def libc():
    """A file with many functions; no lines, so that a frame is one frame."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return re.search(r"\S*/libc[.-]\S*so\S*", maps).group()


def run(argv, env):
    """Status, peak of resident bytes, bytes written."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env)
    n = 0
    while piece := os.read(process.stdout.fileno(), 1 << 20):
        n += len(piece)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024, n


def formats(tidemark):
    text = subprocess.run([tidemark, "export", "--help"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^  (\w+): ", text, re.M)


def cases(tidemark, capture, scratch):
    """Arguments, and how many captures are in memory at once."""
    for name in formats(tidemark):
        yield ["export", "--to", name, capture], 1
    for options in (["--json"], ["--json", "--all"], ["--csv"], ["--md"],
                    ["--stacks", "--all-frames"]):
        yield ["report", *options, capture], 1
    for options in (["--json"], ["--csv"], ["--all-frames"], ["--invert", "--json"]):
        yield ["tree", *options, capture], 1
    yield ["diff", "--json", capture, capture], 2
    yield ["merge", "-o", f"{scratch}/merged.tide", capture, capture], 3  # the result is one, too


def main():
    tidemark, bench_capture = sys.argv[1:]
    n_failed = n_passed = largest = 0
    with tempfile.TemporaryDirectory() as scratch:
        env = {**os.environ, "XDG_CACHE_HOME": scratch, "DEBUGINFOD_URLS": ""}
        capture = f"{scratch}/big.tide"
        subprocess.run([bench_capture, libc(), str(STACKS), str(SNAPSHOTS), capture,
                        f"{scratch}/addresses"], check=True)
        status, model, _ = run([tidemark, "report", capture], env)
        if status:
            return f"report: exit status {status}"
        print(f"the model: {model >> 20} MiB")
        for argv, n_captures in cases(tidemark, capture, scratch):
            status, peak, written = run([tidemark, *argv], env)
            most = STACKS * JSON_BYTES_PER_STACK.get(" ".join(argv[:-1]), 1 << 20)
            is_good = (status == 0 and peak <= n_captures * model + ALLOWANCE_BYTES
                       and written <= most)
            n_passed, n_failed = n_passed + is_good, n_failed + (not is_good)
            largest = max(largest, written)
            words = " ".join(argv).replace(f"{scratch}/", "")
            print(f"{'ok    ' if is_good else 'FAILED'} {words}: status {status}, peak "
                  f"{peak >> 20} MiB, {written} bytes written", flush=True)
    if largest <= 1.5 * ALLOWANCE_BYTES:
        n_failed += 1
        print(f"FAILED: nothing large was written ({largest} bytes): this proves nothing")
    print(f"{n_passed} passed, {n_failed} failed")
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
