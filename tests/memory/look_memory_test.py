#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a look at a process takes in memory, whoever takes it: the supervisor of a recording looks
just as `tidemark maps` does. It must not grow with the number of blocks, recorded or not, and it
must be as right of many as of few: when a random half was freed, all of that is free.

  look_memory_test.py TIDEMARK PAIRS BENCH_DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[3])
import measure  # noqa: E402

FEW_BLOCKS = 100_000
MANY_BLOCKS = {16: 3_000_000, 64: 9_000_000}  # of 64: more than 4 million in lists of free ones
GROWTH_BYTES = 12 << 20  # with a bit for every 16 bytes of a heap that has such lists
STRAY_BYTES = 64 << 10


def look(tidemark, pid, output):
    """Bytes that `tidemark maps` had at the most, and its table."""
    with open(output, "w+", encoding="utf-8") as table:
        child = subprocess.Popen([tidemark, "maps", "--json", str(pid)], stdout=table)
        _, status, usage = os.wait4(child.pid, 0)
        table.seek(0)
        if status:
            sys.exit(f"maps of {pid}: status {status}")
        return usage.ru_maxrss * 1024, json.load(table)


def looks(tidemark, program, recorder, scratch):
    """One while the program holds its blocks, one when a half of them was freed."""
    found = []
    held = subprocess.Popen(recorder + program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    with held:
        for _ in range(2):
            if not any(line.strip() == "ready" for line in held.stdout):
                sys.exit(f"{' '.join(program)}: ended before it was ready")
            pid = measure.children_of(held.pid)[0] if recorder else held.pid
            found.append(look(tidemark, pid, scratch / "table.json"))
            held.stdin.write("\n")
            held.stdin.flush()
        held.stdin.close()
        held.stdout.read()
    if held.returncode:
        sys.exit(f"{' '.join(program)}: status {held.returncode}")
    return found


def check(tidemark, pairs, size, recorder, scratch):
    few, many = ([pairs, "hold", "-l", str(n), "-s", str(size)]
                 for n in (FEW_BLOCKS, MANY_BLOCKS[size]))
    few_bytes = max(peak for peak, _ in looks(tidemark, few, recorder, scratch))
    (full_bytes, _), (half_bytes, table) = looks(tidemark, many, recorder, scratch)
    most = max(full_bytes, half_bytes)
    in_use = table["rows"]["live_blocks"] + table["rows"]["unrecorded_blocks"]
    each = size + (0 if recorder else 16)  # without a recorder headers are told with their blocks
    asked = table["heap"]["asked"] or MANY_BLOCKS[size] // 2 * each
    # Which half is random, so that without a recorder one does not know how many.
    room = STRAY_BYTES if recorder else asked / 100
    good = most - few_bytes <= GROWTH_BYTES and abs(in_use - asked) <= room
    print(f"blocks of {size}, {'recorded' if recorder else 'not recorded'}: a look at "
          f"{FEW_BLOCKS:,} has {few_bytes / 2**20:.1f} MiB, at {MANY_BLOCKS[size]:,} "
          f"{most / 2**20:.1f} MiB; of these a half in use: {in_use:,} bytes of {asked:,}",
          "" if good else "NOT SO")
    return good


def main():
    tidemark, pairs = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="tidemark-look-") as directory:
        scratch = pathlib.Path(directory)
        run = [tidemark, "run", "-q", "-f", "-o", str(scratch / "held.tide")]
        results = [check(tidemark, pairs, size, recorder, scratch) for size in MANY_BLOCKS
                   for recorder in (run, [])]
    sys.exit(not all(results))


main()
