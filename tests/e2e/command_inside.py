# SPDX-License-Identifier: Apache-2.0
"""What a program asks of the recorder itself, by <tidemark/tidemark.h>."""
import pathlib
import shutil
import subprocess

import record
from command_serve import fields
from ground import expect, finish, test

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include"

# Writes profiles of what it knows it holds, and says what came of it.
ASKS = r"""
#include <tidemark/tidemark.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
static void *kept[1000];
PLACE void hold(int n) { for (int i = 0; i < n; i++) kept[i] = malloc(100); }
PLACE void storm(int n) { for (int i = 0; i < n; i++) free(malloc(32)); }
static int out(const char *path) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600); }
static void *elsewhere(void *arg) { storm(500); return arg; }
static void tell(int status)
{
  char text[32];
  int n = snprintf(text, sizeof text, "%d %d\n", status, status ? errno : 0);
  if (write(1, text, n) != n) _exit(9);
}
int main(void)
{
  pthread_t thread;
  hold(1000);
  pthread_create(&thread, 0, elsewhere, 0);
  pthread_join(thread, 0);
  for (int i = 0; i < 500; i++) free(kept[i]);
  storm(777);
  tell(tidemark_pprof_write(out("now.pb")));
  tell(tidemark_pprof_write(out("again.pb")));
  tell(tidemark_pprof_write(999));
  tell(tidemark_pprof_write(open("/dev/full", O_WRONLY)));
  if (!fork()) {
    tell(tidemark_pprof_write(out("first.pb")));
    hold(10);
    tell(tidemark_pprof_write(out("child.pb")));
    _exit(0);
  }
  wait(0);
  return 0;
}
"""
NO_RECORDER, NO_DATA = "-1 38\n" * 6, "-1 61\n" * 6
WRITTEN = "0 0\n0 0\n-1 9\n-1 28\n0 0\n0 0\n"


def asks(ground):
    return ground.build("asks", ASKS, "-pthread", f"-I{INCLUDE}")


def bare(ground):
    """As one starts it in a container."""
    return dict(ground.env, LD_PRELOAD=str(ground.library), TIDEMARK_OPTIONS="out=%n.%p.store")


def check_profiles(ground):
    report = ground.report("now.pb")
    totals = report["totals"]
    expect(totals["allocations"] == 2278 and totals["live_blocks"] == 501, f"{totals}")
    by_name = {}
    for site in report["sites"]:
        name = site["frames"][0]["function"]
        counts = by_name.setdefault(name, [0, 0, 0])
        for i, key in enumerate(("allocations", "bytes", "live_bytes")):
            counts[i] += site[key]
    expect(by_name["hold"] == [1000, 100000, 50000], f"{by_name}")
    expect(by_name["storm"] == [1277, 1277 * 32, 0], f"{by_name}")
    now, again = (sorted(value for field, value in fields((ground.scratch / name).read_bytes())
                         if field == 2) for name in ("now.pb", "again.pb"))
    expect(now == again, "to ask has changed what is there")
    expect(ground.report("first.pb")["totals"]["allocations"] == 0, "what the parent has")
    child = ground.report("child.pb")["totals"]
    expect(child["allocations"] == child["live_blocks"] == 10, f"{child}")


@test
def inside_a_profile_of_now(ground):
    """To the block and to the byte, of this moment, by every way in, and of a fork child its own.
    Pairs that wait are in it."""
    prog = asks(ground)
    done = ground.run(ground.tidemark, "run", "-q", "-o", "x.tide", prog)
    expect(done.stdout == WRITTEN and not done.stderr, f"{done.stdout} {done.stderr}")
    check_profiles(ground)
    done = ground.run(prog, env=bare(ground))
    expect(done.stdout == WRITTEN and not done.stderr, f"{done.stdout} {done.stderr}")
    check_profiles(ground)


@test
def inside_without_a_recorder(ground):
    """A program that asks runs as well without, and in C++, and while recording is off."""
    prog = asks(ground)
    done = ground.run(prog)
    expect(done.status == 0 and done.stdout == NO_RECORDER, f"{done.status}: {done.stdout}")
    expect(not (ground.scratch / "now.pb").stat().st_size, "something was written")
    done = ground.run(ground.tidemark, "run", "-q", "--start-paused", "-o", "x.tide", prog)
    expect(done.stdout == NO_DATA, f"{done.stdout} {done.stderr}")
    if not shutil.which("g++"):
        raise record.Skip("no g++ here")
    (ground.scratch / "x.cc").write_text(
        "#include <tidemark/tidemark.h>\nint main() { return tidemark_pprof_write(1) != -1; }\n")
    done = ground.run("g++", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-o", "x", "x.cc")
    expect(done.status == 0, done.stderr)
    expect(ground.run(ground.scratch / "x").status == 0, "C++")


@test
def inside_what_readers_ask_of_a_profile(ground):
    """Dense numbers, the program's file first, names by build id, the moment and the interval."""
    prog = asks(ground)
    ground.run(ground.tidemark, "run", "-q", "--sample=64KiB", "-o", "x.tide", prog)
    expect(dict(fields((ground.scratch / "now.pb").read_bytes()))[12] == 65536, "no interval")
    ground.run(ground.tidemark, "run", "-q", "-f", "-o", "x.tide", prog)
    message = list(fields((ground.scratch / "now.pb").read_bytes()))
    for field in 3, 4:  # mappings and locations
        ids = [dict(fields(value))[1] for number, value in message if number == field]
        expect(ids == list(range(1, len(ids) + 1)), f"{field}: {ids}")
    strings = [value for number, value in message if number == 6]
    first = dict(fields(next(value for number, value in message if number == 3)))
    expect(strings[first[5]] == str(prog).encode(), f"{strings[first[5]]}")
    once = [value for number, value in message if number == 12]
    expect(strings[0] == b"" and once == [1], f"{strings[0]} {once}")
    if shutil.which("go"):
        env = dict(ground.env, PPROF_TMPDIR=str(ground.scratch))
        done = ground.run("go", "tool", "pprof", "-top", "-unit=B", "now.pb", env=env, timeout=300)
        expect(" 50000B " in done.stdout and " hold\n" in done.stdout, done.stdout + done.stderr)


@test
def inside_threads_that_never_rest(ground):
    """While others allocate: never an error, never a number below nothing, and in the end all."""
    prog = ground.build("restless", r"""
#include <tidemark/tidemark.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int is_over;
static void *work(void *arg)
{
  while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
    void *p = malloc(24), *q = malloc(1000);
    free(p);
    free(q);
    free(malloc(40));
  }
  return arg;
}
int main(void)
{
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 300; i++) {
    int fd = open("now.pb", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (tidemark_pprof_write(fd)) return 1;
    close(fd);
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return !!tidemark_pprof_write(open("end.pb", O_WRONLY | O_CREAT | O_TRUNC, 0600));
}""", "-pthread", f"-I{INCLUDE}")
    child = subprocess.Popen([str(ground.tidemark), "run", "-q", "-o", "x.tide", str(prog)],
                             cwd=ground.scratch, env=ground.env, stderr=subprocess.PIPE, text=True)
    status, _, err = finish(child)
    expect(status == 0 and not err, f"{status}: {err}")
    for site in ground.report("now.pb")["sites"]:
        expect(0 <= site["live_bytes"] <= 5000, f"{site}")
    theirs, ours = (ground.report(name)["totals"] for name in ("end.pb", "x.tide"))
    for key in "allocations", "allocated_bytes", "live_blocks", "live_bytes":
        expect(theirs[key] == ours[key], f"{key}: {theirs[key]}, {ours[key]}")
