# SPDX-License-Identifier: Apache-2.0
"""A process that runs already: recorded exactly from attach to detach, and left as it was."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

import record
from ground import expect, finish, status_kib, test, wait_for
from served import ADDRESS, Page, ended

# Threads that wait for a word on stdin, do their part, and wait again. Each part of each thread:
# 1,000 blocks of 100 bytes and 500 of 1,000, of which the first are freed. `old` blocks are from
# before.
TOLD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t begin, done;
static char *old[200];
__attribute__((noipa)) static void *small(void) { return malloc(100); }
__attribute__((noipa)) static void *large(void) { return calloc(10, 100); }
static void *kept[64][500];
static void part(long id)
{
  void *p[1000];
  for (int i = 0; i < 1000; i++) p[i] = small();
  for (int i = 0; i < 500; i++) kept[id][i] = large();
  for (int i = 0; i < 1000; i++) free(p[i]);
}
static void *thread(void *arg)
{
  for (;;) {
    pthread_barrier_wait(&begin);
    part((long)arg);
    pthread_barrier_wait(&done);
  }
  return NULL;
}
int main(int argc, char **argv)
{
  long n = argc > 1 ? atol(argv[1]) : 1;
  char line[16];
  pthread_t t;
  setvbuf(stdin, NULL, _IONBF, 0);
  for (int i = 0; i < 200; i++) old[i] = malloc(64);
  pthread_barrier_init(&begin, NULL, (unsigned)n + 1);
  pthread_barrier_init(&done, NULL, (unsigned)n + 1);
  for (long i = 0; i < n; i++) pthread_create(&t, NULL, thread, (void *)i);
  write(1, "ready\\n", 6);
  while (read(0, line, 1) == 1) {
    if (line[0] == 'p') { pthread_barrier_wait(&begin); pthread_barrier_wait(&done); }
    if (line[0] == 'o') for (int i = 0; i < 200; i++) { free(old[i]); old[i] = NULL; }
    if (line[0] == 'q') return 0;
    write(1, "ok\\n", 3);
  }
  return 1;
}
"""

# Threads that never rest, and check what they wrote.
BUSY = """
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
static volatile int stop;
static int wrong;
static void *work(void *arg)
{
  uint64_t x = (uint64_t)arg * 77 + 1;
  unsigned char *p[64] = {0};
  size_t n[64] = {0};
  while (!stop) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    int i = x >> 40 & 63;
    size_t size = (x >> 50 & 1023) + 1;
    if (p[i] && (p[i][0] != (unsigned char)i || p[i][n[i] - 1] != (unsigned char)i)) wrong = 1;
    if (p[i] && x >> 33 & 1) p[i] = realloc(p[i], size);
    else { free(p[i]); p[i] = malloc(size); }
    memset(p[i], i, n[i] = size);
  }
  return NULL;
}
static void *wait_calls(void *arg)
{
  int fd = epoll_create1(0);
  struct epoll_event e;
  while (!stop)
    if (epoll_wait(fd, &e, 1, 20) < 0 || poll(NULL, 0, 5) < 0) wrong = 2; // nobody sends a signal
  return arg;
}
static void *brief(void *arg) { free(malloc(10)); return arg; }
static void *spawn(void *arg)
{
  while (!stop) {
    pthread_t t;
    if (!pthread_create(&t, NULL, brief, NULL)) pthread_join(t, NULL);
  }
  return arg;
}
int main(void)
{
  pthread_t t[10];
  char c;
  for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, work, (void *)i);
  pthread_create(&t[8], NULL, wait_calls, NULL);
  pthread_create(&t[9], NULL, spawn, NULL);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) < 0);
  stop = 1;
  for (int i = 0; i < 10; i++) pthread_join(t[i], NULL);
  return wrong;
}
"""


