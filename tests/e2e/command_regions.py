# SPDX-License-Identifier: Apache-2.0
"""Numbers that a program asks for by <tidemark/tidemark.h>: of its heap, and of regions."""
import pathlib
import shutil

import record
from command_inside import INCLUDE, bare
from ground import expect, test

TELLS = r"""
#include <tidemark/tidemark.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void say(const char *text) { if (write(1, text, strlen(text)) < 0) _exit(9); }
static void tell(const char *what, int status, const struct tidemark_stats *s)
{
  char text[300];
  snprintf(text, sizeof text, "%s %d: %llu %llu %llu  %llu %llu %lld  %lld %lld  %lld %lld\n", what,
           status ? errno : 0, (long long)s->allocations, (long long)s->deallocations,
           (long long)s->reallocations, (long long)s->bytes_allocated,
           (long long)s->bytes_deallocated, (long long)s->bytes_reallocated,
           (long long)s->current_blocks, (long long)s->current_bytes, (long long)s->max_blocks,
           (long long)s->max_bytes);
  say(text);
}
static struct tidemark_stats s;
static struct tidemark_region r, q, p;
"""

# One thing after the other, with blocks of no bytes, resizes both ways, and regions in one another.
STEPS = TELLS + r"""
int main(void)
{
  tell("process", tidemark_stats_read(TIDEMARK_PROCESS, &s), &s);
  tell("thread", tidemark_stats_read(TIDEMARK_THREAD, &s), &s);
  int begun = tidemark_region_begin(&r, TIDEMARK_THREAD);
  tidemark_region_begin(&p, TIDEMARK_PROCESS);
  tell("nothing", tidemark_region_read(&r, &s), &s);
  free(malloc(100));
  void *a = realloc(realloc(malloc(10), 50), 20), *gone = realloc(malloc(8), 0);
  if (gone) return 1;
  tidemark_region_begin(&q, TIDEMARK_THREAD);
  void *b = malloc(70);
  free(malloc(0));
  free(a);
  tell("inner", tidemark_region_end(&q, &s), &s);
  tell("outer", tidemark_region_read(&r, &s), &s);
  for (int i = 0; i < 1000; i++) free(malloc(16));
  free(b);
  b = malloc(300);
  tell("outer", tidemark_region_end(&r, &s), &s);
  tell("all", tidemark_region_read(&p, &s), &s);
  tell("all", tidemark_region_end(&p, &s), &s);
  tell("ended", tidemark_region_end(&r, &s), &s);
  free(b);
  tell("thread", tidemark_stats_read(TIDEMARK_THREAD, &s), &s);
  tell("process", tidemark_stats_read(TIDEMARK_PROCESS, &s), &s);
  return begun;
}
"""
STEPS_TOLD = """\
process 0: 0 0 0  0 0 0  0 0  0 0
thread 0: 0 0 0  0 0 0  0 0  0 0
nothing 0: 0 0 0  0 0 0  0 0  0 0
inner 0: 2 2 0  70 20 0  0 50  2 70
outer 0: 5 4 2  228 158 10  1 70  1 100
outer 0: 1006 1005 2  16528 16228 10  1 300  1 300
all 0: 1006 1005 2  16528 16228 10  1 300  1 300
all 0: 1006 1005 2  16528 16228 10  1 300  1 300
ended 61: 0 0 0  0 0 0  0 0  0 0
thread 0: 1006 1006 2  16528 16528 10  0 0  1 300
process 0: 1006 1006 2  16528 16528 10  0 0  1 300
"""


def told(ground, name, source, *flags):
    """What a program says under run and with a bare preload, which is the same."""
    prog = ground.build(name, source, "-pthread", f"-I{INCLUDE}", *flags)
    done = ground.run(ground.tidemark, "run", "-q", "-f", "-o", "x.tide", prog)
    expect(done.status == 0, f"{done.status}: {done.stdout} {done.stderr}")
    alone = ground.run(prog, env=bare(ground))
    expect(alone.stdout == done.stdout, f"run: {done.stdout}\npreloaded: {alone.stdout}")
    return done.stdout


