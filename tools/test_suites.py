# SPDX-License-Identifier: Apache-2.0
"""The suites: each is a function that writes to a log and returns its counts. docs/testing.md says
what is in each, tools/test.py runs them."""
import concurrent.futures
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import threading

from test_run import (BESIDE_OTHERS, BUILD, LOGS, MESON_FAILED, ROOT, Counts, failure, meson_setup,
                      meson_tests, ninja, run, runner, sanitized_tests, settled)

# For what is built to be run with a sanitizer and thrown away: lines for its traces, no variables,
# and no way on behind what it found. Compiles in half the time.
SANITIZED = ("-Dc_args=-g1 -fno-sanitize-recover=all", "-Db_lundef=false", "-Drecorder_lto=false")
OTHER_ARCH = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
# How many inputs a fuzz target makes from its corpus: a few seconds of a core each, fewer where the
# second half of them reached next to nothing new (libFuzzer's "cov"). The same number on any
# machine, busy or not.
FUZZ_RUNS = {"budgets": 30000, "dhat": 4000, "folded": 800, "heap_text": 3000, "heaptrack": 1600,
             "massif": 7000, "perfmap": 60000, "pprof": 12000, "request": 60000, "rules": 40000,
             "store": 10000, "suppressions": 60000, "symbol": 50000, "tide": 1200, "unpack": 50000,
             "unwind": 80000}
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "0"))  # instead: for so long
FUZZ_TIME_LIMIT_S = 300
FUZZ_SEED = int(os.environ.get("FUZZ_SEED", "1"))  # the same inputs every time; 0: new ones
INSTALLED = ("include/tidemark/tidemark.h", "include/tidemark/tidemark.hpp",
             "lib/pkgconfig/tidemark.pc", "share/doc/tidemark/docs/README.md",
             "share/bash-completion/completions/tidemark", "share/zsh/site-functions/_tidemark",
             "share/fish/vendor_completions.d/tidemark.fish",
             *(["share/man/man1/tidemark-run.1", "share/man/man3/tidemark.h.3"]
               if shutil.which("scdoc") else []))
PYTHON = sys.executable


def unit(log):
    return meson_tests(log, BUILD, *BESIDE_OTHERS, second_look=MESON_FAILED)


def e2e(log):
    """Three at a time: more than half of their time is spent waiting."""
    return runner(log, [PYTHON, "tests/e2e/run.py", "-j", "3"], second_look=True)


def bare(log):
    """The same programs with LD_PRELOAD alone, nobody supervising; some with the agent alone."""
    counts = runner(log, [PYTHON, "tests/e2e/run.py", "--mode", "bare"], second_look=True)
    counts.add(runner(log, [PYTHON, "tests/e2e/run.py", "--mode", "agent"], second_look=True))
    return counts


def real(log):
    return runner(log, [PYTHON, "tests/real/run.py"], second_look=True)


def symbols(log):
    return runner(log, [PYTHON, "tests/symbols/run.py"], second_look=True)


def interop(log):
    return runner(log, [PYTHON, "tests/interop/run.py"], second_look=True)


def bindings(log):
    return runner(log, [PYTHON, "tests/bindings/run.py"], second_look=True)


def fleet(log):
    """Servers that keep profiles; those that are not in the cache of tools/fleet.py are skipped."""
    return runner(log, [PYTHON, "tests/fleet/run.py"], second_look=True)


def hunts(log):
    """The case studies: what tidemark says of their programs, and every figure of their pages."""
    return runner(log, [PYTHON, "examples/run.py"], second_look=True)


def soak(log):
    """Ten minutes of everything at once; it mostly waits, so it runs beside the others."""
    return runner(log, [PYTHON, "tests/soak/run.py"])


def page(log, *names):
    """The engine of the page: against the command on the same captures, and against slow ways."""
    tests = BUILD / "ui/work/test/run.mjs"
    if not tests.exists():
        return failure("not built: are node and npm there?")
    return runner(log, ["node", tests, BUILD, *names], second_look=True)


def browser(log):
    """The page in a real browser; nothing where tidemark was built without it."""
    work = BUILD / "ui/work"
    if not shutil.which("chromium") or not (work / "node_modules").exists():
        if os.environ.get("CI") == "true":
            return failure("no chromium, or no page in the build")
        return Counts(skipped=1)
    return runner(log, ["node", work / "browser/run.mjs", "--tidemark", BUILD / "tidemark",
                        "--golden", "tests/golden"], second_look=True)


