# SPDX-License-Identifier: Apache-2.0
"""Programs that preloading does not cover: run records them with the agent, by itself, exactly."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import record
from command_whole import static_jemalloc
from ground import expect, finish, test, wait_for


# 1,000 blocks of 100 bytes that are freed, 300 of 1,000 that are kept, 50 of 10 made 5,000.
TRUTH = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
static void *kept[300], *grown[50];
__attribute__((noinline)) static void *small(void) { return malloc(100); }
__attribute__((noinline)) static void *large(void) { return calloc(10, 100); }
__attribute__((noinline)) static void *grow(void *p) { return realloc(p, 5000); }
static void work(void)
{
  for (int i = 0; i < 1000; i++) free(small());
  for (int i = 0; i < 300; i++) kept[i] = large();
  for (int i = 0; i < 50; i++) grown[i] = grow(malloc(10));
}
"""
PLAIN = TRUTH + "int main(void) { work(); write(1, \"ran\\n\", 4); return 6; }\n"
N_WORK = 1000 + 300 + 2 * 50
LIVE_WORK = 300 * 1000 + 50 * 5000
SITES = {"small": (1000, 0), "large": (300, 300000), "grow": (50, 250000), "work": (50, 0)}


def musl(ground, name, source, *flags):
    return ground.build(name, source, *flags, compiler="musl-gcc")


def jemalloc(ground, name, source):
    archive = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/libjemalloc_pic.a"))), None)
    if not archive:
        raise record.Skip("no libjemalloc_pic.a here")
    return ground.build(name, source, "-x", "none", str(archive), "-lstdc++", "-lm", "-pthread",
                        "-ldl")


def sums(ground, path, exe="prog"):
    """Of each image of the program, (allocations, live bytes) of every function of TRUTH."""
    found = []
    for image in ground.report(path)["images"]:
        if not image["exe"].endswith("/" + exe):
            continue
        report = ground.report(path, "--process", str(image["index"]), "--group", "function",
                               "--sort", "count")
        found.append({group["function"]: (group["allocations"], group["live_bytes"])
                      for group in report["groups"] if group["function"] in SITES})
    return found


def check_truth(ground, path, times=1, exe="prog"):
    found = sums(ground, path, exe)
    expect(found == [SITES] * times, f"{exe} {times} times: {found}")


def run_exactly(ground, prog, *options):
    done = ground.record("-f", "-o", "x.tide", *options, "--", prog)
    expect(done.status == 6 and done.stdout == "ran\n",
           f"status {done.status}, {done.stdout!r}, {done.stderr}")
    check_truth(ground, "x.tide")
    return done.stderr


@test
def how_static(ground):
    run_exactly(ground, ground.build("prog", PLAIN, "-static"))
    run_exactly(ground, ground.build("prog", PLAIN, "-static-pie"))


@test
def how_musl(ground):
    run_exactly(ground, musl(ground, "prog", PLAIN, "-static"))
    run_exactly(ground, musl(ground, "prog", PLAIN))


@test
def how_jemalloc_inside(ground):
    err = run_exactly(ground, jemalloc(ground, "prog", PLAIN))
    expect("complete: every event" in err, err)


@test
def how_is_forced(ground):
    """Both ways count the same."""
    prog = ground.build("prog", PLAIN)
    by_preload = ground.report("x.tide") if run_exactly(ground, prog, "--how", "preload") else None
    by_agent = ground.report("x.tide") if run_exactly(ground, prog, "--how", "agent") else None
    for word in ("allocations", "allocated_bytes", "live_bytes", "live_blocks"):
        expect(by_preload["totals"][word] == by_agent["totals"][word], f"{word} differs")
    expect(by_preload["totals"]["peak_bytes"] == by_agent["totals"]["peak_bytes"], "the peak")
    static = ground.build("prog", PLAIN, "-static")
    done = ground.record("-f", "-o", "x.tide", "--how", "preload", "--", static)
    expect(done.status == 6 and "statically linked" in done.stderr, done.stderr)
    done = ground.record("--how", "magic", "--", static)
    expect(done.status == 125 and "magic" in done.stderr, done.stderr)


