# SPDX-License-Identifier: Apache-2.0
"""Recordings added up: runs under address randomisation, processes of one run."""
import json

from ground import expect, test

SOURCE = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[64];
__attribute__((noipa)) void keep(int i, int n) { kept[i] = malloc(n); }
__attribute__((noipa)) void pass(int n) { free(malloc(n)); }
int main(int argc, char **argv)
{
  for (int i = 0; i < 20; i++) keep(i, 100);
  for (int i = 0; i < 30; i++) pass(10);
  if (argc > 2)
    for (int i = 0; i < 3; i++) {
      if (fork() == 0) {
        for (int k = 20; k < 30; k++) keep(k, 7 * atoi(argv[2]));
        _exit(0);
      }
      wait(0);
    }
  usleep(20000);
  return 0;
}
"""


def recorded(ground, *words, tide):
    prog = ground.scratch / "prog"
    if not prog.exists():
        ground.build("prog", SOURCE)
    done = ground.record("-q", "-f", "-o", tide, "--", prog, *words)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return tide


def merge(ground, *words, status=0):
    done = ground.run(ground.tidemark, "merge", *words)
    expect(done.status == status, f"merge {words}: {done.status}, not {status}: {done.stderr}")
    expect(done.stderr.count("\n") == 1, f"merge {words}: {done.stderr}")
    return done


def by_function(report, key):
    """The sum of a number over all sites, by the function blamed."""
    sums = {}
    for site in report["sites"]:
        if site["kind"] == "heap" and site["culprit"] is not None:
            name = site["frames"][site["culprit"]]["function"]
            sums[name] = sums.get(name, 0) + site[key]
    return sums


@test
def merge_of_runs(ground):
    for i in range(3):
        recorded(ground, str(i), tide=f"{i}.tide")
    merge(ground, "0.tide", "1.tide", "2.tide", "-o", "all.tide")
    merge(ground, "2.tide", "0.tide", "1.tide", "-o", "mixed.tide")
    one, other = (ground.scratch / name for name in ("all.tide", "mixed.tide"))
    expect(one.read_bytes() == other.read_bytes(), "the order of the files matters")
    one, all_ = ground.report("0.tide"), ground.report("all.tide")
    for key in ("bytes", "allocations", "frees", "peak_bytes", "live_bytes", "temporary"):
        single, merged = by_function(one, key), by_function(all_, key)
        for name in ("keep", "pass"):
            expect(merged.get(name) == 3 * single[name], f"{key} of {name}: {merged} of {single}")
    expect(len(all_["sites"]) == len(one["sites"]), "stacks of one program were not recognised")
    totals, single = all_["totals"], one["totals"]
    expect(totals["peak_bytes"] == 3 * single["peak_bytes"], f"{totals}")
    expect(totals["peak_bound_bytes"] >= 2 * single["peak_bytes"], f"{totals}")
    expect(all_["image"]["pid"] == 0 and len(all_["image"]["command"]) == 1, f"{all_['image']}")
    text = ground.run(ground.tidemark, "report", "all.tide").stdout
    expect("several processes merged" in text and "too high by" in text, text)
    for words in (("info",), ("tree",), ("export", "--to", "dhat"), ("report", "--at", "50%"),
                  ("diff", "0.tide")):
        done = ground.run(ground.tidemark, *words, "all.tide")
        expect(done.status == 0 and done.stdout, f"{words}: {done.status}: {done.stderr}")


@test
def merge_of_processes(ground):
    recorded(ground, "fork", "3", tide="x.tide")
    merge(ground, "--all", "x.tide", "-o", "y.tide")
    whole = ground.report("y.tide")
    expect(len(whole["images"]) == 1, f"{len(whole['images'])} images")
    n_bytes = by_function(whole, "bytes")["keep"]
    expect(n_bytes == 20 * 100 + 3 * 10 * 21, f"{n_bytes} bytes in keep")
    parts = [ground.report("x.tide", "--process", f"#{i}") for i in range(4)]
    for key in ("allocations", "allocated_bytes", "live_bytes", "peak_bytes"):
        total = sum(part["totals"][key] for part in parts)
        expect(whole["totals"][key] == total, f"{key}: {whole['totals'][key]}, not {total}")


@test
def merge_keeps_names(ground):
    recorded(ground, tide="a.tide")
    recorded(ground, tide="b.tide")
    for tide in ("a.tide", "b.tide"):
        done = ground.run(ground.tidemark, "symbolize", tide)
        expect(done.status == 0, done.stderr)
    merge(ground, "a.tide", "b.tide", "-o", "c.tide")
    (ground.scratch / "prog").unlink()
    expect(by_function(ground.report("c.tide"), "allocations").get("keep") == 40, "names are lost")


@test
def merge_of_other_tools(ground):
    """Folded stacks know names and what is live; the sum of two files knows that and no more."""
    for name, text in (("a", "main;keep 100\nmain;pass 1\n"), ("b", "main;pass 20\nmain;keep 3\n")):
        (ground.scratch / f"{name}.folded").write_text(text)
    done = merge(ground, "a.folded", "b.folded", "-o", "c.tide")
    expect("2 recordings" in done.stderr, done.stderr)
    report = ground.report("c.tide")
    expect(by_function(report, "live_bytes") == {"keep": 103, "pass": 21}, f"{report['sites']}")
    expect(len(report["sites"]) == 2 and "peak" in report["image"]["lacks"], f"{report['image']}")
    recorded(ground, tide="x.tide")
    merge(ground, "x.tide", "a.folded", "-o", "y.tide")
    report = ground.report("y.tide")
    expect(by_function(report, "live_bytes") == {"keep": 2100, "pass": 1}, f"{report['sites']}")
    expect(report["image"]["exe"].endswith("prog") and "peak_bytes" not in report["totals"], "")
    text = ground.run(ground.tidemark, "report", "y.tide").stdout
    expect("sum of folded stacks, tidemark" in text, text)
    (ground.scratch / "m.out").write_text(
        "desc: (none)\ncmd: prog\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=1\n"
        "mem_heap_B=7\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
        "n0: 7 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n#-----------\n"
        "snapshot=1\n#-----------\ntime=2\nmem_heap_B=3\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
        "heap_tree=empty\n")
    done = merge(ground, "m.out", "a.folded", "-o", "z.tide", status=1)
    expect("massif.out holds peak; folded stacks holds live" in done.stderr or
           "folded stacks holds live; massif.out holds peak" in done.stderr, done.stderr)


@test
def merge_refusals(ground):
    recorded(ground, tide="a.tide")
    for words, why, status in (((), "merge what?", 2),
                               (("a.tide", "a.tide"), "-o OUT", 2),
                               (("a.tide", "-o", "b.tide"), "not enough", 2),
                               (("a.tide", "gone.tide", "-o", "b.tide"), "gone.tide", 1),
                               (("a.tide", "a.tide", "-o", "a.tide"), "exists already", 1),
                               (("--all", "-p", "1", "a.tide", "-o", "b"), "at a time", 2),
                               (("-p", "#7", "a.tide", "a.tide", "-o", "b"), "no process", 1)):
        done = merge(ground, *words, status=status)
        expect(why in done.stderr, f"{words}: {done.stderr}")
        expect(not (ground.scratch / "b.tide").exists(), f"{words}: wrote a file")
    merge(ground, "a.tide", "a.tide", "-f", "-o", "a.tide")
    document = json.loads(ground.run(ground.tidemark, "info", "--json", "a.tide").stdout)
    expect(document["images"][0]["pid"] == 0, "not merged in place")
