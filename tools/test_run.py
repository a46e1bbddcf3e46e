# SPDX-License-Identifier: Apache-2.0
"""What the suites are made of: commands whose output goes to a log, builds, and counts of what
passed. A command that dies early, counts nothing or takes too long is a failure, never a gap."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import tree

ROOT = tree.ROOT
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
TOLD_LINES = 40  # of a failed test's output
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) test\(s\)", re.M)
# A test that failed, in the words of our runners and of node's, and what they say of it below. What
# node indents is a part of the test that follows.
FAILED = re.compile(r"^( *)(FAIL|not ok \d+ -) "
                    r"(.*\n(?:(?! *(?:ok|FAIL|skip|not ok|#) )[ \t]+.*\n)*)", re.M)
NODE_WHY = re.compile(r"^ *error: (?:\|-\s+|')?(.*?)'?$", re.M)
SECOND_LOOKS = 8  # more than that fail for a reason
BESIDE_OTHERS = ("--timeout-multiplier", "4")  # for tests that share the machine with other suites
MESON_PASSED = ("OK", "EXPECTEDFAIL")
MESON_FAILED = ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT")


class Counts:
    """How many passed, failed and were skipped, and for each that failed its name and what it
    said; of those that passed at second look, too. What failed and may have such a look is in
    `again` instead: functions that run it, write to the log they are given, and return counts."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.notes, self.unsteady, self.again = [], [], []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes
        self.unsteady += other.unsteady
        self.again += other.again

    def note(self, name, said=""):
        """Tells of a failure that is counted already."""
        self.notes.append(told(name, said))

    def fail(self, name, said=""):
        self.failed += 1
        self.note(name, said)

    def __str__(self):
        tail = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{tail}"


def told(name, said):
    tail = said.rstrip().splitlines()[-TOLD_LINES:]
    return "\n".join([name, *(f"    {line}" for line in tail)])


def failure(name, said=""):
    counts = Counts()
    counts.fail(name, said)
    return counts


class Log:
    """Where a suite's output goes: a file, and the terminal where it is the only one that runs."""

    def __init__(self, name, is_shown):
        self.name, self.is_shown = name, is_shown
        self.file = open(LOGS / f"{name}.log", "w", encoding="utf-8")
        self.begun = time.monotonic()
        self.cpu_s = 0.0  # of the commands that have ended, and of their children

    def write(self, text):
        self.file.write(text)
        if self.is_shown:
            print(text, end="", flush=True)

    def close(self):
        self.file.close()

    def took(self):
        return f"{time.monotonic() - self.begun:6.1f} s {self.cpu_s:7.1f} s"


LEFT_BEHIND_S = 10  # for whom a command left behind with its output open; then without them


