# SPDX-License-Identifier: Apache-2.0
"""Scopes that a program names by <tidemark/tidemark.h>: whose bytes are whose, to the block."""

import csv
import gzip

from command_inside import INCLUDE, bare
from command_serve import fields
from ground import expect, test

SERVES = r"""
#include <tidemark/tidemark.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define PLACE __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory")
static void *kept[100];
static int n_kept;
PLACE void keep(int n) { for (; n; n--) kept[n_kept++] = malloc(100); STAYS; }
PLACE void churn(int n) { for (; n; n--) free(malloc(10)); STAYS; }
PLACE void grow(int n) { void *p = malloc(8); for (int i = 2; i <= n; i++) p = realloc(p, 8 * i);
  free(p); STAYS; }
static void *work(void *arg)
{
  churn(5); // a thread begins in none
  tidemark_scope_begin(arg);
  churn(1000);
  tidemark_scope_end();
  return 0;
}
static void tell(int status)
{
  char text[32];
  int n = snprintf(text, sizeof text, "%d %d\n", status, status ? errno : 0);
  if (write(1, text, n) != n) _exit(9);
}
int main(void)
{
  pthread_t threads[2];
  char name[57] = "";
  keep(1);
  tell(tidemark_scope_begin("GET /users"));
  keep(10);
  tell(tidemark_scope_begin("db"));
  keep(5), churn(300);
  tell(tidemark_scope_end());
  grow(20);
  free(kept[0]); // of none
  tell(tidemark_scope_end());
  free(kept[1]); // of the first
  for (int i = 0; i < 400; i++) {
    tidemark_scope_begin(i % 2 ? "GET /a" : "GET /b");
    churn(3);
    tidemark_scope_end();
  }
  tell(tidemark_scope_end());
  tell(tidemark_scope_begin(""));
  tell(tidemark_scope_begin("a\tb"));
  memset(name, 'x', 56);
  tell(tidemark_scope_begin(name));
  name[55] = 0;
  tell(tidemark_scope_begin(name));
  tell(tidemark_scope_end());
  pthread_create(&threads[0], 0, work, "one");
  pthread_create(&threads[1], 0, work, "two");
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  tidemark_scope_begin("parent");
  if (!fork()) {
    churn(70);
    tidemark_scope_end();
    churn(80);
    _exit(0);
  }
  wait(0);
  tidemark_scope_end();
  return 0;
}
"""
SAID = "0 0\n0 0\n0 0\n0 0\n-1 22\n-1 22\n-1 22\n-1 22\n0 0\n0 0\n"
# Allocations, bytes, live blocks.
WANTED = {"GET /users": (10 + 20, 1000 + 8 * 210, 9), "GET /users > db": (305, 3500, 5),
          "GET /a": (600, 6000, 0), "GET /b": (600, 6000, 0), "one": (1000, 10000, 0),
          "two": (1000, 10000, 0)}


def by_scope(ground, path, *options):
    report = ground.report(path, "--group", "scope", "--sort", "count", *options)
    return {row["scope"]: (row["allocations"], row["bytes"], row["live_blocks"])
            for row in report["groups"]}


def without_none(rows):
    return {name: row for name, row in rows.items() if name}


@test
def scopes_under_each_recorder(ground):
    program = ground.build("serves", SERVES, "-pthread", f"-I{INCLUDE}")
    done = ground.run(program)
    expect(done.stdout == "-1 38\n" * 10, done.stdout)
    done = ground.record("-q", "-o", "run.tide", "--", program)
    expect(done.stdout == SAID, done.stdout)
    expect(without_none(by_scope(ground, "run.tide")) == WANTED, by_scope(ground, "run.tide"))
    report = ground.report("run.tide")
    child = next(image for image in report["images"] if image["by_fork"])
    rows = by_scope(ground, "run.tide", "--process", str(child["pid"]))
    expect((rows["parent"][:2], rows[None][:2]) == ((70, 700), (80, 800)), rows)
    done = ground.run(program, env=bare(ground))
    expect(done.stdout == SAID, done.stdout)
    stores = sorted(ground.scratch.glob("serves.*.store"), key=lambda path: path.stat().st_mtime)
    found = [without_none(by_scope(ground, path)) for path in stores]
    expect(WANTED in found and {"parent": (70, 700, 0)} in found, found)


