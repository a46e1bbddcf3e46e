# SPDX-License-Identifier: Apache-2.0
"""Rows by any part of the program: that they add up, and what is said of leaks."""
import csv
import io
import json
import pathlib

from ground import expect, test

# Blocks of known sizes; one thread allocates what another frees. What is kept: a table from the
# start, one late block, and a leak that goes on for the whole run.
PROGRAM = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noipa))
void *volatile kept[500];
void *volatile handed[100];
APART void table(void) { kept[0] = malloc(100000); __asm__(""); }
APART void late(void) { kept[1] = malloc(30000); __asm__(""); }
APART void leak(int i) { kept[i] = malloc(1000); __asm__(""); }
APART void *scratch(void) { return malloc(2000); }
APART void *buffer(void) { return malloc(50000); }
APART void grow(void)
{
  char *volatile text = malloc(16);
  for (int n = 32; n <= 256; n *= 2) text = realloc(text, n);
  free(text);
}
static void *frees(void *nothing)
{
  pthread_setname_np(pthread_self(), "reaper");
  for (int i = 0; i < 100; i++) free(handed[i]);
  return nothing;
}
int main(int argc, char **argv)
{
  void *until_end = buffer();
  pthread_t thread;
  table();
  for (int i = 0; i < 100; i++) handed[i] = scratch();
  pthread_create(&thread, NULL, frees, NULL);
  pthread_join(thread, NULL);
  for (int i = 0; i < 300; i++) {
    leak(10 + i), grow();
    if (i == 240) late();
    usleep(argc > 1 ? 5000 : 100);
  }
  free(until_end);
  return 0;
}"""
KINDS = ("place", "function", "file", "crate", "module", "thread", "stack")


def capture(ground, *words):
    program = ground.build("prog", PROGRAM, "-pthread")
    done = ground.record("-q", "-f", "-o", "x.tide", "--", program, *words)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    return "x.tide"


def report(ground, *words):
    done = ground.run(ground.tidemark, "report", *words)
    expect(done.status == 0, f"{words}: {done.status} {done.stderr}")
    return done.stdout


@test
def groups_add_up(ground):
    tide = capture(ground)
    totals = ground.report(tide)["totals"]
    for kind in KINDS:
        for column, bound in (("peak_bytes", totals["peak_bound_bytes"]), ("allocations", 0)):
            # Ranked by the peak, only what was held then has a row; by count, everything has.
            words = ("--sort", "count") if column == "allocations" else ()
            text = report(ground, "--csv", "--group", kind, *words, tide)
            found = sum(int(row[column]) for row in csv.DictReader(io.StringIO(text)))
            expect(abs(found - totals[column]) <= bound,
                   f"{kind}: {found} {column}, not {totals[column]}")


@test
def groups_of_classes(ground):
    tide = capture(ground)
    text = report(ground, "--csv", "--group", "size", tide)
    rows = {row["most_bytes"]: int(row["allocations"]) for row in
            csv.DictReader(io.StringIO(text))}
    expect(rows["1024"] == 300 and rows["16"] >= 300 and rows["256"] >= 300, f"{rows}")
    text = report(ground, "--csv", "--group", "lifetime", tide)
    ends = {}
    for row in csv.DictReader(io.StringIO(text)):
        ends[row["ending"]] = ends.get(row["ending"], 0) + int(row["allocations"])
    totals = ground.report(tide)["totals"]
    expect(ends["resized"] == totals["resizes"] == 1200, f"{ends}")
    expect(ends["never"] == totals["live_blocks"], f"{ends}")
    expect(sum(ends.values()) == totals["allocations"], f"{ends}, not {totals['allocations']}")


@test
def groups_of_threads(ground):
    tide = capture(ground)
    text = report(ground, "--csv", "--group", "thread", tide)
    rows = list(csv.DictReader(io.StringIO(text)))
    reaper = [row for row in rows if int(row["foreign_frees"]) == 100]
    expect(len(reaper) == 1 and reaper[0]["freed_bytes"] == "200000", f"{rows}")
    expect(int(reaper[0]["peak_bytes"]) == 0, f"what it freed was never its own: {reaper}")
    # At any time, what one thread allocated is its own, whoever freed it.
    for words in ((), ("--at", "peak"), ("--at", "60%"), ("--sort", "total", "--range", "0%..50%")):
        found = ground.report(tide, "--group", "thread", *words)
        held = {row["tid"]: row["weight"] for row in found["groups"] if row["weight"]}
        expect(set(held) == {found["image"]["pid"]}, f"{words}: {held}")
        expect(sum(held.values()) == found["wanted"], f"{words}: {held}")


@test
def classes_of_what_is_held(ground):
    """Each place has one size here, but for the resizes: every measure is told by size."""
    tide = capture(ground)
    own = ("--function", "^(table|late|leak|scratch|buffer)$")
    found = ground.report(tide, "--group", "size", "--sort", "leak", *own)
    held = {row["most_bytes"]: row["weight"] for row in found["groups"]}
    expect(held == {1024: 300000, 32768: 30000, 131072: 100000}, f"{held}")
    found = ground.report(tide, "--group", "size", "--sort", "total", *own)
    made = {row["most_bytes"]: row["weight"] for row in found["groups"]}
    expect(made == {1024: 300000, 2048: 200000, 32768: 30000, 65536: 50000, 131072: 100000},
           f"{made}")
    found = ground.report(tide, "--group", "lifetime", "--sort", "total", *own)
    ends = {row["ending"]: row["weight"] for row in found["groups"] if row["ending"] == "never"}
    expect(ends == {"never": 430000}, f"{ends}")
    for words in (("--sort", "leak"), ("--at", "end"), ("--range", "0%..100%")):
        found = ground.report(tide, "--group", "lifetime", *words)
        expect([row["ending"] for row in found["groups"]] == ["never"], f"{found['groups']}")
    text = report(ground, "--group", "size", "--sort", "leak", "--stacks", *own, tide)
    rows = [line.split()[-1] for line in text.splitlines() if "prog.c" in line or "stdin" in line]
    expect("leak" in text and "table" in text and len(rows) >= 3, text)
    text = report(ground, "--group", "size", "--sort", "peak", "--top", "2", tide)
    expect("at the peak, by size:" in text and "more classes of sizes" in text, text)
    text = report(ground, "--csv", "--group", "size", "--min", "90KB", tide)
    rows = list(csv.DictReader(io.StringIO(text)))
    expect(int(rows[0]["weight"]) >= int(rows[1]["weight"]) and rows[-1]["least_bytes"] == "(rest)",
           text)


@test
def groups_refused(ground):
    tide = capture(ground)
    for words, part in ((("--group", "thread", "--details"), "parts of the code"),
                        (("--details", "--json"), "--details"),
                        (("--group", "cart"), "crate"),
                        (("--suppressions", "x", "--sort", "peak"), "--sort leak"),
                        (("--suppressions", "no/such"), "no/such")):
        done = ground.run(ground.tidemark, "report", *words, tide)
        expect(done.status in (1, 2) and part in done.stderr and not done.stdout,
               f"{words}: {done.status} {done.stderr!r}")


@test
def leaks_told_apart(ground):
    tide = capture(ground, "slowly")  # enough for many looks at it, on a busy machine too
    groups = {}
    for words in (("leak",), ("peak",)):
        report_json = ground.report(tide, "--sort", *words, "--group", "function")
        groups.update({group["function"]: group for group in report_json["groups"]})
    fates = {name: group["fate"] for name, group in groups.items()}
    expect(fates["leak"] == "growing", f"{fates}")
    expect(fates["late"] == "held", f"{fates}")
    expect(fates["table"] == "throughout", f"{fates}")
    expect(fates["buffer"] == "at the end", f"{fates}")
    text = report(ground, "--sort", "leak", tide)
    expect("growing: 293.0 KiB in 1 place" in text, text)
    text = report(ground, "--details", "--group", "function", "--sort", "total", tide)
    for part in ("1,200 times", "300 blocks asked for 145.3 KiB in all and ended at 75.0 KiB",
                 "100 (100 %) by another thread", "held from start to end",
                 "freed only at the end", "never freed, and growing"):
        expect(part in " ".join(text.split()), f"no {part!r}:\n{text}")


# Large blocks of which a page is written to, each in a mapping of its own.
UNUSED = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) char *room(void) { return malloc(262144); }
int main(void)
{
  char *all[40];
  for (int i = 0; i < 40; i++) { all[i] = room(); all[i][100] = 1; usleep(1000); }
  for (int i = 39; i >= 0; i--) { free(all[i]); usleep(1000); }
  return 0;
}"""


