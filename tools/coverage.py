#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines the tests reach, room by room: `make coverage`.

  tools/coverage.py [--quick]      --quick: without what the command does under tests/e2e

C is built once more (build-coverage) and counted by gcov while the unit and recorder tests run, and
while the command is run by its end-to-end tests. The recorder itself is not counted inside the
programs it records, where gcov's own allocations would be in the way: of `record` and `unwind`
only what their unit tests link is listed. The page is counted by node while its engine is tested;
of what only the browser's tests load, the number of files is told.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

import tree

ROOT = tree.ROOT
BUILD, COUNTED = ROOT / "build", ROOT / "build-coverage"
SETUP = ("-Db_coverage=true", "-Doptimization=0", "-Drecorder_lto=false",
         f"-Dpage_from={BUILD}/ui/page.html")
CHUNK = 60  # files to one gcov


def run(*command, **env):
    done = subprocess.run([str(word) for word in command], cwd=ROOT,
                          env={**os.environ, "TIDEMARK_CACHE": "off", **env})
    if done.returncode:
        print(f"coverage: {command[0]} {command[1]} ends with {done.returncode}", file=sys.stderr)
    return done.returncode == 0


def count_c(is_quick):
    for old in COUNTED.rglob("*.gcda"):
        old.unlink()
    if not (COUNTED / "build.ninja").exists() and not run("meson", "setup", COUNTED, *SETUP):
        return False
    if not run("ninja", "-C", COUNTED, "tidemark", "libtidemark.so"):
        return False
    is_good = run("meson", "test", "-C", COUNTED, "--suite", "hosted", "--suite", "recorder",
                  "--timeout-multiplier", "4")
    if not is_quick:
        is_good &= run(sys.executable, "tests/e2e/run.py", "--tidemark", COUNTED / "tidemark",
                       "--filter", r"^command\.")
    return is_good


def gcov(files):
    """What gcov says of each source: (path, its lines)."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, files)], cwd=COUNTED,
                          capture_output=True, text=True, check=True)
    for text in done.stdout.splitlines():
        for source in json.loads(text)["files"]:
            yield os.path.normpath(COUNTED / source["file"]), source["lines"]


def lines_of_c():
    """{path below ROOT: {line: is it reached}} of everything in src/."""
    found = collections.defaultdict(dict)
    # A file that nothing ran has notes and no counts, and counts as well.
    notes = sorted(COUNTED.rglob("*.gcno"))
    for at in range(0, len(notes), CHUNK):
        for path, lines in gcov(notes[at:at + CHUNK]):
            path = pathlib.Path(path)
            if ROOT / "src" not in path.parents:
                continue
            seen = found[str(path.relative_to(ROOT))]
            for line in lines:
                number = line["line_number"]
                seen[number] = seen.get(number, False) or line["count"] > 0
    return found


def lines_of_page():
    counts = BUILD / "page-coverage"
    subprocess.run(["rm", "-rf", counts], check=True)
    is_good = run("node", BUILD / "ui/work/test/run.mjs", BUILD, NODE_V8_COVERAGE=str(counts))
    told = subprocess.run(["node", BUILD / "ui/work/test/coverage.mjs", counts],
                          capture_output=True, text=True, check=True)
    return is_good, json.loads(told.stdout)


def room(path):
    """src/view/rules.c → view; ui/src/engine/tree.ts → ui/engine."""
    parts = pathlib.Path(path).parts
    return parts[1] if parts[0] == "src" else f"ui/{parts[2]}"


def not_loaded(name, files):
    """Files of a room of the page that none of node's tests has."""
    if not name.startswith("ui/"):
        return 0
    there = (ROOT / "ui/src" / name[3:]).glob("*.ts*")
    return sum(str(path.relative_to(ROOT)) not in files for path in there)


def table(files):
    rooms = collections.defaultdict(lambda: [0, 0, 0, []])
    for path, lines in files.items():
        row = rooms[room(path)]
        reached = sum(map(bool, lines.values()))
        row[0] += 1
        row[1] += len(lines)
        row[2] += reached
        row[3].append((reached - len(lines), path))
    print(f"\n{'room':12} {'files':>5} {'lines':>6} {'reached':>8}  most lines not reached")
    for name, (n_files, n_lines, n_reached, worst) in sorted(rooms.items()):
        missed, path = min(worst)
        tail = f"{-missed} in {pathlib.Path(path).name}" if missed else ""
        strangers = not_loaded(name, files)
        tail += f"; {strangers} files not loaded" if strangers else ""
        share = 100 * n_reached / max(n_lines, 1)
        print(f"{name:12} {n_files:5} {n_lines:6} {share:7.1f}%  {tail}")


def main():
    is_good = count_c("--quick" in sys.argv[1:])
    files = lines_of_c()
    page_good, page = lines_of_page()
    table({**files, **page})
    return 0 if is_good and page_good else 1


if __name__ == "__main__":
    sys.exit(main())
