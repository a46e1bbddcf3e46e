# SPDX-License-Identifier: Apache-2.0
"""Whom tidemark attach may be put on, in containers and across users; and whom not, why, and that
the process does not notice."""
import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys

import record
from ground import expect, test, wait_for

# Says that it is alive whenever it is asked; every line allocates. The first argument is done
# before: `dump` keeps others out, `memfd`, `exec`, `kill` put a filter on, `strict` seccomp's mode.
ALIVE = """
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SAME(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no)
#define HAS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, k, yes, no)
#define SAY(k) BPF_STMT(BPF_RET | BPF_K, k)
static void filter(struct sock_filter *code, unsigned short n)
{
  struct sock_fprog whole = {n, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole)) _exit(9);
}
#define FILTER(...) do { struct sock_filter code[] = {__VA_ARGS__}; \\
  filter(code, sizeof code / sizeof *code); } while (0)
__attribute__((noipa)) static void *answer(void) { return malloc(100); }
int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "";
  char c;
  free(malloc(10));
  if (!strcmp(how, "dump")) prctl(PR_SET_DUMPABLE, 0);
  if (!strcmp(how, "memfd")) FILTER(LOAD(nr), SAME(SYS_memfd_create, 0, 1),
    SAY(SECCOMP_RET_ERRNO | EPERM), SAY(SECCOMP_RET_ALLOW));
  if (!strcmp(how, "exec")) FILTER(LOAD(nr), SAME(SYS_mmap, 0, 3), LOAD(args[2]),
    HAS(PROT_EXEC, 0, 1), SAY(SECCOMP_RET_ERRNO | EACCES), SAY(SECCOMP_RET_ALLOW));
  if (!strcmp(how, "kill")) FILTER(LOAD(nr), SAME(SYS_read, 3, 0), SAME(SYS_write, 2, 0),
    SAME(SYS_exit, 1, 0), SAY(SECCOMP_RET_KILL_PROCESS), SAY(SECCOMP_RET_ALLOW));
  if (!strcmp(how, "open")) FILTER(LOAD(nr), SAME(SYS_reboot, 0, 1), SAY(SECCOMP_RET_KILL_PROCESS),
    SAY(SECCOMP_RET_ALLOW));
  if (!strcmp(how, "strict")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1) {
    void *volatile p = answer();
    write(1, p ? "ok\\n" : "no\\n", 3);
    free(p);
    if (c == 'q') break;
  }
  syscall(SYS_exit, 0);
}
"""

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


class Alive:
    """A program that answers."""

    def __init__(self, *words, **options):
        self.child = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1,
                                      start_new_session=True, **options)
        expect(self.child.stdout.readline() == "ready\n", f"{words} does not start")
        self.pid = self.child.pid
        self.is_tidemark = str(words[0]).endswith("/tidemark")

    def ask(self):
        self.child.stdin.write("a")
        self.child.stdin.flush()
        expect(self.child.stdout.readline() == "ok\n", "it does not answer any more")

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if not failed:
            with contextlib.suppress(ProcessLookupError):
                self.end()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.communicate()

    def end(self):
        self.ask()
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            text = status.read()
        expect("TracerPid:\t0" in text, "it is traced")
        with contextlib.suppress(PermissionError), \
                open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            left = [line for line in maps if "memfd:tidemark" in line and not self.is_tidemark]
            expect(not left, f"left behind: {left}")
        self.child.communicate("q", timeout=30)
        expect(self.child.returncode == 0, f"it ended with {self.child.returncode}")


def refused(ground, pid, *said, before=()):
    """It is not attached to; the reason has the words, and no file is left."""
    done = ground.run(*before, ground.tidemark, "attach", "-o", "/tmp/refused.%p.tide", pid)
    words = " ".join(done.stderr.split())
    expect(done.status == 1 and all(word in words for word in said), f"{said}: {done.stderr}")
    expect(not os.path.exists(f"/tmp/refused.{pid}.tide"), "a refused attach left a file")


