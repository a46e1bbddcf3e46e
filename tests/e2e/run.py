#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record every test program and compare the capture with the program's declared truth.

  tests/e2e/run.py [--filter REGEX] [--only NAME]… [--list] [--build-dir DIR] [--tidemark PATH]
                   [-j N] [--mode run|bare|agent] [--arch aarch64] [--library PATH] [--keep]

Each program runs twice, without and with the recorder; output and status must be the same. Then
the report must agree with the truth in the program's head (truth.py), line by line. The tests of
the command itself are in command_*.py. With --arch of another processor the C and C++ programs are
built for it and run under qemu with a bare LD_PRELOAD. With --mode agent some have the agent put
into themselves. Prints a line per test and ends with the counts. A test that cannot be made here is
skipped; with CI=true in the environment that is a failure.
"""
import argparse
import concurrent.futures
import importlib
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import sys
import tempfile

import checks
import ground
import programs
import record
import truth

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Bench:
    """What every test needs: where things are and how to record."""

    def __init__(self, options):
        self.options = options
        self.native = options.arch == platform.machine()
        self.toolchain = programs.Toolchain(options.build_dir, options.arch)
        mode = "bare" if options.mode == "run" and not self.native else options.mode
        self.recorder = record.Recorder(options.tidemark, options.library, mode, options.arch)
        # Under qemu and with a changed root, paths must be reachable and short: a plain temp dir.
        self.scratch_root = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-e2e-"))
        self.scratch_root.chmod(0o755)

    def scratch(self, name):
        where = self.scratch_root / re.sub(r"\W+", "_", name)
        where.mkdir()
        return where


def without_truths(text):
    """Where threads race, every run has its own truth."""
    return re.sub(r"^truth: .*\n", "", text, flags=re.M)


def same_behaviour(plain, recorded):
    if plain.status != recorded.status:
        raise record.Failure(f"status {recorded.status} recorded, {plain.status} without: "
                             f"{recorded.stderr.strip()[-200:]}")
    for name in ("stdout", "stderr"):
        want, got = without_truths(getattr(plain, name)), without_truths(getattr(recorded, name))
        if want != got:
            gained = [line for line in got.splitlines() if line not in want.splitlines()]
            missed = [line for line in want.splitlines() if line not in got.splitlines()]
            raise record.Failure(f"{name} differs: gained {gained[:3]}, missed {missed[:3]}")


def heard(program, mode, outcome):
    """The outcome without the one line that the program's head says tidemark owes the user."""
    if mode != "run" or "says" not in program.said:
        return outcome
    lines = outcome.stderr.splitlines(keepends=True)
    said = [line for line in lines
            if line.startswith("tidemark: ") and program.said["says"] in line]
    if len(said) != 1:
        raise record.Failure(f"not said once: {program.said['says']}")
    lines.remove(said[0])
    return record.Outcome(outcome.status, outcome.stdout, "".join(lines))


def environment_of(bench, program, how, allocator):
    env = record.clean_environment()
    for word in shlex.split(program.said.get("env", "")):
        key, _, value = word.partition("=")
        env[key] = value
    if how == "preload":
        env["LD_PRELOAD"] = bench.toolchain.library(allocator)
    return env


