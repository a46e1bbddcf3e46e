# SPDX-License-Identifier: Apache-2.0
"""Runs of equal blocks: what tidemark maps says of them is what the allocator itself counts."""
import json

from command_maps import HEAD, Standing, adds_up
from ground import expect, test

# Blocks of two sizes from three places, of which a known part is freed by chance: much of the first
# half, little of the second. Writes down what its allocator counts, by size: runs, blocks in use.
PROGRAM = HEAD + """
#include <dlfcn.h>
#include <stdbool.h>
enum { N = 60000 };
static char *p[N];
__attribute__((noipa)) static char *one(void) { return written(malloc(300), 1, 300); }
__attribute__((noipa)) static char *other(void) { return written(malloc(300), 2, 300); }
__attribute__((noipa)) static char *large(void) { return written(malloc(1500), 3, 1500); }

static int truth;
static void tell(size_t size, size_t runs, size_t used)
{
  char line[96];
  int n = snprintf(line, sizeof line, "%zu %zu %zu\\n", size, runs, used);
  if (used && write(truth, line, (size_t)n) != n)
    _exit(2);
}

static size_t ask(const char *form, unsigned i)
{
  char name[64];
  size_t value = 0, bytes = sizeof value;
  snprintf(name, sizeof name, form, i);
  if (mallctl(name, &value, &bytes, NULL, 0) != 0)
    _exit(3);
  return value;
}

static unsigned n_bins(void)
{
  unsigned n = 0;
  size_t bytes = sizeof n;
  mallctl("arenas.nbins", &n, &bytes, NULL, 0);
  return n;
}

static void tell_jemalloc(void)
{
  uint64_t epoch = 1;
  size_t bytes = sizeof epoch;
  mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
  mallctl("epoch", &epoch, &bytes, &epoch, bytes);
  for (unsigned i = 0; i < n_bins(); i++)
    tell(ask("arenas.bin.%u.size", i), ask("stats.arenas.4096.bins.%u.curslabs", i),
         ask("stats.arenas.4096.bins.%u.curregs", i));
}

struct area { void *blocks; size_t reserved, committed, used, block_size; };
static size_t areas[4096][3], n_areas;
static bool visit(const void *heap, const struct area *area, void *block, size_t n, void *arg)
{
  size_t i = 0;
  while (i < n_areas && areas[i][0] != area->block_size) i++;
  n_areas += i == n_areas;
  areas[i][0] = area->block_size, areas[i][1]++, areas[i][2] += area->used;
  return true;
}

typedef bool visitor(const void *, const struct area *, void *, size_t, void *);
static void tell_mimalloc(void)
{
  void (*collect)(bool) = dlsym(RTLD_DEFAULT, "mi_collect");
  void *(*heap)(void) = dlsym(RTLD_DEFAULT, "mi_heap_get_default");
  bool (*each)(void *, bool, visitor *, void *) = dlsym(RTLD_DEFAULT, "mi_heap_visit_blocks");
  collect(true);
  each(heap(), false, visit, NULL);
  for (size_t i = 0; i < n_areas; i++)
    tell(areas[i][0], areas[i][1], areas[i][2]);
}

int main(int argc, char **argv)
{
  uint64_t chance = 88172645463325252u;
  truth = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < N; i++)
    p[i] = i % 3 == 2 ? large() : i / 6000 % 5 == 4 ? other() : one();
  for (int i = 0; i < N; i++) {
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    if (chance % 100 < (i < N / 2 ? 85 : 20))
      free(p[i]);
  }
  if (mallctl)
    tell_jemalloc();
  else
    tell_mimalloc();
  stand("ready");
  return 0;
}
"""
SIZES = (320, 1536)  # what 300 and 1,500 bytes are rounded up to


def check_runs(ground, library):
    prog, truth_file = ground.build("runs", PROGRAM, "-ldl"), ground.scratch / "truth"
    with Standing(ground, "env", f"LD_PRELOAD={library}", prog, truth_file) as standing:
        table, text = standing.table(), standing.text()
        adds_up(standing, table)
        told = ground.run(ground.tidemark, "explain", "--json", standing.pid).stdout
    truth = {}
    for line in truth_file.read_text(encoding="ascii").splitlines():
        size, runs, used = map(int, line.split())
        truth[size] = (runs, used)
    seen = {row["block_bytes"]: row for row in table["runs"]}
    for size in SIZES:
        row = seen[size]
        expect((row["runs"], row["blocks"]) == truth[size], f"{library}: {row}, not {truth[size]}")
        expect(sum(row["quarters"]) == row["runs"], f"{row}")
        expect(row["free"] == row["resident"] - size * row["blocks"], f"{row}")
        expect(0 < row["sparse"] < row["free"] and row["quarters"][0] > row["runs"] // 8, f"{row}")
    heap = table["heap"]
    expect(heap["unclear_runs"] == 0, f"{heap}")
    # In each sparse run one place has most of the blocks; few have any of another.
    kept = {place["place"].split(",")[0]: place["sparse_runs"] for place in table["places"]
            if "sparse_runs" in place}
    sparse = sum(sum(row["quarters"][:2]) for row in table["runs"])
    expect(sum(kept.values()) == sparse > 20 * heap["sparse_runs_of_several"],
           f"{kept} of {sparse}")
    expect(kept["large"] == sum(seen[1536]["quarters"][:2]), f"{kept}")
    expect("runs of equal blocks, free in those less than half full" in text, text)
    expect("whose blocks are most in runs less than half full" in text and
           f"of 320 B: {seen[320]['runs']} runs" in text, text)
    finding, = (one for one in json.loads(told)["findings"] if one["rule"] == "fragmented")
    expect(finding["function"] == "large" and
           finding["evidence"]["sparse_bytes"] == sum(row["sparse"] for row in table["runs"]) and
           "in runs of equal blocks less than half full, and in" in finding["sentence"] and
           "of them most are of large, " in finding["sentence"], f"{finding}")


@test
def runs_of_jemalloc(ground):
    check_runs(ground, "libjemalloc.so.2")


@test
def runs_of_mimalloc(ground):
    check_runs(ground, "libmimalloc.so.2.0")
