# SPDX-License-Identifier: Apache-2.0
"""Running a command with and without the recorder, and reading what came of it.

A Recorder hides how a capture is made: by `tidemark run`, by a bare LD_PRELOAD, by one under qemu,
or by the agent, which the program is made to put into itself (tests/recorder/inside.c). Either way
the result is a Capture with images and a report for each. A command that does not end in
time is killed with its whole process group: a hang is a failure.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import counts
import report_json
import truth


class Failure(Exception):
    """The test failed; the text says why."""


class Skip(Exception):
    """The test cannot be made here; the text says why."""


class Excused(Skip):
    """Nothing that could be installed would change it: Debian 12's own version of a tool is not
    enough, or the machine (a container's) does not allow what the test needs."""


class Outcome:
    """How a command ended and what it wrote."""

    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr


def run(command, cwd=None, env=None, stdin="", timeout=60):
    child = subprocess.Popen([str(word) for word in command], cwd=cwd, env=env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = child.communicate(stdin.encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise Failure(f"hangs: still running after {timeout} s") from None
    return Outcome(child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def clean_environment(**more):
    env = {key: value for key, value in os.environ.items()
           if key not in ("LD_PRELOAD", "TIDEMARK_OPTIONS", "NO_COLOR", "CLICOLOR_FORCE",
                          "DEBUGINFOD_URLS")}
    env["TIDEMARK_CACHE"] = "off"  # nobody's home is written to, and every test asks anew
    env.update(more)
    return env


class Capture:
    """What was recorded: .images, and the report of each."""

    def __init__(self, tidemark, files, program):
        self.tidemark, self.program = tidemark, program
        self.places, self.reports, self.images = [], {}, []
        self.shown = None
        self.files = files
        self.supervised = not any(str(path).endswith(".store") for path in files)
        for path in files:
            report = self.read(path)
            self.shown = self.shown or report
            for image in report["images"]:
                if image["index"] == report["image"]["index"]:
                    self.reports[len(self.places)] = report
                self.places.append((path, image["index"]))
                self.images.append(image)

    def read(self, path, *options):
        done = run([self.tidemark, "report", "--json", "--all", *options, path])
        if done.status:
            raise Failure(f"report of {os.path.basename(path)} failed: {done.stderr.strip()}")
        try:
            return report_json.loads(done.stdout)
        except json.JSONDecodeError as error:
            raise Failure(f"report is not JSON: {error}") from None
        except report_json.Broken as error:
            raise Failure(f"report --json: {error}") from None

    def report(self, at):
        if at not in self.reports:
            path, index = self.places[at]
            self.reports[at] = self.read(path, "--process", str(index))
        return self.reports[at]

    def fact(self, key):
        if key == "images":
            return len(self.images)
        if key == "images_and_lost":
            lost = sum(self.report(at)["completeness"]["fork_lost"]
                       for at in range(len(self.images)))
            return len(self.images) + lost
        if key == "shown":
            return os.path.basename(self.shown["image"]["exe"]) if self.shown else None
        return self.shown["capture"][key]

    def select(self, which):
        """Indices of the images a truth speaks of."""
        names = [os.path.basename(image["exe"]) for image in self.images]
        forks = [at for at, image in enumerate(self.images) if image["by_fork"]]
        own = [at for at, name in enumerate(names) if name == self.program and at not in forks]
        if which is None:
            return own[:1]
        if which.isdigit():
            return [int(which)] if int(which) < len(names) else []
        if which == "fork":
            return forks
        if which.startswith("fork"):
            return forks[int(which[4:]) - 1:int(which[4:])]
        if which == "exec":
            return own[1:]
        if which.startswith("exe:"):
            return [at for at, name in enumerate(names) if name == which[4:]]
        raise ValueError(which)

    def check(self, truths):
        spoken = {}
        for line in truths:
            if line.scope == "capture":
                truth.check(line, None, self)
                continue
            chosen = self.select(line.images)
            nothing = all(how != ">=" and wanted == 0 for _, how, wanted in line.terms)
            if not chosen and not nothing:
                raise truth.Wrong(f"no image @{line.images or self.program} among "
                                  f"{[image['exe'] for image in self.images]}")
            for at in chosen:
                spoken.setdefault(at, []).append(line)
                truth.check(line, self.report(at), self)
        for at, lines in spoken.items():
            truth.check_losses(lines, self.report(at))
            truth.check_sums(self.report(at))
            truth.check_roots(self.report(at))
        for path in self.files if self.supervised else []:
            wrong = counts.check(path)
            if wrong:
                raise Failure(f"{os.path.basename(path)}: {wrong}")


class Recorder:
    """Makes captures; `mode` is run, bare or agent. Programs of another machine run under qemu."""

    def __init__(self, tidemark, library, mode, arch):
        self.tidemark, self.library, self.mode, self.arch = tidemark, library, mode, arch
        self.emulator = [] if arch == os.uname().machine else \
            ["env", "G_SLICE=always-malloc", f"qemu-{arch}", "-L", f"/usr/{arch}-linux-gnu"]

    def plain(self, command):
        return [*self.emulator, *command]

    def preloads(self, env):
        """What the program finds in its environment."""
        build = pathlib.Path(self.library).parent
        if self.mode == "agent":
            return {"LD_PRELOAD": str(build / "tests/recorder/libinside.so"),
                    "TIDEMARK_AGENT": str(build / "libtidemark-agent.so")}
        return {"LD_PRELOAD": ":".join(filter(None, [str(self.library), env.get("LD_PRELOAD")]))}

    def record(self, command, scratch, name, env, ways=(), **options):
        """Run a command recorded in `scratch`; returns its Outcome and the Capture."""
        if self.mode == "run":
            tide = pathlib.Path(scratch) / f"{name}.tide"
            tide.unlink(missing_ok=True)
            outcome = run([self.tidemark, "run", "-q", *ways, "-o", tide, "--", *command],
                          cwd=scratch, env=env, **options)
            if not tide.exists():
                return outcome, Capture(self.tidemark, [], name)
            return outcome, Capture(self.tidemark, [tide], name)
        for old in pathlib.Path(scratch).glob("tidemark.*.store"):
            old.unlink()
        preloads = self.preloads(env)
        if self.emulator:
            words = [word for item in preloads.items() for word in ("-E", "=".join(item))]
            outcome = run([*self.emulator, *words, *command], cwd=scratch, env=env, **options)
        else:
            outcome = run(command, cwd=scratch, env={**env, **preloads}, **options)
        stores = list(pathlib.Path(scratch).glob("tidemark.*.store"))
        if len(stores) > 1:
            stores.sort(key=self.start_of)
        return outcome, Capture(self.tidemark, stores, name)

    def start_of(self, store):
        """When a store's process image began: stores of one run have no other order."""
        done = run([self.tidemark, "info", "--json", store])
        if done.status:
            raise Failure(f"info of {store.name} failed: {done.stderr.strip()}")
        return json.loads(done.stdout)["capture"]["start_realtime_ns"]


def take_choice(parser):
    """The options by which a runner is told which of its tests to run."""
    parser.add_argument("--filter", default="", help="only tests whose name matches")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="only the test of this very name, and one at a time; may be repeated")


def is_chosen(options, name):
    if options.only and name not in options.only:
        return False
    return re.search(options.filter, name) is not None


class Tally:
    """Prints a line per test as it ends and counts."""

    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.lock = threading.Lock()

    def run(self, name, function):
        try:
            function()
            kind, why = "ok", ""
        except Skip as skip:
            excused = isinstance(skip, Excused) or os.environ.get("CI") != "true"
            kind = "skip" if excused else "FAIL"
            why = f": {skip}"
        except (Failure, truth.Wrong) as failure:
            kind, why = "FAIL", f": {failure}"
        except Exception as error:  # pylint: disable=broad-except
            kind, why = "FAIL", f": {type(error).__name__}: {error}"
        with self.lock:
            self.counts[kind] += 1
            print(f"{kind} {name}{why}", flush=True)

    def close(self):
        tail = f", {self.counts['skip']} skipped" if self.counts["skip"] else ""
        print(f"{self.counts['ok']} passed, {self.counts['FAIL']} failed{tail}")
        return 1 if self.counts["FAIL"] or not self.counts["ok"] else 0
