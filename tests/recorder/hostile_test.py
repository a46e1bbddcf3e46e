#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder believes nobody: whatever sits at its supervisor's door, and whatever that does to
the stores it hands out, the program runs to its end with its own output, in bounded time.

  hostile_test.py LIBTIDEMARK HOSTILE TARGET [RUNNER…]
"""
import concurrent.futures
import os
import secrets
import subprocess
import sys
import time

LIBRARY, HOSTILE, TARGET = map(os.path.realpath, sys.argv[1:4])
RUNNER = sys.argv[4:]
EMULATED = bool(RUNNER)
MS = 1500
NOT_RECORDED = "tidemark: this process is not recorded: "
UNSAFE = NOT_RECORDED + "its supervisor gave no store that is sealed and large enough: "
SILENT = NOT_RECORDED + "its supervisor does not answer: "
STRANGER = NOT_RECORDED + "neither its own user nor root answers in its supervisor's place: "


def target(name, words, **options):
    """The target as recorded at that door: (status, stdout, stderr)."""
    variables = {"LD_PRELOAD": LIBRARY, "TIDEMARK_OPTIONS": f"socket={name}"}
    command, environment = [], dict(os.environ)
    if EMULATED:
        command = list(RUNNER)
        for key, value in variables.items():
            command += ["-E", f"{key}={value}"]
    else:
        environment.update(variables)
    done = subprocess.run([*command, TARGET, *map(str, words)], env=environment, timeout=240,
                          capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def meet(kind, *words, seed=1, **options):
    """The target beside a supervisor of that kind; also what the supervisor has seen."""
    name = "tidemark-test-" + secrets.token_hex(8)
    with subprocess.Popen([*RUNNER, HOSTILE, name, kind, str(seed)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as supervisor:
        try:
            if supervisor.stdout.readline() != "ready\n":
                raise AssertionError(f"the supervisor did not start: {supervisor.stderr.read()}")
            outcome = target(name, words, **options)
            seen, said = supervisor.communicate("", timeout=60)
        finally:
            supervisor.kill()
    seen = seen.split()
    return outcome, dict(zip(seen[::2], map(int, seen[1::2]))), said


def survives(kind, line, *words, visits=1, **options):
    """It does, says that line (None: nothing) and is asked so often."""
    start = time.monotonic()
    (status, out, err), seen, said = meet(kind, *words, **options)
    print(f"{kind}: {time.monotonic() - start:.1f} s, {seen}")
    expected = f"{line}{TARGET}\n" if line else ""
    assert (status, out) == (0, "survived\n"), f"{kind}: status {status}, {out!r}, {err!r}"
    assert line is None or err == expected, f"{kind}: said {err!r}, not {expected!r}"
    assert seen["visits"] == visits or visits is None, f"{kind}: {seen}"
    return seen, said


def flips(seed):
    seen, _ = survives("flips", None, MS, visits=None, seed=seed)
    assert seen["visits"] > 1 and seen["flips"] > 10000, f"it was not under attack: {seen}"


def refused_stores():
    survives("honest", "", 10, 1, visits=2)
    for kind in "unsealed", "seals", "small", "file":
        survives(kind, UNSAFE, 10, 1)
    survives("hasty", "", 10, 1)


def strangers():
    if os.geteuid():
        print("not root: no door of another user")
        return
    survives("stranger", STRANGER, 10, 1, visits=0)
    # A run has ended, and its processes go on: their children meet whoever took the name.
    seen, said = survives("turncoat", None, 10, 7)
    assert said == "", said
    assert seen["lost"] == 7, f"children that could not be recorded: {seen}"


def unknown_users():
    """In a user namespace that knows neither the supervisor's user nor its own, the two look the
    same, and so would any other."""
    words = ["unshare", "--user"]
    if EMULATED or subprocess.run([*words, "true"], capture_output=True).returncode:
        return
    name = "tidemark-test-" + secrets.token_hex(8)
    with subprocess.Popen([HOSTILE, name, "honest", "1"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as supervisor:
        supervisor.stdout.readline()
        done = subprocess.run(
            [*words, "env", f"LD_PRELOAD={LIBRARY}", f"TIDEMARK_OPTIONS=socket={name}", TARGET,
             "10", "1"], capture_output=True, text=True, timeout=60)
        seen, _ = supervisor.communicate("")
    assert done.stdout == "survived\n" and done.stderr == f"{STRANGER}{TARGET}\n", f"{done}"
    assert seen.startswith("visits 0 "), seen


def main():
    tests = [lambda: flips(1), refused_stores, strangers, unknown_users,
             lambda: survives("silent", SILENT, 10, 2),
             lambda: survives("stopped", SILENT, 10, 2, visits=0)]
    if not EMULATED:
        tests += [lambda: flips(2), lambda: flips(3)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(test) for test in tests]:
            done.result()


main()
