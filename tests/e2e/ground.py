# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command stand on: small programs made on the spot, runs, reports.

A test is a function marked @test; it gets a Ground with a directory of its own and raises
record.Failure through `expect`.
"""
import os
import pathlib
import shutil
import subprocess
import time

import record
import report_json

TESTS = {}
# Programs that were built, by what they were built of: every second one is asked for again. Those
# that have files beside them, or are made of some, are not among them.
MADE = {}

# 100 blocks of 50 bytes, then whatever the test asks for.
ALLOCATE = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[100];
__attribute__((noipa)) static void hold(int i) { kept[i] = malloc(50); }
static void hold_all(void) { for (int i = 0; i < 100; i++) hold(i); }
"""


def test(function):
    TESTS["command." + function.__name__] = function
    return function


def expect(condition, why):
    if not condition:
        raise record.Failure(why)


def copy(source, path):
    """By a process of its own: a file that is open for writing here may not be run, and a child of
    another test's would have it open, too."""
    subprocess.run(["cp", "--remove-destination", source, path], check=True)


class Ground:
    """One test's directory and tools."""

    def __init__(self, options, scratch):
        self.tidemark, self.library = options.tidemark, options.library
        self.scratch = pathlib.Path(scratch)
        self.env = record.clean_environment()

    def build(self, name, source, *flags, compiler="gcc"):
        """Compile a program; returns its path. Its source lies in /source, wherever we are: names
        looked for in a text must not be found in our own path."""
        if not shutil.which(compiler):
            raise record.Skip(f"no {compiler} here")
        path = self.scratch / name
        key = (compiler, source, *map(str, flags))
        if key in MADE:
            copy(MADE[key], path)
            return path
        language = "c++" if compiler == "g++" else "c"
        done = subprocess.run([compiler, "-O1", "-g", f"-fdebug-prefix-map={os.getcwd()}=/source",
                               "-fno-builtin", "-x", language, "-", "-o", path, *flags],
                              input=source, capture_output=True, text=True)
        if done.returncode:
            raise record.Failure(f"{name} does not build: {done.stderr.strip()[-200:]}")
        if not any("/" in word or "split" in word for word in key[2:]):
            kept = self.scratch.parent / f"made-{self.scratch.name}-{hash(key):x}"
            copy(path, kept)
            MADE[key] = kept
        return path

    def program(self, body, name="prog", *flags):
        """A program that makes its 100 blocks and then runs `body`."""
        return self.build(name, ALLOCATE + "int main(int argc, char **argv)\n{\n  (void)argc, "
                          "(void)argv;\n  hold_all();\n" + body + "\n}\n", *flags)

    def run(self, *words, **options):
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.scratch)
        return record.run(words, **options)

    def record(self, *words, **options):
        """tidemark run WORDS, our options included."""
        return self.run(self.tidemark, "run", *words, **options)

    def start(self, *words, **options):
        """tidemark run WORDS in a session of its own, not waited for."""
        return subprocess.Popen([str(word) for word in (self.tidemark, "run", *words)],
                                cwd=self.scratch, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, text=True, **options)

    def report(self, path, *options):
        done = self.run(self.tidemark, "report", "--json", "--all", *options, path)
        expect(done.status == 0, f"report failed with {done.status}: {done.stderr.strip()}")
        return report_json.loads(done.stdout)

    def tides(self):
        return sorted(self.scratch.glob("*.tide"))


def finish(child, timeout=30):
    """Wait for a started command; returns (status, stdout, stderr)."""
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        if os.getpgid(child.pid) == child.pid:
            os.killpg(child.pid, 9)
        child.kill()
        child.communicate()
        raise record.Failure(f"hangs: still running after {timeout} s") from None
    return child.returncode, out, err


def status_kib(text, key):
    """Of what /proc/PID/status says."""
    [line] = [line for line in text.splitlines() if line.startswith(key)]
    return int(line.split()[1])


def wait_for(condition, what, seconds=20):
    for _ in range(seconds * 50):
        if condition():
            return
        time.sleep(0.02)
    raise record.Failure(f"waited {seconds} s for {what}")
