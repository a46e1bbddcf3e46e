#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heap profiles both ways, with the tools they are made for.

Out: one program is recorded with tidemark, built in the ways that lay out addresses differently;
google-pprof, jeprof and Go's pprof must find in our exports what our own report says, in all four
measures, and the functions by name. ms_print and massif-visualizer must show a Rust program's.

In: the same program is recorded by gperftools and by jemalloc, and one of Go's by Go; what tidemark
reads in their files must be what their own readers print. gperftools counts every allocation, so
its numbers must also be those of our own recording.

usage: heap_profiles_test.py TIDEMARK     ends with "N passed, N failed[, N skipped]"
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import ms_print_test

HERE = pathlib.Path(__file__).resolve().parent
TIDEMARK = sys.argv[1] if len(sys.argv) > 1 else "tidemark"
MEASURES = {  # of the readers -> ours
    "inuse_space": ("live", "bytes"), "inuse_objects": ("live", "blocks"),
    "alloc_space": ("total", "bytes"), "alloc_objects": ("total", "blocks"),
}
FUNCTIONS = ("big", "small", "churn", "fill", "main")
PERL_ROW = re.compile(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% (.+)$", re.M)
GO_ROW = re.compile(r"^ *\d+B? +[\d.]+% +[\d.]+% +(\d+)B? +[\d.]+% +(.+)$", re.M)


class Skip(Exception):
    pass


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=120, **more)
    if done.returncode:
        raise AssertionError(f"{command[0]}: status {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")


def build(scratch, name, *flags):
    run("gcc", "-g", "-O1", "-o", scratch / name, HERE / "programs/shape.c", *flags)
    return scratch / name


def ours(file, measure):
    """By function: the sum over all stacks that it is in."""
    sort, unit = MEASURES[measure]
    text = run(TIDEMARK, "export", "--to", "folded", "--sort", sort, "--by", unit, file)
    sums = {}
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        for name in set(stack.split(";")):
            sums[name] = sums.get(name, 0) + int(weight)
    return sums


def of_perl(tool, program, file, measure):
    text = run(tool, "--text", "--show_bytes", f"--{measure}", program, file)
    return {name: int(value) for value, name in PERL_ROW.findall(text)}


def of_go(file, measure, *program):
    env = {**os.environ, "PPROF_BINARY_PATH": "/nowhere"}
    text = run("go", "tool", "pprof", "-top", "-unit=B", "-nodefraction=0", "-edgefraction=0",
               f"-sample_index={measure}", "-symbolize=local", *program, file, env=env)
    return {name.replace(" (inline)", ""): int(value) for value, name in GO_ROW.findall(text)}


def go_minor():
    """Debian 12's pprof, of Go 1.19, names nothing of a program that lld laid out; 1.26's does."""
    found = re.search(r"go1\.(\d+)", run("go", "version"))
    return int(found.group(1)) if found else 0


def compare(theirs, mine, names, what, slack=0):
    for name in names:
        a, b = theirs.get(name, 0), mine.get(name, 0)
        if abs(a - b) > slack:
            raise AssertionError(f"{what}: {name} has {a} with them, {b} with us")


def out(tool, kind):
    """Every way of laying out a program, every measure."""
    def test(scratch):
        need(tool)
        ways = [("pie",)]
        if tool != "go":  # names nothing at fixed addresses, in gperftools' own files neither
            ways.append(("fixed", "-no-pie"))
        if shutil.which("ld.lld") and not (tool == "go" and go_minor() <= 19):
            ways.append(("lld", "-fuse-ld=lld"))
        for name, *flags in ways:
            program = build(scratch, name, *flags)
            capture, file = scratch / f"{name}.tide", scratch / f"{name}.heap"
            run(TIDEMARK, "run", "-q", "-o", capture, program)
            run(TIDEMARK, "export", "--to", kind, "-o", file, capture)
            for measure in MEASURES:
                mine = ours(capture, measure)
                theirs = (of_go(file, measure, program) if tool == "go" else
                          of_perl(tool, program, file, measure))
                compare(theirs, mine, FUNCTIONS, f"{name} {measure}")
                assert mine["main"] > 0
    return test


def recorded_by_gperftools(scratch, program, name):
    run(program, env={**os.environ, "HEAPPROFILE": str(scratch / name)})
    return sorted(scratch.glob(f"{name}.*.heap"))[-1]


