#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every test there is and end with one line: "N passed, N failed[, N skipped]".

  tools/test.py [SUITE…]      all, or any of the names in SUITES below

Each suite is a function that returns its counts. A suite that could not be run, ended without its
closing line, took too long or counted nothing is a failure: an empty success proves nothing.
Output goes to the terminal and to build/test-logs/SUITE.log. docs/testing.md says what is in each.
"""
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
OTHER_ARCH = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "8"))
FUZZ_TOLD_CHARS = 3000  # of a failed target's log: the stack, and the input in base64
FUZZ_SEED = int(os.environ.get("FUZZ_SEED", "1"))  # the same inputs every time; 0: new ones
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) test\(s\)", re.M)
TOOLS = ("clang", "llvm-symbolizer", "ld.lld", "dwz", "zstd", "valgrind", "nm", "rustc", "cargo",
         "perl", "git", "node", "npm", "chromium", "sqlite3", "redis-server", "redis-benchmark",
         "musl-gcc", "heaptrack",
         "ms_print", "massif-visualizer", "google-pprof", "jeprof", "go",
         "runuser", "scdoc", "zsh", "fish", f"qemu-{OTHER_ARCH}", f"{OTHER_ARCH}-linux-gnu-gcc")

INSTALLED = ("share/bash-completion/completions/tidemark", "share/zsh/site-functions/_tidemark",
             "share/fish/vendor_completions.d/tidemark.fish",
             *(["share/man/man1/tidemark-run.1"] if shutil.which("scdoc") else []))


class Counts:
    """How many passed, failed and were skipped, with a line for each that failed."""

    def __init__(self, passed=0, failed=0, skipped=0, notes=()):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.notes = list(notes)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes

    def fail(self, note):
        self.failed += 1
        self.notes.append(note)

    def __str__(self):
        tail = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{tail}"


def run(log, command, timeout=900, env=None):
    """Run a command with its output on the terminal and in the log; returns (status, output)."""
    whole_env = dict(os.environ, TIDEMARK_CACHE="off", **(env or {}))
    child = subprocess.Popen([str(word) for word in command], cwd=ROOT, env=whole_env, text=True,
                             errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    timer = threading.Timer(timeout, child.kill)
    timer.start()
    lines = []
    try:
        for line in child.stdout:
            lines.append(line)
            log.write(line)
            print(line, end="", flush=True)
        status = child.wait()
    finally:
        timer.cancel()
    if status < 0:
        print(f"killed by signal {-status} (time limit {timeout} s)")
    return status, "".join(lines)


def runner(log, command, **options):
    """A test runner of our own, which closes with the counting line."""
    status, output = run(log, command, **options)
    closing = CLOSING.findall(output)
    if not closing:
        return Counts(failed=1, notes=[f"{command[1]}: no closing line (status {status})"])
    passed, failed, skipped = (int(number or 0) for number in closing[-1])
    counts = Counts(passed, failed, skipped)
    if failed:
        counts.notes.append(f"{command[1]}: {failed} failed")
    if status != 0 and failed == 0:
        counts.fail(f"{command[1]}: status {status} with no failure counted")
    return counts


def meson_build(log, directory, *options, env=None, targets=()):
    if not (directory / "build.ninja").exists():
        shutil.rmtree(directory, ignore_errors=True)
        status, _ = run(log, ["meson", "setup", directory, *options], env=env)
        if status:
            return False
    status, _ = run(log, ["ninja", "-C", directory, *targets], env=env)
    return status == 0


def meson_tests(log, directory, *options, env=None, timeout=900):
    """meson's tests, counted by case where a program reports its cases."""
    report = directory / "meson-logs/testlog.json"
    report.unlink(missing_ok=True)
    run(log, ["meson", "test", "-C", directory, "--no-rebuild", "--print-errorlogs", *options],
        env=env, timeout=timeout)
    counts = Counts()
    if not report.exists():
        counts.fail(f"{directory.name}: meson test wrote no report")
        return counts
    for line in report.read_text().splitlines():
        test = json.loads(line)
        text = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
        cases = {kind: int(number) for kind, number in CMOCKA.findall(text)}
        good = test["result"] in ("OK", "EXPECTEDFAIL")
        if test["result"] == "SKIP":
            counts.skipped += 1
        elif good:
            counts.passed += max(cases.get("PASSED", 0), 1)
            counts.skipped += cases.get("SKIPPED", 0)
        else:
            counts.passed += cases.get("PASSED", 0)
            counts.failed += max(cases.get("FAILED", 0), 1)
            counts.notes.append(f"{directory.name}: {test['name']}: {test['result']}")
    return counts


