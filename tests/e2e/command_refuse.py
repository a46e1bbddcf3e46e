# SPDX-License-Identifier: Apache-2.0
"""What cannot be recorded: said at once, with the way out, and the command still runs."""
import os
import platform
import shutil
import struct
import subprocess

import record
from ground import ALLOCATE, expect, test

ALLOCATES = ALLOCATE + 'int main(void) { hold_all(); puts("ran"); return 6; }\n'


def refused(ground, program, *words):
    """Run it; the output and status are the program's, and every word is in our message."""
    done = ground.record("-f", "-o", "x.tide", "--how", "preload", "--", program)
    expect(done.status == 6 and done.stdout == "ran\n", f"status {done.status}, {done.stdout!r}")
    for word in words:
        expect(word in done.stderr, f"does not say {word!r}: {done.stderr!r}")
    first = done.stderr.splitlines()[0]
    expect(first.startswith("tidemark:"), f"begins {first!r}")
    return done


@test
def static_program(ground):
    refused(ground, ground.build("prog", ALLOCATES, "-static"), "static")


@test
def musl_program(ground):
    if not shutil.which("musl-gcc"):
        raise record.Skip("no musl-gcc here")
    source = ALLOCATES.replace("__attribute__((noipa))", "__attribute__((noinline))")
    refused(ground, ground.build("prog", source, compiler="musl-gcc"), "musl")


@test
def setuid_program(ground):
    if os.geteuid() != 0:
        raise record.Skip("needs root")
    prog = ground.build("prog", ALLOCATES)
    os.chown(prog, 65534, 65534)
    os.chmod(prog, 0o4755)
    if os.statvfs(prog).f_flag & os.ST_NOSUID:
        raise record.Skip("a file system without setuid")
    refused(ground, prog, "setuid")


@test
def own_allocator(ground):
    source = """
#include <stddef.h>
#include <stdio.h>
static char pool[1 << 20];
static size_t used;
void *mi_malloc(size_t n) { void *p = pool + used; used += (n + 31) & ~15ul; return p; }
void *malloc(size_t n) { return mi_malloc(n); }
void *calloc(size_t a, size_t b) { return mi_malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return mi_malloc(n); }
void free(void *p) { (void)p; }
int main(void) { puts("ran"); return malloc(10) ? 6 : 1; }
"""
    refused(ground, ground.build("prog", source), "mimalloc", "linked in")
    other = source.replace("mi_malloc", "take_some")
    refused(ground, ground.build("prog", other), "allocator of its own")


@test
def own_allocator_in_a_child(ground):
    """Only the first program is looked at before it starts: the report must say it of the rest."""
    prog = ground.build("prog", """
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
static char *pool; static size_t used;
void *malloc(size_t n)
{
  if (!pool)
    pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  used += (n + 31) & ~15ul;
  return pool + used;
}
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
void free(void *p) { (void)p; }
int main(void) { return malloc(10) ? 6 : 1; }
""")
    done = ground.record("-q", "-o", "x.tide", "--how", "preload", "--", "sh", "-c",
                         f"{prog}; exit $?")
    expect(done.status == 6 and not done.stderr, f"status {done.status}, {done.stderr!r}")
    images = ground.report("x.tide")["images"]
    child = [image["index"] for image in images if image["exe"].endswith("/prog")]
    expect(len(child) == 1, f"images {images}")
    text = ground.run(ground.tidemark, "report", "--process", str(child[0]), "x.tide").stdout
    expect("an allocator of its own" in text, f"the report does not say so: {text}")


def runs_without_us(ground, prog):
    """Children that could not even start with us: by path, through PATH, and by spawn."""
    by_path = ground.record("-q", "-f", "-o", "x.tide", "--how", "preload", "--", "sh", "-c",
                            f"{prog}; exit $?")
    code = ("import os, sys; os.environ['PATH'] = sys.argv[1]; "
            "pid = os.posix_spawnp('prog', ['prog'], os.environ); "
            "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6; "
            "os.execvp('prog', ['prog'])")
    searched = ground.record("-q", "-f", "-o", "y.tide", "--how", "preload", "--",
                             "/usr/bin/python3", "-S", "-c", code, f"/nowhere:{ground.scratch}")
    for done, times in ((by_path, 1), (searched, 2)):
        expect(done.status == 6 and done.stdout == "ran\n" * times,
               f"status {done.status}, {done.stdout!r}, {done.stderr!r}")
        said = [line for line in done.stderr.splitlines() if "not recorded" in line]
        expect(len(said) == times, f"said {done.stderr!r}")


@test
def musl_child(ground):
    if not shutil.which("musl-gcc"):
        raise record.Skip("no musl-gcc here")
    source = ALLOCATES.replace("__attribute__((noipa))", "__attribute__((noinline))")
    runs_without_us(ground, ground.build("prog", source, compiler="musl-gcc"))


@test
def sanitized_child(ground):
    source = 'int puts(const char *); int main(void) { puts("ran"); return 6; }\n'
    for name in ("address", "thread", "leak"):
        runs_without_us(ground, ground.build("prog", source, f"-fsanitize={name}"))