def seen(ground, target, *before):
    """It is attached to, and what it allocates is recorded."""
    child = subprocess.Popen([*before, str(ground.tidemark), "attach", "-f", "-o", "x.tide",
                              str(target.pid)], cwd=ground.scratch, env=ground.env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = child.stderr.readline()
    if not line.startswith("tidemark: recording process"):
        raise record.Failure(line + child.stderr.read())
    for _ in range(5):
        target.ask()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    expect(child.returncode == 0, err)
    report = ground.report("x.tide")
    expect(report["totals"]["allocations"] == 5, f"{report['totals']['allocations']} allocations")
    return line, report


def needs_root():
    if os.geteuid() != 0:
        raise record.Skip("not root here")


@test
def attach_refuses_what_is_no_program(ground):
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: ") Z " in open(f"/proc/{zombie.pid}/stat").read(), "a zombie")
    refused(ground, zombie.pid, "(true) has ended already", f"process {os.getpid()} (")
    zombie.wait()
    refused(ground, zombie.pid, "there is no process")
    if os.path.exists("/proc/2/status") and "VmSize" not in open("/proc/2/status").read():
        refused(ground, 2, "one of the kernel's own")
    done = ground.run("sh", "-c", f"exec {ground.tidemark} attach $$")
    expect(done.status == 2 and "this tidemark itself" in done.stderr, done.stderr)


@contextlib.contextmanager
def traced(pid):
    """By somebody else, of whom the words are."""
    tracer = subprocess.Popen(
        [sys.executable, "-c", "import ctypes, sys, time\n"
         f"ctypes.CDLL(None).ptrace(0x4206, {pid}, 0, 0)\nprint(1, flush=True)\n"
         "time.sleep(60)"], stdout=subprocess.PIPE)
    tracer.stdout.readline()
    with open(f"/proc/{tracer.pid}/comm", encoding="utf-8") as comm:
        name = comm.read().strip()
    try:
        yield f"traced already, by process {tracer.pid} ({name})"
    finally:
        tracer.kill()
        tracer.communicate()


@test
def attach_refuses_who_is_traced(ground):
    with Alive(ground.build("alive", ALIVE)) as target:
        with traced(target.pid) as said:
            refused(ground, target.pid, said)


@test
def attach_tells_who_keeps_it_from_letting_go(ground):
    """What it has recorded is saved, and detach takes off the rest later."""
    with Alive(ground.build("alive", ALIVE)) as target:
        child = subprocess.Popen([ground.tidemark, "attach", "-q", "-o", "held.tide",
                                  str(target.pid)], cwd=ground.scratch, env=ground.env,
                                 stderr=subprocess.PIPE, text=True)
        is_recorded = "cat /proc/%d/maps | grep -q memfd:tidemark-agent" % target.pid
        while ground.run("sh", "-c", is_recorded).status: # until one was recorded
            target.ask()
        with traced(target.pid) as said:
            child.send_signal(signal.SIGINT)
            err = child.communicate(timeout=60)[1]
            expect(child.returncode == 1 and said in err, err)
            expect(f"then 'tidemark detach {target.pid}' takes off what is left" in err, err)
        expect(ground.report("held.tide")["totals"]["allocations"] > 0, "it is not saved")
        done = ground.run(ground.tidemark, "detach", target.pid)
        expect(done.status == 0, f"detach: {done.stderr}")


@test
def attach_refuses_who_is_recorded(ground):
    prog = ground.build("alive", ALIVE)
    with Alive(ground.tidemark, "run", "-q", "-o", ground.scratch / "run.tide", prog) as runner:
        found = subprocess.run(["pgrep", "-x", "alive", "-P", str(runner.pid)],
                               capture_output=True, text=True)
        expect(found.stdout, "where is it?")
        pid = int(found.stdout.split()[0])
        refused(ground, pid, "(alive) is recorded already: 'tidemark run'")


@test
def attach_refuses_who_is_recorded_by_the_agent(ground):
    """Of a run, whose recording goes on; and of another attach, as long as that lives."""
    prog = ground.build("alive", ALIVE, "-static")
    said = "is recorded already: 'tidemark run' (process "
    with Alive(ground.tidemark, "run", "-q", "-o", ground.scratch / "run.tide", prog) as runner:
        found = subprocess.run(["pgrep", "-x", "alive", "-P", str(runner.pid)],
                               capture_output=True, text=True)
        expect(found.stdout, "where is it?")
        pid = int(found.stdout.split()[0])
        runner.ask()
        refused(ground, pid, f"{said}{runner.pid})")
        for words, status in (("detach", 1), ("doctor", 2)):
            done = ground.run(ground.tidemark, words, pid)
            told = " ".join((done.stdout + done.stderr).split())
            expect(done.status == status and f"{said}{runner.pid})" in told, f"{words}: {told}")
            expect(told.count(f"process {pid}") == 1, f"said twice: {told}")
        runner.ask()
    report = ground.report("run.tide", "--group", "function", "--sort", "count")
    found = {group["function"]: group["allocations"] for group in report["groups"]}
    expect(found.get("answer") == 4, f"{found}")
    expect(report["images"][0]["end"] == "exited", str(report["images"]))