# A stack of three, whoever made the program. So small that nothing is behind its code but the vDSO.
DEEP = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static void *leaf(void) { return malloc(77); }
__attribute__((noipa)) static void *middle(void)
{
  void *p = leaf();
  __asm__ volatile("" ::: "memory");
  return p;
}
int main(void)
{
  char c;
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    for (int i = 0; i < 10; i++) middle();
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""

# The same, with another root since it runs, in which there is nothing.
JAILED = DEEP.replace('  write(1, "ready', '  if (chroot("empty") || chdir("/")) return 8;\n'
                      '  write(1, "ready').replace("#include <stdlib.h>",
                                                  "#define _GNU_SOURCE\n#include <stdlib.h>")

# Children of every kind, which allocate what must not be counted as their parent's.
CHILDREN = """
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
__attribute__((noipa)) static void *block(size_t n) { return malloc(n); }
static void work(int n)
{
  for (int i = 0; i < n; i++) { char *p = block(100 + i % 50); memset(p, i, 100); free(p); }
}
static int share(void *arg) { for (int i = 0; i < 70; i++) free(block(300)); return arg != NULL; }
static char stack[1 << 16] __attribute__((aligned(16)));
static int ends_well(pid_t pid)
{
  int status;
  return waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}
int main(void)
{
  char c, *args[] = {"true", NULL};
  pid_t pid, kept = 0;
  int to[2] = {0, 0}, from[2] = {0, 0}, ok = 1, status;
  setvbuf(stdin, NULL, _IONBF, 0);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1 && c != 'q') {
    if (c == 'p') for (int i = 0; i < 50; i++) free(block(200));
    pid = 0;
    if (c == 'f' && !(pid = fork())) { work(20000); _exit(0); }
    if (c == 'r' && !(pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))) { work(999); _exit(0); }
    if (c == 'x' && !(pid = fork())) { work(20000); execv("/bin/true", args); _exit(1); }
    if (c == 'v' && !(pid = vfork())) { execv("/bin/true", args); _exit(1); }
    if (pid) ok = ends_well(pid);
    if (c == 's') ok = !posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) && ends_well(pid);
    if (c == 'c') ok = ends_well(clone(share, stack + sizeof stack, CLONE_VM, NULL));
    if (c == 'k') { // one that stays, and works at a word
      pipe(to);
      pipe(from);
      if (!(kept = fork())) {
        char word;
        while (read(to[0], &word, 1) == 1 && word != 'q') { work(500); write(from[1], "w", 1); }
        _exit(0);
      }
      close(from[1]);
      char text[16]; write(1, text, snprintf(text, sizeof text, "%d\\n", kept));
      continue;
    }
    if (c == 'w') {
      write(to[1], "wwww", 4);
      for (int i = 0; i < 4; i++) read(from[0], &c, 1);
      ok = !waitpid(kept, &status, WNOHANG);
    }
    if (c == 'e') { write(to[1], "q", 1); ok = ends_well(kept); }
    if (!ok) return 1;
    write(1, "ok\\n", 3);
  }
  return 0;
}
"""

# Put under the command: its process ends by SIGKILL before its call number DIE_AT of those by
# which the helper looks at and changes the target.
KILLER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static void moment(void)
{
  static long n, at = -1;
  const char *told = at < 0 ? getenv("DIE_AT") : NULL;
  if (at < 0) at = told ? atol(told) : 0;
  if (at && ++n == at) kill(getpid(), SIGKILL);
}
long ptrace(int request, ...)
{
  va_list rest; va_start(rest, request);
  pid_t pid = va_arg(rest, pid_t); void *a = va_arg(rest, void *), *b = va_arg(rest, void *);
  va_end(rest);
  moment();
  return ((long (*)(int, pid_t, void *, void *))dlsym(RTLD_NEXT, "ptrace"))(request, pid, a, b);
}
ssize_t pwrite64(int fd, const void *from, size_t n, off_t at)
{
  static ssize_t (*real)(int, const void *, size_t, off_t);
  moment();
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  return real(fd, from, n, at);
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return pwrite64(fd, from, n, at); }
pid_t waitpid(pid_t pid, int *status, int options)
{
  if (options) moment(); // the command waits for its helper with none
  return ((pid_t (*)(pid_t, int *, int))dlsym(RTLD_NEXT, "waitpid"))(pid, status, options);
}
"""


class Target:
    """A program that takes words."""

    def __init__(self, ground, *command):
        self.child = subprocess.Popen([str(word) for word in command], cwd=ground.scratch,
                                      env=ground.env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, bufsize=1)
        expect(self.child.stdout.readline() == "ready\n", "it does not start")
        self.pid = self.child.pid

    def tell(self, word):
        self.child.stdin.write(word)
        self.child.stdin.flush()
        expect(self.child.stdout.readline() == "ok\n", f"it did not survive {word}")

    def mapped_bytes(self):
        """Without the heap proper, which grows; arenas of threads are reserved as a whole."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            ranges = [line.split()[0].split("-") for line in maps if "[heap]" not in line]
        return sum(int(end, 16) - int(start, 16) for start, end in ranges)

    def ours(self):
        """Mappings that no program of these tests has."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            return [line for line in maps if "memfd:tidemark" in line
                    or (line.split()[1] == "r-xp" and len(line.split()) == 5)]

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def code(self):
        """All of it that comes from files, as it is now."""
        found = []
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps, \
                open(f"/proc/{self.pid}/mem", "rb") as memory:
            for line in maps:
                word = line.split()
                if word[1][2] == "x" and len(word) > 5 and word[5][0] == "/":
                    start, end = (int(number, 16) for number in word[0].split("-"))
                    memory.seek(start)
                    found.append(memory.read(end - start))
        return found

    def own_mappings(self):
        """What is of tidemark."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            return [line for line in maps if "memfd:tidemark" in line]

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return status_kib(status.read(), "VmRSS") * 1024

    def nameless_code_bytes(self):
        """Of code that is in no file, what is in memory."""
        with open(f"/proc/{self.pid}/smaps", encoding="utf-8") as maps:
            found = re.findall(r"^\S+ r-xp 0+ 00:00 0 +\n(?:.*\n)*?Rss: +(\d+) kB", maps.read(),
                               re.M)
        return sum(map(int, found)) * 1024

    def ran_ns(self):
        """For how long its threads had a processor so far."""
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError):  # it has ended since
                with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as told:
                    total += int(told.read().split()[0])
        return total

    def await_work(self):
        """Until it has run for a while: one that never rests has allocated by then."""
        before = self.ran_ns()
        wait_for(lambda: self.ran_ns() > before + 10_000_000, "the program to run", 60)

    def is_alive(self):
        return self.child.poll() is None

    def end(self, word="q"):
        self.child.stdin.write(word)
        self.child.stdin.close()
        return self.child.wait(timeout=30)


