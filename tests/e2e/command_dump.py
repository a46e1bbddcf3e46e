# SPDX-License-Identifier: Apache-2.0
"""Dumps of a run that goes on: when they are taken, what is in them, how many stay, and that the
last one before the kernel kills the program is there.

The program does nothing unless it is told to, and is told to go on when the dump is there: nothing
here depends on how fast anybody is."""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess

import record
from command_attach import attach, let_go
from ground import expect, finish, test, wait_for

# A line is a number of bytes to keep and to touch; below zero, to allocate and free again.
TOLD = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void tell(int number) { (void)number, (void)!write(1, "signal\n", 7); }
__attribute__((noinline)) static void *hold(size_t n) { return memset(malloc(n), 1, n); }
__attribute__((noinline)) static void churn(size_t n) { free(memset(malloc(n), 1, n)); }
int main(void)
{
  char line[32];
  ssize_t n;
  signal(SIGUSR2, tell);
  (void)!write(1, "ready\n", 6);
  while ((n = read(0, line, sizeof line - 1)) > 0) {
    line[n] = 0;
    long bytes = atol(line);
    if (bytes > 0) hold((size_t)bytes);
    if (bytes < 0) churn((size_t)-bytes);
    if (bytes) (void)!write(1, "ok\n", 3);
  }
  return 0;
}"""
STEP = 20_000_000  # a little less than 20 MiB


class Told:
    """The program, recorded, and told what to do."""

    def __init__(self, ground, *words, command=None, **options):
        self.ground = ground
        program = command or [ground.build("told", TOLD)]
        self.child = subprocess.Popen(
            [str(word) for word in (ground.tidemark, "run", "-f", "-o", "x.tide", *words, "--",
                                    *program)],
            cwd=ground.scratch, env=ground.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True, **options)
        expect(self.child.stdout.readline() == "ready\n", "it does not start")

    def tell(self, number):
        self.child.stdin.write(f"{number}\n")
        self.child.stdin.flush()
        expect(self.child.stdout.readline() == "ok\n", f"it did not survive {number}")

    def end(self):
        self.child.stdin.close()
        self.child.stdin = None
        return finish(self.child, 60)


def dumps(ground):
    """Their names: those that are whole, not those that are about to be written."""
    return sorted(path.name for path in ground.scratch.glob("x.0*.tide") if path.stat().st_size)


def await_dump(ground, name):
    wait_for(lambda: name in dumps(ground), f"{name}; there are {dumps(ground)}", 60)


def held(ground, path):
    """What `hold` held when the dump was taken, and why it was."""
    document = ground.report(path, "--group", "function")
    expect(document["capture"]["complete"], f"{path} is not complete")
    found = [place for place in document["groups"] if place["function"] == "hold"]
    return sum(place["live_bytes"] for place in found), document["capture"].get("dump")


@test
def dumps_by_growth_are_kept_so_many(ground):
    told = Told(ground, "--dump-every", "growth=16MiB", "--dump-keep", "3")
    for i in range(1, 6):
        told.tell(STEP)
        await_dump(ground, f"x.{i:04}.tide")
    status, _, err = told.end()
    expect(status == 0, f"{status}: {err}")
    expect(dumps(ground) == ["x.0003.tide", "x.0004.tide", "x.0005.tide"], f"{dumps(ground)}")
    for i in range(3, 6):
        live, why = held(ground, f"x.{i:04}.tide")
        expect(live == i * STEP, f"dump {i} holds {live}")
        expect(why and why.startswith("every 16.0 MiB that the heap grows"), f"{why}")
    expect(held(ground, "x.tide") == (5 * STEP, None), "the capture of the whole run")
    expect("dumped x.0001.tide (" in err and
           "5 dumps, of which the last 3 are kept: x.0003.tide to x.0005.tide (" in err, err)
    text = " ".join(ground.run(ground.tidemark, "report", "x.0004.tide").stdout.split())
    expect("this is a dump of a run that went on, taken at " in text and
           "every 16.0 MiB that the heap grows" in text, text)
    text = ground.run(ground.tidemark, "info", "x.0004.tide").stdout
    expect(", a dump" in text and "1 of 1 process recorded" in text, text)
    expect(ground.run(ground.tidemark, "diff", "x.0003.tide", "x.0005.tide").status == 0, "diff")


@test
def dumps_by_bytes_allocated(ground):
    told = Told(ground, "--dump-every", "8MiB")
    for _ in range(39):  # several may be due before somebody looks, and are one
        told.tell(-(1 << 20))

    def is_last_there():
        names = dumps(ground)
        return names and "40.0 MiB so far" in (held(ground, names[-1])[1] or "")
    told.tell(-(1 << 20))
    wait_for(is_last_there, f"a dump of 40 MiB; there are {dumps(ground)}", 60)
    status, _, err = told.end()
    expect(status == 0, f"{status}: {err}")
    n = len(dumps(ground))
    left = 5 - n
    words = f"; {left} more {'was' if left == 1 else 'were'} due at the same time as another"
    expect(1 <= n <= 5 and (words in err) == (left > 0), f"{n} dumps: {err}")
    expect("every 8.0 MiB allocated" in err, err)


@test
def dumps_at_new_peaks_and_by_time(ground):
    told = Told(ground, "--dump-on", "peak=30MiB", "--dump-every", "1h", "-q")
    told.tell(STEP)
    told.tell(STEP)  # beyond 30 MiB
    await_dump(ground, "x.0001.tide")
    told.tell(1 << 20)  # less than a tenth
    told.tell(STEP)
    await_dump(ground, "x.0002.tide")
    status, _, err = told.end()
    expect((status, err) == (0, ""), f"{status}: {err}")
    expect(dumps(ground) == ["x.0001.tide", "x.0002.tide"], f"{dumps(ground)}")
    live, why = held(ground, "x.0001.tide")
    expect(live == 2 * STEP and "a new peak beyond 30.0 MiB" in why, f"{live}: {why}")
    expect(held(ground, "x.0002.tide")[0] == 3 * STEP + (1 << 20), "the second")
    told = Told(ground, "--dump-every", "50ms", "-q")
    told.tell(STEP)
    for i in range(3, 6):  # behind those of the run before
        await_dump(ground, f"x.{i:04}.tide")
    told.end()
    expect("every 50" in held(ground, "x.0004.tide")[1], "by time")


@test
def dumps_on_a_signal(ground):
    told = Told(ground, "--dump-on", "signal")
    told.tell(STEP)
    os.kill(told.child.pid, signal.SIGUSR1)  # which would end the program
    await_dump(ground, "x.0001.tide")
    os.kill(told.child.pid, signal.SIGUSR2)  # is the program's
    expect(told.child.stdout.readline() == "signal\n", "SIGUSR2 was not passed on")
    status, _, err = told.end()
    expect(status == 0, f"{status}: {err}")
    expect(f"kill -USR1 {told.child.pid} dumps" in err, err)
    live, why = held(ground, "x.0001.tide")
    expect(live == STEP and why == "SIGUSR1 asked for it", f"{live}: {why}")


@test
def dumps_of_a_process_that_is_attached_to(ground):
    program = ground.build("told", TOLD)
    child = subprocess.Popen([program], cwd=ground.scratch, env=ground.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)
    told = Told.__new__(Told)
    told.child = child
    expect(child.stdout.readline() == "ready\n", "it does not start")
    tracer, _ = attach(ground, child.pid, "--dump-on", "peak=10MiB", "--dump-every", "1GiB")
    told.tell(STEP)
    await_dump(ground, "x.0001.tide")
    err = let_go(tracer)
    child.stdin.close()
    expect(child.wait(60) == 0, "the program did not survive")
    child.stdout.close()
    expect("1 dump: x.0001.tide (" in err, err)
    expect(held(ground, "x.0001.tide")[0] == STEP, "what it held")
    program = subprocess.Popen([program], cwd=ground.scratch, env=ground.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    told.child = program
    expect(program.stdout.readline() == "ready\n", "it does not start")
    child = subprocess.Popen([ground.tidemark, "attach", "-f", "-o", "x.tide", "--dump-on",
                              "signal=USR2", str(program.pid)], cwd=ground.scratch, env=ground.env,
                             stderr=subprocess.PIPE, text=True)
    while "recording process" not in (line := child.stderr.readline()):
        expect(line, "does not attach")
    told.tell(STEP)
    os.kill(child.pid, signal.SIGUSR2)
    await_dump(ground, "x.0002.tide")
    err = let_go(child)
    expect("1 dump: x.0002.tide (" in err, err)
    program.stdin.close()
    expect(program.wait(60) == 0, "the program did not survive")
    program.stdout.close()


@test
def a_dump_outlives_us(ground):
    told = Told(ground, "--dump-on", "rss=64MiB")
    for _ in range(4):
        told.tell(STEP)
    await_dump(ground, "x.0001.tide")
    os.killpg(told.child.pid, signal.SIGKILL)  # as one group of the kernel's is: us, too
    told.child.stdin.close()
    told.child.stdin = None
    finish(told.child)
    live, why = held(ground, "x.0001.tide")
    expect(live == 4 * STEP and "are resident, 64.0 MiB or more" in why, f"{live}: {why}")


@contextlib.contextmanager
def limited_group(limit):
    """A control group of memory of so many bytes, of either kind."""
    name = f"tidemark-test-{os.getpid()}"
    for root, most in (("/sys/fs/cgroup", "memory.max"),
                       ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = pathlib.Path(root) / name
        if not (group.parent / "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
            (group / most).write_text(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield group, most
        finally:
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            wait_for(lambda: not (group / "cgroup.procs").read_text().strip(), "the group's end")
            group.rmdir()
        return
    raise record.Skip("no control group of memory can be made here")


@test
def the_last_dump_before_the_kernel_kills(ground):
    limit = 128 << 20
    with limited_group(limit) as (group, most):
        program = ground.build("told", TOLD)
        told = Told(ground, "--dump-on", "limit=80%", command=[
            "sh", "-c", f"echo $$ > {group}/cgroup.procs && exec {program}"])
        for _ in range(6):  # 114 MiB, and a little for the program itself
            told.tell(STEP)
        await_dump(ground, "x.0001.tide")
        told.child.stdin.write(f"{10 * STEP}\n")
        told.child.stdin.close()
        told.child.stdin = None
        status, _, err = finish(told.child, 60)
    expect(status == -signal.SIGKILL, f"it ended with {status}: {err}")
    live, why = held(ground, dumps(ground)[-1])
    expect(live >= 6 * STEP and f"{most} of {group} are used" in why, f"{live}: {why}")
    expect("killed by SIGKILL" in err or "SIGKILL" in err, err)


@test
def a_limit_that_is_near_from_the_start(ground):
    """RLIMIT_AS of 64 GiB, of which a hundred-thousandth is used before the program begins."""
    limit = 64 << 30
    told = Told(ground, "--dump-on", "limit=0.001%", preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_AS, (limit, limit)))
    told.tell(STEP)
    await_dump(ground, "x.0001.tide")
    status, _, err = told.end()
    expect(status == 0 and "no dump" not in err, f"{status}: {err}")
    why = held(ground, "x.0001.tide")[1]
    expect("% of its RLIMIT_AS are used, " in why and "of 64.0 GiB" in why, why)


@test
def dumps_go_beside_those_of_another_run(ground):
    (ground.scratch / "x.0007.tide").write_text("another's")
    told = Told(ground, "--dump-every", "growth=16MiB", "--dump-keep", "1")
    for i in (8, 9):
        told.tell(STEP)
        await_dump(ground, f"x.{i:04}.tide")
    status, _, err = told.end()
    expect(status == 0 and dumps(ground) == ["x.0007.tide", "x.0009.tide"], f"{dumps(ground)}")
    expect((ground.scratch / "x.0007.tide").read_text() == "another's", "it was written over")
    expect("up to x.0007.tide: they stay, and those of this one begin with x.0008.tide" in err, err)
    expect("2 dumps, of which the last 1 is kept: x.0009.tide" in err, err)


@test
def dumps_on_a_full_disk(ground):
    disk = ground.scratch / "disk"
    disk.mkdir()
    if ground.run("mount", "-t", "tmpfs", "-o", "size=256k", "none", disk).status:
        raise record.Skip("cannot mount a small disk here")
    try:
        told = Told(ground, "-o", "disk/x.tide", "--dump-every", "growth=16MiB")
        with open(disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        told.tell(STEP)
        line = ""
        while "no dump" not in line:
            line = told.child.stderr.readline()
            expect(line, "it does not say that the disk is full")
        expect("No space left" in line and "every 16.0 MiB" in line, line)
        (disk / "filler").unlink()
        told.tell(STEP)
        wait_for(lambda: any(path.stat().st_size for path in disk.glob("x.0*.tide")), "a dump", 60)
        status, _, err = told.end()
        expect(status == 0 and "1 dump: disk/x.0001.tide (" in err and
               "; 1 could not be written: " in err and "No space left" in err, f"{status}: {err}")
        live, _ = held(ground, "disk/x.0001.tide")
        names = sorted(path.name for path in disk.iterdir())
        expect(live == 2 * STEP and names == ["x.0001.tide", "x.tide"], f"{live}, {names}")
    finally:
        ground.run("umount", disk)


@test
def dumps_that_are_not_understood(ground):
    for words, said in (
            (["--dump-every", "10"], "a time (10s), bytes allocated (1GiB) or growth=64MiB"),
            (["--dump-every", "often"], "a time (10s), bytes allocated (1GiB) or growth=64MiB"),
            (["--dump-every", "1us"], "10ms or more"),
            (["--dump-every", "growth=fast"], "--dump-every growth: "),
            (["--dump-on", "oom"], "peak=SIZE, rss=SIZE, limit=90%, signal"),
            (["--dump-on", "limit=100%"], "more than 0% and less than 100%"),
            (["--dump-on", "limit=9"], "--dump-on limit: "),
            (["--dump-on", "signal=KILL"], "USR1 or USR2"),
            (["--dump-on", "signal", "--dump-on", "signal=USR2"], "one is enough"),
            (["--dump-keep", "5"], "--dump-keep goes with --dump-every or --dump-on"),
            (["--dump-every", "1s", "--dump-keep", "0"], "how many to keep (20)"),
            (["--dump-every", "1s", "--dump-keep", "some"], "how many to keep (20)"),
            (["--dump-every", "1s", "-o", "/dev/null"], "/dev/null is no file")):
        done = ground.record(*words, "--", "true")
        expect(done.status == 125 and said in done.stderr, f"{words}: {done.status} {done.stderr}")
