# SPDX-License-Identifier: Apache-2.0
"""tidemark doctor: what would be seen, and that it is so."""
import contextlib
import glob
import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess

import record
from command_how import DENIED
from command_permission import ALIVE, NOBODY, Alive, needs_root
from command_rust import DEBUG, LTO, RELEASE, rust
from command_shims import FENTRY, MAIN, PARTLY, POOL
from ground import expect, test

PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  void *volatile p = malloc(100);
  free(p);
  write(1, "ready\\n", 6);
  return read(0, (char[1]){0}, 1) < 0;
}
"""


def doctor(ground, subject, status, *said):
    done = ground.run(ground.tidemark, "doctor", subject)
    words = " ".join((done.stdout + done.stderr).split())
    expect(done.status == status, f"{subject}: {done.status}, not {status}: {words}")
    for one in said:
        expect(one in words, f"{subject}: no {one!r} in: {words}")
    return words


@test
def doctor_judges_commands(ground):
    prog = ground.build("plain", PROGRAM)
    doctor(ground, prog, 0, "by a preloaded library", "dynamic, glibc", "lines and inlined calls",
           "unwind tables", f"next: tidemark run {prog}")
    fixed = ground.build("fixed", PROGRAM, "-static")
    doctor(ground, fixed, 0, "by the agent", "linkage static", "libc's malloc (fixed)")
    shutil.copy(fixed, ground.scratch / "bare")
    subprocess.run(["strip", ground.scratch / "bare"], check=True)
    doctor(ground, ground.scratch / "bare", 0, "by the agent", "known by its code")
    script = ground.scratch / "script"
    script.write_text("#!/bin/sh\n./plain\n")
    script.chmod(0o755)
    doctor(ground, script, 1, "runs the script", "nothing can be told")
    asan = ground.build("asan", PROGRAM, "-fsanitize=address")
    doctor(ground, asan, 2, "nothing will be seen", "AddressSanitizer",
           "way out record it without, neither built in nor preloaded")
    script.write_text("#!/no/such/shell\n./plain\n")
    doctor(ground, script, 2, f"{script}: there is no /no/such/shell, which it is a script of")
    doctor(ground, ground.scratch, 2, "it is a directory")
    doctor(ground, "no-such-command", 2, "no such command")


@test
def doctor_judges_processes(ground):
    """Without stopping them; as attach would say it."""
    prog = ground.build("plain", PROGRAM)
    child = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        expect(child.stdout.readline() == "ready\n", "it does not start")
        with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
            before = maps.read()
        doctor(ground, child.pid, 0, f"process {child.pid} (plain)", "libc's malloc",
               "you may trace it", f"next: tidemark attach {child.pid}")
        with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
            expect(maps.read() == before, "it was touched")
        done = ground.run(ground.tidemark, "doctor", "--json", child.pid)
        told = json.loads(done.stdout)
        expect(done.status == 0 and told["seen"] == "all" and told["debug_info"], done.stdout)
    finally:
        child.communicate("q")
    doctor(ground, child.pid, 2, "there is no process")
    if os.path.exists("/proc/2/status") and "VmSize" not in open("/proc/2/status").read():
        doctor(ground, 2, 2, "one of the kernel's own")


NO_ALLOCATOR = """
void _start(void) { for (;;) __asm__ volatile(""); }
#ifdef GO
__attribute__((section(".go.buildinfo"), used)) char mark[16] = "go";
#endif
"""


@test
def doctor_knows_who_has_no_malloc(ground):
    """Names that are all there need no symbols, and Go's runtime profiles itself."""
    alone = ("-static", "-nostdlib", "-nostartfiles")
    words = doctor(ground, ground.build("none", NO_ALLOCATOR, *alone), 2,
                   "none of its functions is an allocator's that is known",
                   "would help a build that calls libc's malloc")
    expect("with symbols" not in words and "way out" not in words, words)
    words = doctor(ground, ground.build("gopher", NO_ALLOCATOR, *alone, "-DGO"), 2,
                   "it allocates by Go's runtime", "way out Go's runtime profiles itself")
    expect("patchable" not in words, words)


GOES_ON = PROGRAM + """
__attribute__((section(".go.buildinfo"), used)) char mark[16] = "go";
"""


@test
def doctor_knows_what_of_go_is_seen(ground):
    """Of a process as of the command: what its C allocates, and no more."""
    prog = ground.build("cgo", GOES_ON)
    said = ("only what goes through libc's allocator will be seen", "Go's runtime linked in",
            "way out Go's runtime profiles itself")
    doctor(ground, prog, 1, *said, f"next: tidemark run {prog}")
    with subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        doctor(ground, child.pid, 1, *said, f"next: tidemark attach {child.pid}")
        child.stdin.close()


