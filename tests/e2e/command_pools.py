# SPDX-License-Identifier: Apache-2.0
"""Pools that a program tells of by <tidemark/tidemark.h>: blocks count, a pool's pieces do not."""

from command_inside import INCLUDE, bare
from command_regions import linking
from ground import expect, test

POOLS = r"""
#include <tidemark/tidemark.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory")
enum { CHUNK = 1 << 20 };
struct arena { char *chunk; size_t used; };
PLACE void grow(struct arena *a)
{
  tidemark_pool_begin();
  a->chunk = malloc(CHUNK);
  free(malloc(77));
  tidemark_pool_end();
  a->used = 0;
}
static char *take(struct arena *a, size_t n, int *status)
{
  char *p = a->chunk + a->used;
  a->used += n;
  *status = tidemark_block_alloc(p, n);
  return p;
}
PLACE void drop(struct arena *a)
{
  tidemark_pool_begin();
  free(a->chunk);
  tidemark_pool_end();
}
static int status;
PLACE void bytes(struct arena *a) { for (int i = 0; i < 5000; i++) take(a, 1, &status); STAYS; }
PLACE void words(struct arena *a) { for (int i = 0; i < 40000; i++) take(a, 8, &status); STAYS; }
PLACE void odd(struct arena *a) { for (int i = 0; i < 300; i++) take(a, 1001, &status); STAYS; }
PLACE void pairs(struct arena *a)
{
  for (int i = 0; i < 100; i++) tidemark_block_free(take(a, 24, &status));
  STAYS;
}
static void tell(int is)
{
  char text[32];
  int n = snprintf(text, sizeof text, "%d %d\n", is, is ? errno : 0);
  if (write(1, text, n) != n) _exit(9);
}
static void *work(void *arg)
{
  struct arena *a = arg; // another thread ends what this one is given, and the other way round
  tell(tidemark_blocks_free(a[0].chunk, CHUNK));
  grow(&a[1]);
  words(&a[1]);
  return 0;
}
PLACE void uncounted(void) // as who does not begin
{
  char *chunk = malloc(200000);
  tell(tidemark_block_alloc(chunk + 150000, 100));
  tell(tidemark_block_alloc(chunk, 100));
  free(chunk);
}
PLACE void still(void)
{
  static char part[64];
  tell(tidemark_block_alloc(part, 10));
  tell(tidemark_block_alloc(part, 20)); // the one before has ended
}
int main(void)
{
  struct arena a[2];
  pthread_t thread;
  struct tidemark_region region;
  struct tidemark_stats s;
  tell(tidemark_pool_end());
  tell(tidemark_pool_begin());
  tell(tidemark_pool_begin());
  tell(tidemark_pool_end());
  tell(tidemark_block_alloc(&a, 1));
  tell(tidemark_pool_end());
  tell(tidemark_block_free(&a));
  uncounted();
  still();
  tidemark_region_begin(&region, TIDEMARK_THREAD);
  grow(&a[0]);
  bytes(&a[0]);
  words(&a[0]);
  pairs(&a[0]);
  if (tidemark_region_end(&region, &s)) memset(&s, 0, sizeof s);
  char text[200];
  int n = snprintf(text, sizeof text, "%d %d %d %d\n", (int)s.allocations, (int)s.deallocations,
                   (int)s.max_bytes, (int)s.current_bytes);
  if (write(1, text, n) != n) _exit(9);
  odd(&a[0]);
  pthread_create(&thread, 0, work, a);
  pthread_join(thread, 0);
  for (char *p = a[1].chunk; p < a[1].chunk + 8 * 39000; p += 8) tidemark_block_free(p);
  if (!fork()) {
    struct arena own;
    tell(tidemark_block_free(a[1].chunk + 8 * 39500)); // the parent's
    grow(&own);
    odd(&own);
    _exit(0);
  }
  wait(0);
  drop(&a[0]);
  STAYS;
  return 0;
}
"""
SAID = ("-1 22\n0 0\n0 0\n0 0\n-1 16\n0 0\n-1 22\n" "-1 17\n-1 17\n" "0 0\n0 0\n"
        "45100 100 325024 325000\n0 0\n-1 22\n")
# By the function that handed them out: blocks, bytes, of those ended, live.
WANTED = {"bytes": (5000, 5000, 5000, 0), "words": (80000, 640000, 79000, 8000),
          "odd": (300, 300300, 300, 0), "pairs": (100, 2400, 100, 0), "still": (2, 30, 1, 20)}


def told(ground, path):
    """What each function had handed out by the pools, and the report."""
    report, rows = ground.report(path), {}
    for site in report["sites"]:
        names = {frame["function"] for frame in site["frames"]} & WANTED.keys()
        for name in names:
            row = (site["allocations"], site["bytes"], site["frees"],
                   site["bytes"] - site["freed_bytes"])
            rows[name] = tuple(map(sum, zip(row, rows.get(name, (0, 0, 0, 0)))))
    return rows, report