@test
def how_ends_as_it_would(ground):
    """Exit status, signals, descriptors, environment: as without us."""
    prog = ground.build("prog", TRUTH + """
#include <dirent.h>
extern char **environ;
int main(int argc, char **argv)
{
  work();
  for (int fd = 0; fd < 64; fd++)
    if (lseek(fd, 0, SEEK_CUR) != -1 || dup2(fd, fd) == fd) printf("fd %d\\n", fd);
  for (char **e = environ; *e; e++)
    if (strncmp(*e, "LD_PRELOAD", 10) && strncmp(*e, "TIDEMARK", 8)) puts(*e);
  sigset_t set;
  sigprocmask(SIG_BLOCK, NULL, &set);
  for (int i = 1; i < 64; i++) if (sigismember(&set, i)) printf("blocked %d\\n", i);
  fflush(stdout);
  if (argc > 1) raise(atoi(argv[1]));
  return 7;
}
""", "-static")
    alone = ground.run(prog)
    done = ground.record("-q", "-f", "-o", "x.tide", "--", prog)
    expect((done.status, done.stdout) == (alone.status, alone.stdout),
           f"{alone.stdout!r} and {done.stdout!r}")
    done = ground.record("-q", "-f", "-o", "x.tide", "--", prog, int(signal.SIGTERM))
    expect(done.status == -signal.SIGTERM, f"status {done.status}")
    check_truth(ground, "x.tide")


def children(pid):
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


WAITS = TRUTH + """
int main(void)
{
  char c;
  work();
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1) if (c == 'q') return 6;
  for (;;) pause();
}
"""


def start_waiting(ground, *words):
    child = ground.start("-f", "-o", "x.tide", *words)
    expect(child.stdout.readline() == "ready\n", "it does not start")
    return child


def prog_of(child):
    for pid in children(child.pid):
        if os.readlink(f"/proc/{pid}/exe").endswith("/prog"):
            return pid
    raise record.Failure("the program is no child of the command")


@test
def how_leaves_nobody_traced(ground):
    """Stop and continue, Ctrl-C, and no tracer that stays."""
    child = start_waiting(ground, ground.build("prog", WAITS, "-static"))
    pid = prog_of(child)
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    expect("TracerPid:\t0" in status, "somebody still traces it")
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: "T (stopped)" in pathlib.Path(f"/proc/{pid}/status").read_text(), "a stop")
    os.kill(pid, signal.SIGCONT)
    wait_for(lambda: "S (sleeping)" in pathlib.Path(f"/proc/{pid}/status").read_text(), "its end")
    os.killpg(child.pid, signal.SIGINT)
    done, _, err = finish(child)
    expect(done == -signal.SIGINT, f"status {done}: {err}")
    check_truth(ground, "x.tide")


@test
def how_survives_its_helpers(ground):
    """The process that ushers are made by is killed: what runs goes on, and is recorded."""
    child = start_waiting(ground, ground.build("prog", WAITS, "-static"))
    pid = prog_of(child)
    for other in children(child.pid):
        if other != pid:
            os.kill(other, signal.SIGKILL)
    os.kill(pid, signal.SIGTERM)
    done, _, err = finish(child)
    expect(done == -signal.SIGTERM, f"status {done}: {err}")
    check_truth(ground, "x.tide")


@test
def how_setuid_as_root(ground):
    if os.geteuid() != 0:
        raise record.Skip("needs root")
    prog = ground.build("prog", PLAIN)
    os.chown(prog, 65534, 65534)
    os.chmod(prog, 0o4755)
    if os.statvfs(prog).f_flag & os.ST_NOSUID:
        raise record.Skip("a file system without setuid")
    run_exactly(ground, prog)


@test
def how_traced_already(ground):
    """Under a tracer of somebody else's it runs as ever, and the reason is given."""
    if not shutil.which("strace"):
        raise record.Skip("no strace here")
    prog = ground.build("prog", PLAIN, "-static")
    done = ground.run("strace", "-f", "-qq", "-o", "trace", "-e", "trace=none", ground.tidemark,
                      "run", "-f", "-o", "x.tide", prog)
    expect(done.status == 6 and done.stdout == "ran\n", f"status {done.status}, {done.stdout!r}")
    expect("traced already" in done.stderr and "statically linked" in done.stderr, done.stderr)