def settled():
    """A wrapper for sanitized programs: those of Debian 12 cannot live with the wide address
    randomisation that newer kernels use by default."""
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    return ["setarch", "-R"] if bits.exists() and int(bits.read_text()) > 28 else []


def sanitized_tests(log, directory, *options, env):
    wrapper = settled()
    more = ["--wrapper", " ".join(wrapper)] if wrapper else []
    return meson_tests(log, directory, "--timeout-multiplier", "4", *more, *options, env=env)


def unit(log):
    return meson_tests(log, BUILD)


def e2e(log):
    return runner(log, [sys.executable, "tests/e2e/run.py"])


def bare(log):
    """The same programs with LD_PRELOAD alone, nobody supervising."""
    return runner(log, [sys.executable, "tests/e2e/run.py", "--mode", "bare"])


def real(log):
    return runner(log, [sys.executable, "tests/real/run.py"])


def symbols(log):
    return runner(log, [sys.executable, "tests/symbols/run.py"])


def interop(log):
    return runner(log, [sys.executable, "tests/interop/run.py"])


def page(log):
    """The engine of the page: against the command on the same captures, and against slow ways."""
    tests = BUILD / "ui/work/test/run.mjs"
    if not tests.exists():
        return Counts(failed=1, notes=["page: not built: are node and npm there?"])
    return runner(log, ["node", tests, BUILD])


def browser(log):
    """The page in a real browser; nothing where tidemark was built without it."""
    work = BUILD / "ui/work"
    if not shutil.which("chromium") or not (work / "node_modules").exists():
        if os.environ.get("CI") == "true":
            return Counts(failed=1, notes=["browser: no chromium, or no page in the build"])
        return Counts(skipped=1)
    return runner(log, ["node", work / "browser/run.mjs", "--tidemark", BUILD / "tidemark",
                        "--golden", "tests/golden"])


def cross(log):
    """The recorder for the other architecture, its tests under emulation."""
    directory = ROOT / f"build-{OTHER_ARCH}"
    if not meson_build(log, directory, "--cross-file", f"tools/cross-{OTHER_ARCH}.ini",
                       "-Drecorder_only=true"):
        return Counts(failed=1, notes=[f"{directory.name}: does not build"])
    counts = meson_tests(log, directory, "--timeout-multiplier", "4")
    counts.add(runner(log, [sys.executable, "tests/e2e/run.py", "--arch", OTHER_ARCH]))
    counts.add(runner(log, [sys.executable, "tests/symbols/run.py", "--arch", OTHER_ARCH]))
    return counts


def asan(log):
    """Hosted code under the address and undefined-behaviour sanitizers."""
    directory = ROOT / "build-asan"
    if not meson_build(log, directory, "-Db_sanitize=address,undefined", "-Db_lundef=false"):
        return Counts(failed=1, notes=[f"{directory.name}: does not build"])
    env = {"ASAN_OPTIONS": "detect_leaks=1:halt_on_error=1",
           "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    counts = sanitized_tests(log, directory, "--suite", "hosted", env=env)
    counts.add(sanitized_page(log, directory / "tidemark", env))
    return counts


def sanitized_page(log, tidemark, env):
    """The whole command as it serves and writes the page. What a sanitizer finds in a process that
    nobody waits for, as a server in the background is, is in the files it leaves."""
    with tempfile.TemporaryDirectory() as scratch:
        env = {name: f"{value}:log_path={scratch}/found" for name, value in env.items()}
        counts = runner(log, [*settled(), sys.executable, "tests/e2e/run.py",
                              "--tidemark", tidemark,
                              "--filter", r"^command\.(view_|html_|run_view)"], env=env)
        for path in sorted(pathlib.Path(scratch).iterdir()):
            log.write(path.read_text(errors="replace"))
            counts.fail(f"asan: {path.name}: {path.read_text(errors='replace')[:300]}")
    return counts


def tsan(log):
    """The store's concurrency under the thread sanitizer."""
    directory = ROOT / "build-tsan"
    if not meson_build(log, directory, "-Db_sanitize=thread", "-Db_lundef=false",
                       "-Drecorder_only=true"):
        return Counts(failed=1, notes=[f"{directory.name}: does not build"])
    env = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
    return sanitized_tests(log, directory, "--suite", "threads", env=env)


def fuzz(log):
    """Each reader of external bytes: its corpus first, then new inputs for a short while."""
    directory = ROOT / "build-fuzz"
    names = sorted(path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))
    targets = [f"tests/fuzz/{name}" for name in names]
    if not meson_build(log, directory, "-Dfuzz=true", "-Dui=disabled", "-Drecorder_lto=false",
                       "-Db_lundef=false", env={"CC": "clang"}, targets=targets):
        return Counts(failed=1, notes=[f"{directory.name}: does not build"])
    counts = Counts()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status in pool.map(lambda target: fuzz_one(directory / target), targets):
            print(f"{name}: {'ok' if status == 0 else f'status {status}'}", flush=True)
            if status:
                print((LOGS / f"{name}.log").read_text(errors="replace")[-FUZZ_TOLD_CHARS:])
                counts.fail(f"{name}: status {status}, input and log in {LOGS.relative_to(ROOT)}")
            else:
                counts.passed += 1
    return counts