LIBRARY = "#include <stdlib.h>\nvoid *own_block(void) { return malloc(10); }\n"
USER = "void *own_block(void);\nint main(void) { return !own_block(); }\n"


@test
def doctor_finds_libraries(ground):
    """As the loader does: those of libraries, too, and what it will not find."""
    jemalloc = sorted(glob.glob("/usr/lib/*/libjemalloc.so.2"))
    if not jemalloc:
        raise record.Skip("no libjemalloc here")
    (ground.scratch / "lib").mkdir()
    library = ground.build("lib/libown.so", LIBRARY, "-shared", "-fPIC", "-Wl,-soname,libown.so",
                           "-Wl,--no-as-needed", "-x", "none", jemalloc[0])
    libc = os.confstr("CS_GNU_LIBC_VERSION")
    linked = ["-x", "none", str(library)]
    prog = ground.build("relative", USER, *linked, "-Wl,-rpath,$ORIGIN/lib")
    doctor(ground, prog, 0, f"libc {libc}", "jemalloc (libjemalloc.so.2)",
           "libc's malloc (libc.so.6)")
    prog = ground.build("bare", USER, *linked)
    words = doctor(ground, prog, 0, "missing libown.so: the program will not start")
    expect("jemalloc" not in words, words)
    ground.env["LD_LIBRARY_PATH"] = str(ground.scratch / "lib")
    words = doctor(ground, prog, 0, "jemalloc (libjemalloc.so.2)")
    expect("missing" not in words, words)


@test
def doctor_says_what_cannot_be_hooked(ground):
    """The plan that run and attach make, made for a command and for a process."""
    flags = ("-rdynamic", "-fno-builtin")
    begins = "malloc, calloc, realloc"
    waits = "#include <unistd.h>\nint main(void) { work(); write(1, \"ready\\n\", 6); " \
        "return read(0, (char[1]){0}, 1) < 0; }\n"
    prog = ground.build("none", MAIN, *flags, "-pg", "-mfentry")
    doctor(ground, prog, 1, "only a part will be seen",
           "it begins with a call): its blocks are not",
           "0 of 4 functions can be hooked", "-fpatchable-function-entry=8", "next: tidemark run")
    other = ground.build("other", FENTRY + waits, *flags, "-pg", "-mfentry")
    with running(ground, other) as pid:
        words = doctor(ground, pid, 1, "only a part will be seen", "-fpatchable-function-entry=8",
                       f"next: tidemark attach {pid}")
        expect(all(name in words for name in begins.split(", ")), words)
    prog = ground.build("partly", PARTLY, *flags)
    doctor(ground, prog, 1,
           "what goes through functions that cannot be hooked is missed (memalign: it begins with",
           "4 of 5 functions can be hooked", "-fpatchable-function-entry")
    prog = ground.build("advised", MAIN, *flags, "-pg", "-mfentry", "-fpatchable-function-entry=8")
    words = doctor(ground, prog, 0, "4 of 4 functions can be hooked")
    expect("not hooked" not in words and "way out" not in words, words)


@contextlib.contextmanager
def running(ground, prog):
    child = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             cwd=ground.scratch)
    try:
        expect(child.stdout.readline() == "ready\n", "it does not start")
        yield child.pid
    finally:
        child.communicate("q")


@test
def doctor_judges_rust(ground):
    """An allocator of its own whose functions may be inlined is no promise."""
    doctor(ground, rust(ground, "arena", *DEBUG), 0, "by the agent", "a Rust allocator of its own")
    for flags in (RELEASE, LTO):
        doctor(ground, rust(ground, "arena", *flags), 1, "the compiler may have inlined",
               "way out record a build without optimization")


@test
def doctor_finds_the_loader(ground):
    """A program that needs its loader by name, before other libraries, as Chromium does."""
    headers = ground.run("readelf", "-lW", ground.tidemark).stdout
    loader = re.search(r"interpreter: (.*)\]", headers).group(1)
    prog = ground.build("prog", POOL + "int main(void) { free(malloc(9)); return 0; }\n",
                        "-rdynamic", f"-Wl,--no-as-needed,{loader}", "-lm")
    needed = re.findall(r"NEEDED.*\[(.*)\]", ground.run("readelf", "-dW", prog).stdout)
    expect(needed[0].startswith("ld-") and len(needed) > 2, f"{needed}")
    doctor(ground, prog, 0, "by the agent", "an allocator of its own (prog): 4 of 4 functions")