@test
def how_leaves_sanitizers_alone(ground):
    source = 'int puts(const char *); int main(void) { puts("ran"); return 6; }\n'
    for flag in ("-fsanitize=address", "-static-libasan"):
        prog = ground.build("prog", source, "-fsanitize=address", flag)
        done = ground.record("-f", "-o", "x.tide", "--", prog)
        expect(done.status == 6 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
        expect("AddressSanitizer" in done.stderr, done.stderr)


def build_plain(ground, name, kind):
    if kind == "musl":
        return musl(ground, name, PLAIN)
    if kind == "jemalloc":
        return jemalloc(ground, name, PLAIN)
    return ground.build(name, PLAIN, "-static")


@test
def how_children(ground):
    """A shell that is preloaded starts what cannot be: by exec, by fork and exec, by spawn."""
    code = ("import os, sys; p = sys.argv[1]; "
            "pid = os.posix_spawn(p, [p], os.environ); "
            "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6; os.execv(p, [p])")
    for kind in ("static", "musl", "jemalloc"):
        prog = build_plain(ground, "prog", kind)
        done = ground.record("-f", "-o", "x.tide", "--", "sh", "-c",
                             f"{prog}; {prog}; exec {prog}")
        expect(done.status == 6 and done.stdout == "ran\n" * 3,
               f"{kind}: {done.status}, {done.stdout!r}, {done.stderr}")
        expect("not recorded" not in done.stderr, f"{kind}: {done.stderr}")
        check_truth(ground, "x.tide", 3)
        done = ground.record("-f", "-o", "x.tide", "--", "/usr/bin/python3", "-S", "-c",
                             code, prog)
        expect(done.status == 6 and done.stdout == "ran\n" * 2,
               f"{kind}: {done.status}, {done.stdout!r}, {done.stderr}")
        check_truth(ground, "x.tide", 2)
        roll = ground.report("x.tide")["capture"]["run"]
        expect(not roll["unrecorded"], f"{kind}: {roll}")


@test
def how_fork_of_a_static_program(ground):
    """Its fork child has a store of its own, and what that starts is preloaded as ever."""
    plain = ground.build("plain", PLAIN)
    prog = ground.build("prog", TRUTH + """
int main(int argc, char **argv)
{
  int status;
  work();
  if (fork() == 0) { work(); if (argc > 1) execv(argv[1], argv + 1); _exit(4); }
  wait(&status);
  return WEXITSTATUS(status);
}
""", "-static")
    done = ground.record("-f", "-o", "x.tide", "--", prog, plain)
    expect(done.status == 6 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
    check_truth(ground, "x.tide", 2)
    check_truth(ground, "x.tide", 1, "plain")


def calls_but_threads(trace):
    """The calls that strace saw end, but for threads of the command itself: one of them begins when
    a run has lasted a while, whatever it records."""
    threads = set()  # that are about to make one
    for line in trace.splitlines():
        tid, _, call = line.partition(" ")
        if "CLONE_THREAD" in call:
            threads.add(tid) if "<unfinished" in call else None
            continue
        name = re.match(r" *(<\.\.\. )?(\w+)[( ].*= ", call)
        if name and name[1] and tid in threads:
            threads.remove(tid)
        elif name:
            yield name[2]


@test
def how_costs_nothing_where_preloads_cover(ground):
    """No process more, and nobody is traced, for programs and children that need no agent."""
    if not shutil.which("strace"):
        raise record.Skip("no strace here")
    prog = ground.build("prog", PLAIN)
    calls = {}
    for how in ("auto", "preload"):
        done = ground.run("strace", "-f", "-qq", "-o", "trace", "-e",
                          "trace=clone,clone3,fork,vfork,ptrace,socketpair", ground.tidemark, "run",
                          "--how", how, "-q", "-f", "-o", "x.tide", "sh", "-c", f"{prog}; {prog}")
        expect(done.status == 6, f"status {done.status}: {done.stderr}")
        calls[how] = sorted(calls_but_threads((ground.scratch / "trace").read_text()))
    expect(calls["auto"] == calls["preload"] and calls["auto"], f"{calls}")


DENIED = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog all = {4, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
    return 97;
  execvp(argv[1], argv + 1);
  return argc < 2;
}
"""


@test
def how_tracing_is_forbidden(ground):
    """As in some containers: what preloads do not cover runs as ever, and the reason is said."""
    denied, prog = ground.build("denied", DENIED), ground.build("prog", PLAIN, "-static")
    done = ground.run(denied, ground.tidemark, "run", "-f", "-o", "x.tide", prog)
    said = " ".join(done.stderr.split())
    expect(done.status == 6 and done.stdout == "ran\n", f"status {done.status}: {said}")
    expect("a seccomp filter" in said and "forbids ptrace" in said, said)
    expect(said.count("statically linked") == 1, said)
    plain = ground.build("plain", PLAIN)
    done = ground.run(denied, ground.tidemark, "run", "-f", "-o", "x.tide", "sh", "-c",
                      f"{prog}; {prog}; {plain}")
    said = " ".join(done.stderr.split())
    expect(done.status == 6 and done.stdout == "ran\n" * 3, f"status {done.status}: {said}")
    expect("could not record 1 more process, nor prog: the kernel does not permit" in said, said)
    check_truth(ground, "x.tide", 1, "plain")
    [row] = ground.report("x.tide")["capture"]["run"]["unrecorded"]
    expect((row["program"], row["processes"]) == ("prog", 2), f"{row}")


@test
def how_debuggers_come_first(ground):
    """What strace or gdb starts under tidemark is theirs."""
    prog = ground.build("prog", PLAIN, "-static")
    for words, status in ((("strace", "-f", "-qq", "-o", "trace"), 6),
                          (("gdb", "-q", "-batch", "-return-child-result", "-ex", "run"), 6)):
        if not shutil.which(words[0]):
            raise record.Skip(f"no {words[0]} here")
        done = ground.record("-f", "-o", "x.tide", "--", *words, prog)
        expect(done.status == status and "ran\n" in done.stdout, f"{done.status}: {done.stderr}")
        expect("traced already, by" in " ".join(done.stderr.split()), done.stderr)
    expect("exit_group(6)" in (ground.scratch / "trace").read_text(), "strace missed its end")


class Terminal:
    """A shell with job control at a terminal of its own."""

    def __init__(self, ground):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(ground.scratch)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       dict(ground.env, PS1="", TERM="dumb"))

    def type(self, text):
        os.write(self.fd, text.encode())

    def hear(self, pattern):
        until = time.monotonic() + 30
        while not re.search(pattern, self.said):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise record.Failure(f"no {pattern!r} in {self.said[-500:]!r}")
            self.said += os.read(self.fd, 4096).decode(errors="replace")
        self.said = self.said[re.search(pattern, self.said).end():]

    def prompt(self):
        """Until the shell has the terminal: what is typed before it sees to Ctrl-C is lost."""
        wait_for(lambda: os.tcgetpgrp(self.fd) == self.pid, "the shell")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@test
def how_job_control(ground):
    """Ctrl-Z, fg and Ctrl-C at a terminal, and input from it: as of any other job."""
    if not shutil.which("bash"):
        raise record.Skip("no bash here")
    ground.build("prog", WAITS, "-static")
    terminal = Terminal(ground)
    try:
        run = f"{ground.tidemark} run -q -f -o x.tide ./prog; echo ended=$?\n"
        terminal.type(run)
        terminal.hear("ready\r\n")
        terminal.type("\x1a")
        terminal.hear("Stopped")
        terminal.type("fg\n")
        terminal.hear("prog")
        terminal.type("q\n")
        terminal.prompt()
        terminal.type("echo now=$?\n")
        terminal.hear("now=6")
        terminal.type(run)
        terminal.hear("ready\r\n")
        terminal.type("\x03")
        terminal.prompt()
        terminal.type("echo now=$?\n")
        terminal.hear("now=130")
    finally:
        terminal.close()
    check_truth(ground, "x.tide")


@test
def how_waits_for_daemons(ground):
    """With --wait a static program's orphan is waited for, and the helpers are not."""
    prog = ground.build("prog", TRUTH + """
int main(void)
{
  if (fork() == 0) { setsid(); usleep(300000); work(); _exit(0); }
  return 6;
}
""", "-static")
    plain = ground.build("plain", """
#include <unistd.h>
int main(int argc, char **argv)
{
  if (fork() == 0) { setsid(); usleep(100000); execv(argv[1], argv + 1); }
  return argc < 2 ? 1 : 6;
}
""")
    for words in ((prog,), (plain, prog)):
        done = ground.record("-f", "-o", "x.tide", "--wait", "--", *words)
        expect(done.status == 6, f"status {done.status}: {done.stderr}")
        found = [image for image in sums(ground, "x.tide") if image]
        expect(found == [SITES], f"{found}")


# Through one place in the code, so that nothing but the function called tells them apart.
TWO = """
#include <stdlib.h>
void *_rjem_malloc(size_t);
void _rjem_free(void *);
static void *kept[2][100];
__attribute__((noipa)) static void *get(void *(*f)(size_t), size_t n) { return f(n); }
int main(void)
{
  for (int i = 0; i < 100; i++) {
    kept[0][i] = get(malloc, 1000);
    kept[1][i] = get(_rjem_malloc, 3000);
  }
  for (int i = 0; i < 50; i++) {
    free(kept[0][i]);
    _rjem_free(kept[1][i]);
  }
  for (int i = 0; i < 20; i++)
    _rjem_free(get(_rjem_malloc, 10));
  return 6;
}
"""


def allocators(image):
    return {row["name"]: row for row in image["allocators"]}


@test
def how_two_allocators(ground):
    """Each with its share of what was allocated, of the peak and of the end, and the way."""
    prog = static_jemalloc(ground, "prog", TWO, "_rjem_")
    done = ground.record("-f", "-o", "x.tide", prog)
    expect(done.status == 6, done.stderr)
    report = ground.report("x.tide")
    image = report["image"]
    expect(image["recorded_by"] == "agent", f"{image}")
    both = allocators(image)
    expect(list(both) == ["jemalloc", "libc's malloc"], f"{both}")
    je, libc = both["jemalloc"], both["libc's malloc"]
    expect((je["allocations"], je["allocated_bytes"]) == (120, 300200), f"{je}")
    expect((je["peak_blocks"], je["peak_bytes"]) == (100, 300000), f"{je}")
    expect((je["live_blocks"], je["live_bytes"]) == (50, 150000), f"{je}")
    for word in ("allocations", "allocated_bytes", "live_bytes", "live_blocks", "peak_bytes"):
        expect(je[word] + libc[word] == report["totals"][word], f"{word}: {both}")
    expect(libc["peak_bytes"] >= 100000, f"{libc}")
    said = " ".join(done.stderr.split())
    share = f"{je['peak_bytes'] * 100 / report['totals']['peak_bytes']:.1f} %"
    expect(f"allocators 2 jemalloc {share} of the peak, libc's malloc" in said, said)
    expect("; by the agent" in said, said)
    told = [s["text"] for s in report["verdict"]["sentences"] if s["kind"] == "allocators"]
    expect(told and told[0].startswith(f"Allocators: jemalloc {share} of the peak, "), f"{told}")
    listed = " ".join(ground.run(ground.tidemark, "info", "x.tide").stdout.split())
    expect("allocator jemalloc " in listed and "jemalloc: " in listed, listed)
    ground.record("-q", "-f", "-o", "y.tide", prog)
    ground.run(ground.tidemark, "merge", "-f", "-o", "m.tide", "x.tide", "y.tide")
    merged = allocators(ground.report("m.tide")["image"])
    expect(merged["jemalloc"]["peak_bytes"] == 600000, f"{merged}")


@test
def how_one_allocator(ground):
    """Preloaded over libc's it is not worth a line; over a shared jemalloc it is."""
    prog = ground.build("prog", PLAIN)
    done = ground.record("-f", "-o", "x.tide", prog)
    image = ground.report("x.tide")["image"]
    expect(image["recorded_by"] == "preload" and list(allocators(image)) == ["libc's malloc"],
           f"{image}")
    expect("allocator " not in done.stderr, done.stderr)
    shared = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"))), None)
    if not shared:
        raise record.Skip("no libjemalloc.so.2 here")
    done = ground.record("-f", "-o", "x.tide", prog, env=dict(ground.env, LD_PRELOAD=str(shared)))
    image = ground.report("x.tide")["image"]
    expect(list(allocators(image)) == ["jemalloc"], f"{image}")
    expect(re.search(r"allocator +1 +jemalloc; by a preloaded library", done.stderr), done.stderr)


# By fork and exec, by spawn, and itself without any variable; execs that fail change nothing.
EXECS = """
#include <errno.h>
#include <spawn.h>
int main(int argc, char **argv)
{
  int status;
  pid_t child;
  for (int i = 0; i < 3; i++)
    if (execv("/no/such/program", argv + 1) != -1 || errno != ENOENT) return 3;
  if (fork() == 0) { execv(argv[1], argv + 1); _exit(9); }
  wait(&status);
  if (posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ)) return 4;
  wait(&status);
  if (execv("prog.c", argv + 1) != -1 || errno != EACCES) return 5;
  work();
  return argc > 1 ? execve(argv[1], argv + 1, (char *[]){NULL}) : 7;
}
"""


@test
def how_exec_out_of_the_agent(ground):
    """What a static program starts or becomes is recorded, too: static, musl's, preloaded ones."""
    (ground.scratch / "prog.c").write_text("no program\n")
    starters = {"static": ground.build("start", TRUTH + EXECS, "-static"),
                "musl": musl(ground, "start_musl", TRUTH + EXECS, "-static")}
    for kind in ("static", "musl", "jemalloc", "plain"):
        prog = ground.build("prog", PLAIN) if kind == "plain" else build_plain(ground, "prog", kind)
        for name, start in starters.items():
            done = ground.record("-f", "-o", "x.tide", "--", start, prog)
            expect(done.status == 6 and done.stdout == "ran\n" * 3,
                   f"{name}, {kind}: {done.status}, {done.stdout!r}, {done.stderr}")
            check_truth(ground, "x.tide", 3)
            check_truth(ground, "x.tide", 1, start.name)
            roll = ground.report("x.tide")["capture"]["run"]
            expect(not roll["unrecorded"], f"{name}, {kind}: {roll}")


@test
def how_exec_out_of_the_agent_alone(ground):
    """With nobody to take it, the next program runs as ever, musl's, too, and is listed."""
    start = ground.build("prog", TRUTH + """
int main(int argc, char **argv)
{
  work();
  write(1, "ready\\n", 6);
  while (access("go", F_OK)) usleep(10000);
  return argc > 1 ? execv(argv[1], argv + 1) : 7;
}
""", "-static")
    child = start_waiting(ground, start, musl(ground, "next", PLAIN))
    pid = prog_of(child)
    for other in children(child.pid):
        if other != pid:
            os.kill(other, signal.SIGKILL)
    (ground.scratch / "go").write_text("")
    status, out, err = finish(child)
    expect(status == 6 and out == "ran\n", f"{status}, {out!r}: {err}")
    expect("the agent could not record next: " in " ".join(err.split()), err)
    [row] = ground.report("x.tide")["capture"]["run"]["unrecorded"]
    expect((row["program"], row["reason"]) == ("next", "musl"), f"{row}")
    check_truth(ground, "x.tide")


@test
def how_musl_starts_whoever_starts_it(ground):
    """A library of glibc's among the preloads keeps a program of musl's from starting: it is never
    there, also where a static program hands its environment on and nobody is held."""
    becomes = "#include <unistd.h>\nint main(int n, char **v) { return execv(v[n > 1], v + 1); }"
    prog = musl(ground, "prog", PLAIN)
    static = ground.build("static", becomes, "-static")
    bare = musl(ground, "bare", becomes, "-static")  # without an allocator
    plain = ground.build("plain", becomes)
    denied = ground.build("denied", DENIED)
    for how in ("auto", "preload", "agent"):
        for start in ([static], [bare], [plain, static], [plain, bare]):
            done = ground.record("--how", how, "-f", "-o", "x.tide", "--", *start, prog)
            expect(done.status == 6 and done.stdout == "ran\n",
                   f"{how}, {start}: {done.status}, {done.stderr}")
            run = ground.report("x.tide")["capture"]["run"]
            if how == "preload":
                expect(run["unrecorded"], f"{start}: nobody is listed")
                continue
            expect(not run["unrecorded"], f"{how}, {start}: {run}")
            check_truth(ground, "x.tide")
    for start in ([static], [plain, static]):
        done = ground.run(denied, ground.tidemark, "run", "-f", "-o", "x.tide", "--", *start, prog)
        expect(done.status == 6 and done.stdout == "ran\n", f"{start}: {done.stderr}")
    # Nobody's report will tell it where there is only the preload.
    done = ground.run(plain, static, prog, env=dict(ground.env, LD_PRELOAD=str(ground.library)))
    expect(done.status == 6 and done.stdout == "ran\n", f"{done.status}: {done.stderr}")
    expect("it is static, and what it starts is not recorded either" in done.stderr, done.stderr)


@test
def how_preloads_and_a_library_by_name(ground):
    """An allocator that comes by dlopen and is called by its own names: nobody says complete."""
    library = sorted(pathlib.Path("/usr/lib").glob("*/libmimalloc.so.2"))
    if not library:
        raise record.Skip("no libmimalloc here")
    prog = ground.build("prog", """
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void *(*get)(size_t) = library ? (void *(*)(size_t))dlsym(library, "mi_malloc") : malloc;
  for (int i = 0; i < 100; i++) if (!get(100)) return 1;
  return 6;
}
""")
    done = ground.record("-f", "-o", "x.tide", "--", prog, library[0])
    said = " ".join(done.stderr.split())
    expect(done.status == 6 and "complete: every event" not in said and "mimalloc" in said, said)
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    expect("complete: every event" in done.stderr, done.stderr)
    ground.env["LD_PRELOAD"] = str(library[0])  # the malloc of all
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    expect("complete: every event" in done.stderr, done.stderr)


@test
def how_a_child_and_a_library_by_name(ground):
    """One that calls an allocator by its own names is recorded whoever starts it; where a library
    of its calls it, nobody says complete."""
    for name, stem in (("mi_malloc", "libmimalloc.so.2"),
                       ("tc_malloc", "libtcmalloc_minimal.so.4")):
        library = sorted(pathlib.Path("/usr/lib").glob(f"*/{stem}"))
        if not library:
            raise record.Skip(f"no {stem} here")
        source = """
#include <stddef.h>
void *TAKE(size_t);
int main(void)
{
  for (int i = 0; i < 100; i++) if (!TAKE(100)) return 1;
  return 6;
}
"""
        (ground.scratch / "direct.c").write_text(source.replace("TAKE", name))
        (ground.scratch / "through.c").write_text(source.replace("TAKE", "take"))
        (ground.scratch / "between.c").write_text(
            f"void *{name}(unsigned long); void *take(unsigned long n) {{ return {name}(n); }}")
        for command in (("direct.c", "-o", "direct"),
                        ("-shared", "-fPIC", "between.c", "-o", "libbetween.so"),
                        ("through.c", "-o", "through", "./libbetween.so")):
            done = ground.run("gcc", "-O1", *command, library[0])
            expect(done.status == 0, done.stderr)
        for start in (["./direct"], ["sh", "-c", "./direct; exit 6"], ["env", "./direct"]):
            done = ground.record("-f", "-o", "x.tide", "--", *start)
            expect(done.status == 6 and "complete: every event" in done.stderr,
                   f"{name}, {start}: {done.stderr}")
            found = [image for image in ground.report("x.tide")["images"]
                     if image["program"] == "direct"]
            expect(len(found) == 1 and found[0]["allocations"] >= 100, f"{name}, {start}: {found}")
        for start in (["./through"], ["sh", "-c", "./through; exit 6"]):
            done = ground.record("-f", "-o", "x.tide", "--", *start)
            said = " ".join(done.stderr.split())
            found = [image for image in ground.report("x.tide")["images"]
                     if image["program"] == "through"]
            seen = found and found[0]["allocations"] >= 100
            expect(done.status == 6 and (seen or " complete: every event" not in said),
                   f"{name}, {start}: {said}")


@test
def how_snmalloc_of_a_rust_program(ground):
    """Its functions for Rust have an order of their own: alignment first, the new size last. What
    a resize moves is known afterwards."""
    prog = ground.build("prog", """
#include <stddef.h>
#include <string.h>
#define EXPORT __attribute__((noipa, optimize("O0")))
static _Alignas(64) char pool[4 << 20];
static size_t used;
static char *carve(size_t n)
{
  used += (n + 127) / 64 * 64;
  return pool + used - (n + 63) / 64 * 64;
}
EXPORT void *sn_rust_alloc(size_t align, size_t n) { return carve(n + 0 * align); }
EXPORT void *sn_rust_alloc_zeroed(size_t align, size_t n) { return carve(n + 0 * align); }
EXPORT void sn_rust_dealloc(void *p, size_t align, size_t n) { memset(p, (int)align, n); }
EXPORT void *sn_rust_realloc(void *old, size_t align, size_t was, size_t n)
{
  char *p = carve(n);
  memcpy(p, old, was);
  memset(old, (int)align, was);
  return p;
}
int main(void)
{
  char *kept = NULL;
  for (int i = 0; i < 100; i++) {
    char *p = sn_rust_alloc(8, 100);
    p = sn_rust_realloc(p, 8, 100, 1000);
    if (i % 2) sn_rust_dealloc(p, 8, 1000); else kept = p;
  }
  return kept ? 6 : 1;
}
""")
    done = ground.record("-f", "-o", "x.tide", "--", prog)
    expect(done.status == 6 and "complete: every event" in done.stderr, done.stderr)
    report = ground.report("x.tide")
    totals, allocators = report["totals"], report["image"]["allocators"]
    expect([row["name"] for row in allocators] == ["snmalloc"], f"{allocators}")
    expect(totals["live_blocks"] == 50 and totals["live_bytes"] == 50000, f"{totals}")


@test
def how_an_allocator_of_its_own(ground):
    """A program that brings a malloc which nothing names: not libc's, then."""
    prog = ground.build("prog", """
#include <stddef.h>
static char heap[1 << 20];
static size_t used;
__attribute__((noipa)) void *malloc(size_t n) { used += 4096; return heap + used - 4096 + 0 * n; }
__attribute__((noipa)) void free(void *p) { (void)p; }
int main(void)
{
  for (int i = 0; i < 50; i++) malloc(100);
  return 6;
}
""")
    done = ground.record("-f", "-o", "x.tide", prog)
    expect(done.status == 6, done.stderr)
    image = ground.report("x.tide")["image"]
    own = allocators(image).get("an allocator of its own")
    expect(own and own["allocations"] == 50 and own["peak_bytes"] == 5000, f"{image}")


@test
def how_filters_of_its_own(ground):
    """A program with the agent in it that forbids itself system calls is not killed for ours."""
    programs = pathlib.Path(__file__).parent.parent / "programs"
    prog = ground.build("bound", (programs / "sandbox_kills.c").read_text(), "-static", "-pthread",
                        f"-I{programs}")
    for forbidden in ("mmap", "madvise", "munmap", "most"):
        done = ground.run(ground.tidemark, "run", "-f", "-o", "bound.tide", "--", prog, forbidden)
        expect(done.status == 3, f"{forbidden}: {done.status}: {done.stderr}")
        expect("by the agent" in done.stderr, done.stderr)
        found = re.search(r"complete: every event \((12,3\d\d)\)", done.stderr)
        expect(found, f"{forbidden}: {done.stderr}")
