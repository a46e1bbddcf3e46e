# SPDX-License-Identifier: Apache-2.0
"""By which call of the allocator memory came: each told apart, under every way to record, also
where several come from the same place; and what does not tell."""
import pathlib

from ground import expect, test

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"

# Of each call some blocks that stay. in_turn() leaves by jumps, so that malloc and calloc return to
# the same place in main's loop, and the call alone tells their stacks apart.
CALLS = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *kept[400];
static int n;
__attribute__((noipa)) static void *in_turn(size_t size, int zeroed)
{
  return zeroed ? calloc(1, size) : malloc(size);
}
int main(void)
{
  for (int i = 0; i < 7; i++)
    kept[n++] = malloc(100);
  for (int i = 0; i < 5; i++)
    kept[n++] = calloc(10, 30);
  for (int i = 0; i < 3; i++)
    kept[n++] = realloc(malloc(10), 4000);
  kept[n++] = aligned_alloc(64, 640);
  if (posix_memalign(&kept[n++], 64, 650))
    return 1;
  kept[n++] = memalign(64, 660);
  kept[n++] = valloc(670);
  kept[n++] = strdup("twelve chars");
  for (int i = 0; i < 40; i++)
    kept[n++] = in_turn(50, i % 4 == 0);
  char *pages = mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kept[n++] = mremap(pages, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
  kept[n++] = sbrk(8192);
  return 0;
}
"""
# Allocations, bytes, blocks that stay.
WANTED = {
    "malloc": (7 + 3 + 1 + 30, 700 + 30 + 13 + 1500, 7 + 1 + 30),
    "calloc": (5 + 10, 1500 + 500, 15),
    "realloc": (3, 12000, 3),
    "aligned": (4, 640 + 650 + 660 + 670, 4),
}
MAPPED = {"mmap": 1 << 20, "mremap": 2 << 20, "brk": 8192}


def by_call(ground, path, *options):
    """Of what main() does: a static program's start allocates, too."""
    report = ground.report(path, "--group", "call", "--sort", "count", "--function", "^main$",
                           *options)
    return {row["call"]: (row["allocations"], row["bytes"], row["live_blocks"])
            for row in report["groups"]}


def check(ground, path, how):
    report = ground.report(path)
    expect(report["image"]["recorded_by"] == how, report["image"]["recorded_by"])
    rows = by_call(ground, path)
    expect(rows == WANTED, rows)
    sites = [site for site in report["sites"] if site.get("kind") == "pages"]
    mapped = {site["call"]: site["bytes"] for site in sites if site["call"] in MAPPED}
    expect(mapped == MAPPED, mapped)


@test
def calls_under_each_recorder(ground):
    flags = ("-O2", "-fno-builtin")
    program = ground.build("calls", CALLS, *flags)
    ground.record("-q", "-o", "run.tide", "--", program)
    check(ground, "run.tide", "preload")
    done = ground.run(ground.tidemark, "diff", "-g", "call", "--json", "run.tide", "run.tide")
    expect(done.status == 0 and '"grouped_by": "call"' in done.stdout, done.stdout + done.stderr)
    ground.record("-q", "-o", "static.tide", "--",
                  ground.build("static", CALLS, *flags, "-static"))
    check(ground, "static.tide", "agent")
    # Two stacks of the same frames, whose numbers are nobody else's.
    sites = [site for site in ground.report("run.tide")["sites"] if site["bytes"] in (500, 1500)
             and site["allocations"] in (10, 30)]
    calls = [(site["call"], site["allocations"]) for site in sites]
    expect(calls == [("malloc", 30), ("calloc", 10)], sites)


NEWS = r"""
#include <new>
#include <stdlib.h>
void *volatile kept[100];
struct alignas(128) wide { char bytes[256]; };
int main()
{
  int n = 0;
  for (int i = 0; i < 6; i++)
    kept[n++] = new char[700];
  for (int i = 0; i < 4; i++)
    kept[n++] = ::operator new(800, std::nothrow);
  for (int i = 0; i < 3; i++)
    kept[n++] = new wide;
  kept[n++] = malloc(900);
  return !kept[n - 1];
}
"""


@test
def calls_of_operator_new(ground):
    """libstdc++'s call malloc and aligned_alloc: counted once, as what the program called."""
    for name, flags in (("news", ()), ("static", ("-static",))):
        program = ground.build(name, NEWS, "-O1", "-std=c++17", *flags, compiler="g++")
        ground.record("-q", "-o", f"{name}.tide", "--", program)
        rows = by_call(ground, f"{name}.tide")
        expect(rows["operator new"] == (13, 6 * 700 + 4 * 800 + 3 * 256, 13), rows)
        expect(rows["malloc"] == (1, 900, 1) and len(rows) == 2, rows)
        report = ground.report(f"{name}.tide", "--group", "call")
        expect(sum(row["bytes"] for row in report["groups"]) ==
               report["totals"]["allocated_bytes"], report["groups"])


@test
def calls_that_are_not_told(ground):
    done = ground.run(ground.tidemark, "report", "-g", "call", GOLDEN / "dhat.json")
    expect(done.status == 2 and "nothing by call" in done.stderr, done.stderr)
