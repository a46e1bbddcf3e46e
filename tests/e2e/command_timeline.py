# SPDX-License-Identifier: Apache-2.0
"""The timeline as a table: what resizes did, of a program that stops between its steps."""
import csv
import io

from ground import expect, test

# Each step makes so many chains of so many resizes, then rests for long enough to be looked at.
STEPS = ((40, 100, 300), (10, 5000, 100), (0, 0, 0), (25, 64, 65536), (60, 3000, 0))
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
static struct { int n; size_t from, to; } steps[] = {%s};
__attribute__((noipa)) static void *grow(void *p, size_t n) { return realloc(p, n); }
static void *kept[1000];
int main(void)
{
  for (int i = 0, k = 0; i < %d; i++) {
    for (int j = 0; j < steps[i].n; j++, k++) {
      void *p = malloc(steps[i].from);
      p = grow(p, steps[i].from / 2 + steps[i].to);
      p = grow(p, 0); /* frees it: no resize */
      p = grow(p, steps[i].from); /* makes one: no resize either */
      kept[k] = steps[i].to ? grow(p, steps[i].to) : p;
    }
    usleep(150000);
  }
  return 0;
}
""" % (", ".join("{%d, %d, %d}" % step for step in STEPS), len(STEPS))


def truth():
    """What is to be seen after each step: allocations, frees, resizes, bytes of each."""
    rows, total = [], [0] * 6
    for n, size, to in STEPS:
        half = size // 2 + to
        for _ in range(n):
            grown = [half - size] + ([to - size] if to else [])
            made = [size, half, size] + ([to] if to else [])
            freed = [size, half] + ([size] if to else [])
            more = (len(made), len(freed), len(grown), sum(made), sum(freed), sum(grown))
            total = [a + b for a, b in zip(total, more)]
        rows.append(tuple(total))
    return rows


COLUMNS = ("allocations", "deallocations", "reallocations", "bytes_allocated",
           "bytes_deallocated", "bytes_reallocated")


def timeline(ground, path, *options):
    done = ground.run(ground.tidemark, "export", "--to", "csv", *options, path)
    expect(done.status == 0, f"export failed: {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def numbers(row):
    """An empty cell is one that a look in the middle of an event could not tell."""
    return tuple(int(row[column] or -1) for column in COLUMNS)


def expect_end(ground, path, row):
    totals = ground.report(path)["totals"]
    of_report = (totals["allocations"], totals["frees"], totals["resizes"],
                 totals["allocated_bytes"], totals["freed_bytes"],
                 totals["resized_new_bytes"] - totals["resized_old_bytes"])
    expect(numbers(row) == of_report == truth()[-1],
           f"at the end {numbers(row)}, reported {of_report}, not {truth()[-1]}")


@test
def timeline_of_resizes(ground):
    prog = ground.build("steps", PROGRAM)
    expect(ground.record("-o", "x.tide", prog).status == 0, "the program failed")
    rows = timeline(ground, "x.tide")
    seen = [numbers(row) for row in rows]
    for number, step in enumerate(truth()):
        expect(step in seen, f"step {number} was never seen: {step}")
        expect(not number or seen.index(step) >= seen.index(truth()[number - 1]), "out of order")
    resizes = [row[2] for row in seen]
    expect(resizes == sorted(resizes), f"resizes fall: {resizes}")
    expect_end(ground, "x.tide", rows[-1])
    # Of some stacks they are known at the end.
    rows = timeline(ground, "x.tide", "--function", "grow")
    expect(rows[-1]["reallocations"] == str(truth()[-1][2]), f"{rows[-1]}")
    expect(rows[-1]["bytes_reallocated"] == str(truth()[-1][5]), f"{rows[-1]}")
    expect(all(not row["reallocations"] for row in rows[:-1]), "known before the end")
    # Twice the same run is double.
    done = ground.run(ground.tidemark, "merge", "x.tide", "x.tide", "-o", "twice.tide")
    expect(done.status == 0, done.stderr)
    end = numbers(timeline(ground, "twice.tide")[-1])
    expect(end == tuple(2 * n for n in truth()[-1]), f"twice: {end}")


@test
def timeline_of_a_store(ground):
    """Nobody looked while it ran: the end is known."""
    prog = ground.build("steps", PROGRAM)
    env = dict(ground.env, LD_PRELOAD=str(ground.library))
    expect(ground.run(prog, env=env).status == 0, "the program failed")
    store = next(ground.scratch.glob("*.store"))
    rows = timeline(ground, store)
    expect_end(ground, store, rows[-1])
    expect(not rows[0]["reallocations"], f"{rows}")


PEAK_TREE = """peak
n1: 200 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: 200 0x108817: main (a.c:52)
"""


@test
def timeline_of_another_tool(ground):
    """What massif does not tell is absent."""
    (ground.scratch / "massif.out").write_text(
        "desc: x\ncmd: x\ntime_unit: ms\n" + "".join(
            f"#-----------\nsnapshot={i}\n#-----------\ntime={i}\nmem_heap_B={100 * i}\n"
            "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" + ("empty\n" if i < 2 else PEAK_TREE)
            for i in range(3)))
    for row in timeline(ground, "massif.out"):
        expect(row["live_bytes"] and not any(row[column] for column in COLUMNS), f"{row}")
