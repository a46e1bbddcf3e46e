# SPDX-License-Identifier: Apache-2.0
"""Programs that ask, by <tidemark/tidemark.h>, a recorder that came after they were loaded or
linked: attached to, and static ones under `tidemark run`."""
import shutil

import command_pools
import command_scopes
import record
from command_attach import Target, attach, let_go
from command_inside import INCLUDE
from ground import expect, test

# At a word it asks everything once, beside threads that never stop to ask. What these are told is
# either nothing or right; what the program is told is kept for the end.
ASKING = r"""
#define _GNU_SOURCE
#include <tidemark/tidemark.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
static volatile int stop;
static int wrong;
static void *volatile kept[100];
static struct tidemark_region old;
PLACE void *grab(size_t n) { return malloc(n); }
static void *asks_on(void *arg)
{
  struct tidemark_region r;
  struct tidemark_stats s;
  struct tidemark_event_stats e;
  while (!stop) {
    int began = !tidemark_region_begin(&r, TIDEMARK_THREAD);
    free(grab(300));
    int ended = !tidemark_region_end(&r, &s);
    if (began && ended && (s.allocations != 1 || s.max_bytes != 300)) wrong = 1;
    if (!began && ended) wrong = 2;
    if (!ended && (s.allocations || s.max_bytes)) wrong = 3;
    int in_pool = !tidemark_pool_begin();
    if (arg) free(grab(40));
    if (!tidemark_pool_end() && !in_pool) wrong = 4;
    if (tidemark_event_stats_read(&e) && errno != ENOSYS) wrong = 5;
  }
  return arg;
}
static void on_signal(int number) { (void)number; tidemark_event(1); }
static void tell(const char *what, int status)
{
  char text[64];
  int n = snprintf(text, sizeof text, " %s %d", what, status ? errno : 0);
  if (write(1, text, n) != n) _exit(9);
}
static void ask(void)
{
  struct tidemark_region r;
  struct tidemark_stats s;
  static char part[64];
  tell("scope", tidemark_scope_begin("work"));
  tell("region", tidemark_region_begin(&r, TIDEMARK_THREAD));
  kept[0] = grab(1000);
  free(kept[0]);
  kept[0] = grab(500);
  tell("kept", tidemark_region_check(&r, TIDEMARK_MAX_BYTES, 1000, "here"));
  tell("broken", tidemark_region_check(&r, TIDEMARK_MAX_BYTES, 999, "here") == 1 ? 0 : -1);
  tell("block", tidemark_block_alloc(part, 10));
  tell("gone", tidemark_block_free(part));
  tell("end", tidemark_region_end(&r, &s));
  tell("scope", tidemark_scope_end());
  tell("event", tidemark_event(7));
  tell("mark", tidemark_mark("asked"));
  tell("old", tidemark_region_end(&old, NULL));
  tell("all", tidemark_stats_read(TIDEMARK_PROCESS, &s));
  tidemark_region_begin(&old, TIDEMARK_THREAD);
  if (write(1, "\n", 1) != 1) _exit(9);
}
int main(int argc, char **argv)
{
  pthread_t thread[3];
  char c;
  void *(*later)(void) = 0;
  if (!freopen("said", "w", stderr)) return 8;
  signal(SIGUSR1, on_signal);
  for (long i = 0; i < 3; i++) pthread_create(&thread[i], 0, asks_on, (void *)i);
  if (write(1, "ready\n", 6) != 6) return 9;
  while (read(0, &c, 1) == 1 && c != 'q') {
    if (c == 'a') ask();
    if (c == 's') { for (int i = 0; i < 3; i++) pthread_kill(thread[i], SIGUSR1); }
    if (c == 'l') {
      void *library = dlopen(argv[argc - 1], RTLD_NOW);
      later = (void *(*)(void))dlsym(library, "ask_too");
      tell("loaded", *(int *)later());
      if (write(1, "\n", 1) != 1) return 9;
    }
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(thread[i], 0);
  return wrong;
}
"""
LIBRARY = r"""
#include <tidemark/tidemark.h>
void *ask_too(void) { static int status; status = tidemark_event(100); return &status; }
"""
NOTHING = (" scope 38 region 38 kept 38 broken 38 block 38 gone 38 end 38 scope 38 event 38 mark 38"
           " old 38 all 38\n")