@test
def details_of_large_blocks(ground):
    """Asked for and touched, of those that the recorder had the time to look at."""
    done = ground.record("-f", "-o", "room.tide", "--", ground.build("room", UNUSED))
    expect(done.status == 0, done.stderr)
    row, = ground.report("room.tide", "--group", "function", "--function", "^room$")["groups"]
    expect(row["looked_bytes"] == 262144 * row["looked_blocks"], f"{row}")
    text = " ".join(report(ground, "--details", "--function", "^room$", "room.tide").split())
    expect("mapped 40 of more than 128 KiB" in text, text)
    if row["looked_blocks"] > 1:
        expect(f"touched {row['looked_blocks']} large blocks asked for 256.0 KiB in the mean and "
               "had 4.0 KiB each in memory when they were freed or moved" in text, text)
    else:
        expect(("touched" in text) == (row["looked_blocks"] == 1), text)


@test
def leaks_of_a_part_of_the_run(ground):
    """What came in a range and never went; what is freed later is grown, but no leak."""
    tide = capture(ground, "slowly")
    own = ("--function", "^(table|late|leak|buffer|scratch)$", "--group", "function")
    found = ground.report(tide, "--sort", "leak", *own)["groups"]
    whole = {group["function"]: group["weight"] for group in found}
    parts = {}
    for part in ("..30%", "30%..70%", "70%.."):
        for group in ground.report(tide, "--sort", "leak", "--range", part, *own)["groups"]:
            parts[group["function"]] = parts.get(group["function"], 0) + group["weight"]
    expect(parts == whole and whole["leak"] == 300000, f"{parts}, not {whole}")
    first = ground.report(tide, "--sort", "leak", "--at", "40%", *own)
    held = ground.report(tide, "--sort", "live", "--at", "40%", *own)
    kept = {g["function"] for g in first["groups"]}
    expect("buffer" not in kept and {"leak", "table"} <= kept, f"{kept}")
    expect("buffer" in {g["function"] for g in held["groups"]}, "it was held then")
    text = report(ground, "--sort", "leak", "--range", "30%..70%", tide)
    expect("and never freed:" in " ".join(text.split()), text)
    beside = ground.report(tide, "--sort", "leak", "--at", "peak")["question"]["to"]
    expect(beside["seen_ns"] != beside["asked_ns"], f"nobody looks at the peak: {beside}")