def fuzz_one(target):
    """One core is one target's; its output is in a log of its own."""
    name = target.name.removeprefix("fuzz_")
    corpus = ROOT / "tests/fuzz/corpus" / name
    with tempfile.TemporaryDirectory() as scratch, open(LOGS / f"{target.name}.log", "w") as log:
        known = [corpus] if corpus.is_dir() else []
        command = [*settled(), target, f"-max_total_time={FUZZ_SECONDS}", f"-seed={FUZZ_SEED}",
                   "-timeout=10",
                   "-rss_limit_mb=2048", "-print_final_stats=1",
                   f"-artifact_prefix={LOGS}/{name}-", scratch, *known]
        try:
            done = subprocess.run([str(word) for word in command], cwd=ROOT, stdout=log,
                                  stderr=subprocess.STDOUT, timeout=FUZZ_SECONDS * 4 + 60,
                                  check=False)
        except subprocess.TimeoutExpired:
            return target.name, "time limit"
        return target.name, done.returncode


def install(log):
    """make install below a prefix and below a DESTDIR; the installed command finds its library."""
    counts = Counts()
    with tempfile.TemporaryDirectory() as scratch:
        for destdir, prefix in ((f"{scratch}/stage", "/usr"), ("", f"{scratch}/opt")):
            status, _ = run(log, ["make", "install", "BUILD=build-install", f"PREFIX={prefix}",
                                  f"DESTDIR={destdir}"])
            top = pathlib.Path(f"{destdir}{prefix}")
            capture = pathlib.Path(scratch) / f"{top.name}.tide"
            if status == 0 and (top / "lib/tidemark/libtidemark.so").exists():
                status, _ = run(log, [top / "bin/tidemark", "run", "-q", "-o", capture, "ls", "/"])
            missing = [name for name in INSTALLED if not (top / name).exists()]
            if status == 0 and capture.exists() and not missing:
                counts.passed += 1
            else:
                counts.fail(f"install: DESTDIR={destdir} PREFIX={prefix} (status {status}, "
                            f"missing: {missing})")
    return counts


SUITES = {"unit": unit, "e2e": e2e, "bare": bare, "real": real, "symbols": symbols,
          "interop": interop, "page": page, "browser": browser, "cross": cross, "asan": asan,
          "tsan": tsan, "fuzz": fuzz, "install": install}


def missing_tools():
    """On a machine of one's own a missing tool means skipped tests; in CI it is a failure."""
    counts = Counts()
    if os.environ.get("CI") == "true":
        for tool in TOOLS:
            if not shutil.which(tool):
                counts.fail(f"{tool} is missing; tools/setup.sh test installs it")
    return counts


def main():
    names = [name for name in sys.argv[1:] if name != "all"] or list(SUITES)
    for name in names:
        if name not in SUITES:
            sys.exit(f"test: no suite '{name}' ({' '.join(SUITES)})")
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "summary").unlink(missing_ok=True)
    total = missing_tools()
    table = []
    for name in names:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        with open(LOGS / f"{name}.log", "w") as log:
            counts = SUITES[name](log)
        if counts.passed + counts.failed + counts.skipped == 0:
            counts.fail(f"{name}: nothing was tested")
        table.append(f"{name:9} {time.monotonic() - start:6.1f} s  {counts}")
        total.add(counts)
    print("\n" + "\n".join(table))
    for note in total.notes:
        print(f"FAILED {note}")
    (LOGS / "summary").write_text(f"{total}\n")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
