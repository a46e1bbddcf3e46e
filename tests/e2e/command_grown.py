# SPDX-License-Identifier: Apache-2.0
"""What has grown in a range, exactly: a program that never rests logs each of its events, and ends
by SIGKILL. Every snapshot must be one point of that log, and between any two of them what the
report calls grown must be what the log says."""
import itertools
import pathlib
import struct

import counts
from ground import expect, test

# Four sites; blocks that die at once, soon, late or never; resizes that stay and that move. Between
# bursts it waits a little, so that it lasts. The log holds pairs of block and what became of it:
# 0: freed, else the site and the size it was allocated with. A resize is a free and an allocation.
PROGRAM = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noipa))
enum { BURSTS = 120, EVENTS = 250, BLOCKS = BURSTS * EVENTS };
static struct { uint32_t block, what; } events[2 * BLOCKS];
static void *at[BLOCKS];
static uint32_t n_events, n_blocks, state = 12345;
static uint32_t any(uint32_t n) { state = state * 1664525 + 1013904223; return (state >> 8) % n; }
APART void *site_0(size_t n) { void *p = malloc(n); __asm__(""); return p; }
APART void *site_1(size_t n) { void *p = malloc(n); __asm__(""); return p; }
APART void *site_2(size_t n) { void *p = calloc(1, n); __asm__(""); return p; }
APART void *site_3(void *old, size_t n) { void *p = realloc(old, n); __asm__(""); return p; }
static void note(uint32_t block, uint32_t what)
{
  events[n_events].block = block;
  events[n_events++].what = what;
}
static void allocate(void *old)
{
  uint32_t site = old ? 3 : any(3), size = 1 + any(500);
  void *p = site == 0 ? site_0(size) : site == 1 ? site_1(size)
            : site == 2 ? site_2(size) : site_3(old, size);
  at[n_blocks] = p;
  note(n_blocks++, site << 16 | size);
}
static void step(void)
{
  uint32_t old = n_blocks && any(3) ? n_blocks - 1 - any(n_blocks < 40 ? n_blocks : 40)
                                    : any(n_blocks + 1);
  if (any(2) || old >= n_blocks || !at[old]) { allocate(NULL); return; }
  void *p = at[old];
  at[old] = NULL;
  note(old, 0);
  if (any(4)) free(p);
  else allocate(p);
}
int main(void)
{
  for (int i = 0; i < BURSTS; i++) {
    for (int k = 0; k < EVENTS; k++) step();
    if (i % 3) usleep(any(8000));
  }
  int fd = open("events", O_CREAT | O_WRONLY, 0600);
  if (write(fd, events, n_events * sizeof *events) < 0) return 9;
  kill(getpid(), SIGKILL);
  pause();
}"""
SITES = ("site_0", "site_1", "site_2", "site_3")


class Log:
    """What the program did, event by event."""

    def __init__(self, path):
        events = list(struct.iter_unpack("<II", pathlib.Path(path).read_bytes()))
        self.n = len(events)
        self.blocks = {}  # site, size, born, freed; events are numbered from 1
        for number, (block, what) in enumerate(events, 1):
            if what:
                self.blocks[block] = [what >> 16, what & 0xffff, number, self.n + 1]
            else:
                self.blocks[block][3] = number

    def grown(self, after, until):
        """Bytes and blocks by site that were born in (after, until] and are live then."""
        found = {site: [0, 0] for site in SITES}
        for site, size, born, freed in self.blocks.values():
            if after < born <= until < freed:
                found[SITES[site]][0] += size
                found[SITES[site]][1] += 1
        return found


def sites_of_stacks(ground, image):
    """Which of the program's functions a stack is of, by what was allocated there in all."""
    report = ground.report("x.tide", "--sort", "total", "--all-frames")
    known = {}
    for site in report["sites"]:
        name = next((f["function"] for f in site["frames"] if f["function"] in SITES), None)
        for row in image["sites"]:
            if (row["n_alloc"], row["b_alloc"]) == (site["allocations"], site["bytes"]) and name:
                known[row["stack"]] = name
    expect(sorted(known.values()) == sorted(SITES), f"the sites are {known}")
    return known