@test
def doctor_names_other_machines(ground):
    """Of those nothing can be recorded, and what would help is said."""
    small = ground.scratch / "small"
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    small.write_bytes(head + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 0, 40, 0,
                                         0))
    small.chmod(0o755)
    doctor(ground, small, 2, "nothing will be seen: it is a 32-bit program",
           "way out build it for 64 bits", "linkage 32-bit")
    foreign = "x86_64" if platform.machine() == "aarch64" else "aarch64"
    prog = ground.build("other", PROGRAM, compiler=f"{foreign}-linux-gnu-gcc")
    doctor(ground, prog, 2, "it is for another processor than this one",
           "way out record it where it is at home")


@test
def doctor_knows_musl(ground):
    """Whose loader is its libc, and where the allocator is."""
    prog = ground.build("musl", PROGRAM, compiler="musl-gcc")
    words = doctor(ground, prog, 0, "by the agent", "linkage dynamic, musl", "libc musl",
                   "libc's malloc (ld-musl-")
    expect("missing" not in words, words)


@test
def doctor_judges_setuid(ground):
    """Preloads are ignored; root's agent is not."""
    needs_root()
    with open_place() as place:
        prog = place / "prog"
        shutil.copy(ground.build("prog", PROGRAM), prog)
        shutil.chown(prog, 65534, 65534)
        prog.chmod(0o4755)
        doctor(ground, prog, 0, "by the agent", "it is setuid, setgid or has file capabilities")
        shutil.chown(prog, 0, 0)
        prog.chmod(0o4755)
        done = ground.run(*NOBODY, ground.tidemark, "doctor", prog)
        words = " ".join((done.stdout + done.stderr).split())
        if "Permission denied" in words:
            raise record.Skip("tidemark is not to be seen by others here")
        expect(done.status == 2 and "nothing will be seen: it is setuid" in words and
               "record a copy without them, or run tidemark as root" in words, words)