@test
def scopes_of_samples(ground):
    """Of 20 KB in two scopes, a sample of each KiB in the mean: some are met."""
    program = ground.build("serves", SERVES, "-pthread", f"-I{INCLUDE}")
    done = ground.record("-q", "-o", "run.tide", "--sample=1KiB", "--", program)
    expect(done.stdout == SAID, done.stdout)
    names = set(by_scope(ground, "run.tide"))
    expect(names <= set(WANTED) | {None} and names & {"one", "two"}, names)


@test
def scopes_in_what_is_shown(ground):
    program = ground.build("serves", SERVES, "-pthread", f"-I{INCLUDE}")
    ground.record("-q", "-o", "run.tide", "--", program)
    done = ground.run(ground.tidemark, "export", "--to", "folded", "--sort", "count", "run.tide")
    folded = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    own = [stack for stack in folded if stack.startswith("GET /users;db;") and
           stack.endswith(";main;churn")]
    expect(len(own) == 1 and folded[own[0]] == "300", f"{folded}")
    done = ground.run(ground.tidemark, "report", "--group", "scope", "--sort", "total", "run.tide")
    lines = done.stdout.splitlines()
    expect(any(line.endswith("  GET /users > db") for line in lines), done.stdout)
    expect(any(line.endswith("  no scope") for line in lines), done.stdout)
    done = ground.run(ground.tidemark, "report", "--sort", "total", "run.tide")
    expect("GET /" not in done.stdout and "churn" in done.stdout, "a scope was blamed")
    done = ground.run(ground.tidemark, "report", "--group", "scope", "--csv", "run.tide")
    rows = list(csv.DictReader(done.stdout.splitlines()))  # by the peak: most held nothing then
    names = [row["scope"] for row in rows]
    expect(sorted(names)[:2] == ["", "(rest)"], names)
    expect(rows[-1]["scope"] == "(rest)" and int(rows[-1]["allocations"]) >= 3200, rows[-1])
    expect(len(set(names)) == len(names), names)
    ground.run(ground.tidemark, "export", "--to", "pprof", "-o", "run.pb.gz", "run.tide")
    profile = list(fields(gzip.decompress((ground.scratch / "run.pb.gz").read_bytes())))
    strings = [text.decode() for field, text in profile if field == 6]
    labels = [dict(fields(label)) for field, sample in profile if field == 2
              for number, label in fields(sample) if number == 3]
    scopes = {strings[label[2]] for label in labels if strings[label[1]] == "scope"}
    expect(scopes == set(WANTED), scopes)
    done = ground.run(ground.tidemark, "merge", "-o", "two.tide", "run.tide", "run.tide")
    rows = without_none(by_scope(ground, "two.tide"))
    twice = {name: tuple(2 * n for n in row) for name, row in WANTED.items()}
    expect(rows == twice, rows)
    done = ground.run(ground.tidemark, "diff", "--group", "scope", "--sort", "total", "--csv",
                      "run.tide", "two.tide")
    changed = {row["scope"]: row for row in csv.DictReader(done.stdout.splitlines())}
    expect(set(WANTED) <= set(changed), done.stdout)
    one = changed["GET /users > db"]
    expect((one["before_bytes"], one["after_bytes"]) == ("3500", "7000"), one)


@test
def scopes_beyond_the_most(ground):
    program = ground.build("many", r"""
#include <tidemark/tidemark.h>
#include <stdio.h>
int main(void)
{
  static char name[600][8];
  for (int i = 0; i < 600; i++) sprintf(name[i], "s%d", i);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 600; i++) {
      if (tidemark_scope_begin(name[i]) || tidemark_scope_begin("inner")) return 1;
      free(malloc(100));
      if (tidemark_scope_end()) return 2;
      free(malloc(1));
      if (tidemark_scope_end()) return 3;
    }
  return tidemark_scope_end() != -1;
}
""", f"-I{INCLUDE}")
    done = ground.record("-q", "-o", "many.tide", "--", program)
    expect(done.status == 0, f"status {done.status}: {done.stderr}")
    rows = by_scope(ground, "many.tide", "-n", "2000")
    expect(len(without_none(rows)) == 511, len(rows))
    expect(rows["s7"] == (2, 2, 0) and rows["s7 > inner"] == (2, 200, 0), rows.get("s7"))
    expect(rows["[more scopes]"] == (345 * 4, 345 * 202, 0), rows["[more scopes]"])
    expect(sum(row[0] for name, row in rows.items() if name) == 2400, "some are missing")
