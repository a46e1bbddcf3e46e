#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every test there is and end with one line: "N passed, N failed[, N skipped]".

  tools/test.py [SUITE…]      all, quick, or any of the names in SUITES (test_suites.py)

Builds first what the suites need. Four of them run at a time, on two cores: while some
wait (for programs that sleep, a browser, a linker, a registry) the others have the cores, and when
all compute they share them; the soak, which waits most of all, is a fifth. Programs from crates.io
are built meanwhile. `install` runs last, because it changes build/; beside it, what uses nothing of
that.

The output of several suites goes to build/test-logs/SUITE.log alone, that of one to the terminal as
well. What failed stands at the end, with what it said, and so does what passed only when it was run
once more: UNSTEADY, a defect of the test or of what it tests.
"""
import concurrent.futures
import os
import shutil
import sys
import threading

from test_run import BUILD, LOGS, Counts, Log, failure, ninja, run
from test_suites import BESIDE_ALL, LAST, OTHER_ARCH, OWN_BUILD, QUICK, SUITES, WITH_CRATES

AT_A_TIME = 4
TOOLS = ("clang", "llvm-symbolizer", "ld.lld", "dwz", "zstd", "valgrind", "nm", "rustc", "cargo",
         "perl", "git", "node", "npm", "chromium", "firefox-esr", "sqlite3", "redis-server",
         "redis-benchmark", "nginx", "bwrap", "strace", "jq", "debuginfod", "musl-gcc", "heaptrack",
         "ms_print", "massif-visualizer", "google-pprof", "jeprof", "go", "dh",
         "lintian", "mmdebstrap", "runuser", "scdoc", "zsh", "fish",
         f"qemu-{OTHER_ARCH}", f"{OTHER_ARCH}-linux-gnu-gcc")


def missing_tools():
    """On a machine of one's own a missing tool means skipped tests; in CI it is a failure."""
    counts = Counts()
    if os.environ.get("CI") == "true":
        for tool in TOOLS:
            if not shutil.which(tool) and not shutil.which(tool, path="/usr/sbin"):
                counts.fail(f"{tool} is missing; tools/setup.sh test deb installs it")
    return counts


class Session:
    """The suites asked for, what they counted, and how long each took."""

    def __init__(self, suites):
        self.suites = suites
        self.is_shown = len(suites) == 1
        self.total = missing_tools()
        self.table = []
        self.again = []  # (suite, function that runs once more what failed there)
        self.lock = threading.Lock()
        self.built = threading.Event()
        self.is_broken = False

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def build(self):
        """build/, for all suites that test what is in it."""
        log = Log("build", self.is_shown)
        broken = ninja(log, BUILD)
        self.is_broken = broken is not None
        self.finish(log, broken or Counts())
        self.built.set()

    def crates(self):
        """Fetched and built ahead, and so is Go's pprof, which newer Go builds when it is first
        asked for; what goes wrong is for the tests that need them to say."""
        log = Log("crates", False)
        if shutil.which("go"):
            run(log, ["go", "tool", "pprof", "-h"])
        run(log, [sys.executable, "tests/crates.py"])
        self.finish(log, Counts())

    def suite(self, name):
        if name not in OWN_BUILD:
            self.built.wait()
            if self.is_broken:
                return
        self.say(f"== {name}")
        log = Log(name, self.is_shown)
        try:
            counts = self.suites[name](log)
        except Exception as error:  # pylint: disable=broad-except
            counts = failure(f"{type(error).__name__}: {error}")
        if counts.passed + counts.failed + counts.skipped == 0:
            counts.fail("nothing was tested")
        self.finish(log, counts)

    def finish(self, log, counts):
        log.close()
        row = f"{log.name:9} {log.took()}  {counts if log.name not in ('build', 'crates') else ''}"
        row += ", some once more at the end" if counts.again else ""
        counts.notes = [f"{log.name}: {note}" for note in counts.notes]
        counts.unsteady = [f"{log.name}: {note}" for note in counts.unsteady]
        with self.lock:
            self.table.append(row.rstrip())
            self.again += [(log.name, look) for look in counts.again]
            self.total.add(counts)
            print(f"   {row}".rstrip(), flush=True)
            for note in counts.notes:
                print(f"FAILED {note.splitlines()[0]}", flush=True)
            for note in counts.unsteady:
                print(f"UNSTEADY {note.splitlines()[0]}", flush=True)

    def run(self):
        early = [name for name in self.suites if name not in LAST]
        # Those that need nothing of build/ may begin while it is made.
        early.sort(key=lambda name: name not in OWN_BUILD)
        n_beside = len(BESIDE_ALL & set(early))
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME + n_beside) as pool:
            pool.submit(self.build)
            if WITH_CRATES & {self.suites[name] for name in early}:
                pool.submit(self.crates)
            for name in early:
                pool.submit(self.suite, name)
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            for name in self.suites:
                if name in LAST:
                    pool.submit(self.suite, name)
        self.look_again()

    def look_again(self):
        for name, look in self.again:
            log = Log(f"{name}-again", self.is_shown)
            self.say(f"== {name}, once more")
            self.finish(log, look(log))

    def close(self):
        print(f"\n{'suite':9} {'took':>8} {'CPU':>9}")
        print("\n".join(self.table))
        for note in self.total.notes:
            print(f"\nFAILED {note}")
        for note in self.total.unsteady:
            print(f"\nUNSTEADY {note}")
        if self.total.notes or self.total.unsteady:
            print(f"\nwhole logs: {LOGS}")
        (LOGS / "summary").write_text(f"{self.total}\n")
        print(self.total)
        return 1 if self.total.failed else 0


def asked(words):
    if words == ["quick"]:
        return QUICK
    for name in words:
        if name not in SUITES and name != "all":
            sys.exit(f"test: no suite '{name}' (all quick {' '.join(SUITES)})")
    return {name: suite for name, suite in SUITES.items()
            if name in words or "all" in words or not words}


def main():
    suites = asked(sys.argv[1:])
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "summary").unlink(missing_ok=True)
    session = Session(suites)
    session.run()
    return session.close()


if __name__ == "__main__":
    sys.exit(main())