@test
def leaks_suppressed(ground):
    tide = capture(ground)
    path = ground.scratch / "known"
    path.write_text("# by design\nleak:^table$\nleak:no such thing\n")
    text = report(ground, "--suppressions", path, tide)
    for part in ("by 1 of 2 suppressions", "97.7 KiB  in 1 block by leak:^table$",
                 "matched nothing: leak:no such thing"):
        expect(part in text, f"no {part!r}:\n{text}")
    hidden = ground.report(tide, "--suppressions", path)
    expect(hidden["suppressed"] == 100000, f"{hidden['suppressed']}")
    expect(not any(site["live_bytes"] == 100000 for site in hidden["sites"]), "still there")
    done = ground.run(ground.tidemark, "tree", "--json", "--suppressions", path, tide)
    tree = json.loads(done.stdout)
    expect(tree["suppressed"] == 100000 and tree["whole"] - tree["tree"]["total"] == 100000,
           f"{tree['suppressed']} of {tree['whole']}, {tree['tree']['total']} left")
    expect("1 of 2 suppressions left out 97.7 KiB in 1 stack" in done.stderr, done.stderr)
    done = ground.run(ground.tidemark, "diff", "--json", "--suppressions", path, tide, tide)
    total = json.loads(done.stdout)["totals"]["after_bytes"]
    expect(total == tree["tree"]["total"] and done.stderr.count("left out 97.7 KiB") == 2,
           f"{total} {done.stderr}")
    done = ground.run(ground.tidemark, "tree", "--sort", "peak", "--suppressions", path, tide)
    expect(done.status == 2 and "--sort leak" in done.stderr, f"{done.status} {done.stderr}")
    path.write_text("leak:a\nrace:b\n")
    done = ground.run(ground.tidemark, "report", "--suppressions", path, tide)
    expect(done.status == 1 and "known:2: a suppression is leak:PATTERN" in done.stderr,
           f"{done.status} {done.stderr!r}")


@test
def filters_say_what_matched(ground):
    tide = capture(ground)
    text = report(ground, "--function", "^(main|leak)$", tide)
    expect("100.0 %," in text and "matched --function ^(main|leak)$" in text, text)
    text = report(ground, "--function", "^table$", "--sort", "leak", tide)
    expect("97.7 KiB of " in text and "matched --function ^table$" in text, text)


@test
def groups_of_libraries(ground):
    """By module (and crate, where C has none) rows are of the library, unless told otherwise."""
    library = """#include <stdlib.h>
#line 1 "/home/me/app/vendor/shelf.c"
__attribute__((noipa)) void *shelf_new(void) { return malloc(7000); }
"""
    ground.build("libshelf.so", library, "-shared", "-fPIC")
    prog = ground.build("prog", """
void *shelf_new(void);
int main(void) { return !shelf_new() || !shelf_new(); }
""", f"-L{ground.scratch}", "-lshelf", f"-Wl,-rpath,{ground.scratch}")
    ground.record("-q", "-o", "a.tide", prog)
    ground.record("-q", "-o", "b.tide", prog)
    for kind in "module", "crate":
        for words, name in ([], "libshelf.so"), (["--blame", "own"], "prog"):
            report = ground.report("a.tide", "--group", kind, *words)
            top = report["groups"][0]
            expect(pathlib.Path(top["module"]).name == name and top["weight"] == 14000,
                   f"{kind} {words}: {top}")
            done = ground.run(ground.tidemark, "diff", "--json", "-g", kind, *words, "a.tide",
                              "b.tide")
            expect(name in done.stdout, f"diff {kind} {words}: {done.stdout[-300:]}")
    expect(ground.report("a.tide")["blame"] == "own", "places")
