# SPDX-License-Identifier: Apache-2.0
"""Allocators that have an operator new of their own, which does not call malloc: what it gives is
counted under the agent, and what it throws reaches the program."""
import glob
import pathlib

import record
from command_attach import Target, attach, let_go
from ground import expect, test

SOURCE = pathlib.Path(__file__).parent / "targets" / "news.cpp"
KEPT_BYTES = 50 * 1000 + 10 * 64
ALLOCATIONS = 160


def check(ground, name, *flags):
    program = ground.scratch / name
    done = ground.run("g++", "-std=c++17", "-O1", "-g", SOURCE, "-o", program, *flags)
    expect(done.status == 0, done.stderr)
    target = Target(ground, program)
    target.tell("p")
    child, _ = attach(ground, target.pid)
    for word in "pxpx":
        target.tell(word)
    let_go(child)
    target.tell("x")
    target.tell("p")
    totals = ground.report("x.tide")["totals"]
    # Exceptions are allocated, too: two for each `x` at the most.
    n = totals["allocations"] - 2 * ALLOCATIONS
    expect(0 <= n <= 4, f"{name}: {totals['allocations']} allocations")
    expect(totals["live_bytes"] == 2 * KEPT_BYTES, f"{name}: {totals['live_bytes']} bytes live")
    expect(target.end() == 0, "it ended otherwise")


def library(name):
    found = sorted(glob.glob(f"/usr/lib/*/{name}"))
    if not found:
        raise record.Skip(f"no {name} here")
    return ["-Wl,--no-as-needed", found[0]]


@test
def operator_new_of_libstdcxx(ground):
    check(ground, "plain")
    check(ground, "static", "-static")


@test
def operator_new_of_tcmalloc(ground):
    check(ground, "tcmalloc", *library("libtcmalloc_minimal.so.4"))


@test
def operator_new_of_jemalloc(ground):
    check(ground, "jemalloc", *library("libjemalloc.so.2"))


MIMALLOC = """
__attribute__((noinline)) char *one() { return new char[100]; }
int main()
{
  for (int i = 0; i < 300; i++) one()[0] = 1;
  for (int i = 0; i < 500; i++) delete[] one();
}
"""


@test
def operator_new_of_mimalloc(ground):
    """Debian's is compiled as C: what fails there aborts, so that nothing is asked that would."""
    (ground.scratch / "prog.cpp").write_text(MIMALLOC)
    done = ground.run("g++", "-O1", "-g", "prog.cpp", "-o", "prog", *library("libmimalloc.so.2"))
    expect(done.status == 0, done.stderr)
    for how in ("preload", "agent"):
        done = ground.record("-f", "-o", "x.tide", "--how", how, "--", "./prog")
        expect(done.status == 0, done.stderr)
        report = ground.report("x.tide", "--group", "function")
        found = {group["function"]: (group["allocations"], group["live_bytes"])
                 for group in report["groups"]}
        expect([found[name] for name in found if name and name.startswith("one")] ==
               [(800, 30000)], f"{how}: {found}")