@test
def regions_exact_to_the_block(ground):
    """Every number of every step, of thread and process, from before the first allocation on."""
    said = told(ground, "steps", STEPS)
    expect(said == STEPS_TOLD, f"expected:\n{STEPS_TOLD}said:\n{said}")


@test
def regions_of_many_threads(ground):
    """64 threads, each with regions of its own that see nothing of the others, and one of all.
    Blocks change hands: who frees those of others has fewer than none. All hold what they have at
    the same moment, which is the peak of the process."""
    said = told(ground, "many", TELLS + r"""
enum { THREADS = 64, BLOCKS = 200 };
static pthread_barrier_t gate;
static void *blocks[THREADS][BLOCKS];
static int n_wrong;
static void is(long long a, long long b)
{
  if (a != b) __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
}
static void *work(void *arg)
{
  int me = (int)(long)arg, other = (me + 1) % THREADS;
  struct tidemark_region mine, half;
  struct tidemark_stats stats;
  pthread_barrier_wait(&gate);
  is(0, tidemark_region_begin(&mine, TIDEMARK_THREAD));
  for (int i = 0; i < BLOCKS; i++) blocks[me][i] = malloc(me + 1);
  is(0, tidemark_region_read(&mine, &stats));
  is(BLOCKS, stats.allocations); is(BLOCKS * (me + 1), stats.max_bytes);
  pthread_barrier_wait(&gate); // all is there
  pthread_barrier_wait(&gate); // and was seen
  is(0, tidemark_region_begin(&half, TIDEMARK_THREAD));
  for (int i = 0; i < BLOCKS; i++) free(blocks[other][i]);
  for (int i = 0; i < 1000; i++) free(malloc(7));
  is(0, tidemark_region_end(&half, &stats));
  is(1000, stats.allocations); is(1000 + BLOCKS, stats.deallocations);
  is(-BLOCKS, stats.current_blocks); is(-BLOCKS * (other + 1), stats.current_bytes);
  is(0, stats.max_bytes); is(0, stats.max_blocks);
  is(0, tidemark_region_end(&mine, &stats));
  is(1000 + BLOCKS, stats.allocations); is(1000 + BLOCKS, stats.deallocations);
  is(BLOCKS * (me + 1) + 7000, stats.bytes_allocated); is(BLOCKS, stats.max_blocks);
  is(BLOCKS * (me + 1), stats.max_bytes);
  is(BLOCKS * (me - other), stats.current_bytes); is(0, stats.current_blocks);
  is(-1, tidemark_region_read(&r, &stats)); is(EINVAL, errno); // main's
  pthread_barrier_wait(&gate);
  return arg;
}
int main(void)
{
  pthread_t threads[THREADS];
  pthread_barrier_init(&gate, 0, THREADS + 1);
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
  tidemark_region_begin(&p, TIDEMARK_PROCESS);
  tidemark_region_begin(&q, TIDEMARK_THREAD);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  tell("half", tidemark_region_read(&p, &s), &s);
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  tell("all", tidemark_region_end(&p, &s), &s);
  tell("main", tidemark_region_end(&q, &s), &s);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
  is(0, tidemark_stats_read(TIDEMARK_PROCESS, &s));
  is(s.bytes_allocated - s.bytes_deallocated, s.current_bytes);
  say(n_wrong ? "wrong\n" : "right\n");
  return 0;
}
""")
    held, all_blocks = 200 * 64 * 65 // 2, 64 * 200
    live = f"{all_blocks} {held}"
    expect(said == f"half 0: {all_blocks} 0 0  {held} 0 0  {live}  {live}\n"
           f"all 0: {all_blocks + 64000} {all_blocks + 64000} 0  {held + 64 * 7000} "
           f"{held + 64 * 7000} 0  0 0  {live}\n"
           "main 0: 0 0 0  0 0 0  0 0  0 0\nright\n", said)


