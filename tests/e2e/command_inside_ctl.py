# SPDX-License-Identifier: Apache-2.0
"""A program that tells its own recording what to do, by <tidemark/tidemark.h>: the same as
`tidemark ctl` does from outside, to the block."""
import pathlib

from ground import expect, test

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include"

TELLS = r"""
#include <tidemark/tidemark.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
static void *early[100], *more[100];
PLACE void first(void) { for (int i = 0; i < 100; i++) early[i] = malloc(100); }
PLACE void second(int n) { for (int i = 0; i < n; i++) more[i] = malloc(200); }
PLACE void unseen(void) { for (int i = 0; i < 30; i++) free(malloc(300)); }
PLACE void last(int n) { for (int i = 0; i < n; i++) more[i] = malloc(1000); }
static void tell(int status)
{
  char text[32];
  int n = snprintf(text, sizeof text, "%d %d\n", status, status ? errno : 0);
  if (write(1, text, n) != n) _exit(9);
}
int main(int argc, char **argv)
{
  char name[60] = "";
  first();
  tell(tidemark_mark("loaded"));
  second(50);
  tell(tidemark_pause());
  tell(tidemark_pause());
  unseen();
  for (int i = 0; i < 40; i++) free(early[i]);
  tell(tidemark_resume());
  last(10);
  tell(tidemark_dump("own.tide"));
  tell(tidemark_dump("nowhere/own.tide"));
  tell(tidemark_snapshot());
  last(5);
  memset(name, 'x', 55);
  tell(tidemark_mark(name));
  tell(tidemark_mark(""));
  tell(tidemark_mark("two\nlines"));
  memset(name, 'x', 56);
  tell(tidemark_mark(name));
  if (argc > 1) { // as many as there may be
    int n = 0;
    while (n < 1000 && !tidemark_mark("again")) n++;
    tell(-n);
  }
  if (!fork()) {
    tell(tidemark_mark("child"));
    last(3);
    _exit(0);
  }
  wait(0);
  return 0;
}
"""
INVALID = "-1 22\n" * 3
UNDER_RUN = "0 0\n" * 5 + "-1 2\n" + "0 0\n" * 2 + INVALID + "0 0\n"
BARE = "0 0\n" * 4 + "-1 95\n" * 3 + "0 0\n" + INVALID + "0 0\n"


def tells(ground):
    return ground.build("tells", TELLS, f"-I{INCLUDE}")


def allocations(report):
    """By function, of those of the program."""
    found = {}
    for site in report["sites"]:
        for frame in site["frames"]:
            if frame.get("function") in ("first", "second", "unseen", "last"):
                found[frame["function"]] = found.get(frame["function"], 0) + site["allocations"]
    return found


def marks(report):
    return [mark["name"] for mark in report["image"]["marks"]]


@test
def own_control_under_run(ground):
    """Of all processes: what the child says is said of its parent, too."""
    done = ground.run(ground.tidemark, "run", "-q", "-o", "x.tide", "--", tells(ground))
    expect(done.status == 0 and done.stdout == UNDER_RUN, done.stdout)
    report = ground.report("x.tide", "-p", "#0")
    expect(allocations(report) == {"first": 100, "second": 50, "last": 15}, f"{report['totals']}")
    expect(report["totals"]["live_blocks"] == 125, f"{report['totals']}")
    expect(marks(report) == ["loaded", "recording off", "recording on", "x" * 55, "child"],
           f"{marks(report)}")
    child = ground.report("x.tide", "-p", "#1")
    expect(marks(child) == ["child"] and allocations(child) == {"last": 3}, f"{marks(child)}")
    text = ground.run(ground.tidemark, "report", "x.tide").stdout
    expect("recording was off" in " ".join(text.split()), text)
    dump = ground.report("own.tide")
    expect(allocations(dump) == {"first": 100, "second": 50, "last": 10}, f"{dump['totals']}")
    since = ground.run(ground.tidemark, "report", "-p", "#0", "--sort", "total", "--range",
                       "loaded..", "x.tide").stdout
    expect("second" in since and "last" in since and "first" not in since, since)


@test
def own_control_without_a_supervisor(ground):
    env = dict(ground.env, LD_PRELOAD=str(ground.library), TIDEMARK_OPTIONS="out=%n.%p.store")
    done = ground.run(tells(ground), "full", env=env)
    lines = done.stdout.splitlines(keepends=True)
    expect(done.status == 0 and lines[-2] == "-252 28\n", done.stdout)  # four are there already
    expect("".join(lines[:-2] + lines[-1:]) == BARE, done.stdout)
    reports = [ground.report(path) for path in sorted(ground.scratch.glob("tells.*.store"))]
    expect(len(reports) == 2, f"{len(reports)} stores")
    whole, child = sorted(reports, key=lambda report: len(marks(report)), reverse=True)
    expect(allocations(whole) == {"first": 100, "second": 50, "last": 15}, f"{whole['totals']}")
    expect(marks(whole)[:4] == ["loaded", "recording off", "recording on", "x" * 55] and
           marks(whole)[4:] == ["again"] * 252, f"{marks(whole)[:6]}")
    expect(marks(child) == ["child"] and allocations(child).get("last", 0) >= 3,
           f"{marks(child)} {allocations(child)}")


@test
def own_control_without_a_recorder(ground):
    done = ground.run(tells(ground), env=ground.env)
    expect(done.status == 0 and done.stdout == "-1 38\n" * 12, done.stdout)
