#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every .tide file in tests/golden/ stays readable, by both readers, with the same contents.

    golden.py --dump TIDE_DUMP DIRECTORY

Beside each NAME.tide lies NAME.json, what the reader of its day saw. A golden file is never made
anew: when a later version adds a field, it may appear in what is read, but nothing may vanish or
change.
"""
import argparse
import glob
import json
import os
import sys

import compare


def missing(expected, seen, where=""):
    """Where `seen` lacks or contradicts something of `expected`; None when it holds all."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key, value in expected.items():
            if key not in seen:
                return f"{where}.{key} is gone"
            found = missing(value, seen[key], f"{where}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        pairs = enumerate(zip(expected, seen))
        found = (missing(a, b, f"{where}[{i}]") for i, (a, b) in pairs)
        return next(filter(None, found), None)
    return None if expected == seen else f"{where} was {expected}, is {seen}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("directory")
    options = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(options.directory, "*.tide")))
    if not paths:
        sys.exit(f"no golden files in {options.directory}")
    for path in glob.glob(os.path.join(options.directory, "v[0-9]*.json")):
        if os.path.splitext(path)[0] + ".tide" not in paths:
            sys.exit(f"{path} has lost its .tide file")
    for path in paths:
        with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
            expected = json.load(file)
        for reader, seen in (
            ("the C reader", compare.seen_by_c(options.dump, path)),
            ("tide_decode.py", compare.seen_by_python(path)),
        ):
            found = missing(expected, seen)
            if found:
                sys.exit(f"{path}: {reader}: {found}")
    print(f"{len(paths)} golden files read as ever")


if __name__ == "__main__":
    main()
