#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the C reader and tide_decode.py see the same in the same file?

    compare.py --dump TIDE_DUMP --make TIDE_MAKE     on captures made from seeds, whole and cut
    compare.py --dump TIDE_DUMP FILE...              on files that were recorded

With --alone the C reader reads all that and is not compared: for one that checks itself.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import tide_decode


def seen_by_c(dump, path):
    done = subprocess.run([dump, path], capture_output=True, text=True, check=False)
    if done.returncode > 1 or done.returncode < 0:
        sys.exit(f"{dump} {path} died: {done.returncode} {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def seen_by_python(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return tide_decode.decode(data)
    except ValueError:
        return None


def first_difference(a, b, where=""):
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        pairs = ((f"{where}.{key}", a[key], b[key]) for key in a)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = ((f"{where}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b)))
    else:
        return None if a == b else f"{where or 'all'}: C {str(a)[:200]}, Python {str(b)[:200]}"
    return next(filter(None, (first_difference(x, y, path) for path, x, y in pairs)), None)


IS_ALONE = False


def compare(dump, path, label):
    found = seen_by_c(dump, path)
    difference = None if IS_ALONE else first_difference(found, seen_by_python(path))
    if difference:
        sys.exit(f"{label}: the readers disagree at {difference}")


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def compare_generated(dump, make, directory):
    path = os.path.join(directory, "x.tide")
    n_files = 0
    for seed in range(24):
        run(make, seed, seed * 6, path)
        compare(dump, path, f"seed {seed}")
        n_files += 1
    run(make, 1, 18000, path, 3)  # 72,000 frames: two parts
    compare(dump, path, "a program of 18,000 stacks")
    for rows in (1, 2, 7, 100):
        run(make, rows, 40, path, 0, rows)
        compare(dump, path, f"snapshots in pieces of {rows} rows")
        run(make, 2, 300, path, 4, rows)
        compare(dump, path, f"snapshots of a program in pieces of {rows} rows")
    n_files += 9
    run(make, 1004, 12, path)
    n_files += compare_damaged(dump, path)
    run(make, 3, 20, path, 3, 5)
    return n_files + compare_damaged(dump, path)


def compare_damaged(dump, path):
    n_files = 0
    with open(path, "rb") as file:
        whole = file.read()
    for cut in range(0, len(whole), max(1, len(whole) // 20)):
        with open(path, "wb") as file:
            file.write(whole[:cut])
        compare(dump, path, f"cut at byte {cut}")
        damaged = bytearray(whole)
        damaged[cut] ^= 0x10
        with open(path, "wb") as file:
            file.write(damaged)
        compare(dump, path, f"damaged at byte {cut}")
        n_files += 2
    return n_files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--make")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    global IS_ALONE
    IS_ALONE = options.alone
    n_files = 0
    if options.make:
        with tempfile.TemporaryDirectory() as directory:
            n_files += compare_generated(options.dump, options.make, directory)
    for path in options.files:
        if seen_by_c(options.dump, path) is None:
            sys.exit(f"{path} cannot be read")
        compare(options.dump, path, path)
        n_files += 1
    if n_files == 0:
        sys.exit("nothing to compare")
    who = "the C reader has read" if IS_ALONE else "the two readers agree on"
    print(f"{who} {n_files} files")


if __name__ == "__main__":
    main()