@test
def strict_sandbox(ground):
    """Nothing but read, write and exit, and no cycle counter: the recorder stops in time."""
    prog = ground.build("prog", ALLOCATE + """
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void vow(void)
{
  void *before = malloc(100);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  for (int i = 0; i < 1000; i++)
    free(malloc(i % 50));
  free(before);
  syscall(SYS_exit, write(1, "ran\\n", 4) + 2);
}
int main(void)
{
  int status;
  hold_all();
  if (!fork())
    vow();
  if (wait(&status) < 0 || status != 6 << 8)
    return 1;
  vow();
}
""")
    done = ground.record("-q", "-o", "x.tide", "--", prog)
    expect(done.status == 6 and done.stdout == "ran\n" * 2,
           f"status {done.status}, {done.stdout!r}")
    expect(done.stderr.count("forbids itself") == 2, f"said {done.stderr!r}")
    report = ground.report("x.tide", "--process", "0")
    expect(report["image"]["off_reason"] == 3, f"off_reason {report['image']['off_reason']}")
    expect(report["totals"]["allocations"] == 101, f"{report['totals']['allocations']} recorded")


@test
def valgrind(ground):
    """Its tools replace malloc behind the hooks: said, and quickly aside."""
    if not shutil.which("valgrind"):
        raise record.Skip("no valgrind here")
    prog = ground.build("prog", ALLOCATES)
    done = ground.record("-q", "-o", "x.tide", "--", "valgrind", "-q", prog)
    expect(done.status == 6 and done.stdout == "ran\n", f"status {done.status}, {done.stdout!r}")
    said = done.stderr.splitlines()
    expect(len(said) == 1 and "valgrind stands in for its allocator" in said[0], f"said {said}")


@test
def other_word_size(ground):
    # A whole 32-bit program: ELF header, one segment, and exit(6) by the old system call gate.
    code = bytes.fromhex("b801000000bb06000000cd80")
    header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01" + bytes(9), 2, 3, 1,
                         0x08048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, 0x08048000, 0x08048000, 84 + len(code),
                          84 + len(code), 5, 0x1000)
    path = ground.scratch / "prog"
    path.write_bytes(header + segment + code)
    path.chmod(0o755)
    try:
        plain = ground.run(path).status
    except OSError:
        plain = 126  # a kernel that does not run such programs
    done = ground.record("-o", "x.tide", "--", path)
    expect(done.status == plain, f"status {done.status}, without us {plain}")
    expect("32-bit" in done.stderr, f"says {done.stderr!r}")


@test
def nothing_allocated(ground):
    prog = ground.build("prog", "int main(void) { return 6; }")
    done = ground.record("-o", "x.tide", "--", prog)
    expect(done.status == 6, f"status {done.status}")
    expect("tidemark:" in done.stderr and "alloca" in done.stderr, f"says {done.stderr!r}")


@test
def sanitized_program(ground):
    prog = ground.build("prog", ALLOCATES, "-fsanitize=address")
    ground.env["ASAN_OPTIONS"] = "detect_leaks=0"
    refused(ground, prog, "AddressSanitizer")


@test
def script_without_first_line(ground):
    script = ground.scratch / "script"
    script.write_text("echo ran\nexit 6\n")
    script.chmod(0o755)
    done = ground.record("-q", "-o", "x.tide", "--", "./script")
    expect(done.status in (6, 126), f"status {done.status}")


def runtime_of(compiler, name):
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True,
                           check=True).stdout.strip()
    expect(os.path.isabs(found), f"{compiler} has no {name}")
    return found


@test
def sanitizer_preloaded(ground):
    """It must come first: the program runs as without us, and is said not to be recorded."""
    prog = ground.program('puts("ran"); return 6;')
    runtimes = [runtime_of("gcc", name) for name in ("libasan.so", "libtsan.so")]
    if shutil.which("clang"):
        runtimes.append(runtime_of("clang", f"libclang_rt.asan-{platform.machine()}.so"))
    for name in runtimes:
        env = dict(ground.env, LD_PRELOAD=name, ASAN_OPTIONS="detect_leaks=0")
        plain = ground.run(prog, env=env)
        done = ground.record("-q", "-f", "-o", "x.tide", "--", prog, env=env)
        expect((done.status, done.stdout) == (plain.status, plain.stdout),
               f"{name}: {done.status} {done.stderr!r}, alone {plain.status} {plain.stderr!r}")
        expect("must be loaded first" in done.stderr, f"{name}: said {done.stderr!r}")
    by_exec = ground.build("starter", """
#include <unistd.h>
int main(int argc, char **argv)
{
  char *env[] = {argv[2], "ASAN_OPTIONS=detect_leaks=0", 0};
  return argc > 2 ? execve(argv[1], argv + 1, env) : 1;
}
""")
    for runtime in runtimes:
        done = ground.record("-q", "-f", "-o", "x.tide", "--", by_exec, prog,
                             f"LD_PRELOAD={runtime}")
        expect(done.status == 6 and done.stdout == "ran\n",
               f"exec: {done.status} {done.stderr!r}")
        roll = ground.report("x.tide")["capture"]["run"]["unrecorded"]
        expect([(row["program"], row["reason"]) for row in roll] == [(prog.name, "sanitizer")],
               f"exec: the roll has {roll}")
