#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a look at a process takes in memory, whoever takes it: the supervisor of a recording looks
just as `tidemark maps` does. It must not grow with the number of blocks, recorded or not.

  look_memory_test.py TIDEMARK PAIRS BENCH_DIR
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[3])
import measure  # noqa: E402

FEW_BLOCKS, MANY_BLOCKS = 100_000, 3_000_000
GROWTH_BYTES = 4 << 20


def peak_of_look(tidemark, program, recorder):
    """Bytes that `tidemark maps` had at the most while the program held its blocks."""
    held = subprocess.Popen(recorder + program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    with held:
        if not any(line.strip() == "ready" for line in held.stdout):
            sys.exit(f"{' '.join(program)}: ended before it was ready")
        pid = measure.children_of(held.pid)[0] if recorder else held.pid
        look = subprocess.Popen([tidemark, "maps", str(pid)], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(look.pid, 0)
        held.stdin.write("\n\n")
        held.stdin.close()
        held.stdout.read()
    if status or held.returncode:
        sys.exit(f"{' '.join(program)}: status {held.returncode}, the look's {status}")
    return usage.ru_maxrss * 1024


def check(tidemark, pairs, size, recorder):
    few, many = (peak_of_look(tidemark, [pairs, "hold", "-l", str(n), "-s", str(size)], recorder)
                 for n in (FEW_BLOCKS, MANY_BLOCKS))
    good = many - few <= GROWTH_BYTES
    print(f"blocks of {size}, {'recorded' if recorder else 'not recorded'}: a look at "
          f"{FEW_BLOCKS:,} has {few / 2**20:.1f} MiB, at {MANY_BLOCKS:,} {many / 2**20:.1f} MiB",
          "" if good else "NOT SO")
    return good


def main():
    tidemark, pairs = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="tidemark-look-") as scratch:
        run = [tidemark, "run", "-q", "-f", "-o", str(pathlib.Path(scratch) / "held.tide")]
        results = [check(tidemark, pairs, size, recorder) for size in (16, 100)
                   for recorder in (run, [])]
    sys.exit(not all(results))


main()
