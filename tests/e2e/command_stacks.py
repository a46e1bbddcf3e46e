# SPDX-License-Identifier: Apache-2.0
"""Many distinct stacks: all of them are there, each with its own numbers."""
import os
import pathlib
import signal

from ground import expect, test

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/stacks.c"


@test
def a_hundred_thousand_stacks(ground):
    prog = ground.build("stacks", SOURCE.read_text())
    for mode, n in ("leaf", 100000), ("branch", 10000):
        ground.record("-q", "-f", "-o", "x.tide", "--", prog, mode, str(n))
        report = ground.report("x.tide", "--all")
        totals, sites = report["totals"], report["sites"]
        expect(report["capture"]["complete"], f"{mode}: {report['completeness']}")
        expect(report["completeness"]["lost_full"] == 0, f"{mode}: stacks were lost")
        # The program's own, and the buffer of its standard output.
        own = [site for site in sites if site["bytes"] < 1024]
        expect(len(own) == n, f"{mode}: {len(own)} stacks of {n}")
        expect(all(site["allocations"] == 1 for site in own), f"{mode}: a stack was met twice")
        sizes = sorted(site["bytes"] for site in own)
        expect(sizes == sorted(16 + i % 64 for i in range(n)), f"{mode}: sizes differ")
        expect(sum(site["frees"] for site in own) == n // 2, f"{mode}: {totals['frees']} frees")
        for key, total in (("allocations", "allocations"), ("bytes", "allocated_bytes"),
                           ("frees", "frees"), ("freed_bytes", "freed_bytes")):
            expect(sum(site[key] for site in sites) == totals[total], f"{mode}: {key} of all")


def memory_of(ground, prog, n):
    """The most that tidemark had in memory, the recording's own included, in bytes."""
    words = [str(word) for word in (ground.tidemark, "run", "-q", "-f", "-o",
                                    ground.scratch / "x.tide", "--", prog, "leaf", n)]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(words[0], words, ground.env, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    expect(status == 0, f"{n} stacks: status {status}")
    return usage.ru_maxrss * 1024


@test
def a_stack_takes_little_memory_of_tidemark(ground):
    """Of the recording, which it reads in place, 104 bytes; when all stacks were rows in memory it
    was 450 in all."""
    prog = ground.build("stacks", SOURCE.read_text())
    few, many = memory_of(ground, prog, 50000), memory_of(ground, prog, 250000)
    expect((many - few) / 200000 < 250, f"{(many - few) / 200000:.0f} bytes per stack")


@test
def the_first_screen_of_many_stacks(ground):
    """What was packed for the file is unpacked for the screen; a kill loses nothing of it."""
    source = SOURCE.read_text()
    expect("(void)getchar();" in source, "the program holds in another way")
    source = "#include <signal.h>\n" + source.replace("(void)getchar();", "raise(SIGKILL);")
    prog = ground.build("killed", source)
    done = ground.record("-f", "-o", "x.tide", "--", prog, "leaf", "50000", "hold")
    screen = done.stderr
    expect(done.status == -signal.SIGKILL, f"status {done.status}")
    expect("block_new" in screen and "complete: every event (75,0" in screen, screen)
    report = ground.report("x.tide", "--all")
    expect(report["capture"]["complete"], report["completeness"])
    own = [site for site in report["sites"] if site["bytes"] < 1024]
    expect(len(own) == 50000, f"{len(own)} stacks")