def points_of(image, known, log):
    """The snapshots as numbers of events; each must be a state that the program was in."""
    points, done, held = {}, 0, {stack: (0, 0) for stack in known}
    for index, snapshot in enumerate(image["snapshots"]):
        if snapshot["kind"] == counts.PEAK:
            continue
        live = {row[0]: (row[1], row[2]) for row in snapshot["rows"]}
        for stack, n_more, _ in snapshot["counts"]:
            done += n_more if stack in known else 0
        n_live = sum(live.get(stack, (0, 0))[1] for stack in known)
        points[index] = 2 * done - n_live  # allocations, and of these all but the live were freed
        want = log.grown(0, points[index])
        for stack in held:
            got = list(live.get(stack, (0, 0)))
            expect(got == want[known[stack]],
                   f"snapshot {index} after event {points[index]}: {known[stack]} holds {got}, "
                   f"not {want[known[stack]]}")
    return points


def late_sum(image, stack, after, until):
    rows = [row for row in image["late_frees"]
            if row[1] == stack and row[2] <= after < row[0] <= until]
    return [sum(row[4] for row in rows), sum(row[3] for row in rows)]


def check_pair(image, known, log, points, pair):
    """What the file says of a range, by the arithmetic of docs/tide-format.md."""
    after, until = pair
    want = log.grown(points[after], points[until])
    held = [{row[0]: row[1:] for row in image["snapshots"][k]["rows"]} for k in pair]
    for stack, name in known.items():
        late = late_sum(image, stack, after, until)
        before, now = held[0].get(stack, [0, 0]), held[1].get(stack, [0, 0])
        got = [b - a + gone for a, b, gone in zip(before, now, late)]
        expect(got == want[name], f"{name} has grown by {got} from snapshot {after} to {until}, "
                                  f"not by {want[name]}")


def ask(ground, image, pair, unit):
    start = image["start_ns"]
    times = [image["snapshots"][k]["time_ns"] - start for k in pair]
    words = ("--range", f"{times[0]}ns..{times[1]}ns", "--by", unit, "--group", "function")
    report = ground.report("x.tide", *words)
    expect(report["question"]["at_least"] is False, "the report calls it a bound")
    expect([report["question"][end]["seen_ns"] for end in ("from", "to")] == times,
           f"{times} are seen at {report['question']}")
    text = ground.run(ground.tidemark, "report", *words[:2], "x.tide").stdout
    expect("grown from" in text and "at least" not in text, f"the report says {text}")
    return {group["function"]: group["weight"] for group in report["groups"]}


@test
def grown_is_exact(ground):
    prog = ground.build("prog", PROGRAM)
    done = ground.record("-q", "-o", "x.tide", prog)
    expect(done.status == -9, f"status {done.status}: {done.stderr}")
    wrong = counts.check(ground.scratch / "x.tide")
    expect(not wrong, wrong)
    path = ground.scratch / "x.tide"
    image = counts.tide_decode.decode(path.read_bytes())["images"][0]
    expect(image["has_late_frees"] and image["late_frees"], "there are no late frees")
    log = Log(ground.scratch / "events")
    known = sites_of_stacks(ground, image)
    points = points_of(image, known, log)
    expect(len(set(points.values())) >= 4, f"too few moments were seen: {points}")
    expect(points[len(image["snapshots"]) - 1] == log.n, "the end is not the end of the log")
    some = sorted({*list(points)[::max(1, len(points) // 12)], len(image["snapshots"]) - 1})
    for pair in itertools.combinations(some, 2):
        check_pair(image, known, log, points, pair)
    middle = len(some) // 2
    for pair in ((some[0], some[1]), (some[1], some[middle]), (some[middle], some[-1])):
        for column, unit in enumerate(("bytes", "blocks")):
            want = log.grown(points[pair[0]], points[pair[1]])
            got = ask(ground, image, pair, unit)
            for name in SITES:
                expect(got.get(name, 0) == want[name][column],
                       f"{name} has grown by {got.get(name)} {unit} between snapshots {pair}, not "
                       f"by {want[name][column]}")


@test
def grown_is_a_bound_at_the_peak_and_when_merged(ground):
    prog = ground.build("prog", PROGRAM)
    ground.record("-q", "-o", "x.tide", prog)
    for words in (("--range", "20%..peak"), ("--range", "peak..")):
        expect(ground.report("x.tide", *words)["question"]["at_least"] is True,
               f"{words} is called exact")
        text = ground.run(ground.tidemark, "report", *words, "x.tide").stdout
        expect("grown (at least) from" in text, f"{words}: the report says {text}")
    expect(ground.report("x.tide", "--range", "..peak")["question"]["at_least"] is False,
           "what is live at the peak is all new since the start")
    ground.run(ground.tidemark, "merge", "-o", "two.tide", "x.tide", "x.tide")
    report = ground.report("two.tide", "--range", "20%..80%")
    expect(report["question"]["at_least"] is True, "of a merged capture it is called exact")