@test
def regions_left_open(ground):
    """By a longjmp, a thousand times, in memory that is something else afterwards: the ones around
    them are exact, and those of the latest that still are."""
    source = TELLS + r"""
static jmp_buf out;
static __attribute__((noinline)) void leave_open(int whose)
{
  struct tidemark_region dead;
  tidemark_region_begin(&dead, whose);
  free(malloc(40));
  memset(&dead, 0xa5, sizeof dead);
  longjmp(out, 1);
}
static void try_often(int whose)
{
  for (volatile int i = 0; i < 1000; i++)
    if (!setjmp(out)) leave_open(whose);
}
int main(void)
{
  tidemark_region_begin(&r, WHOSE);
  void *kept = malloc(100);
  free(malloc(900));
  try_often(WHOSE);
  tidemark_region_begin(&q, WHOSE);
  try_often(!WHOSE);
  free(malloc(50));
  tell("latest", tidemark_region_end(&q, &s), &s);
  free(kept);
  tell("around", tidemark_region_end(&r, &s), &s);
  return 0;
}
"""
    for whose in 0, 1:
        said = told(ground, "left", source, f"-DWHOSE={whose}")
        expect(said == "latest 0: 1001 1001 0  40050 40050 0  0 0  1 50\n"
                       "around 0: 2003 2003 0  81050 81050 0  0 0  2 1000\n", f"{whose}: {said}")


@test
def regions_where_nothing_is_known(ground):
    """Without a recorder, of samples, while recording is off: an error, and numbers that are 0."""
    prog = ground.build("steps", STEPS, f"-I{INCLUDE}")
    lines = STEPS_TOLD.splitlines()

    def nothing(number):
        return "".join(f"{line.split()[0]} {number}: 0 0 0  0 0 0  0 0  0 0\n" for line in lines)
    done = ground.run(prog)
    expect(done.stdout == nothing(38), done.stdout)
    for option in "--start-paused", "--sample=64KiB":
        done = ground.run(ground.tidemark, "run", "-q", "-f", option, "-o", "x.tide", prog)
        expect(done.stdout == nothing(61), f"{option}: {done.stdout}")
    done = ground.run(prog, env=dict(bare(ground), TIDEMARK_OPTIONS="out=/nowhere/x.store"))
    expect(done.stdout == nothing(61), f"refused: {done.stdout}")


@test
def regions_of_a_fork_child(ground):
    """It knows nothing of its parent's, and its own are exact."""
    said = told(ground, "forks", TELLS + r"""
int main(void)
{
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  tidemark_region_begin(&p, TIDEMARK_PROCESS);
  void *old = malloc(1000);
  if (!fork()) {
    tell("parent's", tidemark_region_read(&r, &s), &s);
    tell("parent's", tidemark_region_end(&p, &s), &s);
    tell("process", tidemark_stats_read(TIDEMARK_PROCESS, &s), &s);
    tidemark_region_begin(&q, TIDEMARK_PROCESS);
    tidemark_region_begin(&r, TIDEMARK_THREAD);
    free(malloc(30));
    free(old);
    tell("own", tidemark_region_end(&r, &s), &s);
    tell("own", tidemark_region_end(&q, &s), &s);
    _exit(0);
  }
  wait(0);
  free(old);
  tell("thread", tidemark_region_end(&r, &s), &s);
  tell("process", tidemark_region_end(&p, &s), &s);
  return 0;
}
""")
    none, own = "0 0 0  0 0 0  0 0  0 0\n", "1 1 0  30 30 0  0 0  1 30\n"
    past = "1 1 0  1000 1000 0  0 0  1 1000\n"
    expect(said == f"parent's 61: {none}parent's 61: {none}process 0: {none}own 0: {own}"
                   f"own 0: {own}thread 0: {past}process 0: {past}", said)


