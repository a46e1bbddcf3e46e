#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording adds in memory to a program that holds many blocks, all processes summed, by block
size: at most 20 bytes per live block, 2 % of the heap and 48 MiB; after a random half was freed, as
much again per block. The map that a block is found in must not grow with the heap. Small blocks
beyond the first six million take less than heaptrack has for them.

  live_memory_test.py TIDEMARK PAIRS BENCH_DIR
"""
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[3])
import measure  # noqa: E402

HEAP_BYTES = 400 << 20
MAX_BLOCKS = 5_000_000  # of small ones: enough to tell, and quick
FIXED_BYTES = 48 << 20
JEMALLOC = next((str(path) for path in pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2")), "")
CASES = [  # bytes of a block (negative: 16 to so many), threads, jemalloc
    (16, 1, False), (64, 1, False), (200, 1, False), (1000, 1, False), (8000, 1, False),
    (100000, 1, False), (1 << 20, 1, False), (-4096, 1, False), (64, 8, False), (-4096, 8, False),
    (16, 1, True), (48, 1, True), (-4096, 8, True),
]
FURTHER = {(16, 1, False): 9, (64, 1, False): 9}  # bytes for each block behind the first ones
FEW_BLOCKS, MANY_BLOCKS = 6_000_000, 9_000_000
LOOK_BYTES = 6 << 20  # of a look at residence that is under way, whatever the number of blocks


def held(argv, jemalloc):
    # What jemalloc has freed it gives back at once: how long it took to get there must not matter.
    conf = "dirty_decay_ms:0,muzzy_decay_ms:0"
    env = {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": conf} if jemalloc else {}
    return measure.hold_memory(argv, env, times=2, lag_s=0.05)


def added_by(tidemark, pairs, scratch, case, n_live):
    """Bytes, with all blocks and with a half of them."""
    size, threads, jemalloc = case
    program = [pairs, "hold", "-l", str(n_live), "-s", str(size), "-t", str(threads)]
    run = [tidemark, "run", "-f", "-o", str(scratch / "held.tide")]
    plain, recorded = held(program, jemalloc), held(run + program, jemalloc)
    return [recorded[half] - plain[half] for half in (0, 1)]


def check_further(tidemark, pairs, scratch, case):
    few, many = (added_by(tidemark, pairs, scratch, case, n)[0]
                 for n in (FEW_BLOCKS, MANY_BLOCKS))
    each = max(many - few - LOOK_BYTES, 0) / (MANY_BLOCKS - FEW_BLOCKS)
    print(f"blocks of {case[0]} from the {FEW_BLOCKS:,}th on: {each:.1f} bytes each, "
          f"{FURTHER[case]} allowed", "" if each <= FURTHER[case] else "NOT SO")
    return each <= FURTHER[case]


def check(tidemark, pairs, scratch, case):
    size, threads, jemalloc = case
    mean = size if size > 0 else 8 - size // 2
    n_live = min(HEAP_BYTES // (mean + 8), MAX_BLOCKS)
    good = True
    for half, added in enumerate(added_by(tidemark, pairs, scratch, case, n_live)):
        live = n_live >> half
        limit = (20 * live + 0.02 * live * mean) * (1 + half) + FIXED_BYTES
        good &= added <= limit
        allocator = "jemalloc" if jemalloc else "glibc"
        print(f"{allocator}, {threads} threads, {live:,} blocks of {size}: "
              f"{added / 2**20:.1f} MiB added, {limit / 2**20:.1f} allowed, "
              f"{added / live:.1f} bytes per block", "" if added <= limit else "NOT SO")
    return good


def main():
    cases = [case for case in CASES if not case[2] or JEMALLOC]
    if len(cases) < len(CASES) and os.environ.get("CI"):
        sys.exit("libjemalloc.so.2 is missing")
    with tempfile.TemporaryDirectory(prefix="tidemark-memory-") as scratch:
        where = sys.argv[1], sys.argv[2], pathlib.Path(scratch)
        results = [check(*where, case) for case in cases]
        results += [check_further(*where, case) for case in FURTHER]
    sys.exit(not all(results))


main()