@test
def attach_refuses_foreign_allocators(ground):
    prog = ground.build("alive", ALIVE)
    if shutil.which("valgrind"):
        with Alive("valgrind", "-q", "--tool=none", prog) as target:
            refused(ground, target.pid, "runs under valgrind")
    with Alive(ground.build("asan", ALIVE, "-fsanitize=address")) as target:
        refused(ground, target.pid, "(asan) has AddressSanitizer", "build it without")


# The same for i386, of which binutils know where no compiler does.
ALIVE_32 = """
.macro call number, fd, bytes, n
  mov $\\number, %eax
  mov $\\fd, %ebx
  mov $\\bytes, %ecx
  mov $\\n, %edx
  int $0x80
.endm
.globl _start
_start:
  call 4, 1, ready, 6
again:
  call 3, 0, word, 1
  cmp $1, %eax
  jne end
  call 4, 1, ok, 3
  jmp again
end:
  call 1, 0, 0, 0
.data
ready: .ascii "ready\\n"
ok: .ascii "ok\\n"
word: .byte 0
"""


@test
def attach_refuses_other_machines(ground):
    prog = ground.scratch / "short"
    made = subprocess.run(["sh", "-c", f"as --32 -o {prog}.o && ld -m elf_i386 -o {prog} {prog}.o"],
                          input=ALIVE_32, capture_output=True, text=True)
    if made.returncode and platform.machine() != "x86_64":
        return # which has no such programs
    expect(made.returncode == 0, made.stderr)
    with Alive(prog) as target:
        refused(ground, target.pid, "(short) is a 32-bit program")


@test
def attach_refuses_sandboxes(ground):
    """The filter is asked what it would do, before it does it."""
    needs_root()
    prog = ground.build("alive", ALIVE)
    for how, said in (("memfd", "does not permit memfd_create"),
                      ("exec", "does not permit mmap of executable memory"),
                      ("kill", "does not permit"), ("strict", "seccomp's strict mode")):
        with Alive(prog, how) as target:
            refused(ground, target.pid, said)
    with Alive(prog, "open") as target: # which permits all that is needed
        seen(ground, target)


@test
def attach_refuses_other_users(ground):
    needs_root()
    prog = ground.build("alive", ALIVE)
    os.chmod(ground.scratch, 0o755)
    with Alive(prog) as target:
        refused(ground, target.pid, "another user's", "as root", before=NOBODY)
    with Alive(*NOBODY, prog, "dump") as target:
        refused(ground, target.pid, "keeps others out", "as root", before=NOBODY)
        seen(ground, target) # as root
    with Alive(*NOBODY, prog, "open") as target:
        refused(ground, target.pid, "only root may look into it", before=NOBODY)


@test
def attach_across_users(ground):
    """Root's capture of somebody else's process is root's."""
    needs_root()
    prog = ground.build("alive", ALIVE)
    os.chmod(ground.scratch, 0o755)
    with Alive(*NOBODY, prog) as target:
        seen(ground, target)
        held = os.stat(ground.scratch / "x.tide")
        expect(held.st_uid == 0 and held.st_mode & 0o777 == 0o600, oct(held.st_mode))
    with Alive("setpriv", "--no-new-privs", prog) as target:
        seen(ground, target)


@test
def attach_into_a_container(ground):
    """Other pid, mount and user namespaces; a program that only the container has is named from
    there, whatever is at its path outside."""
    bwrap = ("bwrap", "--unshare-pid", "--unshare-user", "--die-with-parent", "--proc", "/proc",
             "--ro-bind", str(ground.scratch), "/only-here")
    for path in ("/usr", "/lib", "/lib64", "/bin"):
        if os.path.exists(path):
            bwrap += ("--ro-bind", path, path)
    prog = ground.build("in-a-box", ALIVE)
    if not shutil.which("bwrap") or subprocess.run([*bwrap, "/bin/true"],
                                                   capture_output=True).returncode:
        raise record.Skip("no bwrap here, or not permitted")
    with Alive(*bwrap, f"/only-here/{prog.name}") as outside:
        found = subprocess.run(["pgrep", "-n", "-x", prog.name, "-g",
                                str(os.getpgid(outside.pid))], capture_output=True, text=True)
        expect(found.stdout, "where is it?")
        outside.pid = int(found.stdout)
        line, _ = seen(ground, outside)
        expect(f"process {outside.pid} ({prog.name}, " in line and "inside its container" in line,
               line)
    done = ground.run(ground.tidemark, "report", "--stacks", "x.tide") # the container is gone
    expect(done.status == 0 and "answer" in done.stdout and "no longer there" not in done.stdout,
           done.stdout)