ANSWERS = (" scope 0 region 0 kept 0 broken 0 block 0 gone 0 end 0 scope 0 event 0 mark 0 old {}"
           " all 0\n")


def ask(target, word="a"):
    target.child.stdin.write(word)
    target.child.stdin.flush()
    return target.child.stdout.readline()


@test
def doors_of_a_process_that_runs(ground):
    """Nothing, answers, nothing, answers: a region of the first recording is none of the second,
    and the code is as it was. Threads ask all the while, and signal handlers."""
    library = ground.build("later.so", LIBRARY, "-shared", "-fPIC", f"-I{INCLUDE}")
    target = Target(ground, ground.build("asking", ASKING, "-pthread", f"-I{INCLUDE}"), library)
    expect_answers(ground, target, times=2)
    expect((said := ask(target)) == NOTHING, said)
    child, _ = attach(ground, target.pid)
    expect((said := ask(target, "l")) == " loaded 0\n", said)
    let_go(child)
    expect_end(ground, target, times=2)


def expect_answers(ground, target, times):
    before = target.code()
    for _ in range(times):
        expect((said := ask(target)) == NOTHING, said)
        child, _ = attach(ground, target.pid)
        for old in 61, 0:
            expect((said := ask(target)) == ANSWERS.format(old), said)
            for _ in range(20):
                target.child.stdin.write("s")
        target.await_work()
        told = let_go(child)
        expect("asks its recorder" not in told, told)
        expect(not target.ours() and target.is_alive(), "something is left behind")
        expect(target.code() == before, "its code is not as it was")
        groups = ground.report("x.tide", "--group", "scope")["groups"]
        scopes = {row["scope"]: row["allocations"] for row in groups}
        expect(scopes["work"] == 6, scopes)  # with blocks of the pool
        report = ground.report("x.tide", "--events")
        weights = {site["bytes"] for site in report["sites"]}
        expect(14 in weights, weights)


def expect_end(ground, target, times):
    expect(target.end() == 0, "it ended otherwise")
    said = (ground.scratch / "said").read_text()
    expect(said.count("here: at most 999 bytes were to be live") == 2 * times, said)
    expect("cannot be judged" not in said, said)


@test
def doors_of_musl_programs(ground):
    """Linked whole or not, recorded from the start and attached to."""
    if not shutil.which("musl-gcc"):
        raise record.Skip("no musl-gcc here")
    for kind, *flags in ("dynamic",), ("static", "-static"):
        flags += ["-pthread", f"-I{INCLUDE}"]
        expect_pools(ground, ground.build(f"pools_{kind}", command_pools.POOLS, *flags,
                                          compiler="musl-gcc"))
        target = Target(ground, ground.build(f"asking_{kind}", ASKING, *flags, compiler="musl-gcc"))
        expect_answers(ground, target, times=1)
        expect_end(ground, target, times=1)


def expect_pools(ground, program):
    done = ground.record("-q", "-f", "-o", "run.tide", "--", program)
    expect(done.stdout == command_pools.SAID, f"{done.stdout} {done.stderr}")
    rows, _ = command_pools.told(ground, "run.tide")
    expect(rows == command_pools.WANTED, rows)


@test
def doors_of_static_programs(ground):
    """What is linked whole has the same answers as what the recorder is loaded with; without
    symbols, too."""
    expect_pools(ground, ground.build("pools", command_pools.POOLS, "-pthread", f"-I{INCLUDE}",
                                      "-static"))
    program = ground.build("serves", command_scopes.SERVES, "-pthread", f"-I{INCLUDE}", "-static",
                           "-s", "-Wl,--gc-sections")
    done = ground.record("-q", "-f", "-o", "run.tide", "--", program)
    expect(done.stdout == command_scopes.SAID, f"{done.stdout} {done.stderr}")
    rows = command_scopes.without_none(command_scopes.by_scope(ground, "run.tide"))
    expect(rows == command_scopes.WANTED, rows)


@test
def doors_are_none_in_older_programs(ground):
    """A program that was built with a header that has none says nothing, and attach says so."""
    target = Target(ground, ground.build("asking", ASKING, "-pthread", f"-I{INCLUDE}",
                                         "-DTIDEMARK_IS_RECORDER"))
    child, _ = attach(ground, target.pid)
    said = child.stderr.readline()
    expect("older tidemark.h" in said, said)
    expect((said := ask(target)) == NOTHING, said)
    let_go(child)
    expect(target.end() == 0, "it ended otherwise")