def run(log, command, timeout=1500, env=None):
    """Run a command with its output in the log; returns (status, output)."""
    whole_env = dict(os.environ, TIDEMARK_CACHE="off", **(env or {}))
    child = subprocess.Popen([str(word) for word in command], cwd=ROOT, env=whole_env, text=True,
                             errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    timer = threading.Timer(timeout, os.kill, (child.pid, signal.SIGKILL))
    timer.start()
    lines = []

    def read():
        for line in child.stdout:
            if log.file.closed:
                return
            lines.append(line)
            log.write(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        log.cpu_s += usage.ru_utime + usage.ru_stime
    finally:
        timer.cancel()
    reader.join(LEFT_BEHIND_S)
    if child.returncode < 0:
        lines.append(f"killed by signal {-child.returncode} (time limit {timeout} s)\n")
        log.write(lines[-1])
    return child.returncode, "".join(lines)


class Failed:
    """A test that failed: how it is called, how many failures its runner counts for it, and what it
    said."""

    def __init__(self, name, said, n_counted=1):
        self.name, self.said, self.n_counted = name, said, n_counted


def failed_tests(output):
    """Of a runner, in the order of its output."""
    found, parts = [], []
    for indent, word, text in FAILED.findall(output):
        if indent:  # a part of the test of node's that ends below
            parts.append(text)
            continue
        first, _, said = text.rstrip().partition("\n")
        name, _, why = first.partition(": ")
        if word != "FAIL":  # node hides a # in a name, and says why below
            name, said = first.replace("\\#", "#"), "".join([*parts, said])
            why = " ".join(NODE_WHY.findall(said)[:1])
        found.append(Failed(name, f"{why}\n{said}".rstrip(), 1 + len(parts)))
        parts = []
    return found


def named(test):
    """Its name with the first line of what it said, and the rest of that."""
    first, _, rest = test.said.partition("\n")
    return f"{test.name}: {first.strip()}".removesuffix(": "), rest


def runner(log, command, second_look=False, **options):
    """A test runner of our own, which closes with the counting line. With a second look, what
    failed runs once more, alone (--only NAME): what passes then has passed, and is told as
    unsteady."""
    status, output = run(log, command, **options)
    name = next(str(word) for word in command if str(word).endswith((".py", ".mjs")))
    name = os.path.relpath(ROOT / name, ROOT)
    closing = CLOSING.findall(output)
    if not closing:
        return failure(f"{name}: no closing line (status {status})", output)
    counts = Counts(*(int(number or 0) for number in closing[-1]))
    failed = failed_tests(output)
    if counts.failed and not failed:
        counts.note(f"{name}: {counts.failed} failed", output)
    if status != 0 and counts.failed == 0:
        counts.fail(f"{name}: status {status} with no failure counted", output)
    if second_look and 0 < len(failed) <= SECOND_LOOKS:
        counts.failed -= sum(test.n_counted for test in failed)
        counts.again.append(lambda log: look_again(log, command, failed, options))
    else:
        for test in failed:
            counts.note(*named(test))
    return counts


def look_again(log, command, tests, options):
    """Runs tests that failed once more. Those that fail again are told with both messages."""
    log.write(f"Once more, alone: {', '.join(test.name for test in tests)}\n")
    _, output = run(log, [*command, *(f"--only={test.name}" for test in tests)], **options)
    again = {test.name: test.said for test in failed_tests(output)}
    passed = [test for test in tests if test.name not in again]
    closing = CLOSING.findall(output)
    if not closing or int(closing[-1][0]) < len(passed):
        # Died, or did not run or skipped some: that has shown nothing.
        again.update({test.name: "(it did not run)" for test in passed})
    counts = Counts()
    for test in tests:
        if test.name in again:
            counts.failed += test.n_counted
            test.said += f"\nonce more, alone: {again[test.name]}"
            counts.note(*named(test))
        else:
            counts.passed += test.n_counted
            counts.unsteady.append(told(*named(test)))
    return counts


def meson_setup(log, directory, *options, env=None):
    if (directory / "build.ninja").exists():
        return True
    shutil.rmtree(directory, ignore_errors=True)
    return run(log, ["meson", "setup", directory, *options], env=env)[0] == 0


def ninja(log, directory, *targets, env=None):
    """None, or a failure that shows what the compiler said."""
    status, output = run(log, ["ninja", "-C", directory, *targets], env=env)
    return failure(f"{directory.name}: does not build", output) if status else None


def meson_tests(log, directory, *options, second_look=("TIMEOUT",), env=None):
    """meson's tests, counted by case where a program reports its cases. Builds what they need. What
    failed in one of the ways of `second_look` runs once more, alone, as `runner` does it: a
    sanitizer's finding never does."""
    command = ["meson", "test", "-C", directory, "--print-errorlogs", *options]
    tests, output = meson_run(log, directory, command, env)
    if not tests:
        return failure(f"{directory.name}: meson test wrote no report", output)
    counts = Counts()
    failed = {name: test for name, test in tests.items() if test["result"] in second_look}
    if 0 < len(failed) <= SECOND_LOOKS:
        counts.again.append(lambda log: meson_again(log, directory, command, failed, env))
    else:
        failed = {}
    for name, test in tests.items():
        if name not in failed:
            counts.add(meson_test(directory, test))
    return counts


def meson_again(log, directory, command, tests, env):
    """As `look_again`."""
    log.write(f"Once more, alone: {', '.join(tests)}\n")
    words = [*command, *(name.rpartition(" / ")[2] for name in tests)]
    second, _ = meson_run(log, directory, words, env)
    counts = Counts()
    for name, test in tests.items():
        is_passed = second.get(name, {}).get("result") in MESON_PASSED
        if is_passed:
            counts.unsteady += meson_test(directory, test).notes
        counts.add(meson_test(directory, second[name] if is_passed else test))
    return counts


def meson_run(log, directory, command, env):
    """What meson's report says of each test, by its name, and what it printed."""
    report = directory / "meson-logs/testlog.json"
    report.unlink(missing_ok=True)
    _, output = run(log, command, env=env)
    if not report.exists():
        return {}, output
    tests = [json.loads(line) for line in report.read_text().splitlines()]
    return {test["name"]: test for test in tests}, output


def meson_test(directory, test):
    text = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    cases = {kind: int(number) for kind, number in CMOCKA.findall(text)}
    if test["result"] == "SKIP":
        return Counts(skipped=1)
    if test["result"] in MESON_PASSED:
        return Counts(max(cases.get("PASSED", 0), 1), 0, cases.get("SKIPPED", 0))
    counts = Counts(cases.get("PASSED", 0), max(cases.get("FAILED", 0), 1))
    passing = re.compile(r"^\[ +(?:RUN|OK) +\] .*\n", re.M)
    counts.note(f"{directory.name}: {test['name']}: {test['result']}", passing.sub("", text))
    return counts


def settled():
    """A wrapper for sanitized programs: those of Debian 12 cannot live with the wide address
    randomisation that newer kernels use by default."""
    bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    return ["setarch", "-R"] if bits.exists() and int(bits.read_text()) > 28 else []


def sanitized_tests(log, directory, *options, env):
    wrapper = settled()
    more = ["--wrapper", " ".join(wrapper)] if wrapper else []
    return meson_tests(log, directory, *BESIDE_OTHERS, *more, *options, env=env)
