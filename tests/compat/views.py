#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every question to every old capture, whole and cut short, gets an answer or one clear line.

    views.py --tidemark TIDEMARK [--every N] DIRECTORY

The numbers in the golden captures are the largest and smallest there are, so that sums overflow:
in a sanitized build this is where undefined behaviour in the views would show. There each capture
gets every third question, another third than the capture before it (--every 3): a process takes
ten times as long to start, and the captures are of few kinds.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

SORTS = ("peak", "live", "total", "grown", "leak", "temp", "count")
KINDS = ("place", "function", "file", "crate", "module", "thread", "size", "lifetime", "stack")
ACROSS = ("thread", "size", "lifetime")
WINDOWS = ((), ("--at", "60%"), ("--range", "20%.."))  # each with each kind and each order
QUESTIONS = (
    [("report", "--sort", sort, "--details", "--stacks=2") for sort in SORTS]
    + [("report", "--group", kind) for kind in KINDS]
    + [("report", "--group", kind, "--json") for kind in KINDS]
    + [("report", "--group", kind, "--sort", sort, "--stacks", *WINDOWS[(i + j) % 3])
       for i, kind in enumerate(ACROSS) for j, sort in enumerate(SORTS)]
    + [("report", "--group", kind, "--csv", "-n", "2") for kind in ACROSS]
    + [("diff", "--group", kind, "--from", "start", "--to", "end", "--json") for kind in ACROSS]
    + [("tree", "--sort", sort, "--json") for sort in SORTS]
    + [("diff", "--sort", sort, "--from", "start", "--to", "end") for sort in SORTS]
    + [("report", "--csv"), ("report", "--md"), ("report", "--at", "50%"),
       ("report", "--range", ".."), ("report", "--range", "start..peak", "--csv"),
       ("tree",), ("tree", "--invert", "--csv"),
       ("tree", "--all-frames", "--md"), ("tree", "--callers", "."), ("info",), ("info", "--json"),
       ("export", "--to", "dhat")])
CUTS = (("report",), ("tree", "--json"), ("info", "--json"))


def ask(tidemark, words, path, env):
    """What is wrong with the answer, or None."""
    done = subprocess.run([tidemark, *words, path], capture_output=True, env=env, timeout=60,
                          stdin=subprocess.DEVNULL)
    said = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2) or "runtime error" in said or "Sanitizer" in said:
        return f"status {done.returncode}: {said[:300]}"
    if done.returncode and (done.stdout or not said.startswith("tidemark: ")):
        return f"status {done.returncode} without a reason: {said[:300]}"
    if "--json" in words and not done.returncode:
        json.loads(done.stdout)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tidemark", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("directory")
    options = parser.parse_args()
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        env = {**os.environ, "XDG_CACHE_HOME": scratch, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
        env.pop("DEBUGINFOD_URLS", None)
        paths = sorted(glob.glob(os.path.join(options.directory, "*.tide")))
        for turn, path in enumerate(paths):
            with open(path, "rb") as file:
                whole = file.read()
            asked = [(words, path) for words in QUESTIONS[turn % options.every::options.every]]
            for part in range(1, 8):
                cut = os.path.join(scratch, f"{part}-{os.path.basename(path)}")
                with open(cut, "wb") as file:
                    file.write(whole[:len(whole) * part // 8])
                asked += [(words, cut) for words in CUTS]
            for words, file in asked:
                wrong = ask(options.tidemark, words, file, env)
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f"{os.path.basename(file)}: {' '.join(words)}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
