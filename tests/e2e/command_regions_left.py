# SPDX-License-Identifier: Apache-2.0
"""Regions that are left by an exception, asked for by a signal handler, paused, or one of a
thousand."""
import shutil
import subprocess

import record
from command_inside import INCLUDE, bare
from command_regions import TELLS, told
from ground import expect, test

# What it tells with a recorder, and without one.
RAII = r"""
#include <tidemark/tidemark.hpp>
#include <cstdio>
#include <stdexcept>
static void *volatile block;
static void use(size_t n) { block = std::malloc(n); std::free(block); }
static void throws(int depth)
{
  tidemark::region inner;
  use(1000);
  if (depth) throws(depth - 1);
  errno = 5;
  throw 1; // of no class: nothing of the library's but the exception itself
}
int main()
{
  tidemark::stats s;
  // More of them than there are places for open ones: each was ended on its way out.
  tidemark::region first;
  int caught = 0, kept = 0;
  for (int i = 0; i < 100; i++) {
    tidemark::region outer(i % 2 ? tidemark::process : tidemark::thread);
    use(10);
    try { throws(3); } catch (int) { caught++; kept += errno == 5; }
    int error = outer.read(s);
    if (i > 97)
      std::printf("outer %d: %d %d\n", error, (int)s.max_bytes, (int)s.current_blocks);
  }
  std::printf("first %d: %d\n", first.read(s), (int)s.current_bytes);
  std::printf("caught %d, errno %d\n", caught, kept);
  int error = first.end(s), again = first.end(s);
  std::printf("ended %d, then %d %d\n", error, again, (int)s.allocations);
  tidemark::region meanwhile;
  try {
    tidemark::pause outside;
    { tidemark::pause inside; }
    tidemark::region none;
    std::printf("paused %d\n", none.error());
    throw 2;
  } catch (int) {}
  std::printf("meanwhile %d\n", meanwhile.read(s));
  tidemark::region after;
  use(300);
  error = after.read(s);
  std::printf("after %d: %d %d\n", error, (int)s.allocations, (int)s.max_bytes);
  TIDEMARK_ASSERT_MAX_BYTES(after.get(), 300);
  for (int i = 0; i < 100; i++) {
    try {
      tidemark::scope scope("thrown");
      use(40);
      { tidemark::pool_work work; use(50); }
      throw i;
    } catch (int) {}
  }
  { tidemark::scope none(""); use(60); }
  std::printf("no scope %d, no pool %d\n", tidemark_scope_end(), tidemark_pool_end());
  return 0;
}
"""
RAII_TOLD = """\
outer 0: 1000 0
outer 0: 1000 0
first 0: 0
caught 100, errno 100
ended 0, then 125 0
paused 61
meanwhile 61
after 0: 1 300
no scope -1, no pool -1
"""
RAII_ALONE = """\
outer 38: 0 0
outer 38: 0 0
first 38: 0
caught 100, errno 100
ended 38, then 38 0
paused 38
meanwhile 38
after 38: 0 0
no scope -1, no pool -1
"""


@test
def regions_of_cxx_end_by_exceptions(ground):
    """Guards of C++ through a hundred exceptions; pauses within one another; without a recorder."""
    if not shutil.which("g++"):
        raise record.Skip("no g++ here")
    source, prog = ground.scratch / "raii.cpp", ground.scratch / "raii"
    source.write_text(RAII)
    for standard in "c++11", "c++20":
        done = subprocess.run(["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror",
                               "-pedantic", f"-I{INCLUDE}", source, "-o", prog],
                              capture_output=True, text=True)
        expect(done.returncode == 0, done.stderr)
    done = ground.run(prog)
    expect(done.stdout == RAII_ALONE, f"alone: {done.stdout}")
    done = ground.run(prog, env=bare(ground))
    expect(done.status == 0 and done.stdout == RAII_TOLD, f"preloaded: {done}")
    done = ground.run(ground.tidemark, "run", "-q", "-f", "-o", "x.tide", prog)
    expect(done.status == 0 and done.stdout == RAII_TOLD, f"run: {done}")
    rows = ground.report("x.tide", "--group", "scope", "--sort", "count")["groups"]
    thrown = [row["allocations"] for row in rows if row["scope"] == "thrown"]
    expect(thrown == [200], rows)  # a block and an exception each, and none of the pool's


@test
def regions_asked_for_by_a_handler(ground):
    """That comes while the recorder is at work in its thread, saying what is wrong to a pipe that
    nobody reads: EBUSY for all, and what was open is as it was."""
    source = TELLS + r"""
#include <signal.h>
static int asked;
static void busy(int number)
{
  struct tidemark_stats t;
  (void)number;
  if (asked++) return;
  tell("begin", tidemark_region_begin(&q, TIDEMARK_THREAD), &s);
  tell("read", tidemark_region_read(&r, &t), &t);
  tell("end", tidemark_region_end(&r, &t), &t);
  tell("thread", tidemark_stats_read(TIDEMARK_THREAD, &t), &t);
  tell("check", tidemark_region_check(&r, TIDEMARK_MAX_BYTES, 1, 0), &s);
}
int main(void)
{
  int ends[2];
  if (pipe(ends) || dup2(ends[1], 2) != 2) return 1;
  close(ends[0]);
  signal(SIGPIPE, busy);
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  void *kept = malloc(100);
  int verdict = tidemark_region_check(&r, TIDEMARK_MAX_BYTES, 50, "here");
  tell("never begun", tidemark_region_end(&q, &s), &s);
  tell("open", tidemark_region_end(&r, &s), &s);
  free(kept);
  say(verdict == 1 && asked ? "asked\n" : "not asked\n");
  return 0;
}
"""
    said = told(ground, "busy", source)
    none = "16: 0 0 0  0 0 0  0 0  0 0\n"
    busy = "".join(f"{what} {none}" for what in ("begin", "read", "end", "thread", "check"))
    expect(said == busy + "never begun 61: 0 0 0  0 0 0  0 0  0 0\n"
                          "open 0: 1 0 0  100 0 0  1 100  1 100\nasked\n", said)


