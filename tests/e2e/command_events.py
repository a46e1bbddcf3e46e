# SPDX-License-Identifier: Apache-2.0
"""Ad hoc events that a program counts by <tidemark/tidemark.h>: every one, with its weight and its
stack, in each kind of recording, and apart from the heap's numbers."""
import json
import pathlib
import shutil

from command_inside import INCLUDE, bare
from ground import expect, test

DH_VIEW = pathlib.Path(__file__).resolve().parent.parent / "interop/dh_view_test.mjs"

# 4 threads and main: 4 * (1000 * 3 + 100 * 50), 7, and while recording is off 10 that do not count.
COUNTS = r"""
#include <tidemark/tidemark.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory")
PLACE int row(uint64_t weight) { int status = tidemark_event(weight); STAYS; return status; }
PLACE void load(void) { for (int i = 0; i < 1000; i++) row(3); STAYS; }
PLACE void both(void)
{
  for (int i = 0; i < 100; i++) { free(malloc(9)); tidemark_event(50); }
  STAYS;
}
static void *work(void *arg) { load(); both(); return arg; }
static void tell(int status, int error)
{
  struct tidemark_event_stats stats = {9, 9};
  int read = tidemark_event_stats_read(&stats);
  char text[80];
  int n = snprintf(text, sizeof text, "%d %d, %d %d: %llu %llu\n", status, status ? error : 0, read,
                   read ? errno : 0, (unsigned long long)stats.events,
                   (unsigned long long)stats.weight);
  if (write(1, text, n) != n) _exit(9);
}
int main(int argc, char **argv)
{
  pthread_t threads[4];
  int status = row(7);
  tell(status, errno);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  tidemark_pause();
  for (int i = 0; i < 10; i++) status = row(1000);
  tell(status, errno);
  tidemark_resume();
  if (argc > 1 && !fork()) {
    for (int i = 0; i < 20; i++) status = row(1);
    tell(status, errno);
    _exit(0);
  }
  wait(0);
  return 0;
}
"""
TOLD = "0 0, 0 0: 1 7\n-1 61, 0 0: 4401 32007\n"


def counts(ground):
    return ground.build("counts", COUNTS, "-pthread", f"-I{INCLUDE}")


def by_function(report):
    """Of each function that is blamed: how many, and their weight."""
    sums = {}
    for site in report["sites"]:
        frame = next(f for f in site["frames"] if not f["function"].startswith("tidemark_"))
        n = sums.setdefault(frame["function"], [0, 0])
        n[0] += site["allocations"]
        n[1] += site["bytes"]
    return sums


def expect_all(ground, path):
    """The events of one process, by stack."""
    report = ground.report(path, "--events")
    expect(report["events"] == {"count": 4401, "weight": 32007, "shown": True}, report["events"])
    expect(by_function(report) == {"row": [4001, 12007], "both": [400, 20000]},
           by_function(report))
    of_stacks = {site["allocations"] for site in report["sites"]}
    expect(of_stacks == {1, 400, 4000}, of_stacks)


def expect_heap_apart(ground, path):
    heap = ground.report(path)
    expect(heap["events"] == {"count": 4401, "weight": 32007, "shown": False}, heap["events"])
    expect(not any(site["frames"][0]["function"] == "row" for site in heap["sites"]),
           "events among the blocks")
    both = [site for site in heap["sites"] if site["frames"][0]["function"] == "both"]
    expect([(site["allocations"], site["bytes"]) for site in both] == [(400, 3600)], both)


@test
def events_under_each_recorder(ground):
    program = counts(ground)
    done = ground.run(program)
    expect(done.stdout == "-1 38, -1 38: 0 0\n" * 2, done.stdout)
    done = ground.record("-q", "-o", "run.tide", "--", program)
    expect(done.stdout == TOLD, done.stdout)
    expect_all(ground, "run.tide")
    expect_heap_apart(ground, "run.tide")
    done = ground.record("-q", "-o", "sampled.tide", "--sample=64KiB", "--", program)
    expect(done.stdout == TOLD, done.stdout)
    expect_all(ground, "sampled.tide")
    done = ground.run(program, env=bare(ground))
    expect(done.stdout == TOLD, done.stdout)
    store = next(ground.scratch.glob("counts.*.store"))
    expect_all(ground, store)
    expect_heap_apart(ground, store)


@test
def events_of_fork_children_and_merged(ground):
    program = counts(ground)
    done = ground.record("-q", "-o", "run.tide", "--", program, "fork")
    expect(done.stdout == TOLD + "0 0, 0 0: 20 20\n", done.stdout)
    report = ground.report("run.tide", "--events")
    expect(report["events"]["weight"] == 32007, "not the process with the most")
    child = next(image for image in report["images"] if image["by_fork"])
    own = ground.report("run.tide", "--events", "--process", str(child["pid"]))
    expect(by_function(own) == {"row": [20, 20]}, own["sites"])
    done = ground.run(ground.tidemark, "merge", "-o", "all.tide", "run.tide", "run.tide")
    expect(done.status == 0, done.stderr)
    merged = ground.report("all.tide", "--events")
    expect(by_function(merged) == {"row": [8002, 24014], "both": [800, 40000]},
           merged["events"])