def attach(ground, pid, *words):
    """tidemark attach, until it records."""
    child = subprocess.Popen([str(ground.tidemark), "attach", "-f", "-o", "x.tide", *words,
                              str(pid)], cwd=ground.scratch, env=ground.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    line = child.stderr.readline()
    if "recording process" not in line:
        raise record.Failure(f"does not attach: {line}{child.stderr.read()}")
    return child, line


def let_go(child):
    child.send_signal(signal.SIGINT)
    status, _, err = finish(child, 120)  # it tries again while threads get no processor to stop on
    expect(status == 0, f"detach failed with {status}: {err}")
    return err


def check_exact(ground, n_threads, program, *flags):
    target = Target(ground, ground.build("told", program, "-pthread", *flags), n_threads)
    target.tell("p") # before: nobody knows of it
    before = target.descriptors()
    child, _ = attach(ground, target.pid)
    target.tell("p")
    target.tell("p")
    let_go(child)
    expect(not target.ours(), f"left behind: {target.ours()}")
    expect(target.descriptors() == before, f"descriptors {target.descriptors()}, were {before}")
    target.tell("p")
    image = ground.report("x.tide")["images"][0]
    expect(image["allocations"] == 3000 * n_threads, f"{image['allocations']} allocations")
    live = ground.report("x.tide")["totals"]["live_bytes"]
    expect(live == 2 * n_threads * 500 * 1000, f"{live} bytes live in the end")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_is_exact(ground):
    check_exact(ground, 1, TOLD)


@test
def attach_is_exact_with_threads(ground):
    check_exact(ground, 8, TOLD)
    check_exact(ground, 64, TOLD)


@test
def attach_to_a_static_program(ground):
    check_exact(ground, 4, TOLD, "-static")


@test
def attach_to_musl(ground):
    if not shutil.which("musl-gcc"):
        raise record.Skip("no musl-gcc here")
    prog = ground.scratch / "told"
    done = subprocess.run(["musl-gcc", "-O1", "-g", "-fno-builtin", "-static", "-x", "c", "-", "-o",
                           prog], input=TOLD, capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)
    target = Target(ground, prog, 4)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    err = let_go(child)
    expect("complete: every event" in err and "early" not in err, err)  # to where threads begin
    image = ground.report("x.tide")["images"][0]
    expect(image["allocations"] == 1500 * 4, f"{image['allocations']} allocations")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_sees_whole_stacks(ground):
    """Static programs have unwind information, but no table to search it by."""
    (ground.scratch / "deep.c").write_text(DEEP)
    for compiler in ("cc", "musl-gcc"):
        if not shutil.which(compiler):
            continue
        prog = ground.scratch / f"deep.{compiler}"
        done = ground.run(compiler, "-O1", "-g", "-fno-builtin", "-static", "deep.c", "-o", prog)
        expect(done.status == 0, done.stderr)
        target = Target(ground, prog)
        child, _ = attach(ground, target.pid)
        target.tell("p")
        err = let_go(child)
        expect("complete: every event" in err and "early" not in err, err)
        shown = ground.run(ground.tidemark, "report", "--stacks", "x.tide").stdout
        names = [line.split()[0] for line in shown.splitlines() if "deep.c:" in line][1:]
        expect(names == ["leaf", "middle", "main"], f"{compiler}: {shown}")
        expect(not target.ours(), f"left behind: {target.ours()}")
        expect(target.end() == 0, "it ended otherwise")


@test
def attach_with_another_root(ground):
    """A daemon that changed its root since it runs: its files are told with our names, and are not
    to be found under its root. Without /proc there it is told what is mapped: stacks are whole."""
    if os.geteuid() != 0:
        raise record.Skip("only root can change the root directory")
    (ground.scratch / "empty").mkdir()
    target = Target(ground, ground.build("jailed", JAILED))
    child, _ = attach(ground, target.pid)
    target.tell("p")
    err = let_go(child)
    totals = ground.report("x.tide")["totals"]
    expect((totals["allocations"], totals["live_bytes"]) == (10, 770), f"{totals}")
    expect("complete: every event" in err, err)
    frames = [frame["function"] for frame in ground.report("x.tide")["sites"][0]["frames"]]
    expect(frames[:3] == ["leaf", "middle", "main"], frames)
    done = ground.run(ground.tidemark, "doctor", target.pid)
    expect(done.status == 0 and "13 of 13 functions" in " ".join(done.stdout.split()), done.stdout)
    expect(not target.ours(), f"left behind: {target.ours()}")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_tells_blocks_from_before(ground):
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    target.tell("o")
    target.tell("p")
    err = let_go(child)
    expect("blocks from before not counted (200 of them freed)" in " ".join(err.split()), err)
    expect("incomplete" not in err, err)
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_tells_its_own_memory_apart(ground):
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    before = target.resident_bytes()
    child, _ = attach(ground, target.pid)
    target.tell("p")
    time.sleep(1)  # it is looked at meanwhile
    held, code = target.resident_bytes(), target.nameless_code_bytes()
    let_go(child)
    totals = ground.report("x.tide")["totals"]
    expect(code > 100_000, f"the agent's code has {code} bytes")
    expect(totals["recorder_rss_bytes"] >= code, f"of {code} bytes of code alone: {totals}")
    added = held - before - totals["live_bytes"]
    expect(added < 1 << 20, f"attaching took {added} bytes")
    own = totals["max_rss_bytes"] - before - totals["live_bytes"]
    expect(own < 512 << 10, f"the program is said to have {own} bytes more")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_again_and_again(ground):
    target = Target(ground, ground.build("busy", BUSY, "-pthread"))
    for _ in range(6):
        child, _ = attach(ground, target.pid)
        target.await_work()
        let_go(child)
        expect(target.is_alive(), "it did not survive")
        expect(ground.report("x.tide")["images"][0]["allocations"] > 0, "nothing was seen")
    expect(not target.ours(), f"left behind: {target.ours()}")
    status = target.end()
    expect(status == 0, f"it ended with {status}: 1 is a damaged block, 2 an EINTR")


@test
def attach_whose_tracer_is_killed(ground):
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 2)
    target.tell("p") # its threads' arenas are there from now on
    before = target.mapped_bytes()
    child, _ = attach(ground, target.pid)
    helpers = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True)
    for pid in [*map(int, helpers.stdout.split()), child.pid]: # a helper alone would let go
        os.kill(pid, signal.SIGKILL)
    child.communicate()
    target.tell("p")
    done = ground.run(ground.tidemark, "detach", target.pid)
    expect(done.status == 0, f"detach: {done.stderr}")
    expect(target.mapped_bytes() == before, f"{target.mapped_bytes() - before} bytes are left")
    target.tell("p")
    child, _ = attach(ground, target.pid)
    target.tell("p")
    let_go(child)
    image = ground.report("x.tide")["images"][0]
    expect(image["allocations"] == 3000, f"{image['allocations']} allocations")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_that_another_tidemark_ends(ground):
    """It tells what it has recorded, and does not wait for the end of the process."""
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    done = ground.run(ground.tidemark, "detach", target.pid)
    expect(done.status == 0, f"detach: {done.stderr}")
    target.tell("p")
    status, _, err = finish(child)
    expect(status == 0 and "then let go" in err and "1,500 allocations" in err, f"{status}: {err}")
    expect(not target.ours(), f"left behind: {target.ours()}")
    expect(target.end() == 0, "it ended otherwise")


