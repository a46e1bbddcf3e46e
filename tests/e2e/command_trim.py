# SPDX-License-Identifier: Apache-2.0
"""tidemark maps --try-trim: malloc_trim(0) in a process that runs gives back what was expected, and
harms nobody; where that is not certain it is refused."""
import json
import pathlib
import platform
import subprocess

from command_maps import ARENAS, FRAGMENTED, PAGE, Standing
from ground import expect, test

TARGET = pathlib.Path(__file__).parent / "targets" / "trims.c"
IS_DONE_HERE = platform.machine() == "x86_64"
TIMES = 25
CODE = 32 * PAGE  # of libc that comes into memory by being run, in pieces of 16 pages


class Going:
    """A program of targets/trims.c, which goes on until it is told."""

    def __init__(self, ground, mode, *flags):
        prog = ground.build(f"trims{len(flags)}", TARGET.read_text(), "-O1", "-pthread", *flags)
        self.child = subprocess.Popen([prog, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        self.pid = int(self.child.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.child.stdin.close()
        said = self.child.stdout.read().strip()
        self.child.wait()
        self.child.stdout.close()
        expect(said == "sound" and self.child.returncode == 0, f"{said} ({self.child.returncode})")


def mappings(pid):
    """Of no file that can be run, or are as large as what the call needs: none are left."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return [line for line in maps if " r-xp 00000000 00:00 0 \n" in line]


def tried(ground, pid):
    done = ground.run(ground.tidemark, "maps", "--json", "--try-trim", pid)
    expect(done.status == 0 and not done.stderr, f"{done.status}: {done.stderr}")
    table = json.loads(done.stdout)
    expect(table["tried"]["left_bytes"] == 0 and not mappings(pid), f"{table['tried']}")
    return table


def refused(ground, pid, why):
    done = ground.run(ground.tidemark, "maps", "--try-trim", pid)
    expect(done.status == 1 and why in done.stderr, f"{done.status}: {done.stderr}")


@test
def trim_gives_back_what_was_expected(ground):
    for name, source, flags in (("fragmented", FRAGMENTED, ()), ("arenas", ARENAS, ("-pthread",))):
        prog = ground.build(name, source, *flags)
        for recorded in (False, True):
            with Standing(ground, prog, recorded=recorded) as standing:
                if not IS_DONE_HERE:
                    refused(ground, standing.pid, "cannot be tried")
                    continue
                before = standing.rss()
                table = tried(ground, standing.pid)
                told = table["heap"]["trim"] + table["heap"]["trim_top"]
                given = before - standing.rss()
                expect(told > 4 << 20 and told - CODE <= given <= told,
                       f"{name}: gave back {given}, not the {told} told")
                measured = table["tried"]["rss_before"] - table["tried"]["rss_after"]
                expect(abs(measured - given) <= CODE, f"{table['tried']}, and it was {given}")
                again = tried(ground, standing.pid)
                heap = again["heap"]
                expect(heap["trim"] + heap["trim_top"] <= PAGE, f"{heap}")
                standing.go_on()  # it is where it was, and reads on


@test
def trim_says_what_was_measured(ground):
    with Standing(ground, ground.build("fragmented", FRAGMENTED), recorded=False) as standing:
        if not IS_DONE_HERE:
            return
        done = ground.run(ground.tidemark, "maps", "--try-trim", standing.pid)
        words = " ".join(done.stdout.split())
        expect("tried: malloc_trim(0) gave back " in words and " were expected; RSS was " in words,
               words)


@test
def trim_harms_nobody(ground):
    """Threads that allocate, waits that must not end early, numbers in registers, signals."""
    if not IS_DONE_HERE:
        return
    with Going(ground, "busy") as going:
        for _ in range(TIMES):
            tried(ground, going.pid)
    with Going(ground, "signals") as going:
        words = [("maps", "--try-trim", going.pid)] * TIMES
        all_done = [ground.run(ground.tidemark, *w) for w in words]
    for done in all_done:  # on a busy machine a signal may come each time before it begins
        expect(done.status == 0 or "a signal came" in done.stderr, done.stderr)
    expect(any(done.status == 0 for done in all_done), "not once in all that time")


@test
def trim_is_refused_where_it_may_harm(ground):
    never = "no thread of it waits for input, a time or a condition"
    for mode in ("spins", "handler"):
        with Going(ground, mode) as going:
            refused(ground, going.pid, never)
    with Going(ground, "busy", "-static") as going:
        refused(ground, going.pid, "cannot be tried" if not IS_DONE_HERE else "malloc_trim")
    done = ground.run(ground.tidemark, "maps", "--try-trim",
                      pathlib.Path(__file__).parents[1] / "golden/dhat.json")
    expect(done.status == 2 and "--try-trim is for a process" in done.stderr, done.stderr)