@test
def events_at_very_many_stacks(ground):
    """More cells than are turned into rows at once (observe/store_pack.c)."""
    program = ground.build("many", r"""
#include <tidemark/tidemark.h>
#define PLACE __attribute__((noinline, noclone))
PLACE void left(int path, int depth);
PLACE void right(int path, int depth)
{
  if (!depth) tidemark_event(path);
  else if (path >> (depth - 1) & 1) left(path, depth - 1);
  else right(path, depth - 1);
  __asm__ volatile("");
}
PLACE void left(int path, int depth)
{
  if (!depth) tidemark_event(path);
  else if (path >> (depth - 1) & 1) left(path, depth - 1);
  else right(path, depth - 1);
  __asm__ volatile("");
}
int main(void) { for (int i = 0; i < 40000; i++) right(i, 16); return 0; }
""", f"-I{INCLUDE}")
    ground.record("-q", "-o", "many.tide", "--", program)
    report = ground.report("many.tide", "--events")
    expect(report["events"]["count"] == 40000, report["events"])
    expect(report["events"]["weight"] == 40000 * 39999 // 2, report["events"])
    expect(report["completeness"]["stacks"] >= 32768, report["completeness"])


ALONE = r"""
#include <tidemark/tidemark.h>
__attribute__((noinline)) static void row(int n) { for (; n; n--) tidemark_event(2); }
int main(int argc, char **argv) { (void)argv; row(argc > 1 ? 1500 : 1000); return 0; }
"""


@test
def events_alone_are_the_report(ground):
    program = ground.build("alone", ALONE, f"-I{INCLUDE}")
    ground.record("-q", "-o", "alone.tide", "--", program)
    done = ground.run(ground.tidemark, "report", "alone.tide")
    lines = done.stdout.splitlines()
    expect("1,000 events" in lines[0] and "allocation" not in done.stdout, done.stdout)
    expect(lines[1].split()[:2] == ["events", "1,000"] and "a weight of 2,000" in lines[1], lines)
    expect(lines[2].strip() == "top by weight:", lines)
    expect(lines[3].split()[:4] == ["100.0", "%", "2,000", "██████████"], lines)
    expect("row" in lines[3], lines)
    ground.record("-q", "-o", "more.tide", "--", program, "more")
    done = ground.run(ground.tidemark, "diff", "--events", "alone.tide", "more.tide")
    expect("▲ 1,000" in done.stdout and "weight of events, place by place" in done.stdout,
           done.stdout)
    done = ground.run(ground.tidemark, "tree", "--events", "--json", "more.tide")
    expect(json.loads(done.stdout)["whole"] == 3000, done.stdout[:300])


@test
def events_refuse_what_they_have_not(ground):
    program = ground.program("return 0;")
    ground.record("-q", "-o", "none.tide", "--", program)
    for words, said in ((("none.tide",), "none.tide has no ad hoc events: programs count them"),
                        (("--at", "peak", "none.tide"), "--events is of whole runs"),
                        (("--group", "pages", "none.tide"), "exclude each other")):
        done = ground.run(ground.tidemark, "report", "--events", *words)
        expect(done.status and said in done.stderr, f"{words}: {done.stderr}")
    expect("events" not in ground.report("none.tide"), "a word on events that there are not")


@test
def events_as_dhat_views_them(ground):
    program = counts(ground)
    ground.record("-q", "-o", "run.tide", "--", program)
    done = ground.run(ground.tidemark, "export", "--events", "--to", "dhat", "-o", "ad-hoc.json",
                      "run.tide")
    expect(done.status == 0 and not done.stderr, done.stderr)
    data = json.loads((ground.scratch / "ad-hoc.json").read_text())
    expect((data["mode"], data["verb"], data["bklt"]) == ("ad-hoc", "Occurred", False), data)
    expect(sorted((p["tb"], p["tbk"]) for p in data["pps"]) ==
           [(7, 1), (12000, 4000), (20000, 400)], data["pps"])
    done = ground.run(ground.tidemark, "report", "--json", "ad-hoc.json")
    back = json.loads(done.stdout)["totals"]
    expect((back["allocations"], back["allocated_bytes"]) == (4401, 32007), back)
    if shutil.which("node"):
        done = ground.run("node", DH_VIEW, "ad-hoc.json")
        expect(done.status in (0, 77), done.stderr)
