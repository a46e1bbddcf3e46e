# SPDX-License-Identifier: Apache-2.0
"""Many distinct stacks: all of them are there, each with its own numbers."""
import pathlib

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