def cross(log):
    """The recorder for the other architecture, its tests under emulation."""
    directory = ROOT / f"build-{OTHER_ARCH}"
    if not meson_setup(log, directory, "--cross-file", f"tools/cross-{OTHER_ARCH}.ini",
                       "-Drecorder_only=true"):
        return failure(f"{directory.name}: cannot be set up")
    broken = ninja(log, directory)
    if broken:
        return broken
    counts = meson_tests(log, directory, *BESIDE_OTHERS, second_look=MESON_FAILED)
    for words in (["tests/e2e/run.py", "--mode", "bare"], ["tests/e2e/run.py", "--mode", "agent"],
                  ["tests/symbols/run.py"]):
        counts.add(runner(log, [PYTHON, *words, "--arch", OTHER_ARCH], second_look=True))
    return counts


def asan(log):
    """Hosted code under the address and undefined-behaviour sanitizers. Nothing else is built: the
    page and the recorder, which is never sanitized, are those of the other build."""
    directory = ROOT / "build-asan"
    if not meson_setup(log, directory, "-Db_sanitize=address,undefined", *SANITIZED,
                       "-Doptimization=g", f"-Dpage_from={BUILD}/ui/page.html"):
        return failure(f"{directory.name}: cannot be set up")
    broken = ninja(log, directory, "tidemark")
    if broken:
        return broken
    shutil.copy(BUILD / "libtidemark.so", directory)
    env = {"ASAN_OPTIONS": "detect_leaks=1:halt_on_error=1",
           "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    counts = sanitized_tests(log, directory, "--suite", "hosted", env=env)
    counts.add(sanitized_page(log, directory / "tidemark", env))
    return counts


def sanitized_page(log, tidemark, env):
    """The whole command as it serves and writes the page, and as it reads a process. What a
    sanitizer finds in a process that nobody waits for, as a server in the background is, is in the
    files it leaves."""
    found = LOGS / "asan-found"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir()
    env = {name: f"{value}:log_path={found}/by" for name, value in env.items()}
    names = r"^command\.(view_|html_|run_view|serve_(?!attached)|maps_)"
    counts = runner(log, [*settled(), PYTHON, "tests/e2e/run.py", "--tidemark", tidemark,
                          "--filter", names], env=env, second_look=True)
    counts.again = [lambda log, look=look: with_found(log, look(log), found)
                    for look in counts.again]
    return with_found(log, counts, found)


def with_found(log, counts, found):
    """The counts with what sanitizers have left in a directory since the last time."""
    for path in sorted(found.iterdir()):
        text = path.read_text(errors="replace")
        log.write(text)
        counts.fail(path.name, text)
        path.unlink()
    return counts


def tsan(log):
    """The store's concurrency under the thread sanitizer."""
    directory = ROOT / "build-tsan"
    if not meson_setup(log, directory, "-Db_sanitize=thread", *SANITIZED,
                       "-Drecorder_only=true"):
        return failure(f"{directory.name}: cannot be set up")
    env = {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
    return sanitized_tests(log, directory, "--suite", "threads", env=env)


def fuzz(log):
    """Each reader of external bytes: its corpus first, then new inputs for a short while."""
    directory = ROOT / "build-fuzz"
    names = sorted(path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))
    targets = [f"tests/fuzz/{name}" for name in names]
    clang = {"CC": "clang"}
    if not meson_setup(log, directory, "-Dfuzz=true", "-Dui=disabled", "-Drecorder_lto=false",
                       "-Db_lundef=false", env=clang):
        return failure(f"{directory.name}: cannot be set up")
    broken = ninja(log, directory, *targets, env=clang)
    if broken:
        return broken
    counts = Counts()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status in pool.map(lambda target: fuzz_one(log, directory / target), targets):
            log.write(f"{name}: {'ok' if status == 0 else f'status {status}'}\n")
            if status:
                said = (LOGS / f"{name}.log").read_text(errors="replace")
                counts.fail(f"{name}: status {status}, input and log in {LOGS.relative_to(ROOT)}",
                            said)
            else:
                counts.passed += 1
    return counts


def fuzz_one(suite_log, target):
    """One core is one target's; its output is in a log of its own."""
    name = target.name.removeprefix("fuzz_")
    corpus = ROOT / "tests/fuzz/corpus" / name
    with tempfile.TemporaryDirectory() as scratch, open(LOGS / f"{target.name}.log", "w") as log:
        known = [corpus] if corpus.is_dir() else []
        much = (f"-max_total_time={FUZZ_SECONDS}" if FUZZ_SECONDS else f"-runs={FUZZ_RUNS[name]}")
        command = [*settled(), target, much, f"-seed={FUZZ_SEED}", "-timeout=10",
                   "-rss_limit_mb=2048", "-print_final_stats=1",
                   f"-artifact_prefix={LOGS}/{name}-", scratch, *known]
        status, cpu_s = waited([str(word) for word in command], log,
                               FUZZ_SECONDS * 4 + FUZZ_TIME_LIMIT_S)
        suite_log.cpu_s += cpu_s
        return target.name, status


def waited(command, log, timeout):
    """Status and CPU seconds of a command."""
    with subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT) as child:
        timer = threading.Timer(timeout, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def install(log):
    """make install of what is built, with a DESTDIR and below another prefix; the installed command
    finds its library. Another prefix compiles one file, and once more when it is put back."""
    configured = json.loads(subprocess.run(
        ["meson", "introspect", "--buildoptions", BUILD], capture_output=True, text=True,
        check=True).stdout)
    prefix = next(option["value"] for option in configured if option["name"] == "prefix")
    counts = Counts()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            installs(log, counts, pathlib.Path(scratch), prefix, f"{scratch}/stage")
            installs(log, counts, pathlib.Path(scratch), f"{scratch}/opt", "")
            counts.add(package(log, f"{scratch}/package"))
        finally:
            run(log, ["meson", "configure", BUILD, "--prefix", prefix, "--libdir", "lib"])
    broken = ninja(log, BUILD)
    if broken:
        counts.add(broken)
    return counts


def installs(log, counts, scratch, prefix, destdir):
    status, output = run(log, ["make", "install", f"PREFIX={prefix}", f"DESTDIR={destdir}"])
    top = pathlib.Path(f"{destdir}{prefix}")
    capture = scratch / f"{top.name}.tide"
    if status == 0 and (top / "lib/tidemark/libtidemark.so").exists():
        status, output = run(log, [top / "bin/tidemark", "run", "-q", "-o", capture, "ls", "/"])
    missing = [name for name in INSTALLED if not (top / name).exists()]
    if status == 0 and capture.exists() and not missing:
        counts.passed += 1
    else:
        counts.fail(f"DESTDIR={destdir} PREFIX={prefix} (status {status}, "
                    f"missing: {missing})", output)


def package(log, stage):
    """The Debian package of what is built, installed and used in bare systems."""
    status, output = run(log, ["make", "install", "PREFIX=/usr", f"DESTDIR={stage}",
                               f"LIBDIR=lib/{platform.machine()}-linux-gnu"])
    if status:
        return failure("make install as Debian has it", output)
    return runner(log, [PYTHON, "tests/release/run.py", "--filter", "^package", "--stage", stage])


def release(log):
    """The tarball of `make dist`."""
    return runner(log, [PYTHON, "tests/release/run.py", "--filter", "^tarball"], second_look=True)


def lint_quick(log):
    """What lint finds within seconds; the rest of it is `make lint`."""
    checks = ("layers", "imports", "format", "python", "shell", "page")
    status, output = run(log, [PYTHON, "tools/lint.py", *checks])
    return failure("see what it says", output) if status else Counts(passed=len(checks))


def unit_quick(log):
    """Modules alone: nothing that records with other tools, fills memory or takes very long."""
    return meson_tests(log, BUILD, "--suite", "hosted", "--suite", "recorder", "--no-suite", "slow")


def e2e_quick(log):
    """Every program with a declared truth on libc, none of the tests of the command."""
    return runner(log, [PYTHON, "tests/e2e/run.py", "--filter", r"^(?!command\.)[^ ]*$"])


def page_quick(log):
    """The engine against slow ways of its own, without recording anything."""
    return page(log, "app", "decode", "engine", "flame", "units")


# In the order in which they begin: the longest first, so that none is left alone at the end.
SUITES = {"soak": soak, "e2e": e2e, "asan": asan, "fuzz": fuzz, "page": page, "cross": cross,
          "unit": unit, "browser": browser, "real": real, "bare": bare, "symbols": symbols,
          "interop": interop, "bindings": bindings, "fleet": fleet, "hunts": hunts,
          "release": release, "tsan": tsan, "install": install}
BESIDE_ALL = {"soak"}  # these wait more than they work, and have a place of their own
OWN_BUILD = {"fuzz", "tsan"}  # these use nothing of build/
WITH_CRATES = {unit, real, bindings, hunts}
# The first builds build/tidemark anew, so that nobody else may use it; the other does not.
LAST = {"install", "tsan"}
QUICK = {"unit": unit_quick, "e2e": e2e_quick, "lint": lint_quick, "page": page_quick}
