# SPDX-License-Identifier: Apache-2.0
"""The test programs: what their heads say, and how they are built.

Directives stand in comment lines at the head of a program (all but `truth` at most once):

  build: FLAGS            more flags for the compiler
  args: WORDS             arguments;  run[NAME]: WORDS   several runs with names of their own
  env: K=V …              added to the environment;  stdin: TEXT   what it reads
  wrap: WORDS             a command put before the program, e.g. a shell that sets a limit
  status: exit N | signal N                    how it ends, exit 0 when not said
  needs: root             cannot be tested otherwise
  helpers: A.so B.so      shared objects it loads from its directory
  helper: A.so FLAGS      this file is such an object, not a program (one line for each)
  uses: PROGRAM           another program it starts
  allocators: preload link link:NAME           run on other allocators too
  check: NAME             a further check, see checks.py
  how: WAY                the way in which tidemark run records it, when not by itself
  says: TEXT              tidemark run has something to say of it on stderr, in one line
  timeout: SECONDS        60 when not said
  bare: no                not without a supervisor
  qemu: no                not under emulation of another processor
  agent: yes              also with the agent put into itself
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import truth

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "programs"
COMMON = ["-O2", "-g", "-Wall", "-Wextra", "-fno-builtin", "-fno-optimize-sibling-calls"]
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2",
              "tcmalloc": "libtcmalloc_minimal.so.4"}
DIRECTIVE = re.compile(r"^(?://|#) (build|args|env|stdin|wrap|status|needs|helpers|uses|allocators"
                       r"|check|how|says|timeout|bare|qemu|agent): (.*)$", re.M)
RUN = re.compile(r"^(?://|#) run\[([^\]]+)\]: (.*)$", re.M)
HELPER = re.compile(r"^// helper: (\S+)(.*)$", re.M)


class Program:
    """One source file under tests/programs with what it declares."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.text = path.read_text()
        self.said = dict(DIRECTIVE.findall(self.text))
        self.runs = dict(RUN.findall(self.text)) or {None: self.said.get("args", "")}
        self.truths = list(truth.declared(self.text))
        self.helpers = HELPER.findall(self.text)

    @property
    def is_program(self):
        return not self.helpers and self.path.suffix in (".c", ".cpp", ".rs", ".sh")

    @property
    def status(self):
        kind, number = self.said.get("status", "exit 0").split()
        return int(number) if kind == "exit" else -int(number)

    def variants(self):
        """(how, allocator) pairs: on libc, and on each allocator in each way asked for."""
        yield None, None
        for word in self.said.get("allocators", "").split():
            how, _, only = word.partition(":")
            for name in [only] if only else ALLOCATORS:
                yield how, name


def load():
    listing = [Program(path) for path in sorted(SOURCES.iterdir())
               if path.suffix in (".c", ".cpp", ".rs", ".sh")]
    return {program.name: program for program in listing}


class Toolchain:
    """Compilers for one architecture and the directory their output goes to."""

    def __init__(self, build_dir, arch):
        self.cross = "" if arch == os.uname().machine else f"{arch}-linux-gnu-"
        self.bin = pathlib.Path(build_dir) / ("bin-" + arch)
        self.problems = {}

    def languages(self):
        return (".c", ".cpp") if self.cross else (".c", ".cpp", ".rs", ".sh")

    def library(self, allocator):
        """Where Debian's shared object of an allocator is, or None."""
        name = ALLOCATORS[allocator]
        found = subprocess.run(["gcc", "-print-file-name=" + name], capture_output=True,
                               text=True).stdout.strip()
        return found if os.path.isabs(found) else None

    def compiler(self, program):
        return self.cross + ("g++" if program.path.suffix == ".cpp" else "gcc")

    def command(self, program, output, how=None, allocator=None):
        flags = shlex.split(program.said.get("build", ""))
        source = str(program.path)
        if program.path.suffix == ".rs":
            return ["rustc", "--edition=2021", "-O", "-g", *flags, "-o", output, source]
        compiler = self.compiler(program)
        link = ["-Wl,--no-as-needed", self.library(allocator)] if how == "link" else []
        return [compiler, *COMMON, source, "-o", output, *flags, *link]

    def jobs(self, programs):
        """(key, output, sources, command) for everything these programs need."""
        everything = load()
        wanted = {}
        for program in programs:
            for name in program.said.get("uses", "").split():
                wanted[name] = everything[name]
            if program.path.suffix == ".sh":
                continue
            for how, allocator in program.variants():
                if how == "link" and not self.library(allocator):
                    continue
                if how != "preload":
                    output = str(self.path(program, how, allocator))
                    yield output, program, self.command(program, output, how, allocator)
        for program in wanted.values():
            output = str(self.path(program))
            yield output, program, self.command(program, output)
        for program in everything.values():
            for name, flags in program.helpers:
                output = str(self.bin / name)
                yield output, program, [self.compiler(program), *COMMON, "-shared", "-fPIC",
                                        *shlex.split(flags), str(program.path), "-o", output]

    def path(self, program, how=None, allocator=None):
        if program.path.suffix == ".sh":
            return self.bin / program.path.name
        return self.bin / (program.name + (f"-{allocator}" if how == "link" else ""))

    def build(self, programs, n_jobs):
        """Build what is older than its source; what fails is remembered in `problems`."""
        def one(job):
            output, program, command = job
            newest = max(program.path.stat().st_mtime, (SOURCES / "site.h").stat().st_mtime)
            if os.path.exists(output) and os.stat(output).st_mtime >= newest:
                return
            env = dict(os.environ, RUSTC_BOOTSTRAP="1")  # the older mangling needs leave
            try:
                done = subprocess.run(command, capture_output=True, text=True, env=env)
            except FileNotFoundError:
                self.problems[output] = f"no {command[0]} here"
                return
            if done.returncode:
                lines = (done.stderr.strip() or "no message").splitlines()
                errors = [line for line in lines if "error" in line] or lines
                self.problems[output] = f"does not build: {errors[0]}"
        self.bin.mkdir(parents=True, exist_ok=True)
        for program in programs:
            if program.path.suffix == ".sh":
                shutil.copy(program.path, self.bin / program.path.name)
        with concurrent.futures.ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(one, {job[0]: job for job in self.jobs(programs)}.values()))
