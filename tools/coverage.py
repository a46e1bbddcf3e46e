#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which lines the tests reach, room by room: `make coverage`.

  tools/coverage.py [--quick] [STEP...]

Steps, all in turn where none is named: `build`, `unit`, `e2e` (`e2e=REGEX`: a slice of it), `page`,
`table`. What they count adds up until the next `build`; --quick leaves e2e out.

C is built once more (build-coverage) and counted by gcov: the command and the libraries under it
while the unit and recorder tests run, and while the command records the programs of tests/e2e; the
preload library inside of these programs, too, each of which writes its counts down at its end
(tests/recorder/counted.c). The agent is not counted there, only what of it unit tests link. The
page is counted by node while its engine is tested; of what only the browser's tests load, the
number of files is told.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tree

ROOT = tree.ROOT
BUILD, COUNTED = ROOT / "build", ROOT / "build-coverage"
COUNTS = COUNTED / "counted"  # of processes with the preload library
RECORDER = COUNTED / "libtidemark.so.p"
PAGE = BUILD / "page-coverage.json"
SETUP = ("-Db_coverage=true", "-Doptimization=0", "-Drecorder_lto=false", "-Drecorder_counted=true",
         f"-Dpage_from={BUILD}/ui/page.html")
CHUNK = 60  # files to one gcov
# In these the command may write but a few bytes, and so may gcov at its end: it would be killed.
E2E = r"^(?!command\.(file_size_limit|symbolize_keeps_the_original)$)"
RECORD = b"\ncounts of "  # as counted.c has it


def run(*command, **env):
    done = subprocess.run([str(word) for word in command], cwd=ROOT,
                          env={**os.environ, "TIDEMARK_CACHE": "off", **env})
    if done.returncode:
        print(f"coverage: {command[0]} {command[1]} ends with {done.returncode}", file=sys.stderr)
    return done.returncode == 0


def build():
    for old in COUNTED.rglob("*.gcda"):
        old.unlink()
    shutil.rmtree(COUNTS, ignore_errors=True)
    PAGE.unlink(missing_ok=True)
    if not (COUNTED / "build.ninja").exists() and not run("meson", "setup", COUNTED, *SETUP):
        return False
    COUNTS.mkdir()
    COUNTS.chmod(0o777)  # some programs are another user's
    return run("ninja", "-C", COUNTED)


def count_unit():
    return run("meson", "test", "-C", COUNTED, "--no-rebuild", "--suite", "hosted", "--suite",
               "recorder", "--timeout-multiplier", "4")


def count_e2e(regex):
    return run(sys.executable, "tests/e2e/run.py", "--tidemark", COUNTED / "tidemark",
               "--filter", regex) & gather_recorders()


def gather_recorders():
    """Adds what processes have written down to the counts that gcov reads."""
    with tempfile.TemporaryDirectory(dir=COUNTED) as scratch:
        sum_at = pathlib.Path(scratch) / "0"
        sum_at.mkdir()
        for old in RECORDER.glob("*.gcda"):
            shutil.copy(old, sum_at / old.name)  # it stays until there is a sum
        for n, file in enumerate(sorted(COUNTS.iterdir()), 1):
            more, both = pathlib.Path(scratch) / f"{n}-more", pathlib.Path(scratch) / str(n)
            unpack(file.read_bytes(), more)
            file.unlink()
            if not any(sum_at.iterdir()):
                sum_at = more
                continue
            done = subprocess.run(["gcov-tool", "merge", sum_at, more, "-o", both],
                                  capture_output=True, text=True)
            if done.returncode:
                print(f"coverage: {file.name}: {done.stderr}", file=sys.stderr)
                continue
            shutil.rmtree(sum_at)
            shutil.rmtree(more)
            sum_at = both
        for counts in sum_at.glob("*.gcda"):
            shutil.move(counts, RECORDER / counts.name)
    return True


def unpack(text, directory):
    directory.mkdir()
    for record in text.split(RECORD)[1:]:
        name, _, counts = record.partition(b"\0")
        (directory / pathlib.Path(os.fsdecode(name)).name).write_bytes(counts)


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
    # One whose object is gone is of a source that is gone, which gcov would fail at.
    notes = sorted(note for note in COUNTED.rglob("*.gcno") if note.with_suffix(".o").exists())
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


def count_page():
    counts = BUILD / "page-coverage"
    shutil.rmtree(counts, ignore_errors=True)
    is_good = run("node", BUILD / "ui/work/test/run.mjs", BUILD, NODE_V8_COVERAGE=str(counts))
    told = subprocess.run(["node", BUILD / "ui/work/test/coverage.mjs", counts],
                          capture_output=True, text=True, check=True)
    PAGE.write_text(told.stdout)
    return is_good


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


def table():
    files = {**lines_of_c(), **(json.loads(PAGE.read_text()) if PAGE.exists() else {})}
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
    return True


def main():
    words = sys.argv[1:]
    steps = {"build": build, "unit": count_unit, "page": count_page, "table": table}
    wanted = [word for word in words if word != "--quick"]
    if not wanted:
        wanted = ["build", "unit", *([] if "--quick" in words else ["e2e"]), "page", "table"]
    is_good = True
    for word in wanted:
        step, _, regex = word.partition("=")
        if step != "e2e" and step not in steps:
            sys.exit(f"coverage: \"{word}\" is none of build, unit, e2e, page and table")
        is_good &= count_e2e(regex or E2E) if step == "e2e" else steps[step]()
        if step == "build" and not is_good:
            break
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