LARGE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BEFORE = 200 << 20 };
int main(void)
{
  char c;
  char *arena = mmap(0, 2 * BEFORE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(arena, 1, BEFORE);
  write(1, "ready\\n", 6);
  while (read(0, &c, 1) == 1) {
    if (c == 'q') return 0;
    if (c == 'g') memset(arena + BEFORE, 1, BEFORE);
    free(malloc(1000));
    write(1, "ok\\n", 3);
  }
}
"""


@test
def attach_to_much_memory_from_before(ground):
    """It says nothing of what was seen since. What comes later from nobody knows where does, where
    a look was taken before it came, as is done every so often."""
    prog = ground.build("large", LARGE)
    for words, said, tries in ("p", "complete: every event", 1), ("pg", "was hardly recorded", 5):
        err = ""
        while said not in err and tries:
            target = Target(ground, prog)
            child, _ = attach(ground, target.pid)
            for word in words:
                target.tell(word)
                time.sleep(0.3)
            err = let_go(child)
            expect(target.end() == 0, "it ended otherwise")
            tries -= 1
        expect(said in err, err)


@test
def attach_to_what_becomes_another_program(ground):
    """That is the end of the recording, and is said."""
    target = Target(ground, "sh", "-c", "echo ready; read word; exec sleep 1000")
    child, _ = attach(ground, target.pid)
    target.child.stdin.write("go\n")
    target.child.stdin.flush()
    status, _, err = finish(child)
    expect(status == 0 and "sh replaced itself by exec after" in err, f"{status}: {err}")
    expect(ground.report("x.tide")["image"]["end"] == "execed", "it ended otherwise")
    target.child.kill()
    target.child.communicate()


@test
def attach_whose_helper_alone_is_killed(ground):
    """What it put on goes on recording."""
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    helpers = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True)
    os.kill(int(helpers.stdout), signal.SIGKILL)
    target.tell("p")
    expect(target.end() == 0, "it ended otherwise")
    status, _, err = finish(child)
    expect(status == 0 and "1,500 allocations" in err, f"{status}: {err}")


@test
def attach_whose_tracer_is_killed_at_every_step(ground):
    """Whatever it left is found and taken away: code, memory, descriptors."""
    (ground.scratch / "killer.c").write_text(KILLER)
    killer = ground.scratch / "killer.so"
    done = ground.run("cc", "-shared", "-fPIC", "-o", killer, ground.scratch / "killer.c", "-ldl")
    expect(done.status == 0, done.stderr)
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 2)
    target.tell("p")
    before = (target.mapped_bytes(), target.descriptors(), target.code())
    n_killed = 0
    for n in range(1, 400):
        env = {**ground.env, "LD_PRELOAD": str(killer), "DIE_AT": str(n)}
        child = subprocess.Popen([str(ground.tidemark), "attach", "-q", "-f", "-o", "x.tide",
                                  "--for", "1ms", str(target.pid)], cwd=ground.scratch, env=env,
                                 stderr=subprocess.PIPE, text=True)
        err = child.communicate()[1]
        if "has died" not in err: # no call has so high a number
            break
        n_killed += 1
        target.tell("o")
        ground.run(ground.tidemark, "detach", target.pid)
        after = (target.mapped_bytes(), target.descriptors(), target.code())
        expect(after[0] == before[0], f"{n}: {after[0] - before[0]} bytes more are mapped")
        expect(after[1] == before[1], f"{n}: descriptors {after[1]}, were {before[1]}")
        expect(after[2] == before[2], f"{n}: its code is changed")
    expect(n_killed > 50, f"only {n_killed} steps were seen")
    target.tell("p")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_to_a_parent(ground):
    """Children run on in copies of its code; none is counted, none is harmed, now or later."""
    target = Target(ground, ground.build("children", CHILDREN))
    child, _ = attach(ground, target.pid)
    for word in "pfprxvsc":
        target.tell(word)
    target.child.stdin.write("k")
    target.child.stdin.flush()
    kept = int(target.child.stdout.readline())
    target.tell("w")
    let_go(child)
    image = ground.report("x.tide")["images"][0]
    expect(image["allocations"] == 2 * 50 + 70, f"{image['allocations']} allocations")
    expect(len(ground.report("x.tide")["images"]) == 1, "a child has an image")
    expect(not target.ours(), f"left behind: {target.ours()}")
    for word in "wfxvscw":
        target.tell(word)
    # What the child has is its parent's: it can be recorded for itself.
    child, _ = attach(ground, kept)
    target.tell("w")
    let_go(child)
    image = ground.report("x.tide")["images"][0]
    expect(image["allocations"] == 4 * 500, f"{image['allocations']} allocations of the child")
    target.pid, parent = kept, target.pid
    expect(not target.ours(), f"left behind in the child: {target.ours()}")
    target.pid = parent
    target.tell("w")
    target.tell("e")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_to_the_end_and_for_a_time(ground):
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    expect(target.end() == 0, "it ended otherwise")
    status, _, err = finish(child)
    expect(status == 0 and "1,500 allocations" in err, f"{status}: {err}")
    expect("tidemark.h" not in err, err)
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid, "--for", "1s")
    target.tell("p")
    status, _, err = finish(child)
    expect(status == 0 and "1,500 allocations" in err, f"{status}: {err}")
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_refusals(ground):
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    for words, status, said in (
            (["attach"], 2, "which process"), (["attach", "x"], 2, "no process id"),
            (["attach", "999999999"], 1, "no process"),
            (["attach", "--for", "0s", str(target.pid)], 2, "more than nothing"),
            (["attach", "-o", "y.tide", str(target.pid)], 1, "recorded already"),
            (["detach", str(os.getpid())], 1, "not attached")):
        done = ground.run(ground.tidemark, *words)
        expect(done.status == status and said in done.stderr,
               f"{words}: {done.status} {done.stderr}")
    expect(not (ground.scratch / "y.tide").exists(), "a refused attach left a file")
    let_go(child)
    child = subprocess.Popen(["strace", "-qqp", str(target.pid)], stderr=subprocess.DEVNULL) \
        if shutil.which("strace") else None
    if child:
        wait_for(lambda: "TracerPid:\t0" not in open(f"/proc/{target.pid}/status").read(), "strace")
        done = ground.run(ground.tidemark, "attach", "-o", "y.tide", target.pid)
        expect(done.status == 1 and "traced already" in done.stderr, done.stderr)
        child.terminate()
        child.wait()
    expect(target.end() == 0, "it ended otherwise")


LEAKY_WORDS = ("never freed", "leak:", "at exit", "exited", "last seen", "not freed yet")


@test
def attach_ends_by_letting_go(ground):
    """What is live then is no leak, in whatever the capture is told."""
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    err = let_go(child)
    expect(f"of told (pid {target.pid}), then let go" in err and "tidemark: recorded " in err, err)
    expect("in 500 blocks still live" in err, err)
    expect(target.end() == 0, "it ended otherwise")
    image = ground.report("x.tide")["image"]
    expect(image["end"] == "detached" and "before" in image["lacks"], str(image))
    for words in (["report"], ["report", "--sort", "leak"], ["report", "--details", "--stacks"],
                  ["report", "--sort", "leak", "--range", "0%..60%"], ["info"], ["report", "--md"],
                  ["report", "--sort", "leak", "-g", "lifetime"], ["tree", "--sort", "leak"],
                  ["tree", "--sort", "leak", "--md"], ["diff", "--sort", "leak", "x.tide"],
                  ["diff", "--sort", "leak", "-g", "lifetime", "x.tide"],
                  *(["export", "--sort", "leak", "--to", to] for to in
                    ("svg", "speedscope", "folded")),
                  ["export", "--to", "massif"], ["export", "--to", "dhat"]):
        done = ground.run(ground.tidemark, *words, "x.tide")
        expect(done.status == 0, f"{words}: {done.stderr}")
        for phrase in LEAKY_WORDS:
            expect(phrase not in done.stdout.lower(), f"{words}: {phrase}: {done.stdout}")
    told = [one["text"] for one in ground.report("x.tide")["verdict"]["sentences"]]
    expect(any("were still live" in text for text in told), str(told))
    expect(not any(phrase in text for text in told for phrase in LEAKY_WORDS), str(told))


@test
def attach_to_the_end_of_the_process(ground):
    """It is said how it ended, and that only a part of its life was recorded."""
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid)
    target.tell("p")
    target.end()
    status, _, err = finish(child)
    expect(status == 0 and " of recording" in err and "still live" not in err, err)
    expect("blocks from before not counted" in " ".join(err.split()), err)
    expect(ground.report("x.tide")["image"]["end"] == "exited", "another end")


@test
def attach_view(ground):
    """The page while it is recorded; Ctrl-C lets go at once, and the page shows the end."""
    target = Target(ground, ground.build("told", TOLD, "-pthread"), 1)
    child, _ = attach(ground, target.pid, "--view", "--no-open")
    target.tell("p")
    line = child.stderr.readline()
    expect(ADDRESS.search(line), f"no page: {line!r}")
    page = Page(ADDRESS.search(line)[0])
    expect(page.facts()["live"], "not live")
    target.tell("p")
    wait_for(lambda: page.block()["totals"]["allocations"] == 3000, "what came later")
    err = let_go(child)
    expect(f"the page is still at {page.url}" in err, err)
    expect(not target.own_mappings(), f"left behind: {target.own_mappings()}")
    target.tell("p")
    with ended(page):
        expect(not page.facts()["live"], "still live")
        block = page.block()
        expect(block["totals"] == ground.report("x.tide")["totals"], "not the end")
        expect(block["image"]["end"] == "detached", block["image"]["end"])
        told = [one["text"] for one in block["verdict"]["sentences"]]
        expect(any("were still live" in text for text in told), str(told))
    expect(target.end() == 0, "it ended otherwise")


@test
def attach_refuses_a_tidemark_that_is_attached(ground):
    """The stores that it has mapped are not what somebody left in it."""
    target = Target(ground, ground.program('puts("ready"); fflush(stdout); getchar(); return 0;'))
    first, _ = attach(ground, target.pid)
    done = ground.run(ground.tidemark, "attach", "--for", "1s", "-o", "y.tide", first.pid)
    expect(done.status == 1 and "is attached to others" in done.stderr,
           f"{done.status}: {done.stderr}")
    let_go(first)
    expect(target.end() == 0, "it ended otherwise")