def from_gperftools(scratch):
    need("google-pprof")
    try:
        program = build(scratch, "with_tcmalloc", "-Wl,--no-as-needed", "-ltcmalloc")
    except AssertionError as why:
        raise Skip("libgoogle-perftools-dev is not installed") from why
    file = recorded_by_gperftools(scratch, program, "tc")
    plain, capture = build(scratch, "plain"), scratch / "plain.tide"
    run(TIDEMARK, "run", "-q", "-o", capture, plain)
    for measure in MEASURES:
        mine = ours(file, measure)
        compare(of_perl("google-pprof", program, file, measure), mine, FUNCTIONS, measure)
        compare(ours(capture, measure), mine, FUNCTIONS[:4], f"{measure} beside our recording")
    if shutil.which("ld.lld"):  # lays out a small program such that its first page is mapped twice
        program = build(scratch, "by_lld", "-fuse-ld=lld", "-Wl,--no-as-needed", "-ltcmalloc")
        mine = ours(recorded_by_gperftools(scratch, program, "lld"), "inuse_space")
        compare(ours(capture, "inuse_space"), mine, FUNCTIONS[:4], "in use, by lld")


def from_jemalloc(scratch):
    need("jeprof")
    libraries = [path for path in pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2")]
    if not libraries:
        raise Skip("libjemalloc2 is not installed")
    program = build(scratch, "plain")
    run(program, env={**os.environ, "LD_PRELOAD": str(libraries[0]),
                      "MALLOC_CONF": f"prof:true,prof_final:true,prof_accum:true,lg_prof_sample:10,"
                                     f"prof_prefix:{scratch}/je"})
    files = list(scratch.glob("je.*.heap"))
    if not files:
        raise Skip("this libjemalloc is built without profiling")
    for measure in MEASURES:  # jeprof cuts off where we round, of each stack
        compare(of_perl("jeprof", program, files[0], measure), ours(files[0], measure),
                FUNCTIONS, measure, slack=8)


def from_go(scratch):
    need("go")
    program = scratch / "shape"
    run("go", "build", "-o", program, HERE / "programs/shape.go",
        env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
    file, text = scratch / "go.pb.gz", scratch / "go.txt"
    run(program, file, text)
    names = ("main.hold", "main.churn", "main.main")
    for measure in MEASURES:
        mine = ours(file, measure)
        compare(of_go(file, measure), mine, names, measure)
        assert mine["main.hold"] > 0 or measure == "alloc_objects"
    theirs = re.search(r"of (\d+)B total", run("go", "tool", "pprof", "-top", "-unit=B",
                                               "-sample_index=inuse_space", text)).group(1)
    mine = re.match(r"heap profile: \d+: (\d+)",
                    run(TIDEMARK, "export", "--to", "gperftools", text))
    assert abs(int(mine.group(1)) - int(theirs)) < 64, f"text: {theirs} with them, {mine.group(1)}"


def massif_of_rust(scratch):
    """Closures, and a peak at the very end, which massif itself does not find."""
    need("rustc", "ms_print", "massif-visualizer")
    program, capture, file = scratch / "closures", scratch / "c.tide", scratch / "massif.out"
    run("rustc", "-g", "-O", "-C", "symbol-mangling-version=v0", "-o", program,
        HERE / "programs/closures.rs")
    run(TIDEMARK, "run", "-q", "-o", capture, program)
    run(TIDEMARK, "export", "--to", "massif", "-o", file, capture)
    text = file.read_text()
    assert "{closure@0}" in text and "{closure#" not in text, "no closures"
    said = json.loads(run(TIDEMARK, "report", "--json", capture))["totals"]["peak_bytes"]
    want = ms_print_test.facts(text)
    assert want["bytes"] == said >= 64 * 20000, f"the peak is {want['bytes']}, not {said}"
    for judge in (ms_print_test.ms_print, ms_print_test.visualizer):
        wrong = judge(str(file), want)
        assert not wrong, wrong


TESTS = {
    "massif files of a Rust program": massif_of_rust,
    "gperftools' text in google-pprof": out("google-pprof", "gperftools"),
    "gperftools' text in Go's pprof": out("go", "gperftools"),
    "jemalloc's text in jeprof": out("jeprof", "jemalloc"),
    "gperftools' profiles": from_gperftools,
    "jemalloc's profiles": from_jemalloc,
    "Go's profiles": from_go,
}


def main():
    passed = failed = skipped = 0
    for name, test in TESTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            try:
                test(pathlib.Path(scratch))
                passed += 1
            except Skip as why:
                print(f"skipped {name}: {why}")
                skipped += 1
            except (AssertionError, subprocess.TimeoutExpired) as why:
                print(f"FAILED {name}: {why}")
                failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