@test
def regions_that_are_paused_meanwhile(ground):
    """Between begin and end: neither reading nor ending gives a number, in either kind, and an
    assertion is not judged; one that begins afterwards is exact."""
    source = TELLS + r"""
int main(void)
{
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  tidemark_region_begin(&p, TIDEMARK_PROCESS);
  free(malloc(100));
  if (tidemark_pause() || tidemark_resume()) return 1;
  tidemark_region_begin(&q, TIDEMARK_THREAD);
  free(malloc(70));
  tell("read", tidemark_region_read(&r, &s), &s);
  TIDEMARK_ASSERT_MAX_BYTES(&r, 1);
  tell("thread", tidemark_region_end(&r, &s), &s);
  tell("process", tidemark_region_end(&p, &s), &s);
  tell("since", tidemark_region_end(&q, &s), &s);
  return 0;
}
"""
    said = told(ground, "paused", source)
    none = "61: 0 0 0  0 0 0  0 0  0 0\n"
    expect(said == f"read {none}thread {none}process {none}since 0: 1 1 0  70 70 0  0 0  1 70\n",
           said)


@test
def regions_of_a_thousand_threads(ground):
    """All open at once, each with bytes of its own, and one of the process around them."""
    source = TELLS + r"""
enum { N = 1000 };
static pthread_barrier_t all;
static int n_wrong;
static void *each(void *arg)
{
  long n = (long)arg;
  struct tidemark_region own;
  struct tidemark_stats t;
  tidemark_region_begin(&own, TIDEMARK_THREAD);
  pthread_barrier_wait(&all); // every region is open
  void *kept = malloc(n + 1);
  for (int i = 0; i < 3; i++) free(malloc(n));
  free(kept);
  pthread_barrier_wait(&all);
  int error = tidemark_region_end(&own, &t);
  if (error || t.allocations != 4 || t.deallocations != 4 || t.max_bytes != 2 * n + 1 ||
      t.bytes_allocated != 4 * (unsigned long)n + 1 || t.current_bytes)
    __atomic_add_fetch(&n_wrong, 1, __ATOMIC_RELAXED);
  return 0;
}
int main(void)
{
  static pthread_t threads[N];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_barrier_init(&all, 0, N);
  for (long i = 0; i < N; i++)
    if (pthread_create(&threads[i], &small, each, (void *)(i + 1))) return 1;
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  say(n_wrong ? "wrong\n" : "right\n");
  return 0;
}
"""
    said = told(ground, "thousand", source)
    expect(said == "right\n", said)


@test
def regions_of_all_come_and_go(ground):
    """Around and within those that eight threads have open all the time: each is exact, whoever
    else wants to know of an event."""
    source = TELLS + r"""
enum { N = 8, ROUNDS = 39, PAIRS = 50 };
static pthread_barrier_t gate;
static int n_wrong;
static void is(long long a, long long b)
{
  if (a != b) __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
}
static void *each(void *arg)
{
  long me = (long)arg;
  struct tidemark_region own, within;
  struct tidemark_stats t;
  is(0, tidemark_region_begin(&own, TIDEMARK_THREAD));
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&gate);
    if (round % 4 == me % 4) is(0, tidemark_region_begin(&within, TIDEMARK_THREAD));
    for (int i = 0; i < PAIRS; i++) {
      void *p = malloc(me + 1);
      free(realloc(p, 3 * (me + 1)));
    }
    if (round % 4 == me % 4) is(0, tidemark_region_end(&within, &t)), is(PAIRS, t.allocations);
    pthread_barrier_wait(&gate);
  }
  is(0, tidemark_region_end(&own, &t));
  is(ROUNDS * PAIRS, t.allocations); is(ROUNDS * PAIRS, t.deallocations);
  is(ROUNDS * PAIRS, t.reallocations); is(3 * ROUNDS * PAIRS * (me + 1), t.bytes_allocated);
  is(3 * (me + 1), t.max_bytes); is(1, t.max_blocks); is(0, t.current_bytes);
  free(malloc(100)); // of nobody's any more
  return arg;
}
int main(void)
{
  pthread_t threads[N];
  pthread_barrier_init(&gate, 0, N + 1);
  for (long i = 0; i < N; i++) pthread_create(&threads[i], 0, each, (void *)i);
  for (int round = 0; round < ROUNDS; round++) {
    int n = (round % 3 + 1) * N * PAIRS; // open for two rounds, for none, and so on
    if (round % 3 == 0) is(0, tidemark_region_begin(&p, TIDEMARK_PROCESS));
    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
    if (round % 3 == 2) continue;
    is(0, round % 3 ? tidemark_region_end(&p, &s) : tidemark_region_read(&p, &s));
    is(n, s.allocations); is(n, s.deallocations); is(n, s.reallocations);
  }
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  say(n_wrong ? "wrong\n" : "right\n");
  return 0;
}
"""
    said = told(ground, "come", source)
    expect(said == "right\n", said)