@test
def regions_between_versions(ground):
    """A structure that the caller knows less of is filled as far as that, one that he knows more of
    has 0 there; what has no room for a region is none. In C++, too."""
    said = told(ground, "versions", TELLS + r"""
int main(void)
{
  struct { struct tidemark_stats now; uint64_t later[4]; } more;
  uint64_t less[3] = {7, 7, 7};
  memset(&more, 7, sizeof more);
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  free(malloc(40));
  int status = tidemark_v1_region_read(&r, &more, sizeof more);
  tell("more", status | (more.later[0] || more.later[3]), &more.now);
  status = tidemark_v1_region_read(&r, less, 2 * sizeof *less);
  s = (struct tidemark_stats){less[0], less[1], less[2]};
  tell("less", status, &s);
  tell("none", tidemark_v1_region_end(&r, 0, 0), &more.now);
  s = (struct tidemark_stats){0};
  tell("small", tidemark_v1_region_begin(&r, 64, TIDEMARK_THREAD), &s);
  tell("whose", tidemark_region_begin(&r, 2), &s);
  tell("whose", tidemark_stats_read(-1, &s), &s);
  return 0;
}
""")
    one = "1 1 0  40 40 0  0 0  1 40\n"
    none = "0 0 0  0 0 0  0 0  0 0\n"
    expect(said == f"more 0: {one}less 0: 1 1 7  0 0 0  0 0  0 0\nnone 0: {one}small 22: {none}"
           f"whose 22: {none}whose 22: {none}", said)
    if not shutil.which("g++"):
        raise record.Skip("no g++ here")
    (ground.scratch / "x.cc").write_text("#include <tidemark/tidemark.h>\n" r"""
int main()
{
  tidemark_region r;
  tidemark_stats s;
  tidemark_region_begin(&r, TIDEMARK_THREAD);
  delete[] new int[10];
  return tidemark_region_end(&r, &s) ? 9 : (int)s.max_bytes;
}
""")
    for standard in "-std=c++98", "-std=c++20":
        done = ground.run("g++", "-O0", "-Wall", "-Wextra", "-Werror", standard, f"-I{INCLUDE}",
                          "-o", "x", "x.cc")
        expect(done.status == 0, done.stderr)
        expect(ground.run(ground.scratch / "x").status == 9, "without")
        done = ground.run(ground.tidemark, "run", "-q", "-f", "-o", "x.tide",
                          ground.scratch / "x")
        expect(done.status == 40, f"with: {done.status} {done.stderr}")


def linking(ground):
    """What pkg-config says to a program that is to have the recorder without a launcher."""
    if not shutil.which("pkg-config"):
        raise record.Skip("no pkg-config here")
    library = pathlib.Path(ground.library).resolve()
    (ground.scratch / "tidemark").mkdir()
    (ground.scratch / "tidemark" / library.name).symlink_to(library)
    env = dict(ground.env, PKG_CONFIG_PATH=str(library.parent / "meson-private"))
    told_flags = ground.run("pkg-config", f"--define-variable=libdir={ground.scratch}", "--libs",
                            "tidemark", env=env)
    expect(told_flags.status == 0, told_flags.stderr)
    return f"-I{INCLUDE}", "-Wl,--as-needed", *told_flags.stdout.split()


@test
def regions_of_a_program_that_links_it(ground):
    """With no launcher: exact, and the store is left."""
    prog = ground.build("linked", STEPS, *linking(ground))
    done = ground.run(prog)
    expect(done.status == 0 and done.stdout == STEPS_TOLD, f"{done.stdout} {done.stderr}")
    stores = list(ground.scratch.glob("tidemark.linked.*.store"))
    expect(len(stores) == 1, f"{stores}")
    expect(ground.report(stores[0])["totals"]["live_blocks"] == 0, "not as it was")
