#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program that puts the agent into itself (agent.c) and reads what was recorded.

  agent_test.py PROGRAM AGENT TIDEMARK [EMULATOR…]

TIDEMARK may be missing in a build of the recorder alone: then the program's own checks remain.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

program, agent, tidemark = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
emulator = sys.argv[4:]
SIZES = [10, 20, 30, 40, 50, 61, 70, 80, 90, 100]
# One more, of 24 bytes, by way of which the registers are looked at.
TOTALS = {"allocations": 11, "allocated_bytes": sum(SIZES) + 24, "frees": 3, "freed_bytes": 60}
COMPLETENESS = {"unknown_frees": 0, "failed_allocations": 1, "lost_busy": 0, "lost_full": 0,
                "broken_stacks": 0, "cut_stacks": 0, "stacks": 2}


def names_of(report, site):
    stacks, names, at = report["stacks"], [], site["stack"]
    while at:
        names.insert(0, report["functions"][report["frames"][stacks["frame"][at]]["function"]])
        at = stacks["parent"][at]
    return names


def check(report):
    for wanted, found in ((TOTALS, report["totals"]), (COMPLETENESS, report["completeness"])):
        found = {key: found[key] for key in wanted}
        assert found == wanted, found
    sites = {}
    for site in report["sites"]:
        site = {**report["site_defaults"], **site}
        if site["kind"] == "heap":
            names = names_of(report, site)
            assert "main" in names, names
            sites[tuple(names[names.index("main"):])] = (site["allocations"], site["bytes"])
    assert sites == {("main", "hand_out"): (10, sum(SIZES)),
                     ("main", "keeps_registers", "with_registers"): (1, 24)}, sites


def main():
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([*emulator, program, agent], cwd=scratch, timeout=60)
        assert done.returncode == 0, f"agent: status {done.returncode}"
        if pathlib.Path(tidemark).exists():
            told = subprocess.run([tidemark, "report", "--json", "--all", "agent.store"],
                                  cwd=scratch, check=True, capture_output=True, text=True)
            check(json.loads(told.stdout))
        else:
            print("what was recorded is not looked at: no tidemark of this machine was built")


main()