def expect_told(ground, path):
    rows, report = told(ground, path)
    expect(rows == WANTED, rows)
    pools = {row["name"]: row for row in report["image"]["allocators"]}["its own pools"]
    expect((pools["allocations"], pools["live_bytes"]) == (85402, 8020), pools)
    # Neither pieces of the pools nor what these asked of malloc beside them.
    expect(report["totals"]["peak_bytes"] - pools["peak_bytes"] < 8192, report["totals"])
    expect(pools["peak_bytes"] == 20 + 5000 + 320000 + 300300, pools)
    lost = {key: report["completeness"][key] for key in ("unknown_frees", "lost_busy", "lost_full")}
    expect(not any(lost.values()), lost)
    expect(report["totals"]["temporary"] >= 101, report["totals"])


@test
def pools_under_each_recorder(ground):
    program = ground.build("pools", POOLS, "-pthread", f"-I{INCLUDE}")
    done = ground.run(program)
    expect(done.stdout == "-1 38\n" * 11 + "0 0 0 0\n" + "-1 38\n" * 2, done.stdout)
    done = ground.record("-q", "-o", "run.tide", "--", program)
    expect(done.stdout == SAID, done.stdout)
    expect(done.stderr.count("which is counted already") == 1, done.stderr)
    expect_told(ground, "run.tide")
    said = ground.run(ground.tidemark, "report", "run.tide").stdout
    expect("its own pools 99.9 % of the peak" in said and "take" in said, said)
    done = ground.run(program, env=bare(ground))
    expect(done.stdout == SAID, done.stdout)
    stores = [told(ground, path)[1]["image"] for path in ground.scratch.glob("pools.*.store")]
    expect(sorted(image["by_fork"] for image in stores) == [False, True], stores)
    for path in ground.scratch.glob("pools.*.store"):
        rows, report = told(ground, path)
        if report["image"]["by_fork"]:
            expect(rows == {"odd": (300, 300300, 0, 300300)}, rows)
        else:
            expect_told(ground, path)


@test
def pools_of_a_program_that_links_it(ground):
    done = ground.run(ground.build("linked", POOLS, "-pthread", *linking(ground)))
    expect(done.stdout == SAID, f"{done.stdout} {done.stderr}")
    paths = list(ground.scratch.glob("tidemark.linked.*.store"))
    own = [path for path in paths if not ground.report(path)["image"]["by_fork"]]
    expect(len(paths) == 2 and len(own) == 1, paths)
    expect_told(ground, own[0])


@test
def pools_of_samples(ground):
    """Estimates of 948 KB, one sample for 1 KiB in the mean; what is reset has ended."""
    program = ground.build("pools", POOLS, "-pthread", f"-I{INCLUDE}")
    ground.record("-q", "-o", "run.tide", "--sample=1KiB", "--", program)
    rows, report = told(ground, "run.tide")
    expect(500_000 < rows["words"][1] < 780_000, rows)
    expect(rows["odd"][0] == rows["odd"][2] and rows["odd"][3] == 0, rows)
    expect(report["totals"]["live_bytes"] < 40_000, report["totals"])


# One block at a time in each piece, ended before the next; and then the pieces are malloc's again.
TURNS = r"""
#include <tidemark/tidemark.h>
#include <stdio.h>
enum { PIECES = 8, BYTES = 100000, TURNS = 1000 };
int main(void)
{
  static char *pieces[PIECES];
  int n_told[2] = {0};
  for (int round = 0; round < 2; round++) {
    if (!round) tidemark_pool_begin();
    for (int i = 0; i < PIECES; i++) pieces[i] = malloc(BYTES);
    if (!round) tidemark_pool_end();
    for (int i = 0; i < TURNS; i++) {
      char *block = pieces[i % PIECES] + i * 61;
      n_told[round] += tidemark_block_alloc(block, 10) == 0 && tidemark_block_free(block) == 0;
    }
    if (!round) tidemark_pool_begin();
    for (int i = 0; i < PIECES; i++) free(pieces[i]);
    if (!round) tidemark_pool_end();
  }
  printf("%d %d %d %d\n", n_told[0], n_told[1], tidemark_block_alloc(NULL, 1),
         tidemark_block_alloc(pieces, SIZE_MAX)); // as of a size that went below 0
  return 0;
}
"""


@test
def pools_with_one_block_at_a_time(ground):
    """Each is told, however often a place is empty; none once the memory is counted as malloc's."""
    program = ground.build("turns", TURNS, f"-I{INCLUDE}")
    done = ground.record("-q", "-o", "run.tide", "--", program)
    expect(done.stdout == "1000 0 -1 -1\n", done.stdout + done.stderr)