@contextlib.contextmanager
def open_place():
    """A directory that others can look into."""
    place = pathlib.Path("/tmp") / f"tidemark-doctor-{os.getpid()}"
    place.mkdir(mode=0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


@test
def doctor_knows_filters(ground):
    """Of the process, and ours."""
    prog = ground.build("alive", ALIVE)
    with Alive(prog, "open") as target:
        doctor(ground, target.pid, 1, "it has a seccomp filter", "seccomp it has a filter")
    with Alive(prog) as target:
        doctor(ground, target.pid, 0, "seccomp no filter of its own")
    denied = ground.build("denied", DENIED)
    fixed = ground.build("fixed", PROGRAM, "-static")
    done = ground.run(denied, ground.tidemark, "doctor", fixed)
    words = " ".join(done.stdout.split())
    expect(done.status == 2 and "the agent cannot be used" in words and "forbids ptrace" in words,
           words)
    plain = ground.build("plain", PROGRAM)
    done = ground.run(denied, ground.tidemark, "doctor", plain)
    expect(done.status == 0, done.stdout)


@test
def doctor_knows_landing_pads(ground):
    if platform.machine() != "x86_64":
        raise record.Skip("flags of x86_64")
    prog = ground.build("marked", PROGRAM, "-fcf-protection=full", "-Wl,-z,ibt", "-Wl,-z,shstk")
    doctor(ground, prog, 0, "built for landing pads (CET, IBT) and shadow stacks (CET)")
    prog = ground.build("bare", PROGRAM, "-fcf-protection=none")
    expect("landing pads" not in doctor(ground, prog, 0), "it is not marked")


WORK = """
#include <stdlib.h>
#include <string.h>
int main(void)
{
  for (int i = 0; i < 100; i++) free(calloc(1, 100));
  return !strdup("kept");
}
"""
BY_NAME = """
#include <stddef.h>
void *NAME_malloc(size_t);
int main(void) { return !NAME_malloc(100); }
"""
# From tests/programs, which need nothing but themselves.
SMALL = ("aligned_family.c", "calloc_plain.c", "end_exit_now.c", "errno_kept.c", "free_null.c",
         "lifetimes.c", "longjmp.c", "realloc_moved.c", "sizes.c", "zero_sizes.c")
REAL = (("ls", "/"), ("git", "--version"), ("perl", "-e", "my @a = (1) x 9999"),
        ("sqlite3", ":memory:", "select 1"), ("redis-server", "--version"), ("ldconfig", "-p"),
        ("node", "-e", "0"), ("make", "--version"), ("as", "--version"), ("gdb", "--version"))


def library(name):
    found = sorted(glob.glob(f"/usr/lib/*/{name}"))
    return found[:1]


def programs(ground):
    """(name, command) of programs that are made here."""
    pool = ("-rdynamic", "-fno-builtin")
    makers = [("plain", WORK, ()), ("static", WORK, ("-static",)), ("pie", WORK, ("-static-pie",)),
              ("asan", WORK, ("-fsanitize=address",)), ("partly", PARTLY, pool),
              ("unhooked", MAIN, (*pool, "-pg", "-mfentry")),
              ("advised", MAIN, (*pool, "-pg", "-mfentry", "-fpatchable-function-entry=8")),
              ("musl", WORK, ("musl-gcc",)), ("musl_static", WORK, ("musl-gcc", "-static"))]
    for name, stem in (("mi", "libmimalloc.so.2"), ("tc", "libtcmalloc_minimal.so.4")):
        if library(stem):
            makers.append((name, BY_NAME.replace("NAME", name), ("-x", "none", *library(stem))))
    for stem in ("libjemalloc.so.2", "libjemalloc.a", "libtcmalloc_minimal.so.4"):
        if library(stem):
            makers.append((stem, WORK, ("-Wl,--no-as-needed", "-x", "none", *library(stem), "-lm",
                                        "-lstdc++", "-lpthread")))
    for name, source, flags in makers:
        compiler = flags[0] if flags and flags[0] == "musl-gcc" else "gcc"
        if shutil.which(compiler):
            yield name, [ground.build(name, source, *[f for f in flags if f != compiler],
                                      compiler=compiler)]
    shutil.copy(ground.scratch / "static", ground.scratch / "stripped")
    subprocess.run(["strip", ground.scratch / "stripped"], check=True)
    yield "stripped", [ground.scratch / "stripped"]
    if shutil.which("rustc"):
        for kind, flags in (("arena", DEBUG), ("arena", RELEASE)):
            yield f"rust {kind} {flags[0]}", [rust(ground, kind, *flags)]
    here = pathlib.Path(__file__).parent.parent / "programs"
    for name in SMALL:
        yield name, [ground.build(name[:-2], (here / name).read_text(), f"-I{here}", "-pthread")]
    for words in REAL:
        if shutil.which(words[0]):
            yield words[0], list(words)


@test
def doctor_agrees_with_run(ground):
    """What it promises is what a recording of the same program then has, for each of them."""
    judged = {}
    for name, command in programs(ground):
        status = ground.run(ground.tidemark, "doctor", command[0]).status
        done = ground.record("-f", "-o", "x.tide", "--", *command)
        said = " ".join(done.stderr.split())
        is_there = (ground.scratch / "x.tide").exists()
        report = ground.report("x.tide") if is_there else None
        if is_there:
            (ground.scratch / "x.tide").unlink()
        # A stack may end early, in code that has no unwind tables: that is no event less.
        is_whole = is_there and "every event (" in said and \
            not report["capture"]["run"]["unrecorded"]
        has_events = is_there and report["totals"].get("allocations", 0) > 0
        expect(is_whole == (status == 0), f"{name}: doctor said {status}, run: {said}")
        expect(not (has_events and status == 2), f"{name}: doctor said {status}, run: {said}")
        judged[name] = status
    expect(len(judged) >= 25 and set(judged.values()) == {0, 1, 2}, f"{judged}")


@test
def doctor_and_run_know_calls_by_name(ground):
    """A library's allocator that is called by names of its own: by the agent, or it is said."""
    for name, stem in (("mi", "libmimalloc.so.2"), ("tc", "libtcmalloc_minimal.so.4")):
        if not library(stem):
            raise record.Skip(f"no {stem} here")
        prog = ground.build(name, BY_NAME.replace("NAME", name), "-x", "none", *library(stem))
        done = ground.record("-f", "-o", "x.tide", "--", prog)
        expect(done.status == 0 and "complete: every event" in done.stderr, done.stderr)
        report = ground.report("x.tide", "--group", "function")
        mine = [group for group in report["groups"] if group["function"] == "main"]
        expect([(g["allocations"], g["live_bytes"]) for g in mine] == [(1, 100)], f"{mine}")
        done = ground.record("-f", "--how", "preload", "-o", "x.tide", "--", prog)
        expect("complete: every event" not in done.stderr, done.stderr)
