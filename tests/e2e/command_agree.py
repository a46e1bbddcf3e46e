# SPDX-License-Identifier: Apache-2.0
"""One truth in every view: under each question the report, its groups, the tree, the comparison
with nothing and the tables add up to the same."""
import csv
import io
import itertools
import json
import shutil

import record
import report_json
from ground import expect, test

SORTS = ("peak", "live", "total", "grown", "leak", "temp")
WINDOWS = ((), ("--at", "50%"), ("--range", "20%..80%"), ("--range", "peak.."))
KINDS = ("place", "function", "file", "crate", "module", "thread", "size", "lifetime", "stack")
COLUMNS = {  # of the tables and of the totals; in bytes and in blocks
    "peak": ("peak_bytes", "peak_blocks"), "live": ("live_bytes", "live_blocks"),
    "leak": ("live_bytes", "live_blocks"), "grown": ("live_bytes", "live_blocks"),
    "total": ("allocated_bytes", "allocations"), "temp": ("temporary_bytes", "temporary")}

# Blocks that live, come back and go, in two threads, with recursion on the way.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noipa))
APART void *keep(int n) { void *p = malloc(n); __asm__(""); return p; }
APART void *deep(int n) { void *p = n ? deep(n - 1) : malloc(700); __asm__(""); return p; }
APART void churn(void) { for (int i = 0; i < 50; i++) free(keep(i)); __asm__(""); }
static void *work(void *nothing)
{
  void *held[60];
  for (int i = 0; i < 60; i++) held[i] = realloc(deep(i % 5), 900), churn(), usleep(1000);
  for (int i = 0; i < 60; i += 2) free(held[i]);
  return nothing;
}
int main(void)
{
  pthread_t thread;
  void *early = keep(50000);
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  free(early);
  keep(3000);
  pthread_join(thread, NULL);
  usleep(300000); // time for a look after the peak
  return 0;
}"""


class Asked:
    """A capture under one question."""

    def __init__(self, ground, tide, nothing, question):
        self.ground, self.tide, self.nothing, self.question = ground, tide, nothing, question

    def run(self, verb, *words):
        return self.ground.run(self.ground.tidemark, verb, *words, *self.question)

    def json(self, verb, *words):
        done = self.run(verb, "--json", *words)
        expect(done.status == 0, f"{verb} {words} {self.question}: {done.status} {done.stderr}")
        read = {"report": report_json.loads, "tree": report_json.loads_tree}
        return read.get(verb, json.loads)(done.stdout)

    def same(self, found, expected, where):
        expect(found == expected,
               f"{self.tide} {' '.join(self.question)}: {where} has {found}, not {expected}")


def node_adds_up(asked, node):
    below = sum(child["total"] for child in node["children"])
    asked.same(node["self"] + below + node.get("more", {"total": 0})["total"], node["total"],
               f"below {node.get('function')} the tree")
    for child in node["children"]:
        node_adds_up(asked, child)


def refused_alike(asked):
    """A question without an answer is refused by each verb, with a reason and nothing else."""
    for words in (("report", asked.tide), ("tree", asked.tide)):
        done = asked.run(*words)
        expect(done.status in (1, 2) and done.stderr.startswith("tidemark: ") and not done.stdout,
               f"{words} {asked.question}: {done.status} {done.stderr}")


def groups_agree(asked, report, sort, column):
    whole_run = "--at" not in asked.question and "--range" not in asked.question
    for kind in KINDS:
        grouped = asked.json("report", "--group", kind, asked.tide)
        asked.same(sum(group["weight"] for group in grouped["groups"]), report["wanted"], kind)
        done = asked.run("report", "--csv", "--group", kind, "-n", "3", asked.tide)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        asked.same(sum(int(row["weight"]) for row in rows), report["wanted"], f"{kind} as CSV")
        if whole_run and sort != "grown" and kind not in ("size", "lifetime"):
            asked.same(sum(int(row[column]) for row in rows), report["whole"], f"{kind} as CSV")


def agree(ground, tide, nothing):
    answered = 0
    for sort, by, window in itertools.product(SORTS, ("bytes", "blocks"), WINDOWS):
        asked = Asked(ground, tide, nothing, ("--sort", sort, "--by", by, *window))
        if window and sort in ("peak", "temp"):
            refused_alike(asked)
            continue
        answered += 1
        column = COLUMNS[sort][by == "blocks"]
        report, tree = asked.json("report", tide), asked.json("tree", "--invert", tide)
        asked.same(report["wanted"], report["whole"], "what is wanted")
        if not window:
            asked.same(report["whole"], report["totals"][column], "the report")
        asked.same(sum(site["weight"] for site in report["sites"] if site["kind"] != "pages"),
                   report["wanted"], "all stacks")
        groups_agree(asked, report, sort, column)
        for tree in (tree, asked.json("tree", "--all-frames", "--lines", tide)):
            asked.same(tree["tree"]["total"], report["wanted"], "the tree")
            node_adds_up(asked, tree["tree"])
        if sort != "temp" and not window:  # nothing holds no such moments, and no temporaries
            for kind in ("place", "thread", "size", "lifetime"):
                diff = asked.json("diff", "--group", kind, nothing, tide)
                asked.same(diff["totals"]["after_" + by], report["whole"], f"the {kind}s' sum")
                parts = [*diff["places"], diff["rest"], diff["open"]]
                asked.same(sum(part["change_" + by] for part in parts), report["whole"],
                           f"its {kind}s")
    expect(answered == 36, f"{answered} questions had an answer")


def moments_agree(ground, tide):
    """Two moments compared are the two moments looked at."""
    for by, (one, other) in itertools.product(("bytes", "blocks"),
                                              (("30%", "peak"), ("start", "60%"), ("peak", "end"))):
        at = [Asked(ground, tide, None, ("--by", by, "--at", time)).json("report", tide)
              for time in (one, other)]
        asked = Asked(ground, tide, None, ("--by", by, "--from", one, "--to", other))
        early = at[0]["question"]["to"]["asked_ns"] <= at[1]["question"]["to"]["asked_ns"]
        if not early:
            expect(asked.run("diff", tide).status == 2, f"{one} to {other} is no refused")
            continue
        diff = asked.json("diff", tide)
        asked.same(diff["totals"]["before_" + by], at[0]["whole"], "before")
        asked.same(diff["totals"]["after_" + by], at[1]["whole"], "after")


def capture(ground, name, *command):
    done = ground.record("-q", "-f", "-o", name, "--", *command)
    expect(done.status == 0, f"{command}: {done.status} {done.stderr}")
    return name


@test
def views_agree_on_threads(ground):
    nothing = capture(ground, "nothing.tide", ground.build("nothing", "int main(void) {}"))
    tide = capture(ground, "threads.tide", ground.build("threads", PROGRAM, "-pthread"))
    agree(ground, tide, nothing)
    moments_agree(ground, tide)


@test
def views_agree_on_a_real_program(ground):
    if not shutil.which("perl"):
        raise record.Skip("no perl here")
    nothing = capture(ground, "nothing.tide", ground.build("nothing", "int main(void) {}"))
    work = "$h{$_} = 'x' x ($_ % 100) for 1..20000; select undef, undef, undef, 0.05; " \
           "delete $h{$_} for 1..15000; @a = map { [$_] } 1..5000"
    tide = capture(ground, "perl.tide", "perl", "-e", work)
    agree(ground, tide, nothing)
    moments_agree(ground, tide)


@test
def nothing_to_show_is_not_nothing_held(ground):
    tide = capture(ground, "x.tide", ground.program("return 0;"))
    for verb, words, expected, never in (
            ("report", ("--hide", "."), "stack without a place", "nothing was held"),
            ("report", ("--function", "no_such"), "0 B of ", "nothing was held"),
            ("report", ("--sort", "temp"), "no block was temporary", "live from start"),
            ("report", ("--md", "--at", "start"), "| live at the start |", "at the end"),
            ("tree", ("--hide", "."), "(every frame is hidden)", "nothing"),
            ("tree", ("--function", "no_such"), "none of ", "nothing"),
            ("tree", ("--sort", "temp"), "nothing temporary", "none of")):
        done = ground.run(ground.tidemark, verb, *words, tide)
        expect(done.status == 0 and expected in done.stdout and never not in done.stdout,
               f"{verb} {words}: {done.stdout}")


@test
def a_cut_file_claims_nothing(ground):
    tide = capture(ground, "x.tide", ground.program("return 0;"))
    whole = (ground.scratch / tide).read_bytes()
    seen = 0
    for part in range(1, 20):
        (ground.scratch / "cut.tide").write_bytes(whole[:len(whole) * part // 20])
        done = ground.run(ground.tidemark, "report", "cut.tide")
        seen += done.status == 0
        expect(done.status in (0, 1), f"{part}: status {done.status}")
        for claim in ("every event", "peak exact", "nothing was allocated"):
            expect(claim not in done.stdout, f"{part} of 20 parts: {done.stdout}")
    expect(seen > 5, f"{seen} of the cut files could be read")