def test_program(bench, name, program, run_name, how, allocator):
    if program.said.get("needs") == "root" and os.geteuid() != 0:
        raise record.Skip("needs root")
    if allocator and not bench.toolchain.library(allocator):
        raise record.Skip(f"no {programs.ALLOCATORS[allocator]} here")
    binary = bench.toolchain.path(program, how, allocator)
    if str(binary) in bench.toolchain.problems:
        raise record.Failure(bench.toolchain.problems[str(binary)])
    scratch = bench.scratch(name)
    for helper in program.said.get("helpers", "").split():
        shutil.copy(bench.toolchain.bin / helper, scratch / helper)
    words = [*shlex.split(program.said.get("wrap", "")), str(binary),
             *shlex.split(program.runs[run_name])]
    options = {"stdin": program.said.get("stdin", ""),
               "timeout": int(program.said.get("timeout", bench.options.timeout))}
    env = environment_of(bench, program, how, allocator)
    after = getattr(checks, program.said.get("check", "nothing"))

    plain = record.run(bench.recorder.plain(words), cwd=scratch, env=env, **options)
    if plain.status == 97:
        raise record.Skip("the program says it cannot be tested here")
    if plain.status != program.status:
        raise record.Failure(f"without the recorder: status {plain.status}, "
                             f"{(plain.stdout + plain.stderr).strip()[-200:]}")
    after(scratch)
    ways = ["--how", program.said["how"]] if "how" in program.said else []
    outcome, capture = bench.recorder.record(words, scratch, binary.name, env, ways, **options)
    same_behaviour(plain, heard(program, bench.recorder.mode, outcome))
    after(scratch)
    truths = [line for line in program.truths if line.run in (None, run_name)]
    capture.check([*truths, *truth.said(outcome.stdout)])
    if allocator:
        report = capture.report(capture.select(None)[0])
        if allocator not in report["image"]["allocator"]:
            raise record.Failure(f"allocator is said to be {report['image']['allocator']!r}")


def program_tests(bench):
    for program in programs.load().values():
        if not program.is_program or program.path.suffix not in bench.toolchain.languages():
            continue
        if not bench.native and program.said.get("qemu") == "no":
            continue
        if bench.recorder.mode != "run" and program.said.get("bare") == "no":
            continue
        if bench.recorder.mode == "agent" and program.said.get("agent") != "yes":
            continue
        is_plain = not bench.native or bench.recorder.mode == "agent"
        variants = [(None, None)] if is_plain else program.variants()
        for how, allocator in variants:
            if program.said.get("allocators", "").startswith("link:") and not how:
                continue
            for run_name in program.runs:
                marks = [mark for mark in (run_name, how and f"{how} {allocator}") if mark]
                name = program.name + (f"[{' '.join(marks)}]" if marks else "")
                yield name, program, (run_name, how, allocator)


def collect(bench):
    """(name, program or None, function) of every test asked for."""
    for name, program, rest in program_tests(bench):
        if record.is_chosen(bench.options, name):
            yield name, program, lambda n=name, p=program, r=rest: test_program(bench, n, p, *r)
    if bench.native and bench.options.mode == "run":
        for name, function in ground.TESTS.items():
            if record.is_chosen(bench.options, name):
                yield name, None, lambda n=name, f=function: f(
                    ground.Ground(options=bench.options, scratch=bench.scratch(n)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    record.take_choice(parser)
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--build-dir", default=str(ROOT / "build/test-programs"))
    parser.add_argument("--tidemark", default=str(ROOT / "build/tidemark"))
    parser.add_argument("--library", help="libtidemark.so for --mode bare and --arch")
    parser.add_argument("--mode", choices=("run", "bare", "agent"), default="run")
    parser.add_argument("--arch", default=platform.machine())
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one run")
    parser.add_argument("--keep", action="store_true", help="keep the scratch directory")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    if options.only:
        options.j = 1
    options.tidemark = os.path.abspath(options.tidemark)
    if not options.library:
        beside = ROOT / (f"build-{options.arch}" if options.arch != platform.machine() else "build")
        options.library = str(beside / "libtidemark.so")
    options.library = os.path.abspath(options.library)
    return options


# Imported for the tests they add to ground.TESTS.
for chapter in sorted(pathlib.Path(__file__).parent.glob("command_*.py")):
    importlib.import_module(chapter.stem)


def main():
    options = parse()
    # A job in the background of a shell is started deaf to SIGINT, and its children would be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    bench = Bench(options)
    try:
        tests = list(collect(bench))
        if options.list:
            print("\n".join(name for name, _, _ in tests))
            return 0
        needed = {program.name: program for _, program, _ in tests if program}
        bench.toolchain.build(list(needed.values()), options.j)
        tally = record.Tally()
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            list(pool.map(lambda test: tally.run(test[0], test[2]), tests))
        return tally.close()
    finally:
        if options.keep:
            print(f"kept {bench.scratch_root}", file=sys.stderr)
        else:
            shutil.rmtree(bench.scratch_root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
